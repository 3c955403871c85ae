//! Stories of the words: leaving entries out early changes nothing about the best, and nothing about who was found by meaning.
//!
//! The full reckoning is the same code asked for all entries, which leaves nobody out; the finder's property compares it with the plainest one.

use proptest::prelude::*;

use super::*;
use crate::index::{Bodies, Model, Writer};
use crate::record::{Put, Record, Terms};
use crate::{Facts, ModelId};

/// A term by its number: the smaller the more frequent. Every third is a pair.
fn term(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) << 1 | u64::from(number.is_multiple_of(3))
}

/// Entries in a few segments of falling size, with terms spread as in real text, and some of them removed.
fn filled(seed: u64, sizes: &[usize]) -> Writer {
    let models = vec![Model { id: ModelId::new("none"), dimensions: 8 }];
    let (mut writer, _) = Writer::open(None, models, &|_, _, _| {}).unwrap();
    let mut state = seed | 1;
    let mut throw = |below: u64| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) % below
    };
    let mut number = 0;
    for size in sizes {
        let mut bodies = Bodies::default();
        for _ in 0..*size {
            let count = 3 + throw(30);
            let mut terms = std::collections::BTreeMap::new();
            for _ in 0..count {
                let range = 1 + throw(400);
                *terms.entry(term(throw(range))).or_insert(0u8) += 1 + u8::from(throw(8) == 0);
            }
            let terms = Terms::bytes(&terms.into_iter().collect::<Vec<_>>());
            bodies.add(&Record::Put(Put {
                id: &format!("e{number}"),
                texts_digest: 0,
                facts_digest: 0,
                facts: Facts::default(),
                terms: Terms(&terms),
                length: count as u32,
                model: "none",
                scales: Vec::new(),
                codes: &[],
                texts: b"{}",
            }));
            number += 1;
        }
        writer.commit(&bodies.finish()).unwrap();
    }
    let mut bodies = Bodies::default();
    (0..number).step_by(9).for_each(|gone| bodies.add(&Record::Remove(&format!("e{gone}"))));
    writer.commit(&bodies.finish()).unwrap();
    writer
}

fn best(mut all: Vec<Candidate>, count: usize) -> Vec<(f32, Spot)> {
    all.retain(|candidate| candidate.words > 0.0);
    all.sort_unstable_by(|a, b| b.words.total_cmp(&a.words).then(a.spot.cmp(&b.spot)));
    all.into_iter().map(|candidate| (candidate.words, candidate.spot)).take(count).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn leaving_entries_out_early_gives_the_same_best_as_looking_at_all(
        seed in any::<u64>(),
        asked in prop::collection::btree_set(0..300u64, 1..12),
        depth in 1..40usize,
        some in any::<bool>(),
    ) {
        let writer = filled(seed, &[3_000, 1_200, 500, 200]);
        let snapshot = writer.shared().snapshot();
        prop_assert!(snapshot.segments.len() > 2);
        let terms: Vec<(u64, f32)> =
            asked.iter().map(|number| (term(*number), if number.is_multiple_of(3) { 0.4 } else { 1.0 })).collect();
        let passed: Vec<Bits> = snapshot
            .segments
            .iter()
            .map(|segment| {
                let mut passed = segment.state.alive.clone();
                (0..segment.body.len()).step_by(2).filter(|_| some).for_each(|entry| {
                    passed.take(entry);
                });
                passed
            })
            .collect();
        let all = add(&snapshot, &passed, &terms, Vec::new(), usize::MAX);
        let few = add(&snapshot, &passed, &terms, Vec::new(), depth);
        let sums: Vec<f32> = best(few, depth).iter().map(|(sum, _)| *sum).collect();
        let expected: Vec<f32> = best(all.clone(), depth).iter().map(|(sum, _)| *sum).collect();
        prop_assert_eq!(sums, expected);
        // Whoever was found by meaning has the whole sum, however low.
        let near: Vec<Candidate> = all.iter().step_by(7).copied().collect();
        let mut near: Vec<Candidate> = near.into_iter().map(|known| Candidate { words: 0.0, ..known }).collect();
        near.sort_unstable_by_key(|candidate| candidate.spot);
        for known in add(&snapshot, &passed, &terms, near, depth) {
            let whole = all.iter().find(|other| other.spot == known.spot).map_or(0.0, |other| other.words);
            prop_assert!((known.words - whole).abs() <= 1e-5 * whole.max(1.0), "{} of {whole}", known.words);
        }
    }
}
