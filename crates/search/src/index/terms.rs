//! Terms: the words and pairs of words of a question, looked up in every segment, and what each is worth to
//! an entry (BM25).
//!
//! Promises: counts of terms are those of the living entries at this moment, so scores do not depend on what
//! was removed. Terms are in order of their worth, so the same entry has the same sum however it is computed.
//! What a term can add at most is known before anything is read. It does not sum; `lexical` does.

use super::gains::Gains;
use super::often::Chosen;
use super::pairs::{Paired, is_pair};
use super::postings::Posted;
use super::segment::Segment;
use super::snapshot::Snapshot;

/// A little more than 1: bounds are held against sums of floating-point numbers, which depend on their order.
const SLACK: f32 = 1.0001;

/// A term of the question.
pub(super) struct Term<'a> {
    term: u64,
    /// What it is worth: its weight in the question, and the more the fewer entries have it.
    pub(super) weight: f32,
    /// One for each segment.
    pub(super) lists: Vec<List<'a>>,
    /// What it adds to a sum at most.
    pub(super) most: f32,
}

/// The entries of a segment that have a term.
#[derive(Debug)]
pub(super) enum List<'a> {
    /// Of a word, or of a pair that many have.
    Word(Posted<'a>),
    /// Entries of a rare pair with their counts, in order.
    Pair(Vec<(u16, u8)>),
}

impl<'a> Term<'a> {
    /// Looks the terms of a question up; those that are worth most come first.
    pub(super) fn look(snapshot: &'a Snapshot, terms: &[(u64, f32)], gains: &Gains) -> Vec<Self> {
        let all = snapshot.len() as f32;
        let look = |(term, weight): &(u64, f32)| {
            let lists: Vec<List<'_>> =
                snapshot.segments.iter().map(|segment| List::of(segment, *term)).collect();
            let have: usize =
                lists.iter().zip(&snapshot.segments).map(|(list, segment)| list.alive(segment)).sum();
            let weight = weight * worth(all, have as f32);
            let most =
                lists.iter().zip(&snapshot.segments).map(|(list, segment)| list.most(weight, gains, segment));
            Self { term: *term, weight, most: most.fold(0.0, f32::max), lists }
        };
        let mut terms: Vec<Self> = terms.iter().map(look).collect();
        terms.retain(|term| term.most > 0.0);
        terms.sort_unstable_by(|a, b| b.weight.total_cmp(&a.weight).then(a.term.cmp(&b.term)));
        terms
    }
}

impl<'a> List<'a> {
    fn of(segment: &'a Segment, term: u64) -> Self {
        if !is_pair(term) {
            return Self::Word(segment.body.postings.find(term));
        }
        match segment.body.pairs.find(term) {
            Ok(Paired::Few(entries)) => Self::Pair(entries),
            Ok(Paired::Many(posted)) => Self::Word(posted),
            Err(error) => {
                tracing::warn!(%error, "pairs of words could not be read; they are left out of an answer");
                Self::Pair(Vec::new())
            }
        }
    }

    /// How many entries there are.
    pub(super) fn count(&self) -> usize {
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
        match self {
            Self::Word(posted) => posted.count_in(&segment.state.alive),
            Self::Pair(entries) => {
                entries.iter().filter(|(entry, _)| segment.is_alive(usize::from(*entry))).count()
            }
        }
    }

    fn most_times(&self) -> u8 {
        match self {
            Self::Word(posted) => posted.most_times(),
            Self::Pair(entries) => entries.iter().map(|(_, times)| *times).max().unwrap_or(0),
        }
    }

    /// What it adds to a sum at most: as much as to the shortest entry if that had it as often as any does.
    pub(super) fn most(&self, weight: f32, gains: &Gains, segment: &Segment) -> f32 {
        SLACK * weight * gains.gain(self.most_times(), segment.body.shortest)
    }

    /// What each of its parts adds to a sum at most: first for standing there, then for standing there more
    /// than once.
    pub(super) fn most_by_part(&self, weight: f32, gains: &Gains, segment: &Segment) -> [f32; 2] {
        let shortest = segment.body.shortest;
        let bound = |gain| SLACK * weight * gain;
        match self.most_times() {
            0 => [0.0; 2],
            1 => [bound(gains.once(shortest)), 0.0],
            times => [bound(gains.once(shortest)), bound(gains.most_more(times, shortest))],
        }
    }

    /// Gives every entry to `take`.
    #[inline]
    pub(super) fn each(&self, mut take: impl FnMut(u16)) {
        match self {
            Self::Word(posted) => posted.each_entry(take),
            Self::Pair(entries) => entries.iter().for_each(|(entry, _)| take(*entry)),
        }
    }

    /// Gives the entries that have the term more than once to `take`, and how often.
    pub(super) fn each_often(&self, mut take: impl FnMut(u16, u8)) {
        match self {
            Self::Word(posted) => posted.each_often(take),
            Self::Pair(entries) => {
                entries
                    .iter()
                    .filter(|(_, times)| *times > 1)
                    .for_each(|(entry, times)| take(*entry, *times));
            }
        }
    }

    /// How many have the term more than once.
    pub(super) fn count_often(&self) -> usize {
        match self {
            Self::Word(posted) => posted.count_often(),
            Self::Pair(entries) => entries.len(),
        }
    }

    /// How often each of some entries has the term, at its place; what is at place 0 means nothing.
    pub(super) fn times_each(&self, some: &Chosen<'_>, times: &mut Vec<u8>) {
        match self {
            Self::Word(posted) => posted.of_each(some, times),
            Self::Pair(entries) => {
                times.clear();
                times.resize(some.entries.len() + 1, 0);
                entries.iter().for_each(|(entry, count)| times[some.place(*entry)] = *count);
            }
        }
    }

    /// How often an entry has the term.
    #[inline]
    pub(super) fn times(&self, entry: u16) -> u8 {
        match self {
            Self::Word(posted) => posted.of(entry),
            Self::Pair(entries) => {
                entries.binary_search_by_key(&entry, |(entry, _)| *entry).map_or(0, |place| entries[place].1)
            }
        }
    }
}

/// What a term is worth that a single entry has.
pub(crate) fn rarest(snapshot: &Snapshot) -> f32 {
    worth(snapshot.len().max(1) as f32, 1.0)
}

fn worth(all: f32, have: f32) -> f32 {
    (1.0 + (all - have + 0.5) / (have + 0.5)).ln()
}
