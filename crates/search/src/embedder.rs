//! Embedder: the seam between texts and vectors.
//!
//! Promises: the vectors of one embedder have one model id and one length, and are of length 1; the same text
//! gives the same vector. It does not say where the numbers come from: a model inside the binary, a table, or
//! an endpoint elsewhere.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::simd::{Lanes, Loop, Square};

/// Which model made a vector: its name and a digest of its weights. Vectors of different models are never
/// compared.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelId(Arc<str>);

impl ModelId {
    /// Names a model.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The written form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Debug for ModelId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, out)
    }
}

/// A direction in the space of one model, of length 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    /// The model that made it.
    pub model: ModelId,
    /// Its numbers.
    pub values: Box<[f32]>,
}

impl Vector {
    /// A vector from numbers that come from elsewhere, brought to length 1.
    ///
    /// # Errors
    /// When the numbers do not form a direction: none, not finite, or all zero.
    pub fn checked(model: ModelId, mut values: Vec<f32>) -> Result<Self, EmbedError> {
        let length = Lanes::best().run(Square(&values)).sqrt();
        if !length.is_finite() {
            return Err(EmbedError::Unusable("one of its numbers is not finite".to_owned()));
        }
        if length < f64::from(f32::MIN_POSITIVE) {
            return Err(EmbedError::Unusable("all of its numbers are zero".to_owned()));
        }
        Lanes::best().run(Scale { values: &mut values, factor: 1.0 / length });
        Ok(Self { model, values: values.into() })
    }
}

/// Multiplies numbers by a factor, each rounded once.
struct Scale<'a> {
    values: &'a mut [f32],
    factor: f64,
}

impl Loop for Scale<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        self.values.iter_mut().for_each(|value| *value = (f64::from(*value) * self.factor) as f32);
    }
}

/// Why a text has no vector.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EmbedError {
    /// The endpoint does not answer as it should.
    #[error("the embedding endpoint failed: {0}")]
    Endpoint(String),
    /// The numbers do not form a direction: not finite, all zero, or of another length than before.
    #[error("the embedding model gave a vector that cannot be used: {0}")]
    Unusable(String),
}

/// Turns texts into vectors.
pub trait Embedder: Send + Sync + fmt::Debug + 'static {
    /// Which model.
    fn model(&self) -> &ModelId;

    /// How many numbers each vector has.
    fn dimensions(&self) -> usize;

    /// One vector for each text, in order. Long texts are read as far as the model reads.
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vector>, EmbedError>>;

    /// Whether the vector of a text is there already, so that it costs nothing to ask for it.
    fn knows(&self, text: &str) -> bool {
        let _ = text;
        false
    }
}

/// The fake of the seam: words hashed into a few dimensions. For tests; it has no notion of meaning.
#[derive(Debug)]
pub struct Hashed {
    model: ModelId,
    dimensions: usize,
}

impl Hashed {
    /// An embedder of this many places.
    #[must_use]
    pub fn new(dimensions: usize) -> Self {
        Self { model: ModelId::new(&format!("hashed-{dimensions}")), dimensions: dimensions.max(1) }
    }

    fn one(&self, text: &str) -> Vector {
        let mut values = vec![0f32; self.dimensions];
        for word in text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()) {
            let hash = word.to_lowercase().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
            let place = usize::try_from(hash % self.dimensions as u64).unwrap_or_default();
            values[place] += if hash >> 63 == 0 { 1.0 } else { -1.0 };
        }
        if values.iter().all(|value| *value == 0.0) {
            values[0] = 1.0;
        }
        let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        values.iter_mut().for_each(|value| *value /= length);
        Vector { model: self.model.clone(), values: values.into() }
    }
}

impl Embedder for Hashed {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vector>, EmbedError>> {
        Box::pin(async move { Ok(texts.iter().map(|text| self.one(text)).collect()) })
    }
}

#[cfg(test)]
mod tests;
