//! A search also asks the registries that the operator has named: within a bound, and so that none of them
//! can displace what is here.
//!
//! The registries are a scout that follows a script. Time is paused: the tokio clock moves by itself, the
//! story's when it is told to.

use std::time::Duration;

use agentsite_protocol::listing::Standing;
use agentsite_protocol::{Filter, Query, Reach, Visibility};
use serde_json::{Value, json};

use super::find::skilled;
use super::registry::Asked;
use super::toolkit::result;
use super::*;
use crate::{Coverage, Matches, UpstreamQuery};

const BASE: &str = "https://here.example";
const ONE: &str = "https://one.example/search";
const TWO: &str = "https://two.example/api/search";

fn found(publisher: &str, name: &str, score: u8) -> Value {
    json!({
        "identifier": format!("urn:air:{publisher}:agents:{name}"), "displayName": name, "score": score,
        "type": "application/a2a-agent-card+json", "url": format!("https://{publisher}/{name}.json"),
        "description": format!("{name} bakes bread"), "source": "https://forged.example",
        "trustManifest": { "identity": "did:web:forged.example" },
    })
}

fn answers(results: &[Value]) -> Asked {
    Asked::Answers(json!({ "results": results }).to_string().into_bytes())
}

async fn story_of(upstreams: &[&str]) -> Story {
    let upstreams = upstreams.iter().map(|url| (*url).to_owned()).collect();
    let story = Story::with(introduced(|site| site.upstreams = upstreams)).await;
    let baker = skilled("baker", "public", "bakes fresh bread and cakes", "bake me some bread");
    story.site.agents().install_runner(baker, Arc::new(echo()));
    story
}

impl Story {
    async fn wide(&self, text: &str) -> Matches {
        let query = Query { reach: Reach::Upstreams, ..Query::of(text) };
        self.site.search().find(&Caller::local(), &query, BASE).await.unwrap()
    }

    async fn coverage(&self, text: &str) -> (usize, usize, String) {
        let Coverage { asked, answered, failed } = self.wide(text).await.coverage.unwrap();
        (asked, answered, failed.into_iter().map(|one| one.why).collect::<Vec<_>>().join("; "))
    }
}

fn names(found: &Matches) -> Vec<&str> {
    found.matches.iter().map(|one| one.name.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn registries_are_asked_when_the_query_wants_it_and_only_for_their_own() {
    let story = story_of(&[ONE, TWO]).await;
    story.scout.registry(ONE, answers(&[found("one.example", "miller", 100)]));
    story.scout.registry(TWO, answers(&[found("two.example", "grocer", 1)]));
    let near = story.site.search().find(&Caller::local(), &Query::of("bread"), BASE).await.unwrap();
    assert_eq!((names(&near), &near.coverage), (vec!["baker"], &None));
    assert!(story.scout.questions().is_empty());

    let wide = story.wide("who bakes bread").await;
    assert_eq!(names(&wide), ["miller", "baker", "grocer"]);
    let (miller, baker) = (&wide.matches[0], &wide.matches[1]);
    assert_eq!(miller.source.as_deref(), Some("https://one.example"), "not what the registry says");
    assert_eq!(wide.matches[2].source.as_deref(), Some("https://two.example/api"));
    assert_eq!((baker.source.as_deref(), miller.local), (None, false));
    assert_eq!(miller.why(), "found by https://one.example");
    assert_eq!(wide.coverage, Some(Coverage { asked: 2, answered: 2, failed: Vec::new() }));
    let questions = story.scout.questions();
    assert_eq!(questions.len(), 2);
    let asked = json!({ "query": { "text": "who bakes bread" }, "federation": "none", "pageSize": 20 });
    assert_eq!(questions[0].1, asked);
}

#[tokio::test(start_paused = true)]
async fn a_model_may_ask_the_registries_too() {
    let story = story_of(&[ONE]).await;
    story.scout.registry(ONE, answers(&[found("one.example", "miller", 100)]));
    let kit = story.site.toolkit(&Caller::local(), None).unwrap();
    let told = |reach: &'static str| {
        let arguments = json!({ "query": "who bakes bread", "reach": reach });
        let kit = kit.clone();
        async move { result(&kit, "find_agents", arguments).await }
    };
    let near = told("here").await.structured_content.unwrap();
    assert_eq!((near["agents"].as_array().unwrap().len(), near.get("coverage")), (1, None));
    let wide = told("upstreams").await.structured_content.unwrap();
    let agents = wide["agents"].as_array().unwrap();
    assert_eq!((&agents[0]["name"], &agents[0]["source"]), (&json!("miller"), &json!("https://one.example")));
    assert_eq!(wide["coverage"]["answered"], 1);
    assert!(told("everywhere").await.is_error);
}

#[tokio::test(start_paused = true)]
async fn a_slow_registry_never_holds_up_the_answer_beyond_the_bound() {
    let story = story_of(&[ONE, TWO]).await;
    story.scout.registry(ONE, Asked::NeverAnswers);
    story.scout.registry(TWO, answers(&[found("two.example", "grocer", 50)]));
    let before = tokio::time::Instant::now();
    let wide = story.wide("who bakes bread").await;
    assert_eq!(before.elapsed().as_secs(), 2);
    assert!(names(&wide).contains(&"grocer") && names(&wide).contains(&"baker"));
    let coverage = wide.coverage.unwrap();
    assert_eq!((coverage.asked, coverage.answered), (2, 1));
    assert_eq!(coverage.failed[0].registry, ONE);
    assert!(coverage.failed[0].why.contains("within 2 s"), "{coverage:?}");
    // The next search does not wait for it.
    let before = tokio::time::Instant::now();
    let (_, answered, why) = story.coverage("who else bakes bread").await;
    assert_eq!((before.elapsed(), answered), (Duration::ZERO, 1));
    assert!(why.contains("paused for 6 s") || why.contains("paused for 5 s"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn one_that_fails_is_asked_again_after_a_rest_and_one_that_refuses_at_once() {
    let story = story_of(&[ONE]).await;
    for odd in [Asked::Answers(b"<html>".to_vec()), Asked::Answers(vec![b' '; 1 << 20])] {
        story.scout.registry(ONE, odd);
        assert_eq!(story.coverage("bread").await.1, 0);
        assert_eq!(story.scout.questions().len(), 1);
        assert_eq!(story.coverage("bread").await.1, 0);
        assert!(story.scout.questions().is_empty(), "it rests");
        story.clock.advance(11_000);
    }
    story.scout.registry(ONE, answers(&[]));
    story.clock.advance(300_000);
    assert_eq!(story.coverage("bread").await, (1, 1, String::new()));
    story.scout.questions();
    // A filter that it does not know says nothing about its health.
    story.scout.registry(ONE, Asked::Refuses);
    for text in ["cake", "rolls"] {
        assert!(story.coverage(text).await.2.contains("400"));
        assert_eq!(story.scout.questions().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_question_is_asked_once_in_half_a_minute() {
    let story = story_of(&[ONE]).await;
    story.scout.registry(ONE, answers(&[found("one.example", "miller", 90)]));
    for (advance, asked) in [(0, 1), (20_000, 0), (20_000, 1)] {
        story.clock.advance(advance);
        assert!(names(&story.wide("bread").await).contains(&"miller"));
        assert_eq!(story.scout.questions().len(), asked, "after {advance}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_site_knows_itself_is_not_told_by_others() {
    let story = story_of(&[ONE, TWO]).await;
    let known = json!({
        "name": "cook", "description": "Cooks.", "version": "1", "capabilities": {}, "skills": [],
        "supportedInterfaces": [{"url": "https://c.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "defaultInputModes": [], "defaultOutputModes": [],
    });
    let post = serde_json::to_vec(&known).unwrap();
    let cook =
        story.site.registry().post(&Caller::admin(), &post, Visibility::Public).await.unwrap().listing.id;
    let forged = [found("here.example", "baker", 100), found("here.example", "other", 100)];
    let told =
        [forged.as_slice(), &[found("c.example", "cook", 100), found("x.example", "miller", 90)]].concat();
    story.scout.registry(ONE, answers(&told));
    story
        .scout
        .registry(TWO, answers(&[found("x.example", "miller", 95), found("two.example", "grocer", 80)]));
    let wide = story.wide("bread").await;
    assert_eq!(names(&wide), ["miller", "grocer", "baker"]);
    // The registry that the operator named first has the word about an agent that two know.
    assert_eq!(
        (wide.matches[0].score, wide.matches[0].source.as_deref()),
        (0.9, Some("https://one.example"))
    );
    assert!(wide.matches[2].local);
    // What the people who run the site have suspended does not come back from elsewhere.
    let suspended = story.site.registry().suspend(&Caller::admin(), &cook).await.unwrap();
    assert_eq!(suspended.listing.standing, Standing::Suspended);
    assert!(!names(&story.wide("bread").await).contains(&"cook"));
    // The registry of its own publisher has the word before others.
    let told = [found("two.example", "grocer", 100)];
    story.scout.registry(ONE, answers(&told));
    story.clock.advance(60_000);
    let wide = story.wide("bread").await;
    let grocer = wide.matches.iter().find(|one| one.name == "grocer").unwrap();
    assert_eq!(grocer.source.as_deref(), Some("https://two.example/api"));
}

#[tokio::test(start_paused = true)]
async fn pages_go_on_through_what_was_found_here_and_elsewhere() {
    let story = story_of(&[ONE]).await;
    let told: Vec<Value> = (0..30).map(|number| found("one.example", &format!("m{number:02}"), 90)).collect();
    story.scout.registry(ONE, answers(&told));
    let page = async |offset: usize| {
        let query = Query { limit: Some(8), offset, reach: Reach::Upstreams, ..Query::of("bread") };
        let found = story.site.search().find(&Caller::local(), &query, BASE).await.unwrap();
        names(&found).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = [page(0).await, page(8).await, page(16).await, page(24).await].concat();
    assert_eq!(all.len(), 21, "twenty of a registry, whatever it sends, and our own: {all:?}");
    assert_eq!(all[3], "baker", "{all:?}");
    let mut each = all.clone();
    each.sort();
    each.dedup();
    assert_eq!(each.len(), all.len());
    assert_eq!(story.scout.questions().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_filter_goes_along_and_one_that_others_cannot_apply_keeps_the_search_here() {
    let story = story_of(&[ONE]).await;
    story.scout.registry(ONE, answers(&[found("one.example", "miller", 90)]));
    let ask = async |filter: Filter| {
        let query = Query { filter, reach: Reach::Upstreams, ..Query::of("bread") };
        story.site.search().find(&Caller::local(), &query, BASE).await.unwrap()
    };
    ask(Filter { tags: vec!["baker".into()], protocols: vec!["MCP".into()], ..Filter::default() }).await;
    let asked = story.scout.questions().remove(0).1;
    let filter = json!({ "tags": ["baker"], "type": ["application/mcp-server-card+json"] });
    assert_eq!(asked["query"]["filter"], filter);
    for filter in [
        Filter { live: true, ..Filter::default() },
        Filter { regions: vec!["eu".into()], ..Filter::default() },
        Filter { min_trust: Some(0.1), ..Filter::default() },
        Filter { protocols: vec!["acp".into()], ..Filter::default() },
    ] {
        let found = ask(filter).await;
        assert!(found.without.unwrap().contains("other registries"));
        assert_eq!(found.coverage, Some(Coverage::default()));
        assert!(story.scout.questions().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_than_eight_are_asked_and_none_where_none_is_named() {
    let many: Vec<String> = (0..20).map(|number| format!("https://r{number}.example/search")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let story = story_of(&many).await;
    assert_eq!(story.coverage("bread").await.0, 8);
    assert_eq!(story.scout.questions().len(), 8);
    let story = story_of(&[]).await;
    assert_eq!(story.coverage("bread").await, (0, 0, String::new()));
    let asked = UpstreamQuery { text: "bread".into(), ..UpstreamQuery::default() };
    assert!(story.site.search().find_elsewhere(&asked, BASE).await.unwrap().entries.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_kept_query_looks_here_only() {
    let story = story_of(&[ONE]).await;
    let query = Query { reach: Reach::Upstreams, ..Query::of("bread") };
    let refused = story.site.queries().save(&Caller::local(), query, None, None, BASE).await;
    assert!(matches!(refused, Err(SiteError::BadMessage(_))), "{refused:?}");
}
