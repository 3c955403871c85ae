//! What a site publishes itself.
//!
//! How others take them in is in `records`.

use super::*;
use crate::Body;
use crate::story::{at, profile};

fn publish(story: &mut Story, name: &str) -> Vec<Effect> {
    story.apply(Input::Publish { name: name.parse().unwrap(), profile: profile(name, "Adds") })
}

fn signed(effects: &[Effect]) -> Vec<Arc<Record>> {
    let own = |effect: &Effect| match effect {
        Effect::Forward { record, from: None } => Some(record.clone()),
        _ => None,
    };
    effects.iter().filter_map(own).collect()
}

#[test]
fn a_site_without_public_agents_says_nothing() {
    let mut story = Story::new(1);
    assert!(signed(&story.apply(Input::Tick)).is_empty());
    assert!(story.catalogue.is_empty());
}

#[test]
fn publishing_signs_the_agent_and_the_lease_once() {
    let mut story = Story::new(1);
    let records = signed(&publish(&mut story, "calc"));
    assert_eq!(records.len(), 2);
    assert!(signed(&publish(&mut story, "calc")).is_empty(), "nothing changed");
    let records = signed(&publish(&mut story, "echo"));
    assert_eq!(records.len(), 1, "the lease covers both");
    assert!(story.catalogue.listed().next().is_none(), "the own agents are known already");
    assert_eq!(story.catalogue.published().count(), 2);
}

#[test]
fn the_lease_is_renewed_every_five_minutes_and_nothing_else() {
    let mut story = Story::new(1);
    publish(&mut story, "calc");
    for _ in 0..12 {
        let records = signed(&story.pass(300));
        assert_eq!(records.len(), 1);
        assert_eq!((records[0].subject(), records[0].body()), (&Subject::Lease, Body::Lease));
    }
}

#[test]
fn a_record_is_renewed_before_it_ends() {
    let mut story = Story::new(1);
    publish(&mut story, "calc");
    let mut renewals = Vec::new();
    for _ in 0..12 * 48 {
        let records = signed(&story.pass(300));
        renewals.extend(records.into_iter().filter(|record| *record.subject() != Subject::Lease));
    }
    assert!((1..=2).contains(&renewals.len()), "every 24 hours, give or take a fifth: {}", renewals.len());
}

#[test]
fn unpublishing_signs_a_tombstone_with_a_higher_number() {
    let mut story = Story::new(1);
    let before = signed(&publish(&mut story, "calc"));
    let records = signed(&story.apply(Input::Unpublish { name: "calc".parse().unwrap() }));
    assert_eq!(records.len(), 1);
    assert!(records[0].is_removed() && records[0].supersedes(&before[0]));
    assert!(signed(&story.apply(Input::Unpublish { name: "calc".parse().unwrap() })).is_empty());
}

#[test]
fn numbers_grow_also_when_the_clock_goes_back() {
    let mut story = Story::new(1);
    let first = signed(&publish(&mut story, "calc"))[0].seq();
    story.now = at(-9_000);
    let second = signed(&publish(&mut story, "echo"))[0].seq();
    assert!(second > first);
}

#[test]
fn a_site_that_lost_its_state_outbids_what_others_still_hold() {
    let (mut before, peer) = (Story::new(1), Site::new(2));
    before.now = at(3_600);
    let mut old = signed(&publish(&mut before, "calc"));
    old.extend(signed(&publish(&mut before, "gone")));
    // The same key starts anew, with a clock that is an hour late, so its numbers are too low.
    let mut after = Story::new(1);
    after.connect(&peer);
    publish(&mut after, "calc");
    after.now = at(3_590);
    let effects = after.push(&peer, &old);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::OwnKeyElsewhere(_))));
    let mut repaired = signed(&effects);
    repaired.extend(signed(&after.pass(60)));
    let of = |name: &str| {
        let subject = Subject::Agent(name.parse().unwrap());
        let record = repaired.iter().rfind(|record| *record.subject() == subject);
        record.unwrap_or_else(|| panic!("{name} is signed again")).clone()
    };
    assert!(
        old.iter()
            .filter(|record| *record.subject() == *of("calc").subject())
            .all(|old| of("calc").supersedes(old))
    );
    assert!(of("gone").is_removed(), "what is no longer published is taken back");
}

#[test]
fn two_processes_with_one_key_do_not_outbid_each_other_without_end() {
    let (mut one, mut other, peer) = (Story::new(1), Story::new(1), Site::new(2));
    one.connect(&peer);
    other.connect(&peer);
    let mut news = signed(&publish(&mut one, "calc"));
    publish(&mut other, "echo");
    let mut rounds = 0;
    while !news.is_empty() && rounds < 100 {
        let answer = signed(&other.push(&peer, &news));
        news = signed(&one.push(&peer, &answer));
        rounds += 1;
    }
    assert!(rounds < 5, "{rounds} rounds within one moment");
}

#[test]
fn retiring_ends_the_lease_and_publishing_begins_a_new_one() {
    let mut story = Story::new(1);
    publish(&mut story, "calc");
    let goodbye = signed(&story.apply(Input::Retire));
    assert!(goodbye.len() == 1 && goodbye[0].is_removed());
    let effects = signed(&story.pass(1));
    assert!(effects.is_empty(), "a retired site renews nothing");
    let again = signed(&publish(&mut story, "calc"));
    assert!(again.iter().any(|record| record.body() == Body::Lease));
}

#[test]
fn what_does_not_fit_is_not_signed_and_says_why() {
    let mut story = Story::with(1, Limits { records_per_site: 2, ..limits() });
    publish(&mut story, "a");
    publish(&mut story, "b");
    let effects = publish(&mut story, "c");
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Unsigned { .. })));
    let about = crate::SiteProfile { title: "x".repeat(500), ..crate::SiteProfile::default() };
    let effects = story.apply(Input::Describe(about));
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Unsigned { .. })));
}

#[test]
fn after_a_restart_the_site_goes_on_publishing_what_it_had_published() {
    let mut story = Story::new(1);
    let mut records = signed(&publish(&mut story, "calc"));
    records.extend(signed(&publish(&mut story, "echo")));
    let saved =
        Saved { at: story.now, records: records.iter().map(|record| record.bytes().to_vec()).collect() };
    let identity = Identity::new(story.site.key.clone(), story.site.work.nonce).unwrap();
    let week = Moment::exact(at(8 * 86_400));
    let (again, effects) = Catalogue::restore(identity, limits(), &saved, week, &story.rng);
    again.audit().unwrap();
    let names: Vec<String> = again.published().map(ToString::to_string).collect();
    assert_eq!(names, ["calc", "echo"]);
    let signed = signed(&effects);
    assert_eq!(signed.len(), 3, "both agents and the lease, with new times");
    assert!(signed.iter().all(|record| record.issued_at() == week.now));
}
