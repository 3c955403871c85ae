//! Spaces: the vectors of one model in one segment.
//!
//! Promises: a vector is kept as whole numbers from -127 to 127 and a factor that gives it length 1, and as the signs of its numbers. Vectors of an
//! entry lie together, and those of all entries one after the other, so that a scan reads memory in order. The first half of the signs lies apart from the
//! second, which is read only of the few that the first did not rule out. Nothing changes after it is made.

use std::ops::Range;

use super::bits::Bits;
use crate::simd::{Differences, Lanes, MoreDifferences, Under};

/// A vector in whole numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Coded {
    /// The numbers.
    pub(crate) codes: Vec<i8>,
    /// What they are multiplied by for length 1.
    pub(crate) scale: f32,
    /// The signs: a bit stands for each number that is not negative.
    pub(crate) signs: Vec<u64>,
}

impl Coded {
    /// Writes a vector in whole numbers; `None` when it has no direction.
    pub(crate) fn of(values: &[f32]) -> Option<Self> {
        let peak = values.iter().fold(0f32, |peak, value| peak.max(value.abs()));
        if !values.iter().all(|value| value.is_finite()) || peak <= 0.0 {
            return None;
        }
        let codes: Vec<i8> = values.iter().map(|value| (value / peak * 127.0).round() as i8).collect();
        let scale = scale(&codes);
        let signs = signs(&codes);
        Some(Self { codes, scale, signs })
    }
}

/// The factor that gives whole numbers length 1.
pub(crate) fn scale(codes: &[i8]) -> f32 {
    let square: i64 = codes.iter().map(|code| i64::from(*code) * i64::from(*code)).sum();
    if square == 0 { 0.0 } else { (1.0 / (square as f64).sqrt()) as f32 }
}

fn signs(codes: &[i8]) -> Vec<u64> {
    let word = |codes: &[i8]| {
        codes.iter().enumerate().fold(0, |word, (bit, code)| word | u64::from(*code >= 0) << bit)
    };
    codes.chunks(64).map(word).collect()
}

/// A vector where it lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    codes: &'a [i8],
    scale: f32,
}

impl Row<'_> {
    /// How near another is, from -1 to 1.
    #[inline]
    pub(crate) fn near(self, other: Row<'_>) -> f32 {
        let dot = Lanes::best().dot(self.codes, other.codes);
        dot as f32 * self.scale * other.scale
    }
}

/// The vectors of a segment's entries in one model.
#[derive(Debug, Default)]
pub(crate) struct Space {
    dimensions: usize,
    words: usize,
    entries: usize,
    /// Where the vectors of each entry begin, with the end behind the last; empty when each has as many as the next.
    starts: Vec<u32>,
    /// How many vectors each entry has, when `starts` is empty.
    each: usize,
    codes: Vec<i8>,
    scales: Vec<f32>,
    /// The first words of the signs of each vector, and the others.
    front: Vec<u64>,
    back: Vec<u64>,
}

/// Words of the first half of the signs, where a vector has [`SIGN_WORDS`]; other vectors have all of them there.
pub(crate) const FRONT: usize = 3;

impl Space {
    /// An empty space of so many numbers to a vector.
    pub(crate) fn new(dimensions: usize) -> Self {
        Self { dimensions, words: dimensions.div_ceil(64), starts: vec![0], ..Self::default() }
    }

    /// Adds the next entry's vectors: their numbers one after the other.
    pub(crate) fn push(&mut self, codes: &[u8], scales: &[f32]) {
        let from = self.codes.len();
        own_pages(&mut self.codes, codes.len());
        self.codes.extend(codes.iter().map(|code| code.cast_signed().max(-127)));
        self.scales.extend(scales);
        for row in self.codes[from..].chunks(self.dimensions.max(1)) {
            let (signs, front) = (signs(row), self.front_words());
            self.front.extend(&signs[..front]);
            self.back.extend(&signs[front..]);
        }
        self.end_entry();
    }

    /// Adds the next entry as it is in another space of the model.
    pub(crate) fn copy(&mut self, from: &Self, entry: usize) {
        let range = from.range(entry);
        self.codes.extend(&from.codes[range.start * self.dimensions..range.end * self.dimensions]);
        self.scales.extend(&from.scales[range.clone()]);
        let (front, back) = (self.front_words(), self.words - self.front_words());
        self.front.extend(&from.front[range.start * front..range.end * front]);
        self.back.extend(&from.back[range.start * back..range.end * back]);
        self.end_entry();
    }

    fn end_entry(&mut self) {
        self.entries += 1;
        self.starts.push(u32::try_from(self.scales.len()).unwrap_or(u32::MAX));
    }

    /// Takes memory for what will be copied from other spaces, at once and not more.
    pub(crate) fn reserve(&mut self, entries: usize, vectors: usize) {
        own_pages(&mut self.codes, vectors * self.dimensions);
        self.codes.reserve_exact(vectors * self.dimensions);
        self.scales.reserve_exact(vectors);
        self.front.reserve_exact(vectors * self.front_words());
        self.back.reserve_exact(vectors * (self.words - self.front_words()));
        self.starts.reserve_exact(entries);
    }

    /// No entries follow: gives back memory that is not needed.
    pub(crate) fn settle(&mut self) {
        let first = self.starts.get(1).map_or(0, |end| *end as usize);
        if self.starts.windows(2).all(|pair| (pair[1] - pair[0]) as usize == first) {
            self.each = first;
            self.starts = Vec::new();
        }
        self.codes.shrink_to_fit();
        self.scales.shrink_to_fit();
        self.front.shrink_to_fit();
        self.back.shrink_to_fit();
        self.starts.shrink_to_fit();
    }

    const fn front_words(&self) -> usize {
        if self.words == SIGN_WORDS { FRONT } else { self.words }
    }

    /// Which vectors an entry has.
    pub(crate) fn range(&self, entry: usize) -> Range<usize> {
        match self.starts.get(entry..entry + 2) {
            Some(ends) => ends[0] as usize..ends[1] as usize,
            None => entry * self.each..(entry + 1) * self.each,
        }
    }

    /// The entry of a vector.
    pub(crate) fn entry(&self, vector: usize) -> usize {
        if self.starts.is_empty() {
            if self.each > 1 { vector / self.each } else { vector }
        } else {
            self.starts.partition_point(|start| *start as usize <= vector) - 1
        }
    }

    /// How many vectors some of the entries have.
    pub(crate) fn count(&self, entries: &Bits) -> usize {
        if self.starts.is_empty() {
            entries.count() * self.each
        } else if entries.count() == self.entries {
            self.len()
        } else {
            entries.iter().map(|entry| self.range(entry).len()).sum()
        }
    }

    /// How many vectors there are.
    pub(crate) fn len(&self) -> usize {
        self.scales.len()
    }

    /// One vector of an entry.
    pub(crate) fn vector_of(&self, entry: usize, vector: usize) -> Row<'_> {
        let vector = self.range(entry).start + vector;
        let codes = &self.codes[vector * self.dimensions..(vector + 1) * self.dimensions];
        Row { codes, scale: self.scales[vector] }
    }

    /// How near a vector is to the query, from -1 to 1.
    pub(crate) fn near(&self, vector: usize, query: &Coded) -> f32 {
        let row = &self.codes[vector * self.dimensions..(vector + 1) * self.dimensions];
        Row { codes: row, scale: self.scales[vector] }.near(Row { codes: &query.codes, scale: query.scale })
    }

    /// The nearest vector of an entry: how near and which of its vectors; `None` when it has none here.
    pub(crate) fn nearest(&self, entry: usize, query: &Coded) -> Option<(f32, usize)> {
        let range = self.range(entry);
        let from = range.start;
        range
            .map(|vector| (self.near(vector, query), vector - from))
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
    }

    /// In how many signs of the first half each of some vectors differs from the query, in order.
    pub(crate) fn differences(&self, vectors: Range<usize>, query: &Coded, out: &mut Vec<u16>) {
        out.clear();
        let words = self.front_words();
        let signs = &self.front[vectors.start * words..vectors.end * words];
        if self.words == SIGN_WORDS {
            let (rows, _) = signs.as_chunks::<FRONT>();
            let query: [u64; FRONT] = std::array::from_fn(|word| query.signs[word]);
            Lanes::best().run(Differences { query: &query, rows, out });
        } else {
            out.extend(signs.chunks(words.max(1)).map(|row| differ(row, &query.signs)));
        }
    }

    /// The vectors among some that differ from the query in at most so many signs of the first half, with how many, added to `out` in order.
    pub(crate) fn under(&self, vectors: Range<usize>, query: &Coded, most: u16, out: &mut Vec<(u16, u32)>) {
        let words = self.front_words();
        let signs = &self.front[vectors.start * words..vectors.end * words];
        let from = vectors.start as u32;
        if self.words == SIGN_WORDS {
            let (rows, _) = signs.as_chunks::<FRONT>();
            let query: [u64; FRONT] = std::array::from_fn(|word| query.signs[word]);
            Lanes::best().run(Under { query: &query, rows, most, from, out });
        } else {
            let counts = signs.chunks(words.max(1)).map(|row| differ(row, &query.signs));
            out.extend(counts.zip(from..).filter(|(count, _)| *count <= most));
        }
    }

    /// Adds to each of some vectors in how many signs of the second half it differs from the query.
    pub(crate) fn add_differences(&self, vectors: &mut [(u16, u32)], query: &Coded) {
        if self.words == SIGN_WORDS {
            let (rows, _) = self.back.as_chunks::<{ SIGN_WORDS - FRONT }>();
            let query: [u64; SIGN_WORDS - FRONT] = std::array::from_fn(|word| query.signs[FRONT + word]);
            Lanes::best().run(MoreDifferences { query: &query, rows, vectors });
        }
    }
}

/// Bytes from which on an array is given [`OWN`], and what it is given: more than the 32 MB up to which allocators take memory from the heap.
const LONG: usize = 1024 * 1024;
const OWN: usize = 33 * 1024 * 1024;

/// Gives an array that grows long pages of its own before so many more come: segments are joined again and again, and what the old ones leave in the heap would stay
/// there. Pages that are not written are none, and `shrink_to_fit` gives the others back.
pub(super) fn own_pages<T>(array: &mut Vec<T>, more: usize) {
    let (size, has) = (size_of::<T>().max(1), array.capacity());
    if (array.len() + more) * size > LONG && has * size < OWN && has < array.len() + more {
        array.reserve_exact(more.max(OWN / size - array.len().min(OWN / size)));
    }
}

/// Words of signs of a vector of 384 numbers, for which the scan is compiled in one piece.
const SIGN_WORDS: usize = 6;

#[inline]
fn differ(row: &[u64], query: &[u64]) -> u16 {
    row.iter().zip(query).map(|(a, b)| (a ^ b).count_ones() as u16).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_vector_of_an_entry_is_found_and_lengths_are_one() {
        let coded = |values: &[f32]| Coded::of(values).unwrap();
        let mut space = Space::new(3);
        let rows = [coded(&[1.0, 0.0, 0.0]), coded(&[0.0, 3.0, 4.0]), coded(&[0.0, -0.1, 0.0])];
        let bytes = |rows: &[Coded]| {
            rows.iter().flat_map(|row| &row.codes).map(|code| code.cast_unsigned()).collect::<Vec<_>>()
        };
        space.push(&bytes(&rows[..2]), &[rows[0].scale, rows[1].scale]);
        space.push(&[], &[]);
        space.push(&bytes(&rows[2..]), &[rows[2].scale]);
        let (near, which) = space.nearest(0, &coded(&[0.0, 0.6, 0.8])).unwrap();
        assert!((near - 1.0).abs() < 0.01 && which == 1);
        assert_eq!(space.nearest(1, &rows[0]), None);
        assert!((space.near(2, &coded(&[0.0, 1.0, 0.0])) + 1.0).abs() < 1e-6);
        assert_eq!([0, 1, 2].map(|vector| space.entry(vector)), [0, 0, 2]);
        let mut differences = Vec::new();
        space.differences(0..3, &rows[2], &mut differences);
        assert_eq!(differences, [1, 1, 0]);
        space.differences(1..2, &rows[2], &mut differences);
        assert_eq!(differences, [1]);
        let mut other = Space::new(3);
        other.copy(&space, 2);
        assert_eq!(other.nearest(0, &rows[2]), space.nearest(2, &rows[2]));
    }

    #[test]
    fn a_space_in_which_all_have_as_many_vectors_reads_as_any_other() {
        for each in 0..3 {
            let mut space = Space::new(2);
            (0..4).for_each(|_| space.push(&vec![1; each * 2], &vec![1.0; each]));
            let before: Vec<_> = (0..4).map(|entry| space.range(entry)).collect();
            space.settle();
            assert_eq!((0..4).map(|entry| space.range(entry)).collect::<Vec<_>>(), before);
            assert!((0..space.len()).all(|vector| before[space.entry(vector)].contains(&vector)));
            let mut some = Bits::none(4);
            some.add(2);
            assert_eq!((space.count(&some), space.count(&Bits::all(4))), (each, 4 * each));
        }
    }

    #[test]
    fn both_halves_of_the_signs_together_are_all_signs() {
        let vector = |seed: i32| -> Vec<f32> {
            (0..384).map(|number| ((number * 37 + seed * 101) % 61) as f32 - 30.0).collect()
        };
        let mut space = Space::new(384);
        let rows: Vec<Coded> = (0..5).map(|seed| Coded::of(&vector(seed)).unwrap()).collect();
        for row in &rows {
            space.push(&row.codes.iter().map(|code| code.cast_unsigned()).collect::<Vec<_>>(), &[row.scale]);
        }
        let query = Coded::of(&vector(9)).unwrap();
        let mut front = Vec::new();
        space.differences(0..5, &query, &mut front);
        let mut under = Vec::new();
        space.under(1..5, &query, front[3], &mut under);
        let expected = (1..5).map(|vector| (front[vector], vector as u32));
        assert_eq!(under, expected.filter(|(count, _)| *count <= front[3]).collect::<Vec<_>>());
        let mut all: Vec<(u16, u32)> = [0, 2, 4].map(|vector| (front[vector], vector as u32)).into();
        space.add_differences(&mut all, &query);
        let expected =
            [0, 2, 4].map(|vector: usize| (differ(&rows[vector].signs, &query.signs), vector as u32));
        assert_eq!(all, expected);
    }

    #[test]
    fn what_is_no_direction_is_no_vector() {
        assert_eq!(Coded::of(&[0.0, 0.0]), None);
        assert_eq!(Coded::of(&[f32::NAN, 1.0]), None);
        assert_eq!(Coded::of(&[f32::INFINITY, 1.0]), None);
        assert_eq!(Coded::of(&[]), None);
    }
}
