//! Scan: the entries that fit a question best, by meaning and by words.
//!
//! Promises: only entries that pass the filter are looked at. With few of them every vector is compared; with many, those whose signs differ least are
//! compared whole. Counts of terms are those of the living entries at this moment, so scores do not depend on what was removed. Every candidate has
//! both of its scores, whichever way it was found. It does not join the scores; `rank` does.

use std::collections::BTreeMap;

use super::bits::Bits;
use super::space::{Coded, Space};
use super::{Snapshot, Spot};

/// Up to so many vectors each is compared whole: 20,000 take less than a millisecond.
const EXACT: usize = 20_000;

/// How many vectors of a longer scan are compared whole. Measured at a million agents: 3,000 find 95 of 100 of the true ten best.
const RESCORED: usize = 3_000;

/// Vectors with the same number of differing signs as the last are taken too, so that order in memory does not decide; but not without end.
const RESCORED_AT_MOST: usize = 4 * RESCORED;

/// Candidates by words alone.
const BY_WORDS: usize = 1_000;

/// How fast more of the same term stops counting.
const SATURATION: f32 = 1.2;
/// How far long entries are held back.
const LENGTH_SHARE: f32 = 0.75;

/// The vector of a question in each model of the index, where there is one.
pub(crate) type Vectors<'a> = &'a [Option<Coded>];

/// An entry that may be among the best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) spot: Spot,
    /// How near its nearest vector is, from -1 to 1; `None` when it has none that can be compared.
    pub(crate) near: Option<f32>,
    /// The place of that vector among the entry's.
    pub(crate) vector: usize,
    /// The model of that vector.
    pub(crate) model: usize,
    /// The sum of its terms' scores.
    pub(crate) words: f32,
}

/// Finds candidates among the entries that `passed`, one set for each segment. Terms come with their weight in the question.
pub(crate) fn candidates(
    snapshot: &Snapshot,
    passed: &[Bits],
    vectors: Vectors<'_>,
    terms: &[(u64, f32)],
) -> Vec<Candidate> {
    let mut near = BTreeMap::new();
    for (model, query) in vectors.iter().enumerate() {
        if let Some(query) = query {
            nearest(snapshot, passed, model, query, &mut near);
        }
    }
    let mut all = by_words(snapshot, passed, terms, &mut near);
    for candidate in &mut all {
        if candidate.near.is_none() {
            compare(snapshot, vectors, candidate);
        }
    }
    all
}

/// Gives a candidate its nearest vector.
fn compare(snapshot: &Snapshot, vectors: Vectors<'_>, candidate: &mut Candidate) {
    let body = &snapshot.segments[candidate.spot.segment].body;
    for (model, query) in vectors.iter().enumerate() {
        let nearest =
            query.as_ref().and_then(|query| body.spaces[model].nearest(candidate.spot.entry, query));
        if let Some((near, vector)) = nearest {
            (candidate.near, candidate.vector, candidate.model) = (Some(near), vector, model);
        }
    }
}

/// The entries nearest in one model.
fn nearest(
    snapshot: &Snapshot,
    passed: &[Bits],
    model: usize,
    query: &Coded,
    near: &mut BTreeMap<Spot, Candidate>,
) {
    let spaces =
        || snapshot.segments.iter().map(|segment| &segment.body.spaces[model]).zip(passed).enumerate();
    let count: usize = spaces().map(|(_, (space, passed))| vectors_of(space, passed)).sum();
    let mut add = |segment: usize, space: &Space, entry: usize| {
        let spot = Spot { segment, entry };
        if let Some((found, vector)) = space.nearest(entry, query) {
            near.insert(spot, Candidate { spot, near: Some(found), vector, model, words: 0.0 });
        }
    };
    if count <= EXACT {
        for (segment, (space, passed)) in spaces() {
            passed.iter().for_each(|entry| add(segment, space, entry));
        }
        return;
    }
    let mut differences = Vec::new();
    let mut all: Vec<Vec<u16>> = Vec::with_capacity(passed.len());
    let mut histogram = vec![0usize; query.signs.len() * 64 + 1];
    for (_, (space, passed)) in spaces() {
        space.differences(query, &mut differences);
        if !passed.is_full() {
            (0..space.entries()).filter(|entry| !passed.has(*entry)).for_each(|entry| {
                space.range(entry).for_each(|vector| differences[vector] = u16::MAX);
            });
        }
        differences
            .iter()
            .filter(|count| **count != u16::MAX)
            .for_each(|count| histogram[usize::from(*count)] += 1);
        all.push(differences.clone());
    }
    let most = threshold(&histogram);
    let mut left = RESCORED_AT_MOST;
    for (segment, (space, _)) in spaces() {
        let mut last = usize::MAX;
        for (vector, _) in all[segment].iter().enumerate().filter(|(_, count)| **count <= most) {
            let entry = space.entry(vector);
            if entry != last && left > 0 {
                last = entry;
                left -= 1;
                add(segment, space, entry);
            }
        }
    }
}

fn vectors_of(space: &Space, passed: &Bits) -> usize {
    if passed.is_full() { space.len() } else { passed.iter().map(|entry| space.range(entry).len()).sum() }
}

/// The number of differing signs up to which vectors are compared whole.
fn threshold(histogram: &[usize]) -> u16 {
    let mut sum = 0;
    let reached = histogram.iter().position(|count| {
        sum += count;
        sum >= RESCORED
    });
    u16::try_from(reached.unwrap_or(histogram.len())).unwrap_or(u16::MAX - 1)
}

/// Adds the entries that fit by words, and gives everybody the score of their words.
fn by_words(
    snapshot: &Snapshot,
    passed: &[Bits],
    terms: &[(u64, f32)],
    near: &mut BTreeMap<Spot, Candidate>,
) -> Vec<Candidate> {
    let weights = rarity(snapshot, terms);
    let count = snapshot.len().max(1) as f32;
    let length: u64 = snapshot.segments.iter().map(|segment| segment.state.length).sum();
    let mean = (length as f32 / count).max(1.0);
    let mut found: Vec<(f32, Spot)> = Vec::new();
    let mut all: Vec<Candidate> = Vec::with_capacity(near.len() + BY_WORDS);
    let mut sums: Vec<f32> = Vec::new();
    for (number, segment) in snapshot.segments.iter().enumerate() {
        sums.clear();
        sums.resize(segment.body.len(), 0.0);
        let mut touched = Vec::new();
        for ((term, _), weight) in terms.iter().zip(&weights) {
            let (entries, counts) = segment.body.postings.find(*term);
            for (entry, count) in entries.iter().zip(counts) {
                let entry = usize::from(*entry);
                if passed[number].has(entry) {
                    if sums[entry] == 0.0 {
                        touched.push(entry);
                    }
                    let share = segment.body.lengths[entry] as f32 / mean;
                    let held = SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * share);
                    let count = f32::from(*count);
                    sums[entry] += weight * count * (SATURATION + 1.0) / (count + held);
                }
            }
        }
        let from = Spot { segment: number, entry: 0 };
        let to = Spot { segment: number, entry: usize::MAX };
        all.extend(
            near.range(from..=to)
                .map(|(_, candidate)| Candidate { words: sums[candidate.spot.entry], ..*candidate }),
        );
        found.extend(touched.into_iter().map(|entry| (sums[entry], Spot { segment: number, entry })));
    }
    if found.len() > BY_WORDS {
        found.select_nth_unstable_by(BY_WORDS, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        found.truncate(BY_WORDS);
    }
    found.retain(|(_, spot)| !near.contains_key(spot));
    all.extend(found.into_iter().map(|(words, spot)| Candidate {
        spot,
        near: None,
        vector: 0,
        model: 0,
        words,
    }));
    all
}

/// What a term is worth that a single entry has.
pub(crate) fn rarest(snapshot: &Snapshot) -> f32 {
    worth(snapshot.len().max(1) as f32, 1.0)
}

fn worth(all: f32, have: f32) -> f32 {
    (1.0 + (all - have + 0.5) / (have + 0.5)).ln()
}

/// What each term is worth: its weight in the question, and the more the fewer entries have it.
fn rarity(snapshot: &Snapshot, terms: &[(u64, f32)]) -> Vec<f32> {
    let all = snapshot.len() as f32;
    let of = |(term, weight): &(u64, f32)| {
        let have: usize = snapshot
            .segments
            .iter()
            .map(|segment| {
                let (entries, _) = segment.body.postings.find(*term);
                if segment.state.count == segment.body.len() {
                    entries.len()
                } else {
                    entries.iter().filter(|entry| segment.is_alive(usize::from(**entry))).count()
                }
            })
            .sum();
        let have = have as f32;
        weight * worth(all, have)
    };
    terms.iter().map(of).collect()
}
