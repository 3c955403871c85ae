//! Cells: the vectors of a space partitioned by position, so that a question only compares the few cells near
//! it.
//!
//! Promises: every vector is in exactly one cell; the same vectors give the same cells. Cells are made once,
//! in two steps (parts, and cells of each part), so that a vector is compared with some thirty centres and
//! not with hundreds. It does not choose cells for a question; `scan` does.

use super::coded::Coded;
use crate::simd::Lanes;

/// Vectors below which a space is one cell: comparing all of them takes less than choosing.
pub(crate) const FEW: usize = 4_096;

/// Most vectors of a space that has cells: their numbers are kept in 16 bits.
const MOST: usize = 1 << 16;

/// Vectors of a cell, on average. Smaller cells follow the question more closely, and each has a centre that
/// it is compared with.
const VECTORS: usize = 128;

/// Vectors for each centre from which it is learnt, and how often it is moved to their middle.
const LEARNT: usize = 24;
const ROUNDS: usize = 5;

/// Where the vectors of a space lie.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    /// The numbers of the centres one after the other, and the factors that give them length 1.
    centres: Vec<i8>,
    scales: Vec<f32>,
    /// Where each cell begins in the order, with the end behind the last.
    starts: Vec<u32>,
    /// The numbers of the vectors, cell by cell; empty when there is one cell and they are in order.
    order: Vec<u16>,
}

impl Cells {
    /// Partitions vectors, stored consecutively, with the factors that normalise them.
    pub(crate) fn of(codes: &[i8], scales: &[f32], dimensions: usize) -> Self {
        let count = scales.len();
        if !(FEW..=MOST).contains(&count) || dimensions == 0 {
            return Self { starts: vec![0, u32::try_from(count).unwrap_or(u32::MAX)], ..Self::default() };
        }
        let vectors = Vectors { codes, scales, dimensions };
        let side = (count / VECTORS).isqrt().max(2);
        let all: Vec<u16> = (0..count).map(|vector| vector as u16).collect();
        let mut cells = Self { starts: vec![0], order: Vec::with_capacity(count), ..Self::default() };
        for (_, part) in vectors.part(&all, side) {
            for (centre, cell) in vectors.part(&part, side.min(part.len())) {
                cells.order.extend(cell);
                cells.starts.push(cells.order.len() as u32);
                cells.centres.extend(centre.codes);
                cells.scales.push(centre.scale);
            }
        }
        cells.centres.shrink_to_fit();
        cells.scales.shrink_to_fit();
        cells.starts.shrink_to_fit();
        cells
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Which places of the order a cell has.
    pub(crate) fn range(&self, cell: usize) -> std::ops::Range<usize> {
        self.starts[cell] as usize..self.starts[cell + 1] as usize
    }

    /// How near the middle of a cell is, from -1 to 1; nearest of all where there is only one.
    pub(crate) fn near(&self, cell: usize, query: &Coded) -> f32 {
        let Some(scale) = self.scales.get(cell) else { return f32::INFINITY };
        let size = query.codes.len();
        let centre = &self.centres[cell * size..(cell + 1) * size];
        Lanes::best().dot(centre, &query.codes) as f32 * scale * query.scale
    }

    /// The vector at a place of the order.
    #[inline]
    pub(crate) fn vector(&self, place: usize) -> usize {
        self.order.get(place).map_or(place, |vector| usize::from(*vector))
    }
}

/// Vectors that are parted.
struct Vectors<'a> {
    codes: &'a [i8],
    scales: &'a [f32],
    dimensions: usize,
}

impl Vectors<'_> {
    fn row(&self, vector: u16) -> &[i8] {
        let from = usize::from(vector) * self.dimensions;
        &self.codes[from..from + self.dimensions]
    }

    /// Partitions vectors into at most this many cells; none of them is empty.
    fn part(&self, some: &[u16], cells: usize) -> Vec<(Coded, Vec<u16>)> {
        let learnt: Vec<u16> = every(some, cells * LEARNT);
        let first = every(&learnt, cells);
        let mut centres: Vec<Coded> = first.iter().filter_map(|vector| self.middle(&[*vector])).collect();
        if centres.is_empty() {
            // Vectors without a direction have no middle.
            let nowhere = Coded { codes: vec![0; self.dimensions], scale: 0.0, signs: Vec::new() };
            return vec![(nowhere, some.to_vec())];
        }
        for _ in 0..ROUNDS {
            let parts = self.assign(&learnt, &centres);
            for (centre, part) in centres.iter_mut().zip(&parts) {
                if let Some(middle) = self.middle(part) {
                    *centre = middle;
                }
            }
        }
        let parts = self.assign(some, &centres);
        centres.into_iter().zip(parts).filter(|(_, part)| !part.is_empty()).collect()
    }

    /// The vectors nearest to each centre, in order.
    fn assign(&self, some: &[u16], centres: &[Coded]) -> Vec<Vec<u16>> {
        let mut parts = vec![Vec::new(); centres.len()];
        let lanes = Lanes::best();
        for vector in some {
            let row = self.row(*vector);
            let near = centres.iter().map(|centre| lanes.dot(row, &centre.codes) as f32 * centre.scale);
            let nearest = near.enumerate().reduce(|best, next| if next.1 > best.1 { next } else { best });
            parts[nearest.map_or(0, |(centre, _)| centre)].push(*vector);
        }
        parts
    }

    /// The direction between some vectors.
    fn middle(&self, some: &[u16]) -> Option<Coded> {
        let mut sum = vec![0f32; self.dimensions];
        for vector in some {
            let scale = self.scales[usize::from(*vector)];
            let row = self.row(*vector);
            sum.iter_mut().zip(row).for_each(|(sum, code)| *sum += scale * f32::from(*code));
        }
        Coded::of(&sum).map(|coded| Coded { signs: Vec::new(), ..coded })
    }
}

/// Evenly spaced elements, from first to last.
fn every(some: &[u16], count: usize) -> Vec<u16> {
    let count = count.min(some.len());
    (0..count).map(|number| some[number * some.len() / count]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors around a few directions.
    fn vectors(count: usize, dimensions: usize) -> (Vec<i8>, Vec<f32>) {
        let mut state = 7u64;
        let mut throw = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        };
        let around: Vec<Vec<f32>> = (0..20).map(|_| (0..dimensions).map(|_| throw()).collect()).collect();
        let rows = (0..count).map(|number| {
            let values: Vec<f32> = around[number % 20].iter().map(|value| value + 0.3 * throw()).collect();
            Coded::of(&values).unwrap()
        });
        let rows: Vec<Coded> = rows.collect();
        (rows.iter().flat_map(|row| row.codes.clone()).collect(), rows.iter().map(|row| row.scale).collect())
    }

    #[test]
    fn every_vector_lies_in_one_cell_and_the_same_vectors_give_the_same_cells() {
        let (codes, scales) = vectors(FEW + 500, 32);
        let cells = Cells::of(&codes, &scales, 32);
        assert!(cells.len() > 16 && cells.scales.len() == cells.len());
        let mut seen: Vec<usize> =
            (0..cells.len()).flat_map(|cell| cells.range(cell)).map(|place| cells.vector(place)).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..FEW + 500).collect::<Vec<_>>());
        let again = Cells::of(&codes, &scales, 32);
        assert_eq!((again.order, again.starts, again.centres), (cells.order, cells.starts, cells.centres));
    }

    #[test]
    fn the_cell_of_a_vector_is_among_the_nearest_to_it() {
        let (codes, scales) = vectors(FEW, 32);
        let cells = Cells::of(&codes, &scales, 32);
        let mut near = 0;
        for cell in 0..cells.len() {
            let vector = cells.vector(cells.range(cell).start);
            let query = Coded {
                codes: codes[vector * 32..(vector + 1) * 32].into(),
                scale: scales[vector],
                signs: Vec::new(),
            };
            let nearer = (0..cells.len())
                .filter(|other| cells.near(*other, &query) > cells.near(cell, &query))
                .count();
            near += usize::from(nearer * 8 <= cells.len());
        }
        assert!(near * 10 >= cells.len() * 9, "{near} of {}", cells.len());
    }

    #[test]
    fn few_vectors_those_without_direction_and_none_are_parted_too() {
        let few = Cells::of(&[1; 64], &[1.0, 1.0], 32);
        assert_eq!((few.len(), few.range(0), few.vector(1)), (1, 0..2, 1));
        assert_eq!(few.near(0, &Coded::of(&[1.0; 32]).unwrap()), f32::INFINITY);
        assert_eq!(Cells::of(&[], &[], 32).range(0), 0..0);
        let nowhere = Cells::of(&vec![0; FEW * 4], &vec![0.0; FEW], 4);
        assert_eq!((0..nowhere.len()).map(|cell| nowhere.range(cell).len()).sum::<usize>(), FEW);
    }
}
