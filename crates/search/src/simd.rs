//! Simd: the few loops that take nearly all the time, as wide as this processor goes.
//!
//! Promises: [`Lanes::best`] looks once at the processor and takes AVX2 where it is there, and AVX-512's
//! count of bits; `Lanes::portable` is plain Rust that runs everywhere. Both give the same bits: products are
//! summed as whole numbers, and no floating-point operation is reordered or fused.
//!
//! This is the only file of the crate with unsafe code; docs/decisions/0013-unsafe-in-search.md says why and
//! what it may contain. It knows nothing of models: callers hand it rows of numbers.
#![expect(unsafe_code, reason = "vector instructions; see docs/decisions/0013-unsafe-in-search.md")]

use std::sync::LazyLock;

/// How many output columns are side by side in packed weights.
pub(crate) const TILE: usize = 16;

/// How many inputs share a factor: few, so that one large number costs only its neighbours precision.
pub(crate) const GROUP: usize = 128;

/// Largest magnitude of a quantised input. The sums of a group, `128 · 127 · 32767`, stay inside 32 bits.
pub(crate) const INPUT_PEAK: f32 = 32767.0;

/// How wide the loops run. An AVX2 value exists only on a processor that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lanes(Width);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX2, and bits of many words counted at once.
    #[cfg(target_arch = "x86_64")]
    Counting,
}

/// Features of this processor, detected once: rows are compared thousands of times for a question.
static BEST: LazyLock<Lanes> = LazyLock::new(Lanes::look);

/// A plain loop that [`Lanes::run`] compiles twice, once for each width. `run` and all it calls have to be
/// `#[inline(always)]`: what stays a separate call is compiled for the oldest processor. So a trait, and not
/// a closure, which cannot be forced.
pub(crate) trait Loop {
    /// What comes out.
    type Out;

    /// Does the work.
    fn run(self) -> Self::Out;
}

/// A matrix of whole numbers in the layout of the loops: blocks of [`TILE`] outputs; in a block, for each
/// pair of inputs, the pair's two weights of each output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packed<'a> {
    /// The numbers, each a signed byte.
    pub(crate) weights: &'a [u8],
    /// What the numbers are multiples of: for each block, for each [`GROUP`] of inputs, one factor for each
    /// output.
    pub(crate) scales: &'a [f32],
    /// Added to each output.
    pub(crate) bias: &'a [f32],
}

/// Rows of whole numbers to be multiplied with a matrix, two to a word: the first in the low half.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// All rows, one after the other.
    pub(crate) pairs: &'a [u32],
    /// What the numbers are multiples of: one factor for each [`GROUP`] of each row.
    pub(crate) scales: &'a [f32],
    /// Numbers in a row.
    pub(crate) width: usize,
}

impl Lanes {
    /// The widest loops of this processor.
    #[must_use]
    #[inline]
    pub(crate) fn best() -> Self {
        *BEST
    }

    fn look() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt") {
            let counting = std::arch::is_x86_feature_detected!("avx512vl")
                && std::arch::is_x86_feature_detected!("avx512vpopcntdq");
            return Self(if counting { Width::Counting } else { Width::Avx2 });
        }
        Self(Width::Portable)
    }

    /// Plain loops, the same on every processor.
    #[cfg(test)]
    pub(crate) const fn portable() -> Self {
        Self(Width::Portable)
    }

    /// Runs a plain loop, compiled for the width.
    #[inline]
    pub(crate) fn run<L: Loop>(self, work: L) -> L::Out {
        match self.0 {
            Width::Portable => work.run(),
            // SAFETY: `Width::Avx2` is made only by `best`, after it found the features that `avx2::run` is
            // compiled for.
            #[cfg(target_arch = "x86_64")]
            Width::Avx2 => unsafe { avx2::run(work) },
            // SAFETY: `Width::Counting` is made only by `best`, after it found the features that
            // `avx2::run_counting` is compiled for.
            #[cfg(target_arch = "x86_64")]
            Width::Counting => unsafe { avx2::run_counting(work) },
        }
    }

    /// The inner product of two rows of signed bytes, exact where none is -128, which no vector of ours
    /// holds.
    #[inline]
    pub(crate) fn dot(self, left: &[i8], right: &[i8]) -> i32 {
        match self.0 {
            Width::Portable => dot_portable(left, right),
            // SAFETY: both are made only by `best`, after it found AVX2.
            #[cfg(target_arch = "x86_64")]
            Width::Avx2 | Width::Counting => unsafe { avx2::dot(left, right) },
        }
    }

    /// Multiplies rows with a matrix: `out` gets, row after row, one number for each of the matrix's outputs.
    ///
    /// # Panics
    /// When the lengths do not fit each other.
    pub(crate) fn linear(self, matrix: Packed<'_>, rows: Rows<'_>, out: &mut [f32]) {
        let (outputs, width) = (matrix.bias.len(), rows.width);
        assert!(
            width > 0 && width.is_multiple_of(GROUP) && outputs.is_multiple_of(TILE),
            "whole groups and tiles"
        );
        let count = rows.pairs.len() * 2 / width;
        assert_eq!(matrix.weights.len(), outputs * width, "a weight for each input of each output");
        assert_eq!(matrix.scales.len() * GROUP, matrix.weights.len(), "a factor for each group of weights");
        assert_eq!(rows.pairs.len() * 2, count * width, "whole rows");
        assert_eq!(rows.scales.len() * GROUP, count * width, "a factor for each group of inputs");
        assert_eq!(out.len(), outputs * count, "a place for each result");
        match self.0 {
            Width::Portable => linear_portable(matrix, rows, out),
            // SAFETY: both are made only by `best`, after it found AVX2.
            #[cfg(target_arch = "x86_64")]
            Width::Avx2 | Width::Counting => unsafe { avx2::linear(matrix, rows, out) },
        }
    }
}

/// The inner product of two rows, in eight sums side by side.
pub(crate) struct DotFloats<'a>(pub(crate) &'a [f32], pub(crate) &'a [f32]);

impl Loop for DotFloats<'_> {
    type Out = f32;

    #[inline(always)]
    fn run(self) -> f32 {
        let ((left, left_rest), (right, right_rest)) = (self.0.as_chunks::<8>(), self.1.as_chunks::<8>());
        let mut sums = [0f32; 8];
        for (left, right) in left.iter().zip(right) {
            for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
                *sum += left * right;
            }
        }
        let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
        sums.iter().sum::<f32>() + rest
    }
}

/// The sum of squares, in eight sums side by side.
pub(crate) struct Square<'a>(pub(crate) &'a [f32]);

impl Loop for Square<'_> {
    type Out = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let (eights, rest) = self.0.as_chunks::<8>();
        let mut sums = [0f64; 8];
        for eight in eights {
            for (sum, value) in sums.iter_mut().zip(eight) {
                *sum += f64::from(*value) * f64::from(*value);
            }
        }
        let rest: f64 = rest.iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
        sums.iter().sum::<f64>() + rest
    }
}

/// Numbers compared together; most of the time none of them is large enough.
const TOGETHER: usize = 64;

/// As many where it is likelier.
const FEWER: usize = 16;

/// Interleaved rows of bits: the first words of all of them, then their second words, and so on.
pub(crate) const ABREAST: usize = 8;

/// One word of each of them. It is aligned to a cache line, so that reading it touches one line and not two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(align(64))]
pub(crate) struct Line(pub(crate) [u64; ABREAST]);

/// The rows that differ from a row by at most `most`, with how much, added to `out` in order. A bit that
/// differs counts what the planes say: 1 where the first has a bit, 2 where the second has one.
pub(crate) struct Under<'a> {
    pub(crate) query: &'a [u64],
    pub(crate) planes: [&'a [u64]; 2],
    /// The rows, [`ABREAST`] at a time.
    pub(crate) rows: &'a [Line],
    pub(crate) most: u16,
    /// The number of the first row.
    pub(crate) from: u32,
    pub(crate) out: &'a mut Vec<(u16, u32)>,
}

impl Loop for Under<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let (most, mut first) = (u64::from(self.most), self.from);
        for rows in self.rows.chunks_exact(self.query.len().max(1)) {
            let counts = differ(rows, self.query, self.planes);
            let mut least = u64::MAX;
            for count in counts {
                least = if count < least { count } else { least };
            }
            if least <= most {
                for (row, count) in counts.iter().enumerate() {
                    if *count <= most {
                        self.out.push((*count as u16, first + row as u32));
                    }
                }
            }
            first += ABREAST as u32;
        }
    }
}

/// How much each row differs from a row, as [`Under`] counts it.
pub(crate) struct Differ<'a> {
    pub(crate) query: &'a [u64],
    pub(crate) planes: [&'a [u64]; 2],
    /// The rows, [`ABREAST`] at a time.
    pub(crate) rows: &'a [Line],
    pub(crate) out: &'a mut [u16],
}

impl Loop for Differ<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let blocks = self.rows.chunks_exact(self.query.len().max(1));
        for (rows, out) in blocks.zip(self.out.as_chunks_mut::<ABREAST>().0) {
            let counts = differ(rows, self.query, self.planes);
            for row in 0..ABREAST {
                out[row] = counts[row] as u16;
            }
        }
    }
}

/// How much the rows of a block differ from a row. Three words are added bit by bit before bits are counted:
/// two counts instead of three.
#[inline(always)]
fn differ(rows: &[Line], query: &[u64], [ones, twos]: [&[u64]; 2]) -> [u64; ABREAST] {
    let mut counts = [0u64; ABREAST];
    let (threes, rest) = rows.as_chunks::<3>();
    let words = query.as_chunks::<3>().0.iter().zip(ones.as_chunks::<3>().0).zip(twos.as_chunks::<3>().0);
    for ([first, second, third], ((query, ones), twos)) in threes.iter().zip(words) {
        for (row, count) in counts.iter_mut().enumerate() {
            let (a, b, c) = (first.0[row] ^ query[0], second.0[row] ^ query[1], third.0[row] ^ query[2]);
            let (sum, carry) = add_bits(a & ones[0], b & ones[1], c & ones[2]);
            let (twice, more) = add_bits(a & twos[0], b & twos[1], c & twos[2]);
            // What was carried counts as much as what counts twice.
            let (twice, four) = add_bits(twice, carry, 0);
            let (four, eight) = add_bits(four, more, 0);
            *count += u64::from(sum.count_ones());
            *count += 2 * u64::from(twice.count_ones());
            *count += 4 * u64::from(four.count_ones());
            *count += 8 * u64::from(eight.count_ones());
        }
    }
    let from = query.len() - rest.len().min(query.len());
    for (line, word) in rest.iter().zip(from..) {
        for (row, count) in counts.iter_mut().enumerate() {
            let differ = line.0[row] ^ query[word];
            *count += u64::from((differ & ones[word]).count_ones());
            *count += 2 * u64::from((differ & twos[word]).count_ones());
        }
    }
    counts
}

/// The sum of three bits at each place: its low bit and its high one.
#[inline(always)]
const fn add_bits(a: u64, b: u64, c: u64) -> (u64, u64) {
    (a ^ b ^ c, a & b | (a ^ b) & c)
}

/// How many of some small numbers are at most `most`.
pub(crate) struct CountUnder<'a> {
    pub(crate) numbers: &'a [u16],
    pub(crate) most: u16,
}

impl Loop for CountUnder<'_> {
    type Out = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let mut all = 0;
        // A sum for each place of a chunk, with few enough chunks that none can overflow.
        for some in self.numbers.chunks(TOGETHER * usize::from(u16::MAX)) {
            let (chunks, rest) = some.as_chunks::<TOGETHER>();
            let mut sums = [0u16; TOGETHER];
            for chunk in chunks {
                for place in 0..TOGETHER {
                    sums[place] += u16::from(chunk[place] <= self.most);
                }
            }
            for sum in sums {
                all += usize::from(sum);
            }
            for number in rest {
                all += usize::from(*number <= self.most);
            }
        }
        all
    }
}

/// Gives the places of all small numbers that are at most `most` to `take`, in order.
pub(crate) struct EachUnder<'a, F: FnMut(usize)> {
    pub(crate) numbers: &'a [u16],
    pub(crate) most: u16,
    pub(crate) take: F,
}

impl<F: FnMut(usize)> Loop for EachUnder<'_, F> {
    type Out = ();

    #[inline(always)]
    fn run(mut self) {
        let (parts, rest) = self.numbers.as_chunks::<FEWER>();
        for (part, some) in parts.iter().enumerate() {
            let mut least = u16::MAX;
            for number in some {
                least = if *number < least { *number } else { least };
            }
            if least <= self.most {
                for (place, number) in some.iter().enumerate() {
                    if *number <= self.most {
                        (self.take)(part * FEWER + place);
                    }
                }
            }
        }
        for (place, number) in rest.iter().enumerate() {
            if *number <= self.most {
                (self.take)(parts.len() * FEWER + place);
            }
        }
    }
}

/// How many numbers reach a floor.
pub(crate) struct CountOver<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) floor: f32,
}

impl Loop for CountOver<'_> {
    type Out = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let count = |some: &[f32]| some.iter().map(|value| u32::from(*value >= self.floor)).sum::<u32>();
        self.values.chunks(TOGETHER).map(|some| count(some) as usize).sum()
    }
}

/// Gives the places of all numbers that reach a floor to `take`, in order.
pub(crate) struct Over<'a, F: FnMut(usize)> {
    pub(crate) values: &'a [f32],
    pub(crate) floor: f32,
    pub(crate) take: F,
}

impl<F: FnMut(usize)> Loop for Over<'_, F> {
    type Out = ();

    #[inline(always)]
    fn run(mut self) {
        for (part, some) in self.values.chunks(TOGETHER).enumerate() {
            // Counted rather than asked for one by one, so that many are compared at once.
            let count: u32 = some.iter().map(|value| u32::from(*value >= self.floor)).sum();
            if count > 0 {
                let over = some.iter().enumerate().filter(|(_, value)| **value >= self.floor);
                over.for_each(|(place, _)| (self.take)(part * TOGETHER + place));
            }
        }
    }
}

fn dot_portable(left: &[i8], right: &[i8]) -> i32 {
    left.iter().zip(right).map(|(left, right)| i32::from(*left) * i32::from(*right)).sum()
}

fn linear_portable(matrix: Packed<'_>, rows: Rows<'_>, out: &mut [f32]) {
    let (outputs, groups) = (matrix.bias.len(), rows.width / GROUP);
    let tiles = matrix.weights.chunks_exact(rows.width * TILE).zip(matrix.scales.chunks_exact(groups * TILE));
    for (tile, (weights, factors)) in tiles.enumerate() {
        let rows = rows.pairs.chunks_exact(rows.width / 2).zip(rows.scales.chunks_exact(groups));
        for ((inputs, scales), out) in rows.zip(out.chunks_exact_mut(outputs)) {
            let out = &mut out[tile * TILE..(tile + 1) * TILE];
            out.copy_from_slice(&matrix.bias[tile * TILE..(tile + 1) * TILE]);
            let weights = weights.chunks_exact(GROUP * TILE).zip(factors.chunks_exact(TILE));
            for ((inputs, scale), (weights, factors)) in
                inputs.chunks_exact(GROUP / 2).zip(scales).zip(weights)
            {
                for ((out, sum), factor) in out.iter_mut().zip(group_portable(inputs, weights)).zip(factors) {
                    *out += sum as f32 * factor * scale;
                }
            }
        }
    }
}

/// The sums of one group of inputs for one tile of outputs.
fn group_portable(inputs: &[u32], weights: &[u8]) -> [i32; TILE] {
    let mut sums = [0_i32; TILE];
    for (pair, weights) in inputs.iter().zip(weights.chunks_exact(2 * TILE)) {
        let (low, high) = (i32::from(*pair as i16), i32::from((*pair >> 16) as i16));
        for (sum, two) in sums.iter_mut().zip(weights.chunks_exact(2)) {
            *sum += i32::from(two[0] as i8) * low + i32::from(two[1] as i8) * high;
        }
    }
    sums
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    //! Sixteen products of 16-bit numbers in one instruction. Each function is compiled for AVX2 and called
    //! only where the processor has it.

    use std::arch::x86_64::{
        __m128i, __m256, __m256i, _mm_loadu_si128, _mm256_abs_epi8, _mm256_add_epi32, _mm256_add_ps,
        _mm256_cvtepi8_epi16, _mm256_cvtepi32_ps, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_madd_epi16,
        _mm256_maddubs_epi16, _mm256_mul_ps, _mm256_set1_epi16, _mm256_set1_epi32, _mm256_set1_ps,
        _mm256_setzero_si256, _mm256_sign_epi8, _mm256_storeu_ps, _mm256_storeu_si256,
    };

    use super::{GROUP, Loop, Packed, Rows, TILE};

    /// How many rows are multiplied at once: two sums for each of six, two registers of weights, one of
    /// inputs and one of products fill the sixteen registers.
    const AT_ONCE: usize = 6;

    /// Runs plain code with AVX2 at the compiler's hands.
    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn run<L: Loop>(work: L) -> L::Out {
        work.run()
    }

    /// As [`run`], with the instruction that counts the bits of several words.
    #[target_feature(enable = "avx2,popcnt,avx512vl,avx512vpopcntdq")]
    pub(super) fn run_counting<L: Loop>(work: L) -> L::Out {
        work.run()
    }

    /// As [`super::Lanes::dot`]: 32 products at once, of magnitudes with the other's numbers turned to their
    /// sign. Two of 127 · 127 fit 16 bits.
    #[target_feature(enable = "avx2")]
    pub(super) fn dot(left: &[i8], right: &[i8]) -> i32 {
        let ((left, left_rest), (right, right_rest)) = (left.as_chunks::<32>(), right.as_chunks::<32>());
        let ones = _mm256_set1_epi16(1);
        let mut sum = _mm256_setzero_si256();
        for (left, right) in left.iter().zip(right) {
            // SAFETY: both are arrays of the 32 bytes that are read; the loads need no alignment.
            let (left, right) = unsafe {
                (_mm256_loadu_si256(left.as_ptr().cast()), _mm256_loadu_si256(right.as_ptr().cast()))
            };
            let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(left), _mm256_sign_epi8(right, left));
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
        }
        let mut eight = [0_i32; 8];
        // SAFETY: `eight` has the 32 bytes that are written; the store needs no alignment.
        unsafe { _mm256_storeu_si256(eight.as_mut_ptr().cast(), sum) };
        eight.iter().sum::<i32>() + super::dot_portable(left_rest, right_rest)
    }

    /// As [`super::Lanes::linear`], which has compared the lengths.
    #[target_feature(enable = "avx2")]
    pub(super) fn linear(matrix: Packed<'_>, rows: Rows<'_>, out: &mut [f32]) {
        let count = rows.pairs.len() * 2 / rows.width;
        let blocks = count.div_ceil(AT_ONCE);
        // Blocks of nearly one size: a last block of one row would wait for its own sums.
        let begin = |block: usize| count * block / blocks;
        let woven = weave(rows, (0..blocks).map(|block| (begin(block), begin(block + 1))));
        let groups = rows.width / GROUP;
        let tiles =
            matrix.weights.chunks_exact(rows.width * TILE).zip(matrix.scales.chunks_exact(groups * TILE));
        for (tile, (weights, factors)) in tiles.enumerate() {
            let bias = &matrix.bias[tile * TILE..(tile + 1) * TILE];
            for block in 0..blocks {
                let (from, to) = (begin(block), begin(block + 1));
                let inputs = &woven[from * rows.width / 2..to * rows.width / 2];
                let scales = &rows.scales[from * groups..to * groups];
                let out = &mut out[from * matrix.bias.len() + tile * TILE..];
                let tile = Tile { weights, factors, bias, outputs: matrix.bias.len() };
                match to - from {
                    1 => tile.multiply::<1>(inputs, scales, out),
                    2 => tile.multiply::<2>(inputs, scales, out),
                    3 => tile.multiply::<3>(inputs, scales, out),
                    4 => tile.multiply::<4>(inputs, scales, out),
                    5 => tile.multiply::<5>(inputs, scales, out),
                    _ => tile.multiply::<AT_ONCE>(inputs, scales, out),
                }
            }
        }
    }

    /// The rows of each block side by side: for each pair of inputs, the word of each row.
    fn weave(rows: Rows<'_>, blocks: impl Iterator<Item = (usize, usize)>) -> Vec<u32> {
        let pairs = rows.width / 2;
        let mut woven = vec![0; rows.pairs.len()];
        for (from, to) in blocks {
            let out = &mut woven[from * pairs..to * pairs];
            for (row, inputs) in rows.pairs[from * pairs..to * pairs].chunks_exact(pairs).enumerate() {
                let places = out.iter_mut().skip(row).step_by(to - from);
                places.zip(inputs).for_each(|(place, word)| *place = *word);
            }
        }
        woven
    }

    /// One block of outputs of a matrix.
    struct Tile<'a> {
        weights: &'a [u8],
        factors: &'a [f32],
        bias: &'a [f32],
        /// The distance between the results of two rows.
        outputs: usize,
    }

    impl Tile<'_> {
        /// The tile's outputs for `N` woven rows.
        #[target_feature(enable = "avx2")]
        #[inline]
        fn multiply<const N: usize>(&self, inputs: &[u32], scales: &[f32], out: &mut [f32]) {
            let groups = scales.len() / N;
            let bias = eights(self.bias);
            let mut totals = [bias; N];
            let inputs = inputs.chunks_exact(N * GROUP / 2);
            let weights = self.weights.chunks_exact(GROUP * TILE).zip(self.factors.chunks_exact(TILE));
            for (group, (inputs, (weights, factors))) in inputs.zip(weights).enumerate() {
                let sums = sums::<N>(inputs, weights);
                let factors = eights(factors);
                for row in 0..N {
                    let scale = _mm256_set1_ps(scales[row * groups + group]);
                    for half in 0..2 {
                        // The order of operations of the plain loop.
                        let scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[row][half]), factors[half]);
                        totals[row][half] = _mm256_add_ps(totals[row][half], _mm256_mul_ps(scaled, scale));
                    }
                }
            }
            for (row, totals) in totals.into_iter().enumerate() {
                let out = &mut out[row * self.outputs..][..TILE];
                // SAFETY: `out` holds the sixteen numbers that two stores write; they need no alignment.
                unsafe {
                    _mm256_storeu_ps(out.as_mut_ptr(), totals[0]);
                    _mm256_storeu_ps(out.as_mut_ptr().add(8), totals[1]);
                }
            }
        }
    }

    /// The sums of one group of inputs.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn sums<const N: usize>(inputs: &[u32], weights: &[u8]) -> [[__m256i; 2]; N] {
        let mut sums = [[_mm256_setzero_si256(); 2]; N];
        let (inputs, _) = inputs.as_chunks::<N>();
        let (weights, _) = weights.as_chunks::<{ 2 * TILE }>();
        for (words, weights) in inputs.iter().zip(weights) {
            let at = weights.as_ptr().cast::<__m128i>();
            // SAFETY: `weights` is an array of 32 bytes, which are the two halves; the loads need no
            // alignment.
            let (low, high) = unsafe { (_mm_loadu_si128(at), _mm_loadu_si128(at.add(1))) };
            let (low, high) = (_mm256_cvtepi8_epi16(low), _mm256_cvtepi8_epi16(high));
            for row in 0..N {
                let word = _mm256_set1_epi32(words[row].cast_signed());
                sums[row][0] = _mm256_add_epi32(sums[row][0], _mm256_madd_epi16(low, word));
                sums[row][1] = _mm256_add_epi32(sums[row][1], _mm256_madd_epi16(high, word));
            }
        }
        sums
    }

    /// Sixteen numbers in two registers.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn eights(values: &[f32]) -> [__m256; 2] {
        assert_eq!(values.len(), TILE, "one number for each output");
        // SAFETY: `values` holds sixteen numbers, as asserted; the loads need no alignment.
        unsafe { [_mm256_loadu_ps(values.as_ptr()), _mm256_loadu_ps(values.as_ptr().add(8))] }
    }
}

#[cfg(test)]
mod tests;
