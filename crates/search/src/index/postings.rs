//! Postings: which entries of a segment have a word, and how often.
//!
//! Promises: terms are in order, entries of a term are in order, counts are exact (from 1 to 255). Nothing
//! changes after it is made; joining two makes a third. It does not know which entries are still alive, and
//! it does not keep pairs of words; `pairs` does.
//!
//! The entries of a term take whichever form is shortest: two bytes each; a byte each (the low half, behind a
//! table of how many there are for each high half); or a bit for every entry of the segment. So no entry
//! waits for the one before it to be read, and a single one is looked up in a few steps. Frequencies above
//! one are stored separately (`often`).

use super::bits::Bits;
use super::capacity::MOST_ENTRIES;
use super::dictionary::{Dictionary, known};
use super::often::{Chosen, TermCounts, bit, set_bytes};
use super::space::own_pages;
use super::starts::{Start, Starts};

/// The terms of a segment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Postings {
    terms: Dictionary,
    /// Where the list of each term begins in `bytes`.
    starts: Starts,
    bytes: Vec<u8>,
    /// Entries of the segment.
    entries: usize,
}

/// One term of one entry.
pub(crate) type Posting = (u64, u16, u8);

/// Entries that share the high half of their number.
const BLOCK: usize = 256;
const BLOCKS: usize = MOST_ENTRIES / BLOCK;

/// Bytes before a list: how many there are, and how often they have the term at most.
const HEAD: usize = 3;

/// The entries of one term.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Posted<'a> {
    form: Form<'a>,
    count: usize,
    often: TermCounts<'a>,
    most: u8,
}

/// How the entries of a term lie.
#[derive(Debug, Clone, Copy)]
enum Form<'a> {
    /// Two bytes each.
    Few(&'a [[u8; 2]]),
    /// The ends of the blocks, and a byte each.
    Blocks(&'a [[u8; 2]], &'a [u8]),
    /// A bit for every entry of the segment.
    Bits(&'a [[u8; 8]]),
    /// One entry.
    Alone(u16),
}

impl Default for Form<'_> {
    fn default() -> Self {
        Self::Few(&[])
    }
}

impl<'a> Posted<'a> {
    /// How many there are.
    pub(crate) const fn count(self) -> usize {
        self.count
    }

    /// How many of them are in a set.
    pub(crate) fn count_in(self, some: &Bits) -> usize {
        match self.form {
            Form::Bits(words) => words
                .iter()
                .zip(some.words())
                .map(|(word, some)| (u64::from_le_bytes(*word) & some).count_ones() as usize)
                .sum(),
            _ => {
                let mut count = 0;
                self.each_entry(|entry| count += usize::from(some.has(usize::from(entry))));
                count
            }
        }
    }

    /// How often an entry has the term at most.
    pub(crate) const fn most_times(self) -> u8 {
        self.most
    }

    /// Gives every entry and how often it has the term to `take`, in order.
    pub(crate) fn each(self, mut take: impl FnMut(u16, u8)) {
        if let Form::Alone(entry) = self.form {
            return take(entry, self.most);
        }
        self.each_entry(|entry| take(entry, self.often.times(entry)));
    }

    /// Gives every entry that has it more than once and how often to `take`, in order.
    #[inline]
    pub(crate) fn each_often(self, mut take: impl FnMut(u16, u8)) {
        match self.form {
            Form::Alone(entry) if self.most > 1 => take(entry, self.most),
            _ => self.often.each(take),
        }
    }

    /// How many have it more than once.
    pub(crate) const fn count_often(self) -> usize {
        if let Form::Alone(_) = self.form { (self.most > 1) as usize } else { self.often.count() }
    }

    /// Gives every entry to `take`, in order.
    #[inline]
    pub(crate) fn each_entry(self, mut take: impl FnMut(u16)) {
        match self.form {
            Form::Alone(entry) => take(entry),
            Form::Few(entries) => entries.iter().for_each(|entry| take(u16::from_le_bytes(*entry))),
            Form::Blocks(ends, lows) => {
                let mut from = 0;
                for (block, end) in ends.iter().enumerate() {
                    let end = usize::from(u16::from_le_bytes(*end));
                    let high = (block * BLOCK) as u16;
                    lows[from..end].iter().for_each(|low| take(high | u16::from(*low)));
                    from = end;
                }
            }
            Form::Bits(words) => {
                for (place, word) in words.iter().enumerate() {
                    let (mut word, from) = (u64::from_le_bytes(*word), (place * 64) as u16);
                    while word != 0 {
                        take(from | word.trailing_zeros() as u16);
                        word &= word - 1;
                    }
                }
            }
        }
    }

    /// How often an entry has the term.
    #[inline]
    pub(crate) fn of(self, entry: u16) -> u8 {
        match self.form {
            Form::Alone(alone) if alone == entry => self.most,
            _ if self.has(entry) => self.often.times(entry),
            _ => 0,
        }
    }

    /// Whether an entry has the term.
    #[inline]
    pub(crate) fn has(self, entry: u16) -> bool {
        match self.form {
            Form::Alone(alone) => alone == entry,
            Form::Few(entries) => {
                entries.binary_search_by_key(&entry, |entry| u16::from_le_bytes(*entry)).is_ok()
            }
            Form::Blocks(ends, lows) => {
                let block = usize::from(entry) / BLOCK;
                let end =
                    |block: usize| ends.get(block).map_or(0, |end| usize::from(u16::from_le_bytes(*end)));
                let from = block.checked_sub(1).map_or(0, end);
                lows[from..end(block).max(from)].binary_search(&(entry as u8)).is_ok()
            }
            Form::Bits(words) => bit(words, entry) == 1,
        }
    }

    /// How often each of some entries has the term, at its place; what is at place 0 means nothing.
    pub(super) fn of_each(self, some: &Chosen<'_>, times: &mut Vec<u8>) {
        times.clear();
        times.push(0);
        if let Form::Bits(words) = self.form {
            times.extend(some.entries.iter().map(|entry| bit(words, *entry)));
            self.often.count_each(some, times);
        } else {
            times.resize(some.entries.len() + 1, 0);
            self.each_entry(|entry| times[some.place(entry)] = 1);
            self.each_often(|entry, count| times[some.place(entry)] = count);
        }
    }

    /// The entries in order, and how often each has the term.
    pub(crate) fn sorted(self) -> Vec<(u16, u8)> {
        let mut all = Vec::with_capacity(self.count());
        self.each(|entry, count| all.push((entry, count)));
        all
    }
}

/// Which form a list takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Few,
    Blocks,
    Bits,
}

impl Kind {
    /// The shortest form for this many entries of a segment, and its length in bytes.
    fn shortest(count: usize, entries: usize) -> (Self, usize) {
        let forms =
            [(Self::Bits, set_bytes(entries)), (Self::Few, 2 * count), (Self::Blocks, 2 * BLOCKS + count)];
        forms.into_iter().min_by_key(|(_, size)| *size).unwrap_or((Self::Few, 2 * count))
    }
}

impl Postings {
    /// Builds them from any number of postings in any order, for a segment of this size.
    pub(crate) fn of(mut all: Vec<Posting>, entries: usize) -> Self {
        all.iter_mut().for_each(|posting| posting.0 = known(posting.0));
        all.sort_unstable();
        let mut postings = Self::with_capacity_for(all.len() * 2, entries);
        let mut list = Vec::new();
        for same in all.chunk_by(|one, next| one.0 == next.0) {
            list.clear();
            list.extend(same.iter().map(|(_, entry, count)| (*entry, *count)));
            postings.push(same[0].0, &list);
        }
        postings.end()
    }

    /// Merges several into one for a segment of this size, in which entry `old` of the part `p` is now
    /// `moved(p, old)`, or gone. Numbers must grow with the part and the entry.
    pub(crate) fn join(parts: &[&Self], moved: &dyn Fn(usize, u16) -> Option<u16>, entries: usize) -> Self {
        let space = parts.iter().map(|part| part.bytes.len()).sum();
        let mut joined = Self::with_capacity_for(space, entries);
        let mut list = Vec::new();
        let dictionaries: Vec<&Dictionary> = parts.iter().map(|part| &part.terms).collect();
        Dictionary::join(&dictionaries, |term, places| {
            list.clear();
            for (number, place) in places {
                let take = |entry, count| list.extend(moved(*number, entry).map(|entry| (entry, count)));
                parts[*number].at(*place).each(take);
            }
            if !list.is_empty() {
                joined.push(term, &list);
            }
        });
        joined.end()
    }

    /// Empty ones, with capacity for lists of this many bytes.
    fn with_capacity_for(bytes: usize, entries: usize) -> Self {
        let mut postings = Self { entries, ..Self::default() };
        own_pages(&mut postings.bytes, bytes);
        postings.bytes.reserve_exact(bytes);
        postings
    }

    /// The entries that have a term.
    pub(crate) fn find(&self, term: u64) -> Posted<'_> {
        self.terms.find(term).map_or(Posted::default(), |place| self.at(place))
    }

    /// All of them, in order of term and entry; terms as far as they are known.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Posting> {
        self.terms.iter().flat_map(|(term, place)| {
            self.at(place).sorted().into_iter().map(move |(entry, count)| (term, entry, count))
        })
    }

    /// Adds the list of the next term, its entries in order.
    fn push(&mut self, term: u64, list: &[(u16, u8)]) {
        self.terms.push(term);
        if let [(entry, times @ 1..=2)] = list {
            self.starts.push(Start::Alone(*entry, *times));
            return;
        }
        self.starts.push(Start::List(u32::try_from(self.bytes.len()).unwrap_or(0)));
        // A list has at least one entry, and no more than a segment.
        self.bytes.extend(((list.len() - 1) as u16).to_le_bytes());
        self.bytes.push(list.iter().map(|(_, count)| *count).max().unwrap_or(0));
        TermCounts::write(list, self.entries, &mut self.bytes);
        let entries = list.iter().map(|(entry, _)| *entry);
        let (kind, size) = Kind::shortest(list.len(), self.entries);
        match kind {
            Kind::Few => self.bytes.extend(entries.flat_map(u16::to_le_bytes)),
            Kind::Blocks => {
                let mut ends = [0u16; BLOCKS];
                entries.clone().for_each(|entry| ends[usize::from(entry) / BLOCK] += 1);
                let mut sum = 0;
                for end in &mut ends {
                    sum += *end;
                    *end = sum;
                }
                self.bytes.extend(ends.iter().flat_map(|end| end.to_le_bytes()));
                self.bytes.extend(entries.map(|entry| entry as u8));
            }
            Kind::Bits => {
                let from = self.bytes.len();
                self.bytes.resize(from + size, 0);
                entries.for_each(|entry| self.bytes[from + usize::from(entry) / 8] |= 1 << (entry % 8));
            }
        }
    }

    fn end(mut self) -> Self {
        self.terms.settle();
        self.starts.settle();
        self.bytes.shrink_to_fit();
        self
    }

    fn at(&self, place: usize) -> Posted<'_> {
        let start = match self.starts.at(place) {
            Start::List(start) => start,
            Start::Alone(entry, most) => {
                return Posted { form: Form::Alone(entry), count: 1, most, often: TermCounts::default() };
            }
        };
        let (head, bytes) = self.bytes[start as usize..].split_at(HEAD);
        let (count, most) = (usize::from(u16::from_le_bytes([head[0], head[1]])) + 1, head[2]);
        let (often, rest) = TermCounts::read(bytes, self.entries);
        let (kind, size) = Kind::shortest(count, self.entries);
        let list = &rest[..size];
        let form = match kind {
            Kind::Few => Form::Few(list.as_chunks().0),
            Kind::Blocks => Form::Blocks(list[..2 * BLOCKS].as_chunks().0, &list[2 * BLOCKS..]),
            Kind::Bits => Form::Bits(list.as_chunks().0),
        };
        Posted { form, count, often, most }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The least difference of two distinct terms.
    const T: u64 = 1 << 19;

    fn found(postings: &Postings, term: u64) -> Vec<(u16, u8)> {
        let posted = postings.find(term);
        let all = posted.sorted();
        assert_eq!(all.len(), posted.count());
        all
    }

    #[test]
    fn joined_postings_are_those_of_the_entries_that_stay() {
        let one = Postings::of(vec![(T * 7, 1, 2), (T * 3, 0, 1), (T * 7, 0, 5)], 2);
        let two = Postings::of(vec![(T * 7, 0, 1), (T * 9, 0, 1), (T * 9, 1, 3)], 2);
        assert_eq!(found(&one, T * 7), [(0, 5), (1, 2)]);
        assert_eq!(found(&one, T * 4), []);
        let moved = |part: usize, entry: u16| match (part, entry) {
            (0, 1) => Some(0),
            (1, entry) => Some(1 + entry),
            _ => None,
        };
        let joined = Postings::join(&[&one, &two], &moved, 3);
        assert_eq!(found(&joined, T * 3), []);
        assert_eq!(found(&joined, T * 7), [(0, 2), (1, 1)]);
        assert_eq!(found(&joined, T * 9), [(1, 1), (2, 3)]);
        assert_eq!(
            joined.iter().collect::<Vec<_>>(),
            [(T * 7, 0, 2), (T * 7, 1, 1), (T * 9, 1, 1), (T * 9, 2, 3)]
        );
    }

    #[test]
    fn a_term_that_every_entry_has_is_read_back_whole() {
        let last = (MOST_ENTRIES - 1) as u16;
        let all: Vec<Posting> = (0..=last).map(|entry| (T * 5, entry, 1)).collect();
        let postings = Postings::of(all.clone(), MOST_ENTRIES);
        assert_eq!(postings.iter().collect::<Vec<_>>(), all);
        assert!(postings.find(T * 5).of(last) == 1 && postings.find(T * 6).of(last) == 0);
        assert_eq!(postings.bytes.len(), HEAD + 4 + MOST_ENTRIES / 8, "a bit each");
    }

    proptest! {
        #[test]
        fn what_was_put_in_comes_out_and_is_looked_up_one_by_one(
            spread in 1..200u16,
            size in prop_oneof![Just(300usize), Just(5_000), Just(MOST_ENTRIES)],
            counts in prop::collection::vec((0..20u64, 1..200u16, prop_oneof![9 => Just(1u8), 1 => 1..=255u8]), 0..3_000),
        ) {
            let mut all = std::collections::BTreeMap::new();
            let mut entry = 0u16;
            for (term, step, count) in counts {
                entry = (entry + step % spread) % size as u16;
                // Few terms have most of the entries, so that lists of all lengths come up.
                all.insert((T * (term * term / 60), entry), count);
            }
            let all: Vec<Posting> = all.into_iter().map(|((term, entry), count)| (term, entry, count)).collect();
            let postings = Postings::of(all.iter().rev().copied().collect(), size);
            prop_assert_eq!(&postings.iter().collect::<Vec<_>>(), &all);
            for entry in (0..size as u16).step_by(7).chain(all.iter().map(|posting| posting.1)) {
                let expected = all.iter().find(|(term, other, _)| (*term, *other) == (0, entry));
                prop_assert_eq!(postings.find(0).of(entry), expected.map_or(0, |posting| posting.2));
            }
            for some in [1, 7] {
                let entries: Vec<u16> = (0..size as u16).step_by(some * size / 300).collect();
                let mut times = vec![9];
                postings.find(0).of_each(&Chosen::of(&entries, size), &mut times);
                prop_assert_eq!(&times[1..], entries.iter().map(|entry| postings.find(0).of(*entry)).collect::<Vec<_>>());
            }
            let mut some = Bits::none(size);
            (0..size).step_by(2).for_each(|entry| some.add(entry));
            let even = all.iter().filter(|posting| posting.0 == 0 && posting.1.is_multiple_of(2)).count();
            prop_assert_eq!(postings.find(0).count_in(&some), even);
            let most = all.iter().filter(|posting| posting.0 == 0).map(|posting| posting.2).max();
            prop_assert_eq!(postings.find(0).most_times(), most.unwrap_or(0));
            let halves = [0, 1].map(|half| {
                let half = all.iter().filter(|posting| usize::from(usize::from(posting.1) >= size / 2) == half);
                Postings::of(half.copied().collect(), size)
            });
            let joined = Postings::join(&[&halves[0], &halves[1]], &|_, entry| (!entry.is_multiple_of(3)).then_some(entry), size);
            let stay: Vec<Posting> = all.into_iter().filter(|posting| !posting.1.is_multiple_of(3)).collect();
            prop_assert_eq!(joined.iter().collect::<Vec<_>>(), stay);
        }
    }
}
