//! The JSON Schema of envelope v1, which every site publishes.
//!
//! Promises: generated from the types that read the envelope, so that it cannot differ from them.

use serde_json::Value;

use super::Envelope;

/// The JSON Schema (2020-12) of an envelope.
#[must_use]
pub fn envelope_schema() -> Value {
    schemars::schema_for!(Envelope).to_value()
}
