//! What verbs cost: how often they read the store, whether they write, and whether a fresh site uses the
//! encoder.
//!
//! Counts, not times: the memory store counts its reads and changes, and the embedders count texts.

use std::sync::atomic::AtomicUsize;

use agentsite_host::builtin::demo_manifests;
use agentsite_library::demo_library;
use agentsite_protocol::{Part, Query, Visibility};
use agentsite_search::{EmbedError, Embedder, Embedders, MiniLm, ModelId, Static, Vector};
use futures::future::BoxFuture;
use serde_json::json;

use super::find::BASE;
use super::*;
use crate::Utterance;

/// Rows of a page as the pages ask for it.
const PAGE: usize = 50;

#[tokio::test]
async fn a_page_of_matches_reads_the_store_once_and_writes_nothing() {
    let story = Story::begin().await;
    let admin = Caller::admin();
    for number in 0..PAGE {
        let card = json!({
            "name": format!("Weather {number}"), "description": "Tells the weather.", "version": "1",
            "supportedInterfaces": [{"url": format!("https://w{number}.example.org/a2a"),
                "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [],
        });
        story.site.registry().post(&admin, card.to_string().as_bytes(), Visibility::Public).await.unwrap();
    }
    let query = Query { limit: Some(PAGE), ..Query::of("tells the weather") };
    let found = story.site.search().find(&admin, &query, BASE).await.unwrap();
    assert_eq!(found.matches.len(), PAGE, "the index is up to date");
    let (reads, changes) = (story.store.reads(), story.store.changes());
    assert_eq!(story.site.search().find(&admin, &query, BASE).await.unwrap(), found);
    assert_eq!((story.store.reads() - reads, story.store.changes() - changes), (1, 0));
}

#[tokio::test]
async fn a_page_of_turns_costs_three_reads() {
    let story = Story::begin().await;
    let (caller, agent) = (Caller::local(), story.agent("echo", echo()));
    let says = |text: String| Utterance { parts: Some(vec![Part::text(text)]), ..Utterance::default() };
    let begun = story.site.conversations().begin(&caller, Some(agent), None, Some(says("0".into()))).await;
    let (conversation, first) = begun.unwrap();
    let mut last = first.unwrap().id;
    for number in 1..PAGE {
        story.site.tasks().watch(&caller, last, 0).await.unwrap().settled().await;
        last = story
            .site
            .conversations()
            .say(&caller, conversation.id, says(number.to_string()))
            .await
            .unwrap()
            .id;
    }
    story.site.tasks().watch(&caller, last, 0).await.unwrap().settled().await;
    let reads = story.store.reads();
    let page = story.site.conversations().turns(&caller, conversation.id, None, PAGE).await.unwrap();
    let answers: Vec<String> = page.turns.iter().map(|turn| turn.answer.clone()).collect();
    assert_eq!(answers, (0..PAGE).map(|number| number.to_string()).collect::<Vec<_>>());
    // The conversation, the path, and the histories of all its tasks.
    assert_eq!(story.store.reads() - reads, 3);
}

/// The fast table, which counts what it is given.
#[derive(Debug)]
struct Counting(Static, AtomicUsize);

impl Embedder for Counting {
    fn model(&self) -> &ModelId {
        self.0.model()
    }

    fn dimensions(&self) -> usize {
        self.0.dimensions()
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vector>, EmbedError>> {
        self.1.fetch_add(texts.len(), Ordering::Relaxed);
        self.0.embed(texts)
    }
}

/// Waits until the worker `search` has nothing left to do.
async fn search_is_idle(story: &Story) {
    let idle = |site: &Site| {
        site.workers()
            .list()
            .iter()
            .any(|worker| worker.name == "search" && worker.state == "idle" && worker.last_run_at.is_some())
    };
    while !idle(&story.site) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_fresh_site_encodes_nothing_until_it_is_asked() {
    let fast = Arc::new(Counting(Static::load(), AtomicUsize::new(0)));
    let full = Arc::new(MiniLm::load());
    let mut settings = SiteSettings::default();
    settings.search.embedders = Embedders { fast: fast.clone(), full: Some(full.clone()) };
    let story = Story::with(settings).await;
    let demos: Vec<Manifest> = demo_manifests().into_iter().chain([demo_library()]).collect();
    for demo in &demos {
        story.site.agents().install(demo.clone(), None).await.unwrap();
    }
    story.site.start().await.unwrap();
    search_is_idle(&story).await;
    let status = story.site.status(&Caller::admin()).await.unwrap().search;
    assert_eq!((status.entries, status.pending), (demos.len(), 0));
    let hint = "the texts of the built-in agents have changed: run `cargo xtask generate`";
    assert_eq!(fast.1.load(Ordering::Relaxed), 0, "{hint}");
    assert!(!full.has_encoded(), "{hint}");

    let found = story
        .site
        .search()
        .find(&Caller::local(), &Query::of("what time is it in Tokyo?"), BASE)
        .await
        .unwrap();
    assert_eq!(found.matches[0].name, "clock");
    assert!(full.has_encoded(), "the first question is encoded");
    story.site.stop().await;
}
