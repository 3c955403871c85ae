//! Why an envelope is refused, and the two limits that hold for every one: its version and its size.
//!
//! Promises: each sentence says what is wrong and what to do. The checks themselves are in `limit`.

/// The version that this program writes and reads.
pub const ENVELOPE_VERSION: u32 = 1;

/// Largest envelope in bytes: the largest frame of a WebSocket that the site reads
/// (delivery-and-security.md section 4). Files are referred to by hash.
pub const MAX_ENVELOPE: usize = 256 << 10;

/// Why an envelope cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadEnvelope {
    /// Too large.
    #[error("a message may have {MAX_ENVELOPE} bytes; send files by reference")]
    Size,
    /// Not of the form.
    #[error("not an envelope: {0}")]
    Form(String),
    /// Of another version.
    #[error("envelope version {0} is not supported; send version {ENVELOPE_VERSION}")]
    Version(u32),
    /// A list or text is too long.
    #[error("`{0}` is longer than allowed: at most {1}")]
    TooLong(&'static str, usize),
    /// A part has no content, or several.
    #[error("each part of `content` must have exactly one of text, raw, url, data and file")]
    Part,
    /// The block of the type is missing.
    #[error("a message of type `{0}` needs the member `{0}`")]
    NoBlock(&'static str),
    /// A value that cannot be meant.
    #[error("`{0}` {1}")]
    Value(&'static str, &'static str),
    /// Written by the site alone.
    #[error("messages of type `{0}` are written by the site of the room")]
    OfSite(String),
}
