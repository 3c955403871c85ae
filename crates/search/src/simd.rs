//! Simd: the few loops that take nearly all the time, as wide as this processor goes.
//!
//! Promises: [`Lanes::best`] looks once at the processor and takes AVX2 where it is there; [`Lanes::portable`] is plain Rust that runs
//! everywhere. Both give the same bits: products are summed as whole numbers, and no floating-point operation is reordered or fused.
//!
//! This is the only file of the crate with unsafe code; docs/decisions/0013-unsafe-in-search.md says why and what it may contain. It knows
//! nothing of models: callers hand it rows of numbers.
#![expect(unsafe_code, reason = "vector instructions; see docs/decisions/0013-unsafe-in-search.md")]

/// How many output columns lie side by side in packed weights.
pub(crate) const TILE: usize = 16;

/// Largest magnitude of a quantised input. The sums of the longest row, `1536 · 127 · 8191`, stay inside 32 bits.
pub(crate) const INPUT_PEAK: f32 = 8191.0;

/// How wide the loops run. An AVX2 value exists only on a processor that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lanes(Width);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

/// A matrix of whole numbers as the loops want it: blocks of [`TILE`] outputs; in a block, for each pair of inputs, the pair's two weights
/// of each output. Row `o` of the matrix stands for `scales[o]` times its numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packed<'a> {
    /// The numbers, each a signed byte.
    pub(crate) weights: &'a [u8],
    /// One factor for each output.
    pub(crate) scales: &'a [f32],
    /// Added to each output.
    pub(crate) bias: &'a [f32],
}

/// Rows of whole numbers to be multiplied with a matrix, two to a word: the first in the low half.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// All rows, one after the other.
    pub(crate) pairs: &'a [u32],
    /// One factor for each row.
    pub(crate) scales: &'a [f32],
}

impl Lanes {
    /// The widest loops of this processor.
    #[must_use]
    pub(crate) fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt") {
            return Self(Width::Avx2);
        }
        Self(Width::Portable)
    }

    /// Plain loops, the same on every processor.
    #[cfg(test)]
    pub(crate) const fn portable() -> Self {
        Self(Width::Portable)
    }

    /// Runs a plain loop, compiled for the width: what is inlined into it may use all of the processor's lanes.
    #[inline]
    pub(crate) fn run<R>(self, work: impl FnOnce() -> R) -> R {
        match self.0 {
            Width::Portable => work(),
            // SAFETY: `Width::Avx2` is made only by `best`, after it found the features that `avx2::run` is compiled for.
            #[cfg(target_arch = "x86_64")]
            Width::Avx2 => unsafe { avx2::run(work) },
        }
    }

    /// Multiplies rows with a matrix: `out` gets, row after row, one number for each of the matrix's outputs.
    ///
    /// # Panics
    /// When the lengths do not fit each other.
    pub(crate) fn linear(self, matrix: Packed<'_>, rows: Rows<'_>, out: &mut [f32]) {
        let (outputs, count) = (matrix.scales.len(), rows.scales.len());
        if count == 0 {
            return;
        }
        let pairs = rows.pairs.len() / count;
        assert!(
            outputs.is_multiple_of(TILE) && outputs == matrix.bias.len(),
            "whole tiles, a bias for each output"
        );
        assert_eq!(matrix.weights.len(), outputs * pairs * 2, "a weight for each input of each output");
        assert_eq!((pairs * count, out.len()), (rows.pairs.len(), outputs * count), "whole rows in and out");
        match self.0 {
            Width::Portable => linear_portable(matrix, rows, pairs, out),
            // SAFETY: `Width::Avx2` is made only by `best`, after it found AVX2.
            #[cfg(target_arch = "x86_64")]
            Width::Avx2 => unsafe { avx2::linear(matrix, rows, pairs, out) },
        }
    }
}

/// The inner product of two rows of signed bytes; exact.
#[inline(always)]
pub(crate) fn dot_i8(left: &[i8], right: &[i8]) -> i32 {
    left.iter().zip(right).map(|(left, right)| i32::from(*left) * i32::from(*right)).sum()
}

/// In how many of 384 bits two rows differ.
#[inline(always)]
pub(crate) fn hamming(left: &[u64; 6], right: &[u64; 6]) -> u32 {
    left.iter().zip(right).map(|(left, right)| (left ^ right).count_ones()).sum()
}

/// The inner products of one row with each of many that lie one after the other; `out` takes one number for each.
pub(crate) fn dots_i8(lanes: Lanes, query: &[i8], rows: &[i8], out: &mut [i32]) {
    lanes.run(|| {
        for (out, row) in out.iter_mut().zip(rows.chunks_exact(query.len().max(1))) {
            *out = dot_i8(query, row);
        }
    });
}

/// In how many bits one row differs from each of many.
pub(crate) fn hammings(lanes: Lanes, query: &[u64; 6], rows: &[[u64; 6]], out: &mut [u16]) {
    lanes.run(|| {
        for (out, row) in out.iter_mut().zip(rows) {
            *out = hamming(query, row) as u16;
        }
    });
}

fn linear_portable(matrix: Packed<'_>, rows: Rows<'_>, pairs: usize, out: &mut [f32]) {
    let outputs = matrix.scales.len();
    for (tile, weights) in matrix.weights.chunks_exact(pairs * 2 * TILE).enumerate() {
        let at = tile * TILE..(tile + 1) * TILE;
        for (row, scale) in rows.scales.iter().enumerate() {
            let mut sums = [0_i32; TILE];
            let inputs = &rows.pairs[row * pairs..(row + 1) * pairs];
            for (pair, weights) in inputs.iter().zip(weights.chunks_exact(2 * TILE)) {
                let (low, high) = (i32::from(*pair as i16), i32::from((*pair >> 16) as i16));
                for (sum, two) in sums.iter_mut().zip(weights.chunks_exact(2)) {
                    *sum += i32::from(two[0] as i8) * low + i32::from(two[1] as i8) * high;
                }
            }
            let factors = matrix.scales[at.clone()].iter().zip(&matrix.bias[at.clone()]);
            let outs = &mut out[row * outputs..][at.clone()];
            for ((out, sum), (factor, bias)) in outs.iter_mut().zip(sums).zip(factors) {
                *out = sum as f32 * factor * scale + bias;
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    //! Sixteen products of 16-bit numbers in one instruction. Each function is compiled for AVX2 and called only where the processor has it.

    use std::arch::x86_64::{
        __m128i, __m256i, _mm_loadu_si128, _mm256_add_epi32, _mm256_add_ps, _mm256_cvtepi8_epi16,
        _mm256_cvtepi32_ps, _mm256_loadu_ps, _mm256_madd_epi16, _mm256_mul_ps, _mm256_set1_epi32,
        _mm256_set1_ps, _mm256_setzero_si256, _mm256_storeu_ps,
    };

    use super::{Packed, Rows, TILE};

    /// How many rows are multiplied at once: two sums for each of six, two registers of weights, one of inputs and one of products fill the
    /// sixteen registers.
    const ROWS_AT_ONCE: usize = 6;

    /// Runs plain code with AVX2 at the compiler's hands.
    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn run<R>(work: impl FnOnce() -> R) -> R {
        work()
    }

    /// As [`super::Lanes::linear`], which has compared the lengths.
    #[target_feature(enable = "avx2")]
    pub(super) fn linear(matrix: Packed<'_>, rows: Rows<'_>, pairs: usize, out: &mut [f32]) {
        let count = rows.scales.len();
        let groups = count.div_ceil(ROWS_AT_ONCE);
        for tile in 0..matrix.scales.len() / TILE {
            for group in 0..groups {
                // Groups of nearly one size: a last group of one row would wait for its own sums.
                let (from, to) = (count * group / groups, count * (group + 1) / groups);
                match to - from {
                    1 => block::<1>(matrix, rows, pairs, tile, from, out),
                    2 => block::<2>(matrix, rows, pairs, tile, from, out),
                    3 => block::<3>(matrix, rows, pairs, tile, from, out),
                    4 => block::<4>(matrix, rows, pairs, tile, from, out),
                    5 => block::<5>(matrix, rows, pairs, tile, from, out),
                    _ => block::<ROWS_AT_ONCE>(matrix, rows, pairs, tile, from, out),
                }
            }
        }
    }

    /// One tile of outputs for `N` rows that begin at `from`.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn block<const N: usize>(
        matrix: Packed<'_>,
        rows: Rows<'_>,
        pairs: usize,
        tile: usize,
        from: usize,
        out: &mut [f32],
    ) {
        let weights = &matrix.weights[tile * pairs * 2 * TILE..(tile + 1) * pairs * 2 * TILE];
        let inputs: [&[u32]; N] =
            std::array::from_fn(|row| &rows.pairs[(from + row) * pairs..(from + row + 1) * pairs]);
        let mut sums = [[_mm256_setzero_si256(); 2]; N];
        for pair in 0..pairs {
            // SAFETY: `weights` holds `2 * TILE` bytes, which are two halves of 16, for each of `pairs` pairs (sliced above), and each of
            // `inputs` holds `pairs` words; `pair` is less than `pairs`. The loads need no alignment.
            let (halves, words) = unsafe {
                let at = weights.as_ptr().add(pair * 2 * TILE).cast::<__m128i>();
                let halves = [_mm_loadu_si128(at), _mm_loadu_si128(at.add(1))];
                (halves, inputs.map(|row| *row.get_unchecked(pair)))
            };
            let halves = halves.map(|half| _mm256_cvtepi8_epi16(half));
            for row in 0..N {
                let word = _mm256_set1_epi32(words[row].cast_signed());
                for half in 0..2 {
                    sums[row][half] =
                        _mm256_add_epi32(sums[row][half], _mm256_madd_epi16(halves[half], word));
                }
            }
        }
        let outputs = matrix.scales.len();
        for (row, sums) in sums.into_iter().enumerate() {
            let start = (from + row) * outputs + tile * TILE;
            for (half, sum) in sums.into_iter().enumerate() {
                let at = tile * TILE + half * 8;
                let out = &mut out[start + half * 8..][..8];
                finish(
                    sum,
                    &matrix.scales[at..at + 8],
                    &matrix.bias[at..at + 8],
                    rows.scales[from + row],
                    out,
                );
            }
        }
    }

    /// Turns eight sums into outputs, in the order of operations of the plain loop.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn finish(sums: __m256i, factors: &[f32], bias: &[f32], scale: f32, out: &mut [f32]) {
        assert!(factors.len() == 8 && bias.len() == 8 && out.len() == 8, "eight of each");
        // SAFETY: each slice holds the eight numbers that are read or written, as asserted; the operations need no alignment.
        unsafe {
            let scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(sums), _mm256_loadu_ps(factors.as_ptr()));
            let scaled = _mm256_mul_ps(scaled, _mm256_set1_ps(scale));
            _mm256_storeu_ps(out.as_mut_ptr(), _mm256_add_ps(scaled, _mm256_loadu_ps(bias.as_ptr())));
        }
    }
}

#[cfg(test)]
mod tests;
