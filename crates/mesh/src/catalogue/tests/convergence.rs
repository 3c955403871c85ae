//! Properties: order and repetition do not matter, limits hold, and only the owner writes.
//!
//! Properties over random orders, losses and repetitions.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::story::at;

/// Records of six sites: several versions, contradictions, tombstones, leases; some without much work.
static RECORDS: LazyLock<Vec<Arc<Record>>> = LazyLock::new(|| {
    let mut records = Vec::new();
    for site in (1..=6).map(|number| Site::with_work(number, 3 + u32::try_from(number).unwrap())) {
        records.extend([site.lease(1, at(0)), site.lease(2, at(1))]);
        for name in ["a", "b", "c", "d"] {
            records.extend([
                site.agent(name, 1, at(0), "one"),
                site.agent(name, 2, at(0), "two"),
                site.agent(name, 2, at(0), "another two"),
            ]);
        }
        records.push(site.tombstone("c", 3, at(2)));
    }
    records
});

/// A catalogue after these records, in this order.
fn after(order: &[usize], limits: Limits) -> Catalogue {
    let (mut story, relay) = (Story::with(50, limits), Site::new(60));
    story.connect(&relay);
    for place in order {
        let batch = Batch::of(&[RECORDS[*place].clone()]);
        story.apply(Input::Received { peer: relay.id, message: Message::Push(batch) });
    }
    story.catalogue
}

fn roomy() -> Limits {
    Limits { work_bits: 4, ..Limits::default() }
}

fn shuffled() -> impl Strategy<Value = Vec<usize>> {
    Just((0..RECORDS.len()).collect::<Vec<_>>()).prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn order_and_repetition_do_not_matter(
        order in shuffled(),
        repeated in proptest::collection::vec(0..RECORDS.len(), 0..40),
    ) {
        let reference = after(&(0..RECORDS.len()).collect::<Vec<_>>(), roomy());
        let other = after(&[order, repeated].concat(), roomy());
        prop_assert_eq!(reference.fingerprint(), other.fingerprint());
        prop_assert!(reference.listed().eq(other.listed()));
    }

    #[test]
    fn order_does_not_matter_either_when_there_is_not_room_for_all(order in shuffled()) {
        let tight = Limits { records: 17, records_per_site: 4, ..roomy() };
        let reference = after(&(0..RECORDS.len()).collect::<Vec<_>>(), tight);
        let other = after(&order, tight);
        prop_assert!(other.len() <= 17);
        prop_assert_eq!(reference.fingerprint(), other.fingerprint());
    }

    #[test]
    fn no_record_of_a_site_is_held_that_it_did_not_sign(
        victim in 0..RECORDS.len(),
        thief in 0..RECORDS.len(),
        place in 64_usize..400,
        byte: u8,
    ) {
        let (record, other) = (&RECORDS[victim], &RECORDS[thief]);
        let mut bytes = record.bytes().to_vec();
        bytes[..64].copy_from_slice(&other.bytes()[..64]);
        let place = place % bytes.len();
        bytes[place] = byte;
        let (mut story, relay) = (Story::with(50, roomy()), Site::new(60));
        story.connect(&relay);
        let batch = Batch { records: vec![Candidate::Raw(bytes.clone().into())], oversized: 0 };
        story.apply(Input::Received { peer: relay.id, message: Message::Push(batch) });
        let genuine = RECORDS.iter().any(|record| record.bytes() == bytes);
        prop_assert_eq!(story.catalogue.len(), usize::from(genuine));
    }

    #[test]
    fn no_input_exceeds_a_limit(inputs in proptest::collection::vec((0_u8..9, 0..RECORDS.len(), 0_u64..900), 1..80)) {
        let tight = Limits {
            records: 10, records_per_site: 3, refused: 5, proofs: 2, peers: 2, push_burst: 20, ..roomy()
        };
        let mut story = Story::with(50, tight);
        for (kind, place, number) in inputs {
            let peer = Site::new(60 + number % 4).id;
            let record = RECORDS[place].clone();
            let message = match number % 5 {
                0 => Message::Query(crate::reconcile::open(&crate::reconcile::RangeSet::default())),
                1 => Message::Have(vec![record.id()]),
                2 => Message::Want(vec![record.id()]),
                3 => Message::Give { batch: Batch::of(std::slice::from_ref(&record)), total: 1 },
                _ => Message::Answer(vec![0x61]),
            };
            let name = format!("own-{}", number % 5).parse().unwrap();
            // The story audits all invariants after each input.
            match kind {
                0 | 1 => story.apply(Input::Connected { peer }),
                2 => story.apply(Input::Gone { peer }),
                3 => story.pass(number),
                4 => story.apply(Input::Publish { name, profile: crate::story::profile("own", "Ours") }),
                5 => story.apply(Input::Unpublish { name }),
                6 => story.apply(Input::Received { peer, message }),
                7 => story.apply(if number % 7 == 0 { Input::Retire } else { Input::Unreadable { peer } }),
                _ => story.apply(Input::Received { peer, message: Message::Push(Batch::of(&[record])) }),
            };
        }
    }
}
