//! Stories of the words: leaving entries out early changes nothing about the best, nor does the way in which
//! a sum is computed.
//!
//! The finder's property compares sums with the simplest computation over texts.

use proptest::prelude::*;

use super::*;
use crate::index::{Bodies, Model, Writer};
use crate::index_change::{IndexChange, Put, Terms};
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
            bodies.add(&IndexChange::Put(Put {
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
    (0..number).step_by(9).for_each(|gone| bodies.add(&IndexChange::Remove(&format!("e{gone}"))));
    writer.commit(&bodies.finish()).unwrap();
    writer
}

/// The sum of every entry that passed, the highest first.
fn reckon(words: &Words<'_>, snapshot: &Snapshot, passed: &[Bits]) -> Vec<(f32, EntryPosition)> {
    let spots = passed
        .iter()
        .enumerate()
        .flat_map(|(segment, passed)| passed.iter().map(move |entry| EntryPosition { segment, entry }));
    let mut all: Vec<(f32, EntryPosition)> = spots.map(|spot| (full(words, snapshot, spot), spot)).collect();
    all.retain(|(sum, _)| *sum > 0.0);
    all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    all
}

/// The sum of an entry by the definition.
fn full(words: &Words<'_>, snapshot: &Snapshot, spot: EntryPosition) -> f32 {
    let length = snapshot.segments[spot.segment].body.lengths[spot.entry];
    let gain = |term: &Term<'_>| match term.lists[spot.segment].times(spot.entry as u16) {
        0 => 0.0,
        times => term.weight * words.gains.gain(times, length),
    };
    words.terms.iter().map(gain).sum()
}

fn close(one: f32, other: f32) -> bool {
    (one - other).abs() <= 1e-5 * other.max(1.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn leaving_entries_out_early_gives_the_same_best_as_looking_at_all(
        seed in any::<u64>(),
        asked in prop::collection::btree_set(0..300u64, 1..12),
        depth in 1..40usize,
        some in any::<bool>(),
        share in 0f32..1.2,
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
        let mut words = Words::of(&snapshot, &terms);
        let all = reckon(&words, &snapshot, &passed);
        let highest = all.first().map_or(0.0, |(sum, _)| *sum);
        for floor in [0.0, share * highest] {
            let mut found = words.best(&passed, floor, depth);
            found.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            // Entries just under the floor may be found too.
            let expected: Vec<f32> = all.iter().map(|(sum, _)| *sum).take_while(|sum| *sum >= floor).take(depth).collect();
            prop_assert!(found.len() >= expected.len());
            prop_assert!(found.iter().zip(&expected).all(|((sum, _), expected)| close(*sum, *expected)));
            // Entries with a rare word are found by it.
            let rare = |spot: &EntryPosition| words.terms.iter().map(|term| &term.lists[spot.segment]).any(|list| list.count() <= FEW && list.times(spot.entry as u16) > 0);
            let mut found: Vec<EntryPosition> = words.rare(&passed, floor).into_iter().map(|(_, spot)| spot).collect();
            found.retain(|spot| full(&words, &snapshot, *spot) >= floor);
            let mut expected: Vec<EntryPosition> = all.iter().filter(|(sum, spot)| *sum >= floor && rare(spot)).map(|(_, spot)| *spot).collect();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
        // One by one, or read at once where many are asked for, every entry has the same bits; no entry that
        // reaches the bound is left out.
        let many: Vec<Candidate> =
            all.iter().map(|(_, spot)| Candidate { spot: *spot, near: None, vector: 0, model: 0, words: 0.0 }).collect();
        let alone: Vec<Option<f32>> = all.iter().map(|(_, spot)| words.score(*spot, 0.0)).collect();
        for (sum, spot) in &all {
            prop_assert!(words.score(*spot, *sum).is_some_and(|found| close(found, *sum)));
            prop_assert_eq!(words.score(*spot, 2.0 * words.left.iter().sum::<f32>()), None);
        }
        let mut ordered = many.clone();
        ordered.sort_unstable_by_key(|candidate| candidate.spot);
        words.give(&mut ordered);
        prop_assert!(ordered.iter().all(|candidate| words.score(candidate.spot, 0.0) == Some(candidate.words)));
        words.expect(&many);
        let together: Vec<Option<f32>> = all.iter().map(|(_, spot)| words.score(*spot, 0.0)).collect();
        prop_assert_eq!(alone, together);
    }
}
