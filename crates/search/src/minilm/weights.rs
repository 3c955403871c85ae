//! The weights of all-MiniLM-L6-v2 in place in the binary: signed bytes, with one factor for each row or 128
//! numbers of a row.
//!
//! Promises: the large parts are used where they lie, in the executable, and are never copied; only factors,
//! biases and norms (about 500 kB) are read into numbers. `examples/pack.rs` writes the file. All numbers are
//! little-endian; in order:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `AGSMLM01` |
//! | 6 × u32 | words, positions, width, layers, heads, inner width |
//! | 32 | SHA-256 of all that follows |
//! | rows, then factors | word vectors, as signed bytes and f32; then position vectors (with the one token type added) likewise |
//! | 2 × width f32 | gain and offset of the first norm |
//! | for each layer | query-key-value, output: matrix, factors, biases; norm; inner, outer: likewise; norm |
//!
//! A matrix has the layout of [`crate::simd::Packed`].

use std::ops::Range;

use crate::simd::{GROUP, Packed};

static MODEL: &[u8] = include_bytes!("../../model/all-minilm-l6-v2.int8");
const MAGIC: &[u8; 8] = b"AGSMLM01";
/// Where the digest of what follows it lies.
const DIGEST: Range<usize> = 32..64;

/// Numbers in a vector.
pub(super) const WIDTH: usize = 384;
/// Attention heads.
pub(super) const HEADS: usize = 12;
const WORDS: usize = 30_522;
const LAYERS: usize = 6;
const INNER: usize = 1536;

/// How many tokens of a text are read, with the two around it. The model's own configuration says 256;
/// positions beyond are not in the file.
pub(super) const MOST_TOKENS: usize = 256;

/// All weights.
#[derive(Debug)]
pub(super) struct Weights {
    pub(super) words: Vectors,
    pub(super) positions: Vectors,
    pub(super) first: Norm,
    pub(super) layers: Vec<Layer>,
}

/// Rows of signed bytes, each with a factor.
#[derive(Debug)]
pub(super) struct Vectors {
    rows: &'static [u8],
    factors: &'static [u8],
}

/// Gain and offset of a layer norm.
#[derive(Debug)]
pub(super) struct Norm {
    pub(super) gain: Vec<f32>,
    pub(super) offset: Vec<f32>,
}

/// One matrix.
#[derive(Debug)]
pub(super) struct Linear {
    weights: &'static [u8],
    scales: Vec<f32>,
    bias: Vec<f32>,
}

/// One of the layers.
#[derive(Debug)]
pub(super) struct Layer {
    /// Queries, keys and values, one after the other.
    pub(super) attend: Linear,
    pub(super) output: Linear,
    pub(super) middle: Norm,
    pub(super) inner: Linear,
    pub(super) outer: Linear,
    pub(super) last: Norm,
}

/// The first eight hexadecimal digits of the digest; reads nothing else.
pub(super) fn digest() -> String {
    MODEL[DIGEST].iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

impl Weights {
    /// Reads what is embedded.
    pub(super) fn embedded() -> Self {
        Self::read(MODEL).expect("the embedded model is the one this program was built for")
    }

    fn read(file: &'static [u8]) -> Option<Self> {
        let mut rest = Rest(file);
        if rest.take(8)? != MAGIC {
            return None;
        }
        let shape = [WORDS, MOST_TOKENS, WIDTH, LAYERS, HEADS, INNER];
        if !shape.iter().all(|expected| rest.number() == Some(*expected)) {
            return None;
        }
        rest.take(DIGEST.end - DIGEST.start)?;
        let weights = Self {
            words: rest.vectors(WORDS)?,
            positions: rest.vectors(MOST_TOKENS)?,
            first: rest.norm()?,
            layers: (0..LAYERS).map(|_| rest.layer()).collect::<Option<_>>()?,
        };
        rest.0.is_empty().then_some(weights)
    }
}

impl Vectors {
    /// Adds a row to `out`; a number past the last row is the last row's.
    #[inline(always)]
    pub(super) fn add(&self, row: usize, out: &mut [f32]) {
        let row = row.min(self.factors.len() / 4 - 1);
        let factor = &self.factors[row * 4..row * 4 + 4];
        let factor = f32::from_le_bytes([factor[0], factor[1], factor[2], factor[3]]);
        for (out, byte) in out.iter_mut().zip(&self.rows[row * WIDTH..(row + 1) * WIDTH]) {
            *out += f32::from(*byte as i8) * factor;
        }
    }
}

impl Linear {
    /// The matrix for the loops.
    pub(super) fn packed(&self) -> Packed<'_> {
        Packed { weights: self.weights, scales: &self.scales, bias: &self.bias }
    }

    /// Numbers in a row of its inputs.
    pub(super) fn inputs(&self) -> usize {
        self.weights.len() / self.bias.len()
    }
}

/// What is not read yet.
struct Rest(&'static [u8]);

impl Rest {
    fn take(&mut self, bytes: usize) -> Option<&'static [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<usize> {
        let bytes = self.take(4)?;
        usize::try_from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).ok()
    }

    fn floats(&mut self, count: usize) -> Option<Vec<f32>> {
        let bytes = self.take(count * 4)?.chunks_exact(4);
        Some(bytes.map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect())
    }

    fn vectors(&mut self, count: usize) -> Option<Vectors> {
        Some(Vectors { rows: self.take(count * WIDTH)?, factors: self.take(count * 4)? })
    }

    fn norm(&mut self) -> Option<Norm> {
        Some(Norm { gain: self.floats(WIDTH)?, offset: self.floats(WIDTH)? })
    }

    fn linear(&mut self, inputs: usize, outputs: usize) -> Option<Linear> {
        Some(Linear {
            weights: self.take(inputs * outputs)?,
            scales: self.floats(inputs / GROUP * outputs)?,
            bias: self.floats(outputs)?,
        })
    }

    fn layer(&mut self) -> Option<Layer> {
        Some(Layer {
            attend: self.linear(WIDTH, 3 * WIDTH)?,
            output: self.linear(WIDTH, WIDTH)?,
            middle: self.norm()?,
            inner: self.linear(WIDTH, INNER)?,
            outer: self.linear(INNER, WIDTH)?,
            last: self.norm()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_embedded_file_is_what_its_digest_says() {
        assert_eq!(MODEL[DIGEST], Sha256::digest(&MODEL[DIGEST.end..])[..]);
        assert_eq!(digest().len(), 8);
    }

    #[test]
    fn a_file_that_is_cut_or_of_another_kind_is_not_taken() {
        assert!(Weights::read(&MODEL[..MODEL.len() - 1]).is_none());
        assert!(Weights::read(&MODEL[8..]).is_none());
        assert!(Weights::read(&[]).is_none());
    }
}
