//! Scan: the entries that fit a question best, by meaning and by words.
//!
//! Promises: only entries that pass the filter are looked at. With few of them every vector is compared; with many, those whose signs differ least are
//! compared whole. Counts of terms are those of the living entries at this moment, so scores do not depend on what was removed. Every candidate has
//! both of its scores, whichever way it was found. It does not join the scores; `rank` does.

use super::bits::Bits;
use super::space::{Coded, Space};
use super::{Snapshot, Spot};

/// Up to so many vectors each is compared whole: 20,000 take less than a millisecond.
const EXACT: usize = 20_000;

/// How many vectors of a longer scan are compared whole. Measured at a million agents: 3,000 find 95 of 100 of the true ten best.
const RESCORED: usize = 3_000;

/// Vectors with the same number of differing signs as the last are taken too, so that order in memory does not decide; but not more than so many
/// times what is wanted.
const MOST_TIES: usize = 4;

/// Vectors looked at before the bound is set anew: few enough that what is between stays near the processor.
const BLOCK: usize = 4096;

/// Numbers that are passed over at one look when none of them counts.
const LOOK: usize = 64;

/// Candidates by meaning, and by words; more when a later page is asked for.
const DEPTH: usize = 1_000;

/// Lengths up to here are looked up.
const SHORT: u16 = 1024;

/// How fast more of the same term stops counting.
const SATURATION: f32 = 1.2;
/// What a term of weight 1 is worth at most.
const MOST_GAIN: f32 = SATURATION + 1.0;
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

/// Finds candidates among the entries that `passed`, one set for each segment: at least `depth` by meaning and as many by words, where there are so
/// many. Terms come with their weight in the question.
pub(crate) fn candidates(
    snapshot: &Snapshot,
    passed: &[Bits],
    vectors: Vectors<'_>,
    terms: &[(u64, f32)],
    depth: usize,
) -> Vec<Candidate> {
    let depth = depth.max(DEPTH).min(snapshot.len().max(1));
    let mut near = Vec::new();
    for (model, query) in vectors.iter().enumerate() {
        if let Some(query) = query {
            near.extend(nearest(snapshot, passed, model, query, depth));
        }
    }
    near.sort_unstable_by_key(|candidate: &Candidate| candidate.spot);
    let mut all = by_words(snapshot, passed, terms, near, depth);
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
    depth: usize,
) -> Vec<Candidate> {
    let spaces: Vec<&Space> = snapshot.segments.iter().map(|segment| &segment.body.spaces[model]).collect();
    let count: usize = spaces.iter().zip(passed).map(|(space, passed)| space.count(passed)).sum();
    let candidate = |spot: Spot| {
        let (near, vector) = spaces[spot.segment].nearest(spot.entry, query)?;
        Some(Candidate { spot, near: Some(near), vector, model, words: 0.0 })
    };
    let mut found: Vec<Candidate> = if count <= EXACT {
        let spots = passed
            .iter()
            .enumerate()
            .flat_map(|(segment, passed)| passed.iter().map(move |entry| Spot { segment, entry }));
        spots.filter_map(candidate).collect()
    } else {
        alike(&spaces, passed, query, depth).into_iter().filter_map(candidate).collect()
    };
    if found.len() > depth {
        let order = |a: &Candidate, b: &Candidate| {
            b.near.unwrap_or(-1.0).total_cmp(&a.near.unwrap_or(-1.0)).then(a.spot.cmp(&b.spot))
        };
        found.select_nth_unstable_by(depth, order);
        found.truncate(depth);
    }
    found
}

/// The entries with the vectors whose signs differ least from the query's. One pass; the bound falls while enough are found, so that nearly all
/// vectors are passed over after one look.
fn alike(spaces: &[&Space], passed: &[Bits], query: &Coded, depth: usize) -> Vec<Spot> {
    let wanted = RESCORED.max(depth.saturating_mul(2));
    let mut most = query.signs.len() * 64;
    let mut histogram = vec![0usize; most + 1];
    let (mut under, mut kept, mut differences) = (0, Vec::new(), Vec::with_capacity(BLOCK));
    for (segment, space) in spaces.iter().enumerate() {
        for from in (0..space.len()).step_by(BLOCK) {
            space.differences(from..space.len().min(from + BLOCK), query, &mut differences);
            for (part, counts) in differences.chunks(LOOK).enumerate() {
                if counts.iter().fold(u16::MAX, |least, count| least.min(*count)) as usize > most {
                    continue;
                }
                for (place, count) in counts.iter().enumerate().filter(|(_, count)| **count as usize <= most)
                {
                    let entry = space.entry(from + part * LOOK + place);
                    if passed[segment].has(entry) {
                        kept.push((*count, Spot { segment, entry }));
                        histogram[usize::from(*count)] += 1;
                        under += 1;
                    }
                }
            }
            while under - histogram[most] >= wanted {
                under -= histogram[most];
                most -= 1;
            }
        }
    }
    kept.retain(|(count, _)| usize::from(*count) <= most);
    let mut spots: Vec<Spot> = kept.into_iter().map(|(_, spot)| spot).collect();
    spots.dedup();
    spots.truncate(wanted.saturating_mul(MOST_TIES));
    spots
}

/// Adds the entries that fit by words, and gives everybody the score of their words.
fn by_words(
    snapshot: &Snapshot,
    passed: &[Bits],
    terms: &[(u64, f32)],
    mut near: Vec<Candidate>,
    depth: usize,
) -> Vec<Candidate> {
    let weights = rarity(snapshot, terms);
    let gains = Gains::of(snapshot);
    let mut best = Best { found: Vec::new(), floor: 0.0, depth };
    let mut sums: Vec<f32> = Vec::new();
    let mut known = near.as_mut_slice();
    for (number, segment) in snapshot.segments.iter().enumerate() {
        let body = &segment.body;
        sums.clear();
        sums.resize(body.len(), 0.0);
        let here = known.partition_point(|candidate| candidate.spot.segment == number);
        let (here, rest) = known.split_at_mut(here);
        known = rest;
        // Terms that cannot lift anybody over the floor together are counted only for those who matter already.
        let mut left: f32 = weights.iter().map(|(_, weight)| weight * MOST_GAIN).sum();
        let mut marks: Option<Bits> = None;
        for (term, weight) in &weights {
            if marks.is_none() && left <= best.floor {
                marks = Some(best.contenders(&sums, left, here));
            }
            left -= weight * MOST_GAIN;
            for (entry, count) in body.postings.find(*term).iter() {
                let entry = usize::from(entry);
                if marks.as_ref().is_none_or(|marks| marks.has(entry)) {
                    sums[entry] += weight * gains.gain(count, body.lengths[entry]);
                }
            }
        }
        here.iter_mut().for_each(|candidate| candidate.words = sums[candidate.spot.entry]);
        best.take(number, &sums, &passed[number]);
    }
    let mut found = best.finish();
    found.retain(|(_, spot)| near.binary_search_by_key(spot, |candidate| candidate.spot).is_err());
    near.extend(found.into_iter().map(|(words, spot)| Candidate {
        spot,
        near: None,
        vector: 0,
        model: 0,
        words,
    }));
    near
}

/// The entries with the highest sums.
struct Best {
    found: Vec<(f32, Spot)>,
    /// Lower sums are not among the best.
    floor: f32,
    depth: usize,
}

impl Best {
    /// Candidates, and the entries that come over the floor if they get `left` more.
    fn contenders(&self, sums: &[f32], left: f32, candidates: &[Candidate]) -> Bits {
        let mut marks = Bits::none(sums.len());
        candidates.iter().for_each(|candidate| marks.add(candidate.spot.entry));
        // A little below, because sums of floating-point numbers depend on their order.
        let floor = (self.floor - left) * 0.999;
        for (part, some) in sums.chunks(LOOK).enumerate() {
            if some.iter().fold(0f32, |most, sum| if *sum > most { *sum } else { most }) >= floor {
                let over = some.iter().enumerate().filter(|(_, sum)| **sum >= floor);
                over.for_each(|(place, _)| marks.add(part * LOOK + place));
            }
        }
        marks
    }

    /// Looks at the sums of a segment.
    fn take(&mut self, segment: usize, sums: &[f32], passed: &Bits) {
        for (part, some) in sums.chunks(LOOK).enumerate() {
            if some.iter().fold(0f32, |most, sum| if *sum > most { *sum } else { most }) <= self.floor {
                continue;
            }
            for (place, sum) in some.iter().enumerate().filter(|(_, sum)| **sum > self.floor) {
                let entry = part * LOOK + place;
                if passed.has(entry) {
                    self.found.push((*sum, Spot { segment, entry }));
                }
            }
            if self.found.len() > 4 * self.depth {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        if self.found.len() > self.depth {
            let order = |a: &(f32, Spot), b: &(f32, Spot)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
            let (_, last, _) = self.found.select_nth_unstable_by(self.depth - 1, order);
            self.floor = last.0;
            self.found.truncate(self.depth);
        }
    }

    fn finish(mut self) -> Vec<(f32, Spot)> {
        self.cut();
        self.found
    }
}

/// What a term of weight 1 is worth to an entry: the more the oftener it stands there and the shorter the entry is.
struct Gains {
    mean: f32,
    /// For terms that stand once, by length, because most do.
    once: Vec<f32>,
}

impl Gains {
    fn of(snapshot: &Snapshot) -> Self {
        let length: u64 = snapshot.segments.iter().map(|segment| segment.state.length).sum();
        let mean = (length as f32 / snapshot.len().max(1) as f32).max(1.0);
        let once = (0..SHORT).map(|length| Self::formula(1.0, length as f32 / mean)).collect();
        Self { mean, once }
    }

    #[inline]
    fn gain(&self, count: u8, length: u16) -> f32 {
        match self.once.get(usize::from(length)) {
            Some(gain) if count == 1 => *gain,
            _ => Self::formula(f32::from(count), f32::from(length) / self.mean),
        }
    }

    fn formula(count: f32, share: f32) -> f32 {
        let held = SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * share);
        count * (SATURATION + 1.0) / (count + held)
    }
}

/// What a term is worth that a single entry has.
pub(crate) fn rarest(snapshot: &Snapshot) -> f32 {
    worth(snapshot.len().max(1) as f32, 1.0)
}

fn worth(all: f32, have: f32) -> f32 {
    (1.0 + (all - have + 0.5) / (have + 0.5)).ln()
}

/// What each term is worth, the most first: its weight in the question, and the more the fewer entries have it.
fn rarity(snapshot: &Snapshot, terms: &[(u64, f32)]) -> Vec<(u64, f32)> {
    let all = snapshot.len() as f32;
    let of = |(term, weight): &(u64, f32)| {
        let have: usize = snapshot
            .segments
            .iter()
            .map(|segment| {
                let posted = segment.body.postings.find(*term);
                if segment.state.count == segment.body.len() {
                    posted.count()
                } else {
                    posted.iter().filter(|(entry, _)| segment.is_alive(usize::from(*entry))).count()
                }
            })
            .sum();
        let have = have as f32;
        (*term, weight * worth(all, have))
    };
    let mut worths: Vec<(u64, f32)> = terms.iter().map(of).collect();
    worths.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    worths
}
