//! Spaces: the vectors of one model in one segment.
//!
//! Promises: a vector is kept as whole numbers from -127 to 127 and a factor that gives it length 1, and as
//! the signs of its numbers. Vectors of an entry are contiguous. Signs are stored separately, cell by cell,
//! so that a scan reads memory in order and only where the question is near. It does not change after it is
//! settled, and before that cells are not used.

use std::ops::Range;

use super::bits::Bits;
use super::cells::Cells;
use super::coded::{Coded, signs};
use crate::simd::{ABREAST, Differ, Lanes, Line, Under};

/// A question in signs: a number that differs in its sign counts the more the larger it is in the question,
/// from 0 to 3.
#[derive(Debug)]
pub(crate) struct Signs {
    signs: Vec<u64>,
    /// What each counts: 1 for a bit of the first, 2 for one of the second.
    planes: [Vec<u64>; 2],
}

impl Signs {
    /// What a sign counts at most.
    pub(crate) const MOST: usize = 3;

    /// The signs of a question.
    pub(crate) fn of(query: &Coded) -> Self {
        // Two thirds of the spread to a step: a quarter of the numbers counts nothing, a tenth the most.
        let spread = 1.0 / query.scale.max(f32::MIN_POSITIVE) / (query.codes.len().max(1) as f32).sqrt();
        let step = (spread * 2.0 / 3.0).max(f32::MIN_POSITIVE);
        // From which magnitudes on a number counts 1, 2 and 3.
        let [one, two, three] = [0.5, 1.5, 2.5].map(|half| (half * step).ceil() as u16);
        let count = |code: i8| {
            let size = u16::from(code.unsigned_abs());
            u8::from(size >= one) + u8::from(size >= two) + u8::from(size >= three)
        };
        let plane = |bit: u8| {
            let word = |codes: &[i8]| {
                codes
                    .iter()
                    .enumerate()
                    .fold(0, |word, (at, code)| word | u64::from(count(*code) >> bit & 1) << at)
            };
            query.codes.chunks(64).map(word).collect()
        };
        Self { signs: query.signs.clone(), planes: [plane(0), plane(1)] }
    }
}

/// A vector where it lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VectorRow<'a> {
    codes: &'a [i8],
    scale: f32,
}

impl VectorRow<'_> {
    /// How near another is, from -1 to 1.
    #[inline]
    pub(crate) fn near(self, other: VectorRow<'_>) -> f32 {
        let dot = Lanes::best().dot(self.codes, other.codes);
        dot as f32 * self.scale * other.scale
    }
}

/// What the numbers of a vector are multiplied by for length 1, in 16 bits. The largest number is 127, so it
/// is at most a 127th; for most vectors it is exact to the fourth digit, which is what whole numbers leave of
/// a nearness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Scale(u16);

impl Scale {
    const UNIT: f32 = 1.0 / (127.0 * u16::MAX as f32);

    fn of(scale: f32) -> Self {
        Self((scale / Self::UNIT).round() as u16)
    }

    #[inline]
    fn value(self) -> f32 {
        f32::from(self.0) * Self::UNIT
    }
}

/// The vectors of a segment's entries in one model.
#[derive(Debug, Default)]
pub(crate) struct Space {
    dimensions: usize,
    words: usize,
    entries: usize,
    /// Where the vectors of each entry begin, with the end behind the last; empty when each has as many as
    /// the next.
    starts: Vec<u32>,
    /// How many vectors each entry has, when `starts` is empty.
    each: usize,
    codes: Vec<i8>,
    scales: Vec<Scale>,
    cells: Cells,
    /// The signs of the vectors, cell by cell, [`ABREAST`] at a time.
    signs: Vec<Line>,
}

impl Space {
    /// An empty space for this vector length.
    pub(crate) fn new(dimensions: usize) -> Self {
        Self { dimensions, words: dimensions.div_ceil(64), starts: vec![0], ..Self::default() }
    }

    /// Adds the next entry's vectors: their numbers one after the other.
    pub(crate) fn push(&mut self, codes: &[u8], scales: &[f32]) {
        own_pages(&mut self.codes, codes.len());
        self.codes.extend(codes.iter().map(|code| code.cast_signed().max(-127)));
        self.scales.extend(scales.iter().map(|scale| Scale::of(*scale)));
        self.end_entry();
    }

    /// Adds the next entry as it is in another space of the model.
    pub(crate) fn copy(&mut self, from: &Self, entry: usize) {
        let range = from.range(entry);
        self.codes.extend(&from.codes[range.start * self.dimensions..range.end * self.dimensions]);
        self.scales.extend(&from.scales[range]);
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
        self.starts.reserve_exact(entries);
    }

    /// No entries follow: parts the vectors into cells and gives back memory that is not needed.
    pub(crate) fn settle(&mut self) {
        let first = self.starts.get(1).map_or(0, |end| *end as usize);
        if self.starts.windows(2).all(|pair| (pair[1] - pair[0]) as usize == first) {
            self.each = first;
            self.starts = Vec::new();
        }
        self.codes.shrink_to_fit();
        self.scales.shrink_to_fit();
        self.starts.shrink_to_fit();
        let scales: Vec<f32> = self.scales.iter().map(|scale| scale.value()).collect();
        self.cells = Cells::of(&self.codes, &scales, self.dimensions);
        self.weave_signs();
    }

    fn weave_signs(&mut self) {
        self.signs = vec![Line::default(); self.len().div_ceil(ABREAST) * self.words];
        for place in 0..self.len() {
            let vector = self.cells.vector(place);
            let row = &self.codes[vector * self.dimensions..(vector + 1) * self.dimensions];
            let from = place / ABREAST * self.words;
            for (line, word) in self.signs[from..].iter_mut().zip(signs(row)) {
                line.0[place % ABREAST] = word;
            }
        }
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
    pub(crate) fn vector_of(&self, entry: usize, vector: usize) -> VectorRow<'_> {
        let vector = self.range(entry).start + vector;
        let codes = &self.codes[vector * self.dimensions..(vector + 1) * self.dimensions];
        VectorRow { codes, scale: self.scales[vector].value() }
    }

    /// How near a vector is to the query, from -1 to 1.
    pub(crate) fn near(&self, vector: usize, query: &Coded) -> f32 {
        let row = &self.codes[vector * self.dimensions..(vector + 1) * self.dimensions];
        VectorRow { codes: row, scale: self.scales[vector].value() }
            .near(VectorRow { codes: &query.codes, scale: query.scale })
    }

    /// The nearest vector of an entry: how near and which of its vectors; `None` when it has none here.
    pub(crate) fn nearest(&self, entry: usize, query: &Coded) -> Option<(f32, usize)> {
        let range = self.range(entry);
        let from = range.start;
        range
            .map(|vector| (self.near(vector, query), vector - from))
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
    }

    /// Whether an entry may have more than one vector.
    pub(crate) const fn has_many(&self) -> bool {
        !self.starts.is_empty() || self.each > 1
    }

    /// Where the vectors lie.
    pub(crate) const fn cells(&self) -> &Cells {
        &self.cells
    }

    /// How much each vector differs from the query in its signs, in the order of the cells, added to `out`.
    pub(crate) fn differ(&self, query: &Signs, out: &mut Vec<u16>) {
        let (planes, from) = ([&query.planes[0][..], &query.planes[1][..]], out.len());
        out.resize(from + self.len().next_multiple_of(ABREAST), 0);
        Lanes::best().run(Differ { query: &query.signs, planes, rows: &self.signs, out: &mut out[from..] });
        out.truncate(from + self.len());
    }

    /// The vectors of a cell that differ from the query by at most `most` in their signs, with how much,
    /// added to `out`.
    pub(crate) fn under(&self, cell: usize, query: &Signs, most: u16, out: &mut Vec<(u16, u32)>) {
        let places = self.cells.range(cell);
        let (from, to) = (places.start / ABREAST, places.end.div_ceil(ABREAST));
        let rows = &self.signs[from * self.words..to * self.words];
        let planes = [&query.planes[0][..], &query.planes[1][..]];
        let first = out.len();
        Lanes::best().run(Under {
            query: &query.signs,
            planes,
            rows,
            most,
            from: (from * ABREAST) as u32,
            out,
        });
        // Neighbours of the first and the last belong to other cells.
        let mut kept = first;
        for next in first..out.len() {
            let (count, place) = out[next];
            if places.contains(&(place as usize)) {
                out[kept] = (count, self.cells.vector(place as usize) as u32);
                kept += 1;
            }
        }
        out.truncate(kept);
    }
}

/// Bytes from which on an array is given [`OWN`], and what it is given: more than the 32 MB up to which
/// allocators take memory from the heap.
const LONG: usize = 1024 * 1024;
const OWN: usize = 33 * 1024 * 1024;

/// Reserves separate pages for a growing array: segments are merged repeatedly, and the gaps that old ones
/// leave in the heap would stay. Unwritten pages cost nothing, and `shrink_to_fit` returns the others.
pub(super) fn own_pages<T>(array: &mut Vec<T>, more: usize) {
    let (size, has) = (size_of::<T>().max(1), array.capacity());
    if (array.len() + more) * size > LONG && has * size < OWN && has < array.len() + more {
        array.reserve_exact(more.max(OWN / size - array.len().min(OWN / size)));
    }
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
        space.settle();
        let mut under = Vec::new();
        space.under(0, &Signs::of(&rows[2]), u16::MAX, &mut under);
        assert_eq!(under, [(3, 0), (3, 1), (0, 2)], "what the question has most of counts most");
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
    fn the_scan_of_a_cell_gives_the_vectors_that_differ_little_by_their_numbers() {
        // Of 384 numbers, for which the scan is compiled in one piece, and of others.
        for dimensions in [384, 70] {
            let vector = |seed: usize| -> Vec<f32> {
                (0..dimensions).map(|number| ((number * 37 + seed * 101) % 61) as f32 - 30.0).collect()
            };
            let mut space = Space::new(dimensions);
            let rows: Vec<Coded> = (0..5_000).map(|seed| Coded::of(&vector(seed)).unwrap()).collect();
            for row in &rows {
                space.push(
                    &row.codes.iter().map(|code| code.cast_unsigned()).collect::<Vec<_>>(),
                    &[row.scale],
                );
            }
            space.settle();
            let query = Signs::of(&Coded::of(&vector(9)).unwrap());
            let differ = |vector: usize| -> u16 {
                let bit = |words: &[u64], at: usize| (words[at / 64] >> (at % 64) & 1) as u16;
                let signs =
                    (0..dimensions).filter(|at| bit(&rows[vector].signs, *at) != bit(&query.signs, *at));
                signs.map(|at| bit(&query.planes[0], at) + 2 * bit(&query.planes[1], at)).sum()
            };
            let most = differ(77);
            let mut found = Vec::new();
            (0..space.cells().len()).for_each(|cell| space.under(cell, &query, most, &mut found));
            found.sort_unstable_by_key(|(_, vector)| *vector);
            let all = (0..rows.len()).map(|vector| (differ(vector), vector as u32));
            assert_eq!(found, all.filter(|(count, _)| *count <= most).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_is_no_direction_is_no_vector() {
        assert_eq!(Coded::of(&[0.0, 0.0]), None);
        assert_eq!(Coded::of(&[f32::NAN, 1.0]), None);
        assert_eq!(Coded::of(&[f32::INFINITY, 1.0]), None);
        assert_eq!(Coded::of(&[]), None);
    }
}
