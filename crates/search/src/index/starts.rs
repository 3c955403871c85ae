//! Starts: where the list of each term begins, or the one entry that has the term.
//!
//! Promises: what was pushed comes back at its place. Most terms of a segment occur in one entry, once or
//! twice (a name is often said again in the text): such a term takes two bytes here, and nothing elsewhere.
//! It does not know terms, nor what is in a list.

use super::capacity::MOST_ENTRIES;

/// Places that share a word of bits.
const WORD: usize = 64;

/// Marks an entry that has the term twice.
const TWICE: u16 = 1 << 15;
const _: () = assert!(MOST_ENTRIES <= TWICE as usize, "numbers of entries leave a bit free");

/// One for each term, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Starts {
    count: usize,
    /// A bit for each term that one entry has, and how many such terms there are before each word.
    alone: Vec<u64>,
    before: Vec<u32>,
    /// The entries of these, with [`TWICE`] where it occurs twice.
    entries: Vec<u16>,
    /// Where the lists of the others begin.
    starts: Vec<u32>,
}

/// Where the entries of a term are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// This one entry has it, once or twice.
    Alone(u16, u8),
    /// In a list that begins here.
    List(u32),
}

impl Starts {
    /// Adds that of the next term.
    pub(super) fn push(&mut self, start: Start) {
        let bit = self.count % WORD;
        if bit == 0 {
            self.alone.push(0);
            self.before.push(self.entries.len() as u32);
        }
        self.count += 1;
        match (start, self.alone.last_mut()) {
            (Start::Alone(entry, times), Some(word)) => {
                *word |= 1 << bit;
                self.entries.push(if times > 1 { entry | TWICE } else { entry });
            }
            (Start::List(at), _) => self.starts.push(at),
            (Start::Alone(..), None) => {}
        }
    }

    /// That of the term at a place.
    #[inline]
    pub(super) fn at(&self, place: usize) -> Start {
        let (word, bit) = (self.alone[place / WORD], place % WORD);
        let before = self.before[place / WORD] as usize + (word & ((1 << bit) - 1)).count_ones() as usize;
        if word >> bit & 1 == 1 {
            let entry = self.entries[before];
            Start::Alone(entry & !TWICE, if entry & TWICE == 0 { 1 } else { 2 })
        } else {
            Start::List(self.starts[place - before])
        }
    }

    /// Gives back memory that was taken in advance.
    pub(super) fn settle(&mut self) {
        self.alone.shrink_to_fit();
        self.before.shrink_to_fit();
        self.entries.shrink_to_fit();
        self.starts.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_pushed_comes_back_at_its_place(
            all in prop::collection::vec(prop_oneof![(0..TWICE, 1..=2u8).prop_map(|(entry, times)| Start::Alone(entry, times)), any::<u32>().prop_map(Start::List)], 0..300),
        ) {
            let mut starts = Starts::default();
            all.iter().for_each(|start| starts.push(*start));
            starts.settle();
            prop_assert_eq!((0..all.len()).map(|place| starts.at(place)).collect::<Vec<_>>(), all);
        }
    }
}
