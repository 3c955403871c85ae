//! BadRecord: why foreign bytes, or a draft, are not a record.
//!
//! Promises: a variant says which check failed; it holds nothing of what was read but short texts.

use super::profile::BadProfile;

/// Why bytes are not a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRecord {
    /// Too long or too short.
    #[error("a record of {0} bytes: it must have 65 bytes at least, and at most what its kind allows")]
    Size(usize),
    /// No JSON, or too much of it.
    #[error("the payload is not readable: {0}")]
    Json(String),
    /// Another encoding of the same value.
    #[error("the payload is not in its canonical form (RFC 8785)")]
    NotCanonical,
    /// A rule of the form is broken.
    #[error("the payload is not that of a record: {0}")]
    Form(&'static str),
    /// What it says is not within bounds.
    #[error("the payload says more than a record may: {0}")]
    Profile(#[source] BadProfile),
    /// The site did not sign it.
    #[error("the signature is not that of its site")]
    Signature,
}
