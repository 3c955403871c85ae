//! Agents from elsewhere are found and listed beside the site's own, as long as they count and for those who
//! may see them. How well something fits is `search`'s matter; here words decide.

use agentsite_protocol::Query;

use super::*;

const BASE: &str = "https://here.example";

impl Story {
    async fn ids(&self, caller: &Caller, text: &str) -> Vec<String> {
        let found = self.site.search().find(caller, &Query::of(text), BASE).await.unwrap();
        found.matches.into_iter().map(|one| one.id).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_registered_is_found_by_the_next_question_and_what_is_gone_is_not() {
    let story = Story::begin().await;
    story.agent("calculator", echo());
    story.scout.publish(CARD, &card("weather"));
    assert!(!story.ids(&stranger(), "tomorrow's weather forecast").await.contains(&ID.to_owned()));
    story.register(&holder("one"), CARD).await.unwrap();
    let found =
        story.site.search().find(&stranger(), &Query::of("tomorrow's weather forecast"), BASE).await.unwrap();
    let first = &found.matches[0];
    assert_eq!((first.id.as_str(), first.local, first.card.as_deref()), (ID, false, Some(CARD)));
    assert_eq!(first.reason.skill.as_deref(), Some("Forecast"));

    let site = &story.site;
    site.registry().suspend(&holder("one"), &weather()).await.unwrap();
    assert!(!story.ids(&stranger(), "weather forecast").await.contains(&ID.to_owned()));
    site.registry().resume(&holder("one"), &weather()).await.unwrap();
    assert_eq!(story.ids(&stranger(), "weather forecast").await[0], ID);
    let private = HubEdit { visibility: Some(Visibility::Private), ..HubEdit::default() };
    site.registry().update(&holder("one"), &weather(), private).await.unwrap();
    assert!(!story.ids(&stranger(), "weather forecast").await.contains(&ID.to_owned()));
    assert_eq!(story.ids(&holder("one"), "weather forecast").await[0], ID, "its owner sees it");
    site.registry().remove(&holder("one"), &weather()).await.unwrap();
    assert!(!story.ids(&Caller::admin(), "weather forecast").await.contains(&ID.to_owned()));
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_its_owner_is_not_found() {
    let story = Story::begin().await;
    let posted = story.post(&holder("one"), &card("weather")).await.unwrap();
    assert_eq!(posted.listing.standing, Standing::Pending);
    assert!(story.ids(&Caller::admin(), "weather forecast").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn pages_of_the_hub_join_both_kinds_by_name_and_leave_none_out() {
    let story = Story::begin().await;
    story.agent("calculator", echo());
    story.agent("zebra", echo());
    for name in ["a", "m", "z"] {
        story.post(&Caller::admin(), &card(name)).await.unwrap();
    }
    let mut met: Vec<String> = Vec::new();
    loop {
        let after = met.last().cloned();
        let page = story.site.search().page(&Caller::admin(), BASE, after.as_deref(), 2).await.unwrap();
        met.extend(page.iter().map(|listing| listing.id.to_string()));
        if page.len() < 2 {
            break;
        }
    }
    let all = [
        "urn:air:here.example:agents:calculator",
        "urn:air:here.example:agents:zebra",
        "urn:air:w.example.org:agents:a",
        "urn:air:w.example.org:agents:m",
        "urn:air:w.example.org:agents:z",
    ];
    assert_eq!(met, all);
}
