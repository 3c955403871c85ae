//! Agents are found by what they do: by those who may see them, as they are at that moment.
//!
//! How well something fits is `search`'s matter; here words decide, because the embedder of the stories knows
//! no meaning.

use agentsite_host::{Health, Job, Reporter};
use agentsite_protocol::{BadQuery, Filter, MAX_QUERY, Match, Outcome, Query, Scope};
use agentsite_search::FinderSettings;
use futures::future::BoxFuture;
use std::sync::atomic::AtomicBool;

use super::*;
use crate::Matches;

pub(super) const BASE: &str = "https://example.org";

/// An agent with one skill, seen by those who are named.
pub(super) fn skilled(name: &str, visibility: &str, does: &str, example: &str) -> Manifest {
    let text = format!(
        "name = \"{name}\"\ndescription = \"{does}\"\nvisibility = \"{visibility}\"\n[[skills]]\nid = \"s\"\nname = \"{name}\"\n\
         description = \"{does}\"\ntags = [\"{name}\"]\nexamples = [\"{example}\"]\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n"
    );
    Manifest::read(&text).unwrap()
}

impl Story {
    fn skilled(&self, name: &str, visibility: &str, does: &str) {
        self.site.agents().install_runner(skilled(name, visibility, does, does), Arc::new(echo()));
    }

    async fn find(&self, caller: &Caller, text: &str) -> Matches {
        self.site.search().find(caller, &Query::of(text), BASE).await.unwrap()
    }

    async fn names(&self, caller: &Caller, text: &str) -> Vec<String> {
        names(&self.find(caller, text).await.matches)
    }
}

fn names(matches: &[Match]) -> Vec<String> {
    matches.iter().map(|one| one.name.clone()).collect()
}

fn key(scopes: impl Into<Arc<[Scope]>>) -> Caller {
    Caller::key(&"k1".parse().unwrap(), scopes)
}

fn stranger() -> Caller {
    Caller::anonymous("192.0.2.1".parse().unwrap())
}

async fn a_town() -> Story {
    let story = Story::begin().await;
    story.skilled("baker", "public", "bakes fresh bread and cakes");
    story.skilled("smith", "peers", "forges tools of iron and bread knives");
    story.skilled("spy", "private", "listens to what the baker says about bread");
    story
}

#[tokio::test]
async fn the_best_match_comes_first_and_names_the_agent_everywhere() {
    let story = a_town().await;
    let found = story.find(&Caller::local(), "who forges iron tools").await;
    let best = &found.matches[0];
    assert_eq!((best.name.as_str(), best.local), ("smith", true));
    assert_eq!(best.id, "urn:air:example.org:agents:smith");
    assert_eq!(best.card.as_deref(), Some("https://example.org/a2a/smith/.well-known/agent-card.json"));
    assert!(found.matches.is_sorted_by(|one, next| one.score >= next.score));
    assert_eq!((found.considered, found.without), (3, None));
}

#[tokio::test]
async fn whoever_may_not_see_an_agent_never_finds_it() {
    let story = a_town().await;
    let what = "listens to what the baker says about bread";
    assert_eq!(story.names(&Caller::local(), what).await[0], "spy");
    assert_eq!(story.names(&stranger(), what).await, ["baker"]);
    assert!(!story.names(&key([Scope::Call]), what).await.contains(&"spy".into()));
    let named: AgentName = "spy".parse().unwrap();
    let both = key([Scope::Call, Scope::CallAgent(named.clone())]);
    assert_eq!(story.names(&both, what).await[0], "spy");
    let only = key([Scope::CallAgent(named)]);
    assert_eq!(story.names(&only, what).await, ["spy"], "a key that names one agent calls no other");
    let few = Query { limit: Some(1), ..Query::of("fresh bread and cakes") };
    assert_eq!(names(&story.site.search().find(&only, &few, BASE).await.unwrap().matches), ["spy"]);
    assert!(story.names(&key([]), what).await.is_empty());
}

#[tokio::test]
async fn the_concierge_itself_is_not_found() {
    let story = a_town().await;
    let all = story.names(&Caller::local(), "finds the agent of this site and hands over").await;
    assert!(!all.contains(&"concierge".into()), "{all:?}");
}

#[tokio::test]
async fn the_next_question_sees_what_changed() {
    let story = a_town().await;
    let ask = "mends broken shoes";
    assert!(story.find(&stranger(), ask).await.matches.iter().all(|one| one.name != "cobbler"));
    story.skilled("cobbler", "public", ask);
    assert_eq!(story.names(&stranger(), ask).await[0], "cobbler");
    story.skilled("cobbler", "private", ask);
    assert!(!story.names(&stranger(), ask).await.contains(&"cobbler".into()));
    story.skilled("cobbler", "public", "sells hats");
    assert_eq!(story.names(&stranger(), "who sells hats").await[0], "cobbler");
    story.site.agents().uninstall(&"cobbler".parse().unwrap()).await;
    assert!(!story.names(&stranger(), "who sells hats").await.contains(&"cobbler".into()));
}

#[tokio::test]
async fn pages_follow_each_other_without_gap_or_repeat() {
    let story = a_town().await;
    let whole = story.names(&Caller::local(), "bread").await;
    let mut pages = Vec::new();
    for offset in 0..4 {
        let page = Query { limit: Some(1), offset, ..Query::of("bread") };
        pages.extend(names(&story.site.search().find(&Caller::local(), &page, BASE).await.unwrap().matches));
    }
    assert_eq!((pages.len(), pages), (3, whole));
}

#[tokio::test]
async fn what_cannot_be_looked_for_is_told() {
    let story = a_town().await;
    let wrong = async |query: Query| match story.site.search().find(&stranger(), &query, BASE).await {
        Err(SiteError::BadQuery(why)) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(wrong(Query::of("\u{0} \n ?")).await, BadQuery::Empty);
    assert_eq!(wrong(Query::of("x".repeat(1 << 20))).await, BadQuery::TooLong(1 << 20));
    assert_eq!(wrong(Query { offset: usize::MAX, ..Query::of("x") }).await, BadQuery::TooFar);
    let filter = Filter { min_trust: Some(7.0), ..Filter::default() };
    assert!(matches!(wrong(Query { filter, ..Query::of("x") }).await, BadQuery::Filter("minTrust", _)));
    for odd in [
        "何か天気を教えて",
        "'; DROP TABLE agents; --",
        "+title:(\"~^*",
        "a\u{7}b\u{202e}c",
        &"é ".repeat(MAX_QUERY / 3),
    ] {
        assert_eq!(story.find(&stranger(), odd).await.considered, 1, "{odd}");
    }
}

#[tokio::test]
async fn agents_are_found_after_a_restart_and_those_that_went_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let settings = || {
        let plain = SiteSettings::default();
        let search = FinderSettings { folder: Some(folder.path().into()), ..plain.search };
        SiteSettings { search, ..plain }
    };
    let story = Story::with(settings()).await;
    story.skilled("baker", "public", "bakes bread");
    story.skilled("smith", "public", "forges iron");
    story.site.start().await.unwrap();
    assert_eq!(story.names(&stranger(), "forges iron").await[0], "smith");
    story.site.stop().await;
    let (store, clock, rng) = (story.store.reopen(), story.clock.clone(), story.rng.clone());
    drop(story);
    let story = Story::open(settings(), store, clock, rng).await;
    story.skilled("baker", "public", "bakes bread");
    story.site.start().await.unwrap();
    assert_eq!(story.find(&stranger(), "forges iron").await.considered, 1);
    assert!(!story.names(&stranger(), "forges iron").await.contains(&"smith".into()));
    story.site.stop().await;
}

/// An agent that works only while it is told to.
#[derive(Debug, Default)]
struct Switched(AtomicBool);

impl Runner for Switched {
    fn run(&self, job: Job, _: Reporter) -> BoxFuture<'static, Outcome> {
        Box::pin(async move { job.failed("out of order") })
    }

    fn health(&self) -> Health {
        if self.0.load(Ordering::Relaxed) { Health::Ready } else { Health::Down("switched off".into()) }
    }
}

#[tokio::test]
async fn only_agents_that_work_are_found_when_that_is_asked() {
    let story = a_town().await;
    let switched = Arc::new(Switched::default());
    story
        .site
        .agents()
        .install_runner(skilled("mill", "public", "grinds corn", "grind corn"), switched.clone());
    let live = Query { filter: Filter { live: true, ..Filter::default() }, ..Query::of("grinds corn") };
    let found = async || names(&story.site.search().find(&stranger(), &live, BASE).await.unwrap().matches);
    assert!(!found().await.contains(&"mill".into()));
    switched.0.store(true, Ordering::Relaxed);
    assert_eq!(found().await[0], "mill");
    switched.0.store(false, Ordering::Relaxed);
    assert!(!found().await.contains(&"mill".into()));
    assert_eq!(story.names(&stranger(), "grinds corn").await[0], "mill", "nobody asked whether it works");
}

#[tokio::test]
async fn filters_leave_only_what_was_asked_for() {
    let story = a_town().await;
    let found = async |filter: Filter| {
        let query = Query { filter, ..Query::of("bread") };
        names(&story.site.search().find(&Caller::local(), &query, BASE).await.unwrap().matches)
    };
    let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
    assert_eq!(found(Filter { tags: tags(&["SMITH"]), ..Filter::default() }).await, ["smith"]);
    assert_eq!(found(Filter { tags: tags(&["smith", "spy"]), ..Filter::default() }).await.len(), 2);
    assert!(found(Filter { regions: tags(&["mars"]), ..Filter::default() }).await.is_empty());
    assert_eq!(
        found(Filter {
            protocols: tags(&["a2a"]),
            max_price: Some("0".parse().unwrap()),
            ..Filter::default()
        })
        .await
        .len(),
        3
    );
}
