//! Lexical: the entries that fit a question best by their words.
//!
//! Promises: the best are exactly those of a full reckoning (BM25), though most entries are never looked at whole: what the frequent words can add is bounded, so who
//! cannot come among the best any more is left out of them. Counts of terms are those of the living entries at this moment, so scores do not
//! depend on what was removed. Entries that were found by meaning get the full score of their words too. It does not join the two; `rank` does.

use super::bits::Bits;
use super::pairs::is_pair;
use super::postings::Posted;
use super::scan::Candidate;
use super::segment::{Body, Segment};
use super::{Snapshot, Spot};
use crate::simd::{Lanes, Over};

/// Lengths up to here are looked up.
const SHORT: u16 = 1024;

/// Looking an entry up in the list of a term takes about as long as reading so many of the list.
const LOOK_UP: usize = 8;

/// How fast more of the same term stops counting.
const SATURATION: f32 = 1.2;
/// What a term of weight 1 is worth at most.
const MOST_GAIN: f32 = SATURATION + 1.0;
/// How far long entries are held back.
const LENGTH_SHARE: f32 = 0.75;

/// Adds the `depth` entries that fit best by words to those found by meaning, which are in order of their spot, and gives everybody the score of their words.
pub(super) fn add(
    snapshot: &Snapshot,
    passed: &[Bits],
    terms: &[(u64, f32)],
    mut near: Vec<Candidate>,
    depth: usize,
) -> Vec<Candidate> {
    let terms = Term::look(snapshot, terms);
    let gains = Gains::of(snapshot);
    let mut best = Best { found: Vec::new(), floor: 0.0, depth };
    let mut sums = Vec::new();
    let mut known = near.as_mut_slice();
    for (number, segment) in snapshot.segments.iter().enumerate() {
        let here = known.partition_point(|candidate| candidate.spot.segment == number);
        let (here, rest) = known.split_at_mut(here);
        known = rest;
        let lists = terms.iter().map(|term| (&term.lists[number], term.weight)).collect::<Vec<_>>();
        sums.clear();
        sums.resize(segment.body.len(), 0.0);
        sum(&lists, &segment.body, &gains, &best, here, &mut sums);
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

/// Sums the terms of a segment, those that are worth most first: of all entries until the rest cannot lift anybody over the floor who is not near it already; from
/// there on only of those who are, and of the candidates.
fn sum(
    lists: &[(&List<'_>, f32)],
    body: &Body,
    gains: &Gains,
    best: &Best,
    candidates: &[Candidate],
    sums: &mut [f32],
) {
    let mut left: f32 = lists.iter().map(|(list, weight)| list.most(*weight)).sum();
    let mut contenders: Option<Vec<u16>> = None;
    for (list, weight) in lists.iter().filter(|(list, _)| list.count() > 0) {
        if contenders.is_none() && left <= best.floor {
            contenders = Some(best.contenders(sums, left, candidates));
        }
        left -= list.most(*weight);
        let mut gain = |entry: u16, count: u8| {
            let entry = usize::from(entry);
            sums[entry] += weight * gains.gain(count, body.lengths[entry]);
        };
        let Some(contenders) = &contenders else {
            list.each(gain);
            continue;
        };
        if contenders.len() * LOOK_UP < list.count() {
            for entry in contenders {
                let count = list.times(*entry);
                if count > 0 {
                    gain(*entry, count);
                }
            }
        } else {
            let mut marks = Bits::none(body.len());
            contenders.iter().for_each(|entry| marks.add(usize::from(*entry)));
            list.each(|entry, count| {
                if marks.has(usize::from(entry)) {
                    gain(entry, count);
                }
            });
        }
    }
}

/// A term of the question.
struct Term<'a> {
    term: u64,
    /// What it is worth: its weight in the question, and the more the fewer entries have it.
    weight: f32,
    /// One for each segment.
    lists: Vec<List<'a>>,
}

/// The entries of a segment that have a term.
enum List<'a> {
    Word(Posted<'a>),
    /// Entries of a pair with their counts, in order.
    Pair(Vec<(u16, u8)>),
}

impl<'a> Term<'a> {
    /// Looks the terms of a question up; those that are worth most come first.
    fn look(snapshot: &'a Snapshot, terms: &[(u64, f32)]) -> Vec<Self> {
        let all = snapshot.len() as f32;
        let look = |(term, weight): &(u64, f32)| {
            let lists: Vec<List<'_>> =
                snapshot.segments.iter().map(|segment| List::of(segment, *term)).collect();
            let have: usize =
                lists.iter().zip(&snapshot.segments).map(|(list, segment)| list.alive(segment)).sum();
            Self { term: *term, weight: weight * worth(all, have as f32), lists }
        };
        let mut terms: Vec<Self> = terms.iter().map(look).collect();
        terms.sort_unstable_by(|a, b| b.weight.total_cmp(&a.weight).then(a.term.cmp(&b.term)));
        terms
    }
}

impl<'a> List<'a> {
    fn of(segment: &'a Segment, term: u64) -> Self {
        if !is_pair(term) {
            return Self::Word(segment.body.postings.find(term));
        }
        let mut entries = Vec::new();
        if let Err(error) = segment.body.pairs.find(term, &mut entries) {
            tracing::warn!(%error, "pairs of words could not be read; they are left out of an answer");
            entries.clear();
        }
        let counted = entries.chunk_by(|one, next| one == next);
        Self::Pair(counted.map(|same| (same[0], u8::try_from(same.len()).unwrap_or(u8::MAX))).collect())
    }

    fn count(&self) -> usize {
        match self {
            Self::Word(posted) => posted.count(),
            Self::Pair(entries) => entries.len(),
        }
    }

    /// How many living entries there are.
    fn alive(&self, segment: &Segment) -> usize {
        if segment.state.count == segment.body.len() {
            return self.count();
        }
        let mut count = 0;
        self.each(|entry, _| count += usize::from(segment.is_alive(usize::from(entry))));
        count
    }

    /// What it can add to a sum at most.
    fn most(&self, weight: f32) -> f32 {
        if self.count() == 0 { 0.0 } else { weight * MOST_GAIN }
    }

    #[inline]
    fn each(&self, mut take: impl FnMut(u16, u8)) {
        match self {
            Self::Word(posted) => posted.each(take),
            Self::Pair(entries) => entries.iter().for_each(|(entry, count)| take(*entry, *count)),
        }
    }

    /// How often an entry has the term.
    #[inline]
    fn times(&self, entry: u16) -> u8 {
        match self {
            Self::Word(posted) => posted.of(entry),
            Self::Pair(entries) => {
                entries.binary_search_by_key(&entry, |(entry, _)| *entry).map_or(0, |place| entries[place].1)
            }
        }
    }
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
    fn contenders(&self, sums: &[f32], left: f32, candidates: &[Candidate]) -> Vec<u16> {
        let mut all: Vec<u16> = candidates.iter().map(|candidate| candidate.spot.entry as u16).collect();
        // A little below, because sums of floating-point numbers depend on their order.
        let floor = (self.floor - left) * 0.999;
        over(sums, floor, |entry| all.push(entry as u16));
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Looks at the sums of a segment.
    fn take(&mut self, segment: usize, sums: &[f32], passed: &Bits) {
        let (floor, found) = (self.floor.max(f32::MIN_POSITIVE), &mut self.found);
        over(sums, floor, |entry| {
            if passed.has(entry) {
                found.push((sums[entry], Spot { segment, entry }));
            }
        });
        if self.found.len() > self.depth.saturating_mul(2) {
            self.cut();
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

/// Gives the places of all sums that reach the floor.
fn over(sums: &[f32], floor: f32, take: impl FnMut(usize)) {
    Lanes::best().run(Over { values: sums, floor, take });
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
        let once = (0..SHORT).map(|length| Self::formula(1.0, f32::from(length) / mean)).collect();
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

#[cfg(test)]
mod tests;
