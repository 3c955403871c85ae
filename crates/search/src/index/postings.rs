//! Postings: which entries of a segment have a word, and how often.
//!
//! Promises: terms are in order, entries of a term are in order, counts are exact (from 1 to 255). Nothing changes after it is made; joining two makes
//! a third. It does not know which entries are still alive, and it does not keep pairs of words; `pairs` does.
//!
//! Of a term that many entries have, each entry takes a byte: its low half, behind a table of how many there are for each high half. So no entry
//! waits for the one before it to be read, and a single one is looked up in a few steps. The few that have a term more than once lie apart.

use super::segment::MOST_ENTRIES;

/// The terms of a segment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Postings {
    terms: Vec<u64>,
    /// Where the list of each term begins in `bytes`; a term of one entry has the entry and its count here instead ([`ALONE`]).
    starts: Vec<u32>,
    bytes: Vec<u8>,
}

/// One term of one entry.
pub(crate) type Posting = (u64, u16, u8);

/// Marks a term that a single entry has.
const ALONE: u32 = 1 << 31;

/// Entries that share the high half of their number.
const BLOCK: usize = 256;
const BLOCKS: usize = MOST_ENTRIES / BLOCK;

/// From so many entries on the table of the high halves is worth its bytes.
const LONG: usize = BLOCK;

/// The entries of one term.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Posted<'a> {
    /// Those that have it once: two bytes each, or, when there are many, the ends of the blocks and a byte each.
    once: &'a [u8],
    singles: usize,
    /// Those that have it more than once: two bytes and a count each.
    often: &'a [[u8; 3]],
    alone: Option<(u16, u8)>,
}

impl<'a> Posted<'a> {
    /// How many there are.
    pub(crate) fn count(self) -> usize {
        self.singles + self.often.len() + usize::from(self.alone.is_some())
    }

    /// Gives every entry and how often it has the term to `take`: first those that have it more than once.
    #[inline]
    pub(crate) fn each(self, mut take: impl FnMut(u16, u8)) {
        if let Some((entry, count)) = self.alone {
            take(entry, count);
        }
        for [low, high, count] in self.often {
            take(u16::from_le_bytes([*low, *high]), *count);
        }
        if self.singles < LONG {
            self.once.as_chunks::<2>().0.iter().for_each(|entry| take(u16::from_le_bytes(*entry), 1));
            return;
        }
        let (ends, lows) = self.blocks();
        let mut from = 0;
        for (block, end) in ends.iter().enumerate() {
            let end = usize::from(u16::from_le_bytes(*end));
            let high = (block * BLOCK) as u16;
            lows[from..end].iter().for_each(|low| take(high | u16::from(*low), 1));
            from = end;
        }
    }

    /// How often an entry has the term.
    #[inline]
    pub(crate) fn of(self, entry: u16) -> u8 {
        if let Some((alone, count)) = self.alone {
            return if alone == entry { count } else { 0 };
        }
        let number = |entry: &[u8; 3]| u16::from_le_bytes([entry[0], entry[1]]);
        if let Ok(place) = self.often.binary_search_by_key(&entry, number) {
            return self.often[place][2];
        }
        let found = if self.singles < LONG {
            self.once
                .as_chunks::<2>()
                .0
                .binary_search_by_key(&entry, |entry| u16::from_le_bytes(*entry))
                .is_ok()
        } else {
            let (ends, lows) = self.blocks();
            let block = usize::from(entry) / BLOCK;
            let end = |block: usize| ends.get(block).map_or(0, |end| usize::from(u16::from_le_bytes(*end)));
            let from = block.checked_sub(1).map_or(0, end);
            lows[from..end(block).max(from)].binary_search(&(entry as u8)).is_ok()
        };
        u8::from(found)
    }

    fn blocks(self) -> (&'a [[u8; 2]], &'a [u8]) {
        let (ends, lows) = self.once.split_at(2 * BLOCKS);
        (ends.as_chunks::<2>().0, lows)
    }

    /// The entries in order, and how often each has the term.
    fn sorted(self) -> Vec<(u16, u8)> {
        let mut all = Vec::with_capacity(self.count());
        self.each(|entry, count| all.push((entry, count)));
        if !self.often.is_empty() {
            all.sort_unstable();
        }
        all
    }
}

impl Postings {
    /// Makes them of any number of postings in any order.
    pub(crate) fn of(mut all: Vec<Posting>) -> Self {
        all.sort_unstable();
        let mut postings = Self { bytes: Vec::with_capacity(all.len() * 2), ..Self::default() };
        let mut list = Vec::new();
        for same in all.chunk_by(|one, next| one.0 == next.0) {
            list.clear();
            list.extend(same.iter().map(|(_, entry, count)| (*entry, *count)));
            postings.push(same[0].0, &list);
        }
        postings.end()
    }

    /// Joins several, in which entry `old` of the part `p` is now `moved(p, old)`, or gone. Numbers must grow with the part and the entry.
    pub(crate) fn join(parts: &[&Self], moved: &dyn Fn(usize, u16) -> Option<u16>) -> Self {
        let room = parts.iter().map(|part| part.bytes.len()).sum();
        let mut joined = Self { bytes: Vec::with_capacity(room), ..Self::default() };
        let mut next = vec![0; parts.len()];
        let mut list = Vec::new();
        while let Some(term) = parts
            .iter()
            .zip(&next)
            .filter_map(|(part, next): (&&Self, &usize)| part.terms.get(*next))
            .min()
            .copied()
        {
            list.clear();
            for (number, part) in parts.iter().enumerate() {
                if part.terms.get(next[number]) == Some(&term) {
                    let stay = |(entry, count)| Some((moved(number, entry)?, count));
                    list.extend(part.at(next[number]).sorted().into_iter().filter_map(stay));
                    next[number] += 1;
                }
            }
            if !list.is_empty() {
                joined.push(term, &list);
            }
        }
        joined.end()
    }

    /// The entries that have a term.
    pub(crate) fn find(&self, term: u64) -> Posted<'_> {
        self.terms.binary_search(&term).map_or(Posted::default(), |place| self.at(place))
    }

    /// All of them, in order of term and entry.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Posting> {
        self.terms.iter().enumerate().flat_map(|(place, term)| {
            self.at(place).sorted().into_iter().map(|(entry, count)| (*term, entry, count))
        })
    }

    /// Adds the list of the next term, its entries in order.
    fn push(&mut self, term: u64, list: &[(u16, u8)]) {
        self.terms.push(term);
        if let [(entry, count)] = list {
            self.starts.push(ALONE | u32::from(*count) << 16 | u32::from(*entry));
            return;
        }
        self.starts.push(u32::try_from(self.bytes.len()).unwrap_or(0) & !ALONE);
        let often = list.iter().filter(|(_, count)| *count != 1);
        let once = || list.iter().filter(|(_, count)| *count == 1).map(|(entry, _)| *entry);
        let singles = once().count();
        self.bytes.extend((singles as u16).to_le_bytes());
        self.bytes.extend(((list.len() - singles) as u16).to_le_bytes());
        for (entry, count) in often {
            self.bytes.extend(entry.to_le_bytes());
            self.bytes.push(*count);
        }
        if singles < LONG {
            self.bytes.extend(once().flat_map(u16::to_le_bytes));
            return;
        }
        let mut ends = [0u16; BLOCKS];
        once().for_each(|entry| ends[usize::from(entry) / BLOCK] += 1);
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        self.bytes.extend(ends.iter().flat_map(|end| end.to_le_bytes()));
        self.bytes.extend(once().map(|entry| entry as u8));
    }

    fn end(mut self) -> Self {
        self.terms.shrink_to_fit();
        self.starts.shrink_to_fit();
        self.bytes.shrink_to_fit();
        self
    }

    fn at(&self, place: usize) -> Posted<'_> {
        let start = self.starts[place];
        if start & ALONE != 0 {
            let alone = Some((start as u16, (start >> 16) as u8));
            return Posted { alone, ..Posted::default() };
        }
        let bytes = &self.bytes[start as usize..];
        let number = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let (singles, others) = (number(0), number(2));
        let (often, rest) = bytes[4..].split_at(3 * others);
        let size = if singles < LONG { 2 * singles } else { 2 * BLOCKS + singles };
        Posted { once: &rest[..size], singles, often: often.as_chunks::<3>().0, alone: None }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(postings: &Postings, term: u64) -> Vec<(u16, u8)> {
        let posted = postings.find(term);
        let all = posted.sorted();
        assert_eq!(all.len(), posted.count());
        all
    }

    #[test]
    fn joined_postings_are_those_of_the_entries_that_stay() {
        let one = Postings::of(vec![(7, 1, 2), (3, 0, 1), (7, 0, 5)]);
        let two = Postings::of(vec![(7, 0, 1), (9, 0, 1), (9, 1, 3)]);
        assert_eq!(found(&one, 7), [(0, 5), (1, 2)]);
        assert_eq!(found(&one, 4), []);
        let moved = |part: usize, entry: u16| match (part, entry) {
            (0, 1) => Some(0),
            (1, entry) => Some(1 + entry),
            _ => None,
        };
        let joined = Postings::join(&[&one, &two], &moved);
        assert_eq!(found(&joined, 3), []);
        assert_eq!(found(&joined, 7), [(0, 2), (1, 1)]);
        assert_eq!(found(&joined, 9), [(1, 1), (2, 3)]);
        assert_eq!(joined.iter().collect::<Vec<_>>(), [(7, 0, 2), (7, 1, 1), (9, 1, 1), (9, 2, 3)]);
    }

    #[test]
    fn a_term_that_every_entry_has_is_read_back_whole() {
        let last = (MOST_ENTRIES - 1) as u16;
        let all: Vec<Posting> = (0..=last).map(|entry| (5, entry, 1)).collect();
        let postings = Postings::of(all.clone());
        assert_eq!(postings.iter().collect::<Vec<_>>(), all);
        assert!(postings.find(5).of(last) == 1 && postings.find(6).of(last) == 0);
        assert!(postings.bytes.len() < MOST_ENTRIES + 3 * BLOCK, "a byte each");
    }

    proptest! {
        #[test]
        fn what_was_put_in_comes_out_and_is_looked_up_one_by_one(
            spread in 1..200u16,
            counts in prop::collection::vec((0..20u64, 1..200u16, prop_oneof![9 => Just(1u8), 1 => 1..=255u8]), 0..3_000),
        ) {
            let mut all = std::collections::BTreeMap::new();
            let mut entry = 0u16;
            for (term, step, count) in counts {
                entry = (entry + step % spread) % MOST_ENTRIES as u16;
                // Few terms have most of the entries, so that lists of all lengths come up.
                all.insert((term * term / 60, entry), count);
            }
            let all: Vec<Posting> = all.into_iter().map(|((term, entry), count)| (term, entry, count)).collect();
            let postings = Postings::of(all.iter().rev().copied().collect());
            prop_assert_eq!(&postings.iter().collect::<Vec<_>>(), &all);
            for entry in (0..MOST_ENTRIES as u16).step_by(7).chain(all.iter().map(|posting| posting.1)) {
                let expected = all.iter().find(|(term, other, _)| (*term, *other) == (0, entry));
                prop_assert_eq!(postings.find(0).of(entry), expected.map_or(0, |posting| posting.2));
            }
            let halves = [0, 1].map(|half| {
                Postings::of(all.iter().filter(|posting| usize::from(posting.1 >= 16_384) == half).copied().collect())
            });
            let joined = Postings::join(&[&halves[0], &halves[1]], &|_, entry| (!entry.is_multiple_of(3)).then_some(entry));
            let stay: Vec<Posting> = all.into_iter().filter(|posting| !posting.1.is_multiple_of(3)).collect();
            prop_assert_eq!(joined.iter().collect::<Vec<_>>(), stay);
        }
    }
}
