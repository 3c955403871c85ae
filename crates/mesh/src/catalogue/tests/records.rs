//! What becomes of honest records.
//!
//! What this site publishes itself is in `own`.

use super::*;
use crate::story::at;

fn connected() -> (Story, Site) {
    let (mut story, peer) = (Story::new(1), Site::new(2));
    story.connect(&peer);
    (story, peer)
}

#[test]
fn an_agent_is_found_once_its_record_and_the_lease_of_its_site_are_there() {
    let (mut story, alice) = connected();
    let effects = story.push(&alice, &[alice.agent("calc", 1, at(0), "Adds")]);
    assert!(!story.lists(&alice, "calc"), "no lease yet");
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Upsert(_))));
    let effects = story.push(&alice, &[alice.lease(2, at(0))]);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Upsert(record) if record.seq() == 1)));
    assert!(story.lists(&alice, "calc"));
}

#[test]
fn a_record_is_stored_before_it_is_handed_on() {
    let (mut story, alice) = connected();
    let effects = story.push(&alice, &[alice.lease(1, at(0))]);
    let stored = effects.iter().position(|effect| matches!(effect, Effect::Store(_))).unwrap();
    let sent = effects.iter().position(|effect| matches!(effect, Effect::Forward { .. })).unwrap();
    assert!(stored < sent);
}

#[test]
fn a_newer_version_replaces_an_older_one_and_never_the_other_way_round() {
    let (mut story, alice) = connected();
    let (one, two) = (alice.agent("calc", 1, at(0), "one"), alice.agent("calc", 2, at(0), "two"));
    story.push(&alice, &[alice.lease(1, at(0)), two.clone()]);
    let replay = story.push(&alice, std::slice::from_ref(&one));
    assert!(story.holds(&two) && forwarded(&replay) == 0 && offences(&replay).is_empty());
    let three = alice.agent("calc", 3, at(0), "three");
    let effects = story.push(&alice, std::slice::from_ref(&three));
    assert!(story.holds(&three) && effects.iter().any(|effect| matches!(effect, Effect::Upsert(_))));
}

#[test]
fn what_is_known_is_not_handed_on_again() {
    let (mut story, alice) = connected();
    let lease = alice.lease(1, at(0));
    assert_eq!(forwarded(&story.push(&alice, std::slice::from_ref(&lease))), 1);
    assert_eq!(forwarded(&story.push(&alice, &[lease])), 0);
}

#[test]
fn a_tombstone_takes_the_agent_away_and_the_old_record_does_not_bring_it_back() {
    let (mut story, alice) = connected();
    let record = alice.agent("calc", 1, at(0), "Adds");
    story.push(&alice, &[alice.lease(1, at(0)), record.clone()]);
    let effects = story.push(&alice, &[alice.tombstone("calc", 2, at(5))]);
    let removed = |effect: &Effect| matches!(effect, Effect::Withdraw { reason: Withdrawal::Removed, .. });
    assert!(effects.iter().any(removed) && !story.lists(&alice, "calc"));
    story.push(&alice, std::slice::from_ref(&record));
    assert!(!story.lists(&alice, "calc"));
    // Six days later the tombstone is still there; after eight days both are gone, and the record has ended.
    for days in [6, 2] {
        story.pass(days * 86_400);
        story.push(&alice, &[alice.lease(9 + days, story.now), record.clone()]);
        assert!(!story.lists(&alice, "calc"));
    }
    assert_eq!(story.catalogue.len(), 1, "the lease alone");
}

#[test]
fn a_dead_site_is_gone_within_its_lease_and_comes_back_with_one_record() {
    let (mut story, alice) = connected();
    story.push(&alice, &[alice.lease(1, at(0)), alice.agent("calc", 2, at(0), "Adds")]);
    story.pass(20 * 60);
    assert!(story.lists(&alice, "calc"), "the slack for clocks");
    let effects = story.pass(2 * 60);
    let gone = |effect: &Effect| matches!(effect, Effect::Withdraw { reason: Withdrawal::SiteGone, .. });
    assert!(effects.iter().any(gone) && !story.lists(&alice, "calc"));
    let now = story.now;
    let effects = story.push(&alice, &[alice.lease(3, now)]);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Upsert(_))), "no record was sent again");
}

#[test]
fn a_site_that_retires_is_gone_at_once() {
    let (mut story, alice) = connected();
    story.push(&alice, &[alice.lease(1, at(0)), alice.agent("calc", 2, at(0), "Adds")]);
    let goodbye = alice.sign(Subject::Lease, crate::Body::Removed, 3, at(1));
    story.push(&alice, &[goodbye]);
    assert!(!story.lists(&alice, "calc"));
}

#[test]
fn a_record_that_is_not_renewed_ends() {
    let (mut story, alice) = connected();
    story.push(&alice, &[alice.agent("calc", 1, at(0), "Adds")]);
    let mut expired = Vec::new();
    for hour in 1..=49 {
        let now = story.now;
        story.push(&alice, &[alice.lease(1 + hour, now)]);
        expired = story.pass(3_600);
    }
    assert!(!story.lists(&alice, "calc"));
    assert!(expired.iter().any(|effect| matches!(effect, Effect::Remove(_))));
}

#[test]
fn what_the_settled_time_has_not_reached_is_hidden_but_kept() {
    let (mut story, alice) = connected();
    story.push(&alice, &[alice.lease(1, at(0)), alice.agent("calc", 2, at(0), "Adds")]);
    let jump = Moment { now: at(10 * 86_400), settled: at(60) };
    let effects = story.catalogue.apply(Input::Tick, jump, &story.rng);
    assert!(!story.lists(&alice, "calc") && story.catalogue.len() == 2);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Remove(_))));
    assert!(effects.iter().any(|effect| matches!(effect, Effect::WakeAt(at) if *at > jump.now)));
    let now = story.now;
    story.push(&alice, &[alice.lease(3, now)]);
    assert!(story.lists(&alice, "calc"), "the clock was set back");
}

#[test]
fn two_versions_with_one_number_are_kept_as_proof_and_everybody_keeps_the_same_one() {
    let alice = Site::new(2);
    let (one, other) = (alice.agent("calc", 5, at(0), "one"), alice.agent("calc", 5, at(0), "other"));
    let mut kept = Vec::new();
    for order in [[&one, &other], [&other, &one]] {
        let mut story = Story::new(1);
        story.connect(&alice);
        story.push(&alice, &[order[0].clone()]);
        let effects = story.push(&alice, &[order[1].clone()]);
        assert!(effects.iter().any(|effect| matches!(effect, Effect::Contradiction(_))));
        assert!(forwarded(&effects) >= 1, "others can make the proof, too");
        let proof = story.catalogue.proofs().next().unwrap().clone();
        assert!(proof.kept.contradicts(&proof.other) && story.holds(&proof.kept));
        kept.push(proof.kept.id());
        assert_eq!(forwarded(&story.push(&alice, std::slice::from_ref(&proof.other))), 0, "once");
    }
    assert_eq!(kept[0], kept[1]);
}

#[test]
fn a_restart_finds_what_was_stored_and_a_damaged_row_is_not_there() {
    let (mut story, alice) = connected();
    let effects = story.push(&alice, &[alice.lease(1, at(0)), alice.agent("calc", 2, at(0), "Adds")]);
    let mut records: Vec<Vec<u8>> = effects
        .iter()
        .filter_map(
            |effect| if let Effect::Store(record) = effect { Some(record.bytes().to_vec()) } else { None },
        )
        .collect();
    records.push(alice.agent("echo", 3, at(0), "Repeats").bytes().to_vec());
    records[2][70] ^= 1;
    records.push(b"noise".to_vec());
    let restore = |at: Timestamp| {
        let identity = Identity::new(story.site.key.clone(), story.site.work.nonce).unwrap();
        let saved = Saved { at: story.now, records: records.clone() };
        Catalogue::restore(identity, limits(), &saved, Moment::exact(at), &story.rng)
    };
    let (again, effects) = restore(at(60));
    assert_eq!(again.fingerprint(), story.catalogue.fingerprint());
    assert!(again.lists(&RecordKey::agent(alice.id, "calc".parse().unwrap())));
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Upsert(_))));
    let (later, effects) = restore(at(8 * 86_400));
    assert!(later.is_empty(), "away for longer than tombstones live");
    assert_eq!(effects.iter().filter(|effect| matches!(effect, Effect::Remove(_))).count(), 2);
}
