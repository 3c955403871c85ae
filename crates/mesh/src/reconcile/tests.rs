//! What reconciliation promises: the union, within bounded frames, and the same as the other implementation.
//!
//! Our side runs against itself and against the reference implementation.

use std::collections::BTreeSet;

use negentropy::{Id, Negentropy, NegentropyStorageVector};
use proptest::prelude::*;

use super::*;

fn item(number: u64) -> Item {
    // Ten items share a millisecond, so that bounds by id are needed.
    Item { at: 1_700_000_000_000 + number / 10, id: RecordId::of(&number.to_be_bytes()) }
}

fn set(numbers: impl IntoIterator<Item = u64>) -> RangeSet {
    let mut set = RangeSet::default();
    numbers.into_iter().for_each(|number| {
        set.insert(item(number));
    });
    set
}

fn ids(numbers: impl IntoIterator<Item = u64>) -> BTreeSet<RecordId> {
    numbers.into_iter().map(|number| item(number).id).collect()
}

/// Runs a session to its end: what the initiator has alone, what the responder has alone, rounds, bytes.
fn session(
    initiator: &RangeSet,
    responder: &RangeSet,
) -> (BTreeSet<RecordId>, BTreeSet<RecordId>, usize, usize) {
    let (mut have, mut need) = (BTreeSet::new(), BTreeSet::new());
    let (mut next, mut rounds, mut bytes) = (Some(open(initiator)), 0, 0);
    while let Some(query) = next {
        let reply = answer(responder, &query).unwrap();
        bytes += query.len() + reply.len();
        assert!(query.len() <= MAX_FRAME && reply.len() <= MAX_FRAME);
        let progress = advance(initiator, &reply).unwrap();
        have.extend(progress.have);
        need.extend(progress.need);
        next = progress.next;
        rounds += 1;
        assert!(rounds < 1_000, "a session ends");
    }
    (have, need, rounds, bytes)
}

#[test]
fn equal_sets_take_one_short_round() {
    let set = set(0..10_000);
    let (have, need, rounds, bytes) = session(&set, &set.clone());
    assert!(have.is_empty() && need.is_empty());
    assert_eq!(rounds, 1);
    assert!(bytes < 500, "{bytes} bytes");
}

#[test]
fn a_late_joiner_learns_everything_in_bounded_frames() {
    let full = set(0..20_000);
    let (have, need, rounds, _) = session(&RangeSet::default(), &full);
    assert!(have.is_empty());
    assert_eq!(need, ids(0..20_000));
    assert!(rounds <= 12, "{rounds} rounds of at most 1,870 ids");
    let (have, need, ..) = session(&full, &RangeSet::default());
    assert_eq!((have, need), (ids(0..20_000), ids([])));
}

#[test]
fn recent_differences_cost_little_whatever_the_size() {
    let cost = |size: u64| {
        let (_, need, _, bytes) = session(&set(0..size), &set(0..size + 50));
        assert_eq!(need.len(), 50);
        bytes
    };
    let (small, large) = (cost(1_000), cost(100_000));
    assert!(large < small * 2, "{small} bytes at 1,000 and {large} at 100,000");
}

#[test]
fn frames_of_others_that_make_no_sense_are_refused() {
    let set = set(0..100);
    for (frame, why) in [
        (&[][..], BadFrame::Malformed),
        (&[0x60][..], BadFrame::Version),
        (&[0x61, 0, 0][..], BadFrame::Malformed),
        (&[0x61, 0, 0, 3][..], BadFrame::Malformed),
        (&[0x61, 0, 33][..], BadFrame::Malformed),
        (&[0x61, 0, 0, 0, 0, 0, 0][..], BadFrame::Order),
        (&[0x61, 5, 0, 0, 1, 0, 0][..], BadFrame::Order),
        (&[0x61, 0, 0, 2, 0xff, 0xff, 0x7f][..], BadFrame::Malformed),
    ] {
        assert_eq!(answer(&set, frame).unwrap_err(), why, "{frame:?}");
        assert_eq!(advance(&set, frame).unwrap_err(), why, "{frame:?}");
    }
    assert_eq!(answer(&set, &vec![0x61; MAX_FRAME + 1]).unwrap_err(), BadFrame::TooLong);
}

fn storage(set: &RangeSet) -> NegentropyStorageVector {
    let mut storage = NegentropyStorageVector::new();
    for item in set.items(0..set.len()) {
        storage.insert(item.at, Id::from_byte_array(*item.id.as_bytes())).unwrap();
    }
    storage.seal().unwrap();
    storage
}

/// The other implementation begins, and we answer.
fn session_begun_by_the_other(
    theirs: &RangeSet,
    ours: &RangeSet,
) -> (BTreeSet<RecordId>, BTreeSet<RecordId>) {
    let storage = storage(theirs);
    let mut client = Negentropy::borrowed(&storage, MAX_FRAME as u64).unwrap();
    let (mut have, mut need) = (Vec::new(), Vec::new());
    let mut next = Some(client.initiate().unwrap());
    while let Some(query) = next {
        let reply = answer(ours, &query).unwrap();
        next = client.reconcile_with_ids(&reply, &mut have, &mut need).unwrap();
    }
    let read = |ids: Vec<Id>| ids.into_iter().map(|id| RecordId::from_bytes(id.to_bytes())).collect();
    (read(have), read(need))
}

/// We begin, and the other implementation answers.
fn session_answered_by_the_other(
    ours: &RangeSet,
    theirs: &RangeSet,
) -> (BTreeSet<RecordId>, BTreeSet<RecordId>) {
    let storage = storage(theirs);
    let (mut have, mut need) = (BTreeSet::new(), BTreeSet::new());
    let mut next = Some(open(ours));
    while let Some(query) = next {
        let reply = Negentropy::borrowed(&storage, MAX_FRAME as u64).unwrap().reconcile(&query).unwrap();
        let progress = advance(ours, &reply).unwrap();
        have.extend(progress.have);
        need.extend(progress.need);
        next = progress.next;
    }
    (have, need)
}

#[test]
fn the_other_implementation_finds_the_same_differences() {
    let cases =
        [(0..0, 0..3_000), (0..3_000, 0..0), (0..5_000, 700..5_900), (0..300, 290..310), (0..9, 0..9)];
    for (one, other) in cases {
        let (left, right) = (set(one.clone()), set(other.clone()));
        let wanted = (&ids(one.clone()) - &ids(other.clone()), &ids(other) - &ids(one));
        assert_eq!(session_begun_by_the_other(&left, &right), wanted);
        assert_eq!(session_answered_by_the_other(&left, &right), wanted);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_session_finds_exactly_the_differences(
        shared in proptest::collection::btree_set(0_u64..4_000, 0..1_500),
        left in proptest::collection::btree_set(4_000_u64..6_000, 0..300),
        right in proptest::collection::btree_set(6_000_u64..8_000, 0..300),
        scatter: u64,
    ) {
        let place = |number: &u64| number.wrapping_mul(scatter | 1) % 100_003;
        let of = |more: &BTreeSet<u64>| -> BTreeSet<u64> { shared.iter().chain(more).map(place).collect() };
        let (one, other) = (of(&left), of(&right));
        let (have, need, ..) = session(&set(one.iter().copied()), &set(other.iter().copied()));
        prop_assert_eq!(have, ids(one.difference(&other).copied()));
        prop_assert_eq!(need, ids(other.difference(&one).copied()));
    }

    #[test]
    fn small_frames_find_the_same(
        left in proptest::collection::btree_set(0_u64..2_000, 0..900),
        right in proptest::collection::btree_set(0_u64..2_000, 0..900),
    ) {
        let (one, other) = (set(left.iter().copied()), set(right.iter().copied()));
        let (mut have, mut need) = (BTreeSet::new(), BTreeSet::new());
        let mut next = Some(open(&one));
        let mut rounds = 0;
        while let Some(query) = next {
            let reply = compare(&other, &query, 4_096, None).unwrap();
            prop_assert!(reply.len() <= 4_096);
            let mut progress = Progress::default();
            let frame = compare(&one, &reply, 4_096, Some(&mut progress)).unwrap();
            have.extend(progress.have);
            need.extend(progress.need);
            next = (frame.len() > 1).then_some(frame);
            rounds += 1;
            prop_assert!(rounds < 500);
        }
        prop_assert_eq!(have, ids(left.difference(&right).copied()));
        prop_assert_eq!(need, ids(right.difference(&left).copied()));
    }

    #[test]
    fn no_frame_makes_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let set = set(0..200);
        let frame = [&[0x61][..], &bytes].concat();
        let _ = answer(&set, &frame);
        let _ = advance(&set, &frame);
    }

    #[test]
    fn fingerprints_do_not_depend_on_the_order_of_changes(
        kept in proptest::collection::btree_set(0_u64..5_000, 0..1_200),
        gone in proptest::collection::btree_set(5_000_u64..9_000, 0..1_200),
        from in 0.0..1.0,
        to in 0.0..1.0,
    ) {
        let plain = set(kept.iter().copied());
        let mut changed = set(gone.iter().chain(&kept).rev().copied());
        gone.iter().for_each(|number| assert!(changed.remove(&item(*number)) && !changed.remove(&item(*number))));
        prop_assert_eq!(plain.len(), changed.len());
        let place = |share: f64| (plain.len() as f64 * share) as usize;
        let range = place(from).min(place(to))..place(from).max(place(to));
        prop_assert_eq!(plain.fingerprint(range.clone()), changed.fingerprint(range.clone()));
        prop_assert!(plain.items(range.clone()).eq(changed.items(range)));
    }
}
