//! Coded: a vector in whole numbers.
//!
//! Promises: the numbers are between -127 and 127 with one factor that gives the vector length 1; a vector
//! without a direction is not coded. The same numbers give the same codes on every processor.

use crate::simd::{Lanes, Loop};

/// A vector in whole numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Coded {
    /// The numbers.
    pub(crate) codes: Vec<i8>,
    /// What they are multiplied by for length 1.
    pub(crate) scale: f32,
    /// The signs: a set bit means a number that is not negative.
    pub(crate) signs: Vec<u64>,
}

impl Coded {
    /// Writes a vector in whole numbers; `None` when it has no direction.
    pub(crate) fn of(values: &[f32]) -> Option<Self> {
        let (lanes, mut codes) = (Lanes::best(), vec![0; values.len()]);
        if !lanes.run(Quantise { values, codes: &mut codes }) {
            return None;
        }
        Self::from_codes(codes)
    }

    /// Takes whole numbers as they are; `None` when they are not those of a vector.
    pub(crate) fn from_codes(codes: Vec<i8>) -> Option<Self> {
        let scale = scale(&codes);
        let signs = signs(&codes);
        (scale > 0.0 && !codes.contains(&i8::MIN)).then_some(Self { codes, scale, signs })
    }
}

/// Writes numbers as whole ones from -127 to 127, the largest as one of these two; `false` when one is not
/// finite or all are zero.
struct Quantise<'a> {
    values: &'a [f32],
    codes: &'a mut [i8],
}

impl Loop for Quantise<'_> {
    type Out = bool;

    #[inline(always)]
    fn run(self) -> bool {
        // Magnitudes have their bits in the order of the numbers, and what is not finite is above all others.
        let peak = self.values.iter().fold(0, |peak: u32, value| peak.max(value.abs().to_bits()));
        let peak = f32::from_bits(peak);
        if !peak.is_finite() || peak <= 0.0 {
            return false;
        }
        for (code, value) in self.codes.iter_mut().zip(self.values) {
            *code = (value / peak * 127.0).round() as i8;
        }
        true
    }
}

/// The factor that gives whole numbers length 1.
fn scale(codes: &[i8]) -> f32 {
    let square = Lanes::best().dot(codes, codes);
    if square == 0 { 0.0 } else { (1.0 / f64::from(square).sqrt()) as f32 }
}

/// The signs of whole numbers, a bit for each that is not negative.
pub(super) fn signs(codes: &[i8]) -> Vec<u64> {
    let word = |codes: &[i8]| {
        codes.iter().enumerate().fold(0, |word, (bit, code)| word | u64::from(*code >= 0) << bit)
    };
    codes.chunks(64).map(word).collect()
}
