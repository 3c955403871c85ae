//! Every capability of every crate is known to the site by one value.
//!
//! What the sources declare is read from the sources, so that a kind or a collection that no capability
//! registers is found.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::*;

/// The crates whose capabilities a site joins.
const CRATES: [&str; 5] = ["site", "registry", "rooms", "tasks", "peers"];

/// The texts that follow this word in the sources of all crates of capabilities, tests left out.
fn declared(word: &str) -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    let mut folders: Vec<PathBuf> = Vec::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    folders.extend(CRATES.map(|name| crates.join(name).join("src")));
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.file_name().unwrap().to_str().unwrap() {
                "tests" | "tests.rs" => {}
                _ if path.is_dir() => folders.push(path),
                _ => {
                    let text = std::fs::read_to_string(path).unwrap();
                    let after = text.split(word).skip(1);
                    texts.extend(after.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
                }
            }
        }
    }
    texts
}

/// Everything that the capabilities list, each once.
fn unique<'a>(all: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    all.for_each(|one| assert!(seen.insert(one.to_owned()), "{one} is declared twice"));
    seen
}

#[tokio::test]
async fn every_kind_and_every_collection_belongs_to_one_capability() {
    let story = Story::begin().await;
    let all = story.site.capabilities();
    unique(all.iter().map(|capability| capability.name));
    let kinds = unique(
        all.iter()
            .flat_map(|capability| capability.kinds.iter().map(agentsite_protocol::JournalKind::as_str)),
    );
    for kind in &kinds {
        let plain = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        assert!(kind.split_once('.').is_some_and(|(one, two)| plain(one) && plain(two)), "{kind}");
    }
    assert_eq!(kinds, declared("JournalKind::new(\""), "left: registered, right: in the sources");
    let collections = unique(all.iter().flat_map(|capability| capability.collections.iter().copied()));
    assert_eq!(collections, declared("Collection::new(\""), "left: registered, right: in the sources");
}

#[tokio::test]
async fn a_started_site_shows_the_worker_of_each_capability() {
    let story = Story::begin().await;
    story.site.start().await.unwrap();
    let workers = unique(story.site.capabilities().iter().flat_map(|one| one.workers.iter().map(|w| w.name)));
    let shown: BTreeSet<String> = story.site.workers().list().into_iter().map(|view| view.name).collect();
    assert_eq!(shown, workers);
    let status = story.site.status(&Caller::admin()).await.unwrap();
    assert_eq!(status.checks.iter().map(|check| check.name).collect::<Vec<_>>(), ["outbox", "mesh"]);
}
