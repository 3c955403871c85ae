//! Lexical: how well entries match a question by their words, and which match best.
//!
//! Promises: every sum equals that of a full computation (BM25), and so do the best, though most entries are
//! never read: what terms can add is bounded, so who cannot come over the floor is left out, and whole
//! segments with it. It does not join words with meaning; `scan` asks, `rank` joins.

use super::bits::Bits;
use super::candidate::Candidate;
use super::gains::Gains;
use super::often::Chosen;
use super::segment::Segment;
use super::snapshot::{EntryPosition, Snapshot};
use super::terms::{List, Term};
use crate::simd::{CountOver, Lanes, Over};

/// Looking an entry up in the list of a term takes about as long as reading this many elements of the list.
const LOOK_UP: usize = 8;

/// The gains for a frequency of zero, one, two, three and more. A multiplication by zero is faster than a
/// branch.
const ADDED: [[f32; 3]; 5] = [[0.0; 3], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.0, 0.0]];

/// A term that no more entries of a segment have is rare.
const FEW: usize = 16;

/// Floating-point sums depend on their order: this tolerance below a floor passes.
const NEARLY: f32 = 0.999;

/// The words of a question in a snapshot.
pub(super) struct Words<'a> {
    snapshot: &'a Snapshot,
    gains: &'a Gains,
    terms: Vec<Term<'a>>,
    /// What each term and those behind it add at most.
    left: Vec<f32>,
    /// The sums of all entries, of segments of which most are asked for.
    sums: Vec<Option<Vec<f32>>>,
}

impl<'a> Words<'a> {
    /// Looks the terms of a question up, each with its weight.
    pub(super) fn of(snapshot: &'a Snapshot, terms: &[(u64, f32)]) -> Self {
        let gains = snapshot.gains();
        let terms = Term::look(snapshot, terms, gains);
        let left = behind(&terms.iter().map(|term| term.most).collect::<Vec<_>>());
        Self { snapshot, gains, terms, left, sums: vec![None; snapshot.segments.len()] }
    }

    /// These will be asked for: where they are many of a segment, its lists are read once.
    pub(super) fn expect(&mut self, some: &[Candidate]) {
        let mut counts = vec![0; self.sums.len()];
        some.iter().for_each(|candidate| counts[candidate.spot.segment] += 1);
        counts.into_iter().enumerate().for_each(|(segment, count)| self.expect_in(segment, count));
    }

    fn expect_in(&mut self, segment: usize, count: usize) {
        let postings: usize = self.terms.iter().map(|term| term.lists[segment].count()).sum();
        let body = &self.snapshot.segments[segment].body;
        if postings + body.len() / 4 >= count.saturating_mul(self.terms.len()).saturating_mul(LOOK_UP) {
            return;
        }
        let mut sums = vec![0.0; body.len()];
        for term in &self.terms {
            let list = &term.lists[segment];
            for part in [Part::Once, Part::More] {
                part.add(list, term.weight, self.gains, &body.lengths, &mut sums);
            }
        }
        self.sums[segment] = Some(sums);
    }

    /// Gives candidates, which are in order of their spots, their sums: term by term, so that few places of
    /// memory are waited for.
    pub(super) fn give(&self, found: &mut [Candidate]) {
        let mut times: Vec<u8> = Vec::new();
        for found in found.chunk_by_mut(|one, next| one.spot.segment == next.spot.segment) {
            let segment = found[0].spot.segment;
            let lengths = &self.snapshot.segments[segment].body.lengths;
            let entries: Vec<u16> = found.iter().map(|candidate| candidate.spot.entry as u16).collect();
            let length = |entry: &u16| lengths[usize::from(*entry)];
            // What standing there once, twice and three times adds to each.
            let gains: Vec<[f32; 3]> = entries
                .iter()
                .map(|entry| {
                    let length = length(entry);
                    [self.gains.once(length), self.gains.more(2, length), self.gains.more(3, length)]
                })
                .collect();
            let (some, mut sums) = (Chosen::of(&entries, lengths.len()), vec![0f32; entries.len()]);
            for term in &self.terms {
                term.lists[segment].times_each(&some, &mut times);
                let times = &times[1..];
                for ((sum, [once, twice, thrice]), times) in sums.iter_mut().zip(&gains).zip(times) {
                    let [one, two, three] = ADDED[usize::from(*times).min(ADDED.len() - 1)];
                    *sum += term.weight * (one * once);
                    *sum += term.weight * (two * twice + three * thrice);
                }
                let oftener = times.iter().zip(&mut sums).zip(&entries).filter(|((times, _), _)| **times > 3);
                for ((times, sum), entry) in oftener {
                    *sum += Part::More.gain(term.weight, self.gains, *times, length(entry));
                }
            }
            found.iter_mut().zip(sums).for_each(|(candidate, sum)| candidate.words = sum);
        }
    }

    /// The sum of an entry; `None` when it is less than `least`.
    pub(super) fn score(&self, spot: EntryPosition, least: f32) -> Option<f32> {
        if let Some(sums) = &self.sums[spot.segment] {
            return Some(sums[spot.entry]).filter(|sum| *sum >= least);
        }
        let (entry, least) = (spot.entry as u16, least * NEARLY);
        let length = self.snapshot.segments[spot.segment].body.lengths[spot.entry];
        let mut sum = 0.0;
        for (term, left) in self.terms.iter().zip(&self.left) {
            if sum + left < least {
                return None;
            }
            let count = term.lists[spot.segment].times(entry);
            if count > 0 {
                sum += Part::Once.gain(term.weight, self.gains, count, length);
            }
            if count > 1 {
                sum += Part::More.gain(term.weight, self.gains, count, length);
            }
        }
        Some(sum)
    }

    /// The `depth` entries with the highest sums among those that `passed` and reach the floor.
    pub(super) fn best(&self, passed: &[Bits], floor: f32, depth: usize) -> Vec<(f32, EntryPosition)> {
        let mut best = Best { found: Vec::new(), floor: (floor * NEARLY).max(f32::MIN_POSITIVE), depth };
        let mut sums = Vec::new();
        for (number, segment) in self.snapshot.segments.iter().enumerate() {
            if let Some(sums) = &self.sums[number] {
                best.take(number, sums, &passed[number]);
            } else if self.sum(number, segment, &best, &mut sums) {
                best.take(number, &sums, &passed[number]);
            }
        }
        best.cut();
        // The same entry has the same sum however it was found: sums depend on their order.
        best.found.iter_mut().for_each(|(sum, spot)| *sum = self.score(*spot, 0.0).unwrap_or(*sum));
        best.found
    }

    /// The entries that `passed`, reach the floor and have a term that few have.
    pub(super) fn rare(&self, passed: &[Bits], floor: f32) -> Vec<(f32, EntryPosition)> {
        let mut found = Vec::new();
        if self.left.first().is_none_or(|all| *all < floor * NEARLY) {
            return found;
        }
        for (segment, passed) in passed.iter().enumerate() {
            let few = self.terms.iter().map(|term| &term.lists[segment]).filter(|list| list.count() <= FEW);
            for list in few {
                list.each(|entry| {
                    let spot = EntryPosition { segment, entry: usize::from(entry) };
                    if passed.has(spot.entry) {
                        let sum = self.score(spot, floor).filter(|sum| *sum >= floor * NEARLY);
                        found.extend(sum.map(|sum| (sum, spot)));
                    }
                });
            }
        }
        found.sort_unstable_by_key(|(_, spot)| *spot);
        found.dedup_by_key(|(_, spot)| *spot);
        found
    }

    /// Sums the terms of a segment, the shortest lists first: of all entries until the rest cannot lift
    /// further entries over the floor; from there on only of the remaining candidates. Returns whether any
    /// entry can reach it.
    fn sum(&self, number: usize, segment: &Segment, best: &Best, sums: &mut Vec<f32>) -> bool {
        let lengths = &segment.body.lengths;
        let mut lists = Vec::with_capacity(2 * self.terms.len());
        for term in &self.terms {
            let list = &term.lists[number];
            let [once, more] = list.most_by_part(term.weight, self.gains, segment);
            lists.push((list.count(), once, Part::Once, list, term.weight));
            lists.push((list.count_often(), more, Part::More, list, term.weight));
        }
        lists.retain(|(_, most, ..)| *most > 0.0);
        lists.sort_by_key(|(count, ..)| *count);
        let left = behind(&lists.iter().map(|(_, most, ..)| *most).collect::<Vec<_>>());
        if left.first().is_none_or(|all| *all < best.floor) {
            return false;
        }
        sums.clear();
        sums.resize(lengths.len(), 0.0);
        let mut unread: usize = lists.iter().map(|(count, ..)| *count).sum();
        let mut contenders: Option<Vec<u16>> = None;
        for (place, (count, _, part, list, weight)) in lists.iter().enumerate() {
            let left = left[place];
            match &mut contenders {
                None if left < best.floor => {
                    let most = unread / (LOOK_UP * (lists.len() - place));
                    contenders = best.contenders(sums, left, most);
                }
                Some(some) => some.retain(|entry| sums[usize::from(*entry)] + left >= best.floor * NEARLY),
                None => {}
            }
            unread -= count;
            match &contenders {
                None => part.add(list, *weight, self.gains, lengths, sums),
                Some(some) if some.is_empty() => return false,
                // An entry that is not a contender does not reach the floor by it.
                Some(some) if some.len() * LOOK_UP > *count => {
                    part.add(list, *weight, self.gains, lengths, sums);
                }
                Some(some) => {
                    for entry in some {
                        let (times, entry) = (list.times(*entry), usize::from(*entry));
                        if times > part.beyond() {
                            sums[entry] += part.gain(*weight, self.gains, times, lengths[entry]);
                        }
                    }
                }
            }
        }
        true
    }
}

/// What a term adds to a sum is added in two parts, because few entries have it more than once: that alone
/// bounds what the others can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// For standing there.
    Once,
    /// For standing there more than once.
    More,
}

impl Part {
    /// Entries with a higher frequency have this part.
    const fn beyond(self) -> u8 {
        match self {
            Self::Once => 0,
            Self::More => 1,
        }
    }

    #[inline]
    fn gain(self, weight: f32, gains: &Gains, count: u8, length: u16) -> f32 {
        match self {
            Self::Once => weight * gains.once(length),
            Self::More => weight * gains.more(count, length),
        }
    }

    /// Adds it to every entry that has it.
    fn add(self, list: &List<'_>, weight: f32, gains: &Gains, lengths: &[u16], sums: &mut [f32]) {
        let sums = &mut sums[..lengths.len()];
        match self {
            Self::Once => list.each(|entry| {
                let entry = usize::from(entry);
                sums[entry] += weight * gains.once(lengths[entry]);
            }),
            Self::More => list.each_often(|entry, count| {
                let entry = usize::from(entry);
                sums[entry] += self.gain(weight, gains, count, lengths[entry]);
            }),
        }
    }
}

/// For each number the sum of it and of all behind it.
fn behind(most: &[f32]) -> Vec<f32> {
    let mut left = most.to_vec();
    for place in (0..left.len().saturating_sub(1)).rev() {
        left[place] += left[place + 1];
    }
    left
}

/// The entries with the highest sums.
struct Best {
    found: Vec<(f32, EntryPosition)>,
    /// Lower sums are not among the best.
    floor: f32,
    depth: usize,
}

impl Best {
    /// The entries that come over the floor if they get `left` more; `None` when they are more than `most`,
    /// so that going on with all entries takes less.
    fn contenders(&self, sums: &[f32], left: f32, most: usize) -> Option<Vec<u16>> {
        let floor = (self.floor - left) * NEARLY;
        let count = Lanes::best().run(CountOver { values: sums, floor });
        if count > most {
            return None;
        }
        let mut all: Vec<u16> = Vec::with_capacity(count);
        over(sums, floor, |entry| all.push(entry as u16));
        Some(all)
    }

    /// Looks at the sums of a segment.
    fn take(&mut self, segment: usize, sums: &[f32], passed: &Bits) {
        let (floor, found) = (self.floor, &mut self.found);
        over(sums, floor, |entry| {
            if passed.has(entry) {
                found.push((sums[entry], EntryPosition { segment, entry }));
            }
        });
        if self.found.len() > self.depth.saturating_mul(2) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.found.len() > self.depth {
            let order =
                |a: &(f32, EntryPosition), b: &(f32, EntryPosition)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
            let (_, last, _) = self.found.select_nth_unstable_by(self.depth - 1, order);
            self.floor = last.0;
            self.found.truncate(self.depth);
        }
    }
}

/// Gives the places of all sums that reach the floor.
fn over(sums: &[f32], floor: f32, take: impl FnMut(usize)) {
    Lanes::best().run(Over { values: sums, floor, take });
}

#[cfg(test)]
mod tests;
