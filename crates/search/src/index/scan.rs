//! Scan: the candidates of a question, by meaning and by words.
//!
//! Promises: only entries that pass the filter are candidates. By words none is missed that could come among
//! the best by both, as far as none is nearer than `near` says; so most entries are never read. With less
//! [`Effort`], words find only entries with a rare one. Every candidate has both of its scores, whichever way
//! it was found. It does not order them; `rank` does.

use super::bits::Bits;
use super::candidate::{Candidate, Effort, Vectors};
use super::coded::Coded;
use super::lexical::Words;
use super::near::VectorMatches;
use super::snapshot::{EntryPosition, Snapshot};

/// Candidates by meaning and by words when each is searched separately, and the most that words alone add.
const DEPTH: usize = 1_000;

/// What candidates are for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ScanPurpose {
    /// This many of the best by similarity plus the weight of each unit of `words`. For entries without a
    /// vector, the best by words count `alone`.
    Both {
        /// How many.
        places: usize,
        /// Among this many of the best, no entry may be missed that only words find.
        sure: usize,
        /// What a unit of words counts.
        words: f32,
        /// What the best by words count where nothing can be compared.
        alone: f32,
    },
    /// At least this many of the best by meaning, and as many by words.
    Each {
        /// How many.
        places: usize,
    },
}

/// Finds candidates among the entries that `passed`, one set for each segment. Terms come with their weight
/// in the question.
pub(crate) fn candidates(
    snapshot: &Snapshot,
    passed: &[Bits],
    vectors: Vectors<'_>,
    terms: &[(u64, f32)],
    sought: ScanPurpose,
) -> Vec<Candidate> {
    let mut words = Words::of(snapshot, terms);
    let mut all = match sought {
        ScanPurpose::Each { places } => {
            let depth = places.max(DEPTH);
            let VectorMatches { mut found, .. } = VectorMatches::of(snapshot, passed, vectors, places);
            words.expect(&found);
            found.iter_mut().for_each(|near| near.words = words.score(near.spot, 0.0).unwrap_or(0.0));
            join(found, words.best(passed, 0.0, depth))
        }
        ScanPurpose::Both { places, sure, words: worth, alone } => {
            let VectorMatches { mut found, unseen } = VectorMatches::of(snapshot, passed, vectors, places);
            let bare = has_bare(snapshot, vectors);
            let quick = Effort::of(vectors) == Effort::Quick && !bare;
            let lowest = if quick {
                words.give(&mut found);
                let sums: Vec<f32> = found.iter().map(|candidate| sum(candidate, worth)).collect();
                keep_best(&mut found, &sums, nth(&sums, places));
                nth(&sums, sure)
            } else {
                words.expect(&found);
                weed(&mut found, &words, places, sure, worth)
            };
            let mut floor = unseen.map_or(f32::INFINITY, |near| (lowest - near.max(0.0)) / worth);
            if bare {
                let most = found.iter().map(|near| near.words).fold(0.0, f32::max);
                floor = floor.min(lowest / alone * most);
            }
            let others =
                if quick { words.rare(passed, floor) } else { words.best(passed, floor, places.max(DEPTH)) };
            join(found, others)
        }
    };
    for candidate in all.iter_mut().filter(|candidate| candidate.near.is_none()) {
        compare(snapshot, vectors, candidate);
    }
    all
}

/// How near a candidate is, as far as it counts.
fn near(candidate: &Candidate) -> f32 {
    candidate.near.unwrap_or(0.0).max(0.0)
}

/// By what the best by both are the best.
fn sum(candidate: &Candidate, worth: f32) -> f32 {
    near(candidate) + worth * candidate.words
}

/// Gives candidates their words, and drops those that are not among the best `places`. Gives the least sum of
/// the `sure` best, 0 when they are fewer.
fn weed(found: &mut Vec<Candidate>, words: &Words<'_>, places: usize, sure: usize, worth: f32) -> f32 {
    let order = |a: &Candidate, b: &Candidate| near(b).total_cmp(&near(a)).then(a.spot.cmp(&b.spot));
    let mut sums: Vec<f32> = Vec::with_capacity(found.len());
    let (mut lowest, mut done) = (0.0, 0);
    // The nearest first, in rounds that double: after each it is known better who cannot come among the best
    // any more.
    while done < found.len() {
        let round = done.max(places).min(found.len() - done);
        if done + round < found.len() {
            found[done..].select_nth_unstable_by(round, order);
        }
        for place in done..done + round {
            let mut candidate = found[place];
            let least = (lowest - near(&candidate)) / worth;
            let Some(score) = words.score(candidate.spot, least) else { continue };
            candidate.words = score;
            found[sums.len()] = candidate;
            sums.push(sum(&candidate, worth));
        }
        done += round;
        lowest = nth(&sums, places);
    }
    found.truncate(sums.len());
    keep_best(found, &sums, lowest);
    nth(&sums, sure)
}

/// Leaves out whose sum is below the lowest.
fn keep_best(found: &mut Vec<Candidate>, sums: &[f32], lowest: f32) {
    let mut left = sums.iter();
    found.retain(|_| left.next().is_some_and(|sum| *sum >= lowest));
}

/// The number that is so far from the highest; 0 when they are fewer.
fn nth(numbers: &[f32], place: usize) -> f32 {
    let Some(place) = place.checked_sub(1).filter(|place| *place < numbers.len()) else { return 0.0 };
    let mut numbers = numbers.to_vec();
    *numbers.select_nth_unstable_by(place, |a, b| b.total_cmp(a)).1
}

/// Adds entries found by words that are missing.
fn join(mut all: Vec<Candidate>, found: Vec<(f32, EntryPosition)>) -> Vec<Candidate> {
    if found.is_empty() {
        return all;
    }
    let mut known: Vec<EntryPosition> = all.iter().map(|candidate| candidate.spot).collect();
    known.sort_unstable();
    let new = found.into_iter().filter(|(_, spot)| known.binary_search(spot).is_err());
    all.extend(new.map(|(words, spot)| Candidate { spot, near: None, vector: 0, model: 0, words }));
    all
}

/// Whether an entry may have no vector that can be compared.
fn has_bare(snapshot: &Snapshot, vectors: Vectors<'_>) -> bool {
    let mut bodies = snapshot.segments.iter().map(|segment| &segment.body);
    bodies.any(|body| {
        let lacks = |(model, query): (usize, &Option<Coded>)| query.is_none() && body.spaces[model].len() > 0;
        body.bare || vectors.iter().enumerate().any(lacks)
    })
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
