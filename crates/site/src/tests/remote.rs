//! Agents from elsewhere that are called through the site: opened by whoever sees the entry, closed with it;
//! and how agents are used.
//!
//! Real calls to another site are told in the browser's stories; here is who may, and what becomes of it.

use agentsite_protocol::listing::Standing;
use agentsite_protocol::{Scope, Visibility};

use super::*;
use crate::{HubEdit, HubEntry};

async fn entry(story: &Story, caller: &Caller, name: &str) -> HubEntry {
    let card = serde_json::json!({
        "name": name, "description": "Tells the weather.", "version": "7",
        "supportedInterfaces": [{"url": "https://w.example.org/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [],
    });
    story.site.registry().post(caller, card.to_string().as_bytes(), Visibility::Public).await.unwrap()
}

#[tokio::test]
async fn an_entry_is_opened_by_those_who_see_it_and_called_by_those_who_are_known() {
    let story = Story::begin().await;
    let admin = Caller::admin();
    let id = entry(&story, &admin, "Weather 2").await.listing.id;
    let name = story.site.registry().open(&admin, &id).await.unwrap();
    assert!(name.as_str().starts_with("far-weather-2-"), "{name}");
    assert_eq!(story.site.registry().open(&admin, &id).await.unwrap(), name, "opened once");

    let friend = Caller::key(&"k".parse().unwrap(), [Scope::Call]);
    let stranger = Caller::anonymous("192.0.2.1".parse().unwrap());
    let view = story.site.agents().get(&friend, &name).unwrap();
    assert_eq!((view.description.as_str(), view.version.as_str()), ("Tells the weather.", "7"));
    assert!(story.site.agents().get(&stranger, &name).is_err(), "the site is no relay for strangers");
    assert!(
        story.site.agents().list(&admin).iter().all(|agent| agent.name != name),
        "the registry lists the entry"
    );

    let private = HubEdit { visibility: Some(Visibility::Private), ..HubEdit::default() };
    story.site.registry().update(&admin, &id, private).await.unwrap();
    assert!(story.site.agents().get(&friend, &name).is_err(), "closed, since fewer see it");
    assert!(matches!(story.site.registry().open(&friend, &id).await, Err(SiteError::NoSuchListing(_))));
    assert_eq!(story.site.registry().open(&admin, &id).await.unwrap(), name);

    assert_eq!(
        story.site.registry().suspend(&admin, &id).await.unwrap().listing.standing,
        Standing::Suspended
    );
    assert!(story.site.agents().get(&admin, &name).is_err());
    assert!(matches!(story.site.registry().open(&admin, &id).await, Err(SiteError::BadListing(_))));
    story.site.registry().resume(&admin, &id).await.unwrap();
    story.site.registry().open(&admin, &id).await.unwrap();
    story.site.registry().remove(&admin, &id).await.unwrap();
    assert!(story.site.agents().get(&admin, &name).is_err());
}

#[tokio::test]
async fn the_entry_opened_longest_ago_makes_room() {
    let story = Story::begin().await;
    let admin = Caller::admin();
    let mut names = Vec::new();
    for number in 0..65 {
        let id = entry(&story, &admin, &format!("agent number {number}")).await.listing.id;
        names.push(story.site.registry().open(&admin, &id).await.unwrap());
    }
    assert!(story.site.agents().get(&admin, &names[0]).is_err());
    assert!(names[1..].iter().all(|name| story.site.agents().get(&admin, name).is_ok()));
}

#[tokio::test]
async fn usage_counts_by_day_and_tells_callers_of_their_own() {
    let story = Story::begin().await;
    let good = story.agent("good", echo());
    let bad = story.agent("bad", ScriptedRunner::new().fail("no"));
    for _ in 0..3 {
        story.ask(&good, "hi").await;
    }
    story.ask(&bad, "hi").await;
    story.clock.advance(86_400_000);
    story.ask(&good, "hi").await;

    let report = story.site.agents().usage(&Caller::local(), &good, 2).await.unwrap();
    let calls: Vec<u64> = report.days.iter().map(|day| day.figures.calls).collect();
    assert_eq!((calls, report.total.calls, report.total.failures), (vec![3, 1], 4, 0));
    assert_eq!(report.days[0].day.len(), 10);
    assert_eq!((report.total.p50_ms, report.total.input_tokens, report.cut), (Some(0), Some(0), false));
    let report = story.site.agents().usage(&Caller::local(), &bad, 31).await.unwrap();
    assert_eq!((report.days.len(), report.total.calls, report.total.failures), (31, 1, 1));
    let other = Caller::anonymous("192.0.2.1".parse().unwrap());
    let report = story.site.agents().usage(&other, &good, 2).await.unwrap();
    assert_eq!((report.total.calls, report.total.input_tokens), (0, None));
    assert!(story.site.agents().usage(&other, &"nobody".parse().unwrap(), 2).await.is_err());
}
