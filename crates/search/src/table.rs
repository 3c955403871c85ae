//! Static: a vector for each token, summed; microseconds for a sentence.
//!
//! Promises: near the vectors of all-MiniLM-L6-v2 as far as a sum over tokens can be, because the table was
//! fitted to them (`examples/fit.rs`). It does not see the order of words. The table is used in place in the
//! binary: `AGSTAB01`, two u32 (tokens, width), SHA-256 of what follows; for each token its numbers as signed
//! bytes; for each token an f32 that they are multiples of; all little-endian.

use futures::future::BoxFuture;

use crate::simd::{Lanes, Loop};
use crate::wordpiece::WordPiece;
use crate::{EmbedError, Embedder, ModelId, Vector};

static TABLE: &[u8] = include_bytes!("../model/static.int8");
const MAGIC: &[u8; 8] = b"AGSTAB01";
const HEADER: usize = 48;
const TOKENS: usize = 30_522;
const WIDTH: usize = 384;

/// How many tokens of a text are read: as many as MiniLm reads.
const MOST_TOKENS: usize = 256;

/// The table as an embedder.
#[derive(Debug)]
pub struct Static {
    model: ModelId,
    lanes: Lanes,
}

impl Static {
    /// Opens the embedded table; reads only its header.
    #[must_use]
    pub fn load() -> Self {
        let digest = header(TABLE).expect("the embedded table is the one this program was built for");
        Self { model: ModelId::new(&format!("static-minilm-int8@{digest}")), lanes: Lanes::best() }
    }

    /// The vector of one text.
    #[must_use]
    pub fn encode(&self, text: &str) -> Vector {
        let mut tokens = Vec::with_capacity(64);
        WordPiece::ours().read(text, MOST_TOKENS, &mut tokens);
        let mut values = vec![0.0_f32; WIDTH];
        self.lanes.run(Sum { tokens: &tokens, values: &mut values });
        // No token, or tokens that cancel each other: some direction, always the same.
        Vector::checked(self.model.clone(), values).unwrap_or_else(|_| {
            let mut values = vec![0.0; WIDTH];
            values[0] = 1.0;
            Vector { model: self.model.clone(), values: values.into() }
        })
    }
}

impl Embedder for Static {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimensions(&self) -> usize {
        WIDTH
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vector>, EmbedError>> {
        Box::pin(async move { Ok(texts.iter().map(|text| self.encode(text)).collect()) })
    }
}

/// Adds the rows of tokens.
struct Sum<'a> {
    tokens: &'a [u32],
    values: &'a mut [f32],
}

impl Loop for Sum<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let (rows, factors) = TABLE[HEADER..].split_at(TOKENS * WIDTH);
        for token in self.tokens.iter().map(|token| *token as usize).filter(|token| *token < TOKENS) {
            let factor = &factors[token * 4..token * 4 + 4];
            let factor = f32::from_le_bytes([factor[0], factor[1], factor[2], factor[3]]);
            for (value, byte) in self.values.iter_mut().zip(&rows[token * WIDTH..(token + 1) * WIDTH]) {
                *value += f32::from(*byte as i8) * factor;
            }
        }
    }
}

/// The first eight hexadecimal digits of the digest of a table, when it has the form that is expected.
fn header(table: &[u8]) -> Option<String> {
    let rest = table.strip_prefix(MAGIC)?;
    let (tokens, rest) = rest.split_first_chunk::<4>()?;
    let (width, rest) = rest.split_first_chunk::<4>()?;
    let whole = table.len() == HEADER + TOKENS * (WIDTH + 4)
        && u32::from_le_bytes(*tokens) as usize == TOKENS
        && u32::from_le_bytes(*width) as usize == WIDTH;
    whole.then(|| rest.iter().take(4).map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_embedded_table_is_what_its_digest_says() {
        assert_eq!(TABLE[16..HEADER], Sha256::digest(&TABLE[HEADER..])[..]);
    }

    #[test]
    fn a_table_that_is_cut_or_of_another_kind_is_not_taken() {
        assert!(header(&TABLE[..TABLE.len() - 1]).is_none());
        assert!(header(&TABLE[1..]).is_none());
        assert!(header(&[]).is_none());
    }
}
