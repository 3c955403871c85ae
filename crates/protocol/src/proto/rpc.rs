//! Errors in protobuf: `google.rpc.Status` and the details that A2A 1.0 puts into it.
//!
//! Promises: only what is sent with an error of this service. It does not know codes: they are numbers here.

use std::collections::HashMap;

use prost_types::{Any, Duration};

/// An error with its details, as sent in `grpc-status-details-bin`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Status {
    /// Number of the code in `google.rpc.Code`.
    #[prost(int32, tag = "1")]
    pub code: i32,
    /// The sentence for the caller.
    #[prost(string, tag = "2")]
    pub message: String,
    /// What programs can read.
    #[prost(message, repeated, tag = "3")]
    pub details: Vec<Any>,
}

impl Status {
    /// Adds a detail under its type's name.
    #[must_use]
    pub fn detail(mut self, name: &str, detail: &impl prost::Message) -> Self {
        let type_url = format!("type.googleapis.com/google.rpc.{name}");
        self.details.push(Any { type_url, value: detail.encode_to_vec() });
        self
    }
}

/// Why something failed, as a constant of a fixed vocabulary.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ErrorInfo {
    /// The reason, in capitals.
    #[prost(string, tag = "1")]
    pub reason: String,
    /// Whose vocabulary it is.
    #[prost(string, tag = "2")]
    pub domain: String,
    /// Facts.
    #[prost(map = "string, string", tag = "3")]
    pub metadata: HashMap<String, String>,
}

/// Which fields of a request are wrong.
#[derive(Clone, PartialEq, prost::Message)]
pub struct BadRequest {
    /// The fields.
    #[prost(message, repeated, tag = "1")]
    pub field_violations: Vec<FieldViolation>,
}

/// A field that is missing or wrong.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FieldViolation {
    /// Where.
    #[prost(string, tag = "1")]
    pub field: String,
    /// What is wrong.
    #[prost(string, tag = "2")]
    pub description: String,
}

/// When to try again.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RetryInfo {
    /// How long to wait.
    #[prost(message, optional, tag = "1")]
    pub retry_delay: Option<Duration>,
}
