//! Vectors: what an agent means, as numbers that its publisher puts into its record.
//!
//! Promises: a vector is at least one and at most [`MAX_DIMENSIONS`] whole numbers from -127 to 127, not
//! all zero, with one written form (base64url without padding). Nearness is computed from whole numbers and
//! one square root, so all sites get the same value. Vectors are values that a caller hands in: this crate
//! has no model. Whether a vector belongs to its text is decided in [`crate::vector_check`].

use std::fmt;
use std::sync::Arc;

use agentsite_protocol::SIGNATURE_BYTES;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The model of protocol version 1. It is the default encoder of the search, so a site that finds agents has
/// it already, and a record with its vectors saves every receiver 10 ms per text.
pub const PROTOCOL_MODEL: &str = "all-minilm-l6-v2-int8@ba05a1ea";
/// How many numbers a vector of [`PROTOCOL_MODEL`] has.
pub const PROTOCOL_DIMENSIONS: usize = 384;
/// Most numbers of a vector of any model: two of these fill a third of a record.
pub const MAX_DIMENSIONS: usize = 1_024;
/// Most letters of the name of a model.
const MAX_MODEL: usize = 64;
/// The largest number of a vector; -128 has no counterpart and is not used.
const PEAK: i8 = 127;

/// Why numbers are not a vector of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadVector {
    /// Not base64url without padding, in its one form.
    #[error("a vector is base64url without padding")]
    Encoding,
    /// None, too many, or another number of them than stated.
    #[error("a vector has as many numbers as `dimensions` states, at most {MAX_DIMENSIONS}")]
    Length,
    /// -128, not finite, or all of them zero.
    #[error("the numbers of a vector are from -127 to 127, and not all zero")]
    Numbers,
    /// More vectors than skills.
    #[error("there are more vectors than skills")]
    Count,
    /// A name that is empty, long or unprintable.
    #[error("`model` names a model in at most {MAX_MODEL} printable letters")]
    Model,
}

/// A text that a vector is made of: that of `text`, turned towards that of `title` by the share that the
/// search of protocol version 1 uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct VectorText {
    /// The name, for an agent; empty for a skill.
    pub title: String,
    /// The text.
    pub text: String,
}

/// A direction as whole numbers.
#[derive(Clone, PartialEq, Eq)]
pub struct VectorCodes {
    codes: Arc<[i8]>,
    /// The sum of the squares: at most 1,024 times 127 squared.
    square: u32,
}

impl VectorCodes {
    /// Writes a vector as whole numbers, the largest as 127 or -127.
    ///
    /// # Errors
    /// [`BadVector`] when it has no direction or a length that no record takes.
    pub fn of(values: &[f32]) -> Result<Self, BadVector> {
        let peak = values.iter().fold(0.0_f32, |peak, value| peak.max(value.abs()));
        if values.iter().any(|value| !value.is_finite()) || peak <= 0.0 {
            return Err(BadVector::Numbers);
        }
        let code = |value: &f32| (value / peak * f32::from(PEAK)).round() as i8;
        Self::from_codes(values.iter().map(code).collect())
    }

    /// Takes whole numbers as they are.
    ///
    /// # Errors
    /// [`BadVector`] when they are not those of a vector.
    pub fn from_codes(codes: Arc<[i8]>) -> Result<Self, BadVector> {
        if codes.is_empty() || codes.len() > MAX_DIMENSIONS {
            return Err(BadVector::Length);
        }
        let square = codes.iter().map(|code| u32::from(code.unsigned_abs()).pow(2)).sum();
        if square == 0 || codes.contains(&i8::MIN) {
            return Err(BadVector::Numbers);
        }
        Ok(Self { codes, square })
    }

    /// The numbers.
    #[must_use]
    pub fn codes(&self) -> &[i8] {
        &self.codes
    }

    /// The cosine of the angle with another vector of the same model; 0 when the lengths differ.
    #[must_use]
    pub fn nearness(&self, other: &Self) -> f64 {
        if self.codes.len() != other.codes.len() {
            return 0.0;
        }
        f64::from(dot(&self.codes, &other.codes)) / (f64::from(self.square) * f64::from(other.square)).sqrt()
    }

    /// The factor that brings it to a length of about a million.
    pub(crate) fn scale(&self) -> i64 {
        (1_000_000.0 / f64::from(self.square).sqrt()) as i64
    }

    fn write(&self) -> String {
        let bytes: Vec<u8> = self.codes.iter().map(|code| code.cast_unsigned()).collect();
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn read(text: &str) -> Result<Self, BadVector> {
        if text.len() > MAX_DIMENSIONS * 4 / 3 + 3 {
            return Err(BadVector::Length);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| BadVector::Encoding)?;
        Self::from_codes(bytes.into_iter().map(u8::cast_signed).collect())
    }
}

/// The sum of the products; at most 1,024 times 127 squared.
fn dot(one: &[i8], other: &[i8]) -> i32 {
    one.iter().zip(other).map(|(one, other)| i32::from(i16::from(*one) * i16::from(*other))).sum()
}

impl fmt::Debug for VectorCodes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} numbers {:?}…", self.codes.len(), &self.codes[..self.codes.len().min(4)])
    }
}

impl Serialize for VectorCodes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.write())
    }
}

impl<'de> Deserialize<'de> for VectorCodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::read(&text).map_err(serde::de::Error::custom)
    }
}

/// The vectors of an agent: one of the agent itself, and one for each of its first skills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentVectors {
    model: String,
    dimensions: usize,
    agent: VectorCodes,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) skills: Vec<VectorCodes>,
}

impl AgentVectors {
    /// The vectors of the texts that [`crate::AgentProfile::texts`] gives, in its order: the agent first.
    ///
    /// # Errors
    /// [`BadVector`] when there is none, or they do not fit together.
    pub fn new(model: &str, mut vectors: Vec<VectorCodes>) -> Result<Self, BadVector> {
        if vectors.is_empty() {
            return Err(BadVector::Count);
        }
        let skills = vectors.split_off(1);
        let agent = vectors.pop().ok_or(BadVector::Count)?;
        let made = Self { model: model.into(), dimensions: agent.codes.len(), agent, skills };
        made.check(usize::MAX).map(|()| made)
    }

    /// The vectors in the wire form of an agent's record; none where there are none. For records that were
    /// verified before: it reads nothing else of them.
    #[must_use]
    pub fn in_record(bytes: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Payload {
            agent: Agent,
        }
        #[derive(Deserialize)]
        struct Agent {
            vectors: AgentVectors,
        }
        let payload: Payload = serde_json::from_slice(bytes.get(SIGNATURE_BYTES..)?).ok()?;
        Some(payload.agent.vectors)
    }

    /// Whether these are vectors of the model that protocol version 1 searches by.
    #[must_use]
    pub fn is_of_protocol(&self) -> bool {
        self.model == PROTOCOL_MODEL && self.dimensions == PROTOCOL_DIMENSIONS
    }

    /// The model that made them.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// How many numbers each has.
    #[must_use]
    pub const fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// All of them, in the order of the texts: the agent first.
    pub fn iter(&self) -> impl Iterator<Item = &VectorCodes> {
        std::iter::once(&self.agent).chain(&self.skills)
    }

    /// Checks the bounds for an agent with so many skills.
    pub(crate) fn check(&self, skills: usize) -> Result<(), BadVector> {
        let is_named = !self.model.is_empty()
            && self.model.len() <= MAX_MODEL
            && self.model.chars().all(|letter| letter.is_ascii_graphic());
        if !is_named {
            return Err(BadVector::Model);
        }
        if self.skills.len() > skills {
            return Err(BadVector::Count);
        }
        let fits = |vector: &VectorCodes| vector.codes.len() == self.dimensions;
        if self.iter().all(fits) { Ok(()) } else { Err(BadVector::Length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_without_a_direction_are_refused() {
        assert_eq!(VectorCodes::of(&[]).unwrap_err(), BadVector::Numbers);
        assert_eq!(VectorCodes::of(&[0.0; 4]).unwrap_err(), BadVector::Numbers);
        assert_eq!(VectorCodes::of(&[f32::NAN, 1.0]).unwrap_err(), BadVector::Numbers);
        assert_eq!(VectorCodes::of(&[1.0; 1_025]).unwrap_err(), BadVector::Length);
        assert_eq!(VectorCodes::from_codes(Arc::new([-128, 1])).unwrap_err(), BadVector::Numbers);
    }

    #[test]
    fn there_is_one_written_form() {
        let read = |text: &str| VectorCodes::read(text);
        assert_eq!(read("AQI").unwrap().codes(), [1, 2]);
        for text in ["AQI=", "AQJ", "A Q I", "AQ+", "", "gA"] {
            assert!(read(text).is_err(), "{text}");
        }
        assert_eq!(read(&"AQI".repeat(1_000)).unwrap_err(), BadVector::Length);
    }

    #[test]
    fn vectors_of_one_agent_have_one_length_and_a_named_model() {
        let (two, three) = (VectorCodes::of(&[1.0, 2.0]).unwrap(), VectorCodes::of(&[1.0; 3]).unwrap());
        assert_eq!(AgentVectors::new("m", vec![]).unwrap_err(), BadVector::Count);
        assert_eq!(AgentVectors::new("m", vec![two.clone(), three]).unwrap_err(), BadVector::Length);
        assert_eq!(AgentVectors::new("a b", vec![two.clone()]).unwrap_err(), BadVector::Model);
        assert!(!AgentVectors::new("m", vec![two]).unwrap().is_of_protocol());
    }

    proptest! {
        #[test]
        fn a_vector_comes_back_and_is_nearest_to_itself(values in proptest::collection::vec(-1.0_f32..1.0, 1..400)) {
            prop_assume!(values.iter().any(|value| value.abs() > 0.01));
            let codes = VectorCodes::of(&values).unwrap();
            prop_assert_eq!(VectorCodes::read(&codes.write()).unwrap(), codes.clone());
            prop_assert!((codes.nearness(&codes) - 1.0).abs() < 1e-9);
        }
    }
}
