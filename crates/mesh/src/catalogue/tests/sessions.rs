//! Two catalogues that talk until both hold the same.
//!
//! Frames themselves are tested in `reconcile`.

use super::*;
use crate::story::{at, profile};

/// Two catalogues and the messages between them, all as bytes.
struct Pair {
    stories: [Story; 2],
    bytes: usize,
    messages: usize,
    synced: usize,
}

impl Pair {
    fn new(one: Story, other: Story) -> Self {
        Self { stories: [one, other], bytes: 0, messages: 0, synced: 0 }
    }

    /// Connects both and lets them talk until neither has anything to say.
    fn connect(&mut self) {
        let sites = [self.stories[0].site.clone(), self.stories[1].site.clone()];
        let mut under_way = Vec::new();
        for (place, story) in self.stories.iter_mut().enumerate() {
            let effects = story.connect(&sites[1 - place]);
            under_way.push((place, effects));
        }
        self.run(under_way, &sites);
    }

    fn run(&mut self, mut under_way: Vec<(usize, Vec<Effect>)>, sites: &[Site; 2]) {
        while let Some((from, effects)) = under_way.pop() {
            let to = 1 - from;
            for effect in effects {
                match effect {
                    Effect::Send { message, .. } => {
                        let bytes = message.encode();
                        self.bytes += bytes.len();
                        self.messages += 1;
                        let message = Message::decode(&bytes).unwrap();
                        let input = Input::Received { peer: sites[from].id, message };
                        under_way.insert(0, (to, self.stories[to].apply(input)));
                    }
                    Effect::Synced { .. } => self.synced += 1,
                    Effect::Score { offence, .. } => panic!("{offence:?} among honest sites"),
                    _ => {}
                }
            }
        }
    }

    fn is_equal(&self) -> bool {
        self.stories[0].catalogue.fingerprint() == self.stories[1].catalogue.fingerprint()
    }
}

/// A catalogue that knows some sites, each with a lease and an agent.
fn knowing(number: u64, sites: std::ops::Range<u64>) -> Story {
    let mut story = Story::new(number);
    let relay = Site::new(9_999);
    story.connect(&relay);
    for site in sites.map(Site::new) {
        story.push(&relay, &[site.lease(1, at(0)), site.agent("calc", 2, at(0), "Adds")]);
    }
    story.apply(Input::Gone { peer: relay.id });
    story
}

#[test]
fn a_late_joiner_knows_everything_after_one_session() {
    let mut pair = Pair::new(Story::new(1), knowing(2, 100..700));
    pair.connect();
    assert!(pair.is_equal() && pair.synced >= 1);
    assert_eq!(pair.stories[0].catalogue.listed().count(), 600);
}

#[test]
fn both_sides_of_a_healed_partition_hold_the_union() {
    let mut pair = Pair::new(knowing(1, 100..400), knowing(2, 300..600));
    pair.connect();
    assert!(pair.is_equal());
    assert_eq!(pair.stories[0].catalogue.len(), 1_000);
}

#[test]
fn equal_copies_exchange_two_short_messages() {
    let mut pair = Pair::new(knowing(1, 100..400), knowing(2, 100..400));
    pair.connect();
    assert!(pair.is_equal());
    assert!(pair.bytes < 1_000, "{} bytes", pair.bytes);
}

#[test]
fn newer_versions_win_on_both_sides_and_tombstones_spread() {
    let (alice, relay) = (Site::new(500), Site::new(9_999));
    let (mut one, mut other) = (knowing(1, 100..110), knowing(2, 100..110));
    one.connect(&relay);
    other.connect(&relay);
    one.push(
        &relay,
        &[alice.lease(1, at(0)), alice.agent("a", 5, at(0), "new"), alice.agent("b", 2, at(0), "old")],
    );
    other.push(
        &relay,
        &[alice.lease(1, at(0)), alice.agent("a", 4, at(0), "old"), alice.tombstone("b", 3, at(1))],
    );
    one.apply(Input::Gone { peer: relay.id });
    other.apply(Input::Gone { peer: relay.id });
    let mut pair = Pair::new(one, other);
    pair.connect();
    assert!(pair.is_equal());
    for story in &pair.stories {
        assert!(story.lists(&alice, "a") && !story.lists(&alice, "b"));
        assert_eq!(story.catalogue.get(&RecordKey::agent(alice.id, "a".parse().unwrap())).unwrap().seq(), 5);
    }
}

#[test]
fn a_session_that_stalls_is_given_up_and_the_next_one_goes_on() {
    let (mut story, silent) = (knowing(1, 100..110), Site::new(2));
    let asks = |effects: &[Effect]| {
        effects.iter().any(|effect| matches!(effect, Effect::Send { message: Message::Query(_), .. }))
    };
    assert!(asks(&story.connect(&silent)));
    assert!(!asks(&story.pass(5)), "it still waits");
    let asked = (0..10).filter(|_| asks(&story.pass(10))).count();
    assert!((2..=5).contains(&asked), "about every half minute: {asked}");
}

#[test]
fn a_clock_hours_ahead_asks_once_for_what_it_takes_to_have_ended() {
    let (mut ahead, full) = (Story::new(1), knowing(2, 100..300));
    ahead.now = at(3 * 3_600);
    let mut pair = Pair::new(ahead, full);
    pair.connect();
    let first = pair.bytes;
    assert_eq!(pair.stories[0].catalogue.len(), 200, "the records hold, the leases do not");
    assert_eq!(pair.stories[0].catalogue.listed().count(), 0);
    let sites = [pair.stories[0].site.clone(), pair.stories[1].site.clone()];
    pair.stories[0].now = pair.stories[0].now.plus(std::time::Duration::from_secs(60));
    let effects = pair.stories[0].apply(Input::Tick);
    pair.run(vec![(0, effects)], &sites);
    assert!(pair.bytes - first < first / 5, "{first} bytes, then {}", pair.bytes - first);
}

#[test]
fn changes_during_a_session_do_no_harm() {
    let (mut one, mut other) = (knowing(1, 100..140), knowing(2, 120..160));
    for (story, name) in [(&mut one, "left"), (&mut other, "right")] {
        story.apply(Input::Publish { name: name.parse().unwrap(), profile: profile(name, "New") });
    }
    let mut pair = Pair::new(one, other);
    pair.connect();
    assert!(pair.is_equal());
    assert!(pair.messages < 40, "{} messages", pair.messages);
}

#[test]
fn what_two_sessions_at_once_ask_for_is_all_taken() {
    let (mut story, alice) = (Story::new(1), Site::new(2));
    story.connect(&alice);
    // More than may be pushed at once.
    let records: Vec<_> = (0..40)
        .flat_map(|number| {
            let site = Site::new(100 + number);
            (1..=200).map(move |agent| site.agent(&format!("agent-{agent}"), agent, at(0), "Adds"))
        })
        .collect();
    let push = |story: &mut Story, message| story.apply(Input::Received { peer: alice.id, message });
    for piece in records.chunks(200) {
        let (ours, theirs) = piece.split_at(100);
        let ids = |records: &[Arc<Record>]| records.iter().map(|record| record.id()).collect::<Vec<_>>();
        // She offers some in her session, while ours asks for others.
        push(&mut story, Message::Have(ids(theirs)));
        story.catalogue.peers.get_mut(&alice.id).unwrap().wanted = ids(ours).into_iter().collect();
        for batch in batches([theirs, ours].concat()) {
            push(&mut story, Message::Give { batch, total: 200 });
        }
    }
    assert_eq!(story.catalogue.len(), records.len());
}
