//! Hashes: of content that is sent once and referred to afterwards, and of the chain of a room's events.
//!
//! Promises: the hash of an event covers the event and the hash before it, so that a changed, removed or
//! inserted event breaks every hash after it. It does not store them.

use std::fmt;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{NoCanonicalForm, RoomId, canonical_json};

/// What the written form of a reference to content begins with.
const SHA256: &str = "sha256:";

/// A SHA-256 in the chain of a room.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainHash([u8; 32]);

impl ChainHash {
    /// What the first event of a room follows: the hash of its id, so that chains of two rooms differ.
    #[must_use]
    pub fn start(room: RoomId) -> Self {
        Self::of(&[b"agentsite-room", room.as_bytes()])
    }

    /// The hash of some bytes, each with its length.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut digest = Sha256::new();
        for part in parts {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        Self(digest.finalize().into())
    }

    /// The hash of an event that follows this one, over the bytes that are stored of it.
    #[must_use]
    pub fn next(&self, event: &[u8]) -> Self {
        Self::of(&[&self.0, event])
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads the bytes back.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// The reference to content that is sent once, such as a goal or a team: the hash of its canonical form.
///
/// # Errors
/// [`NoCanonicalForm`] when it has none.
pub fn content_ref(content: &Value) -> Result<String, NoCanonicalForm> {
    let digest = Sha256::digest(canonical_json(content)?);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{SHA256}{hex}"))
}
