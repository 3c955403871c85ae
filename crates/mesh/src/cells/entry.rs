//! CellEntry: an agent as cells keep it: whose it is, which version, and its vectors.
//!
//! Promises: made of a record that its site signed. Of two versions everybody keeps the same one, by number
//! and then by id, as the catalogue does. A tombstone is an entry without vectors.

use agentsite_protocol::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::record::{Body, Record, RecordId, RecordKey, Subject};
use crate::vectors::VectorCodes;

/// A short name of an agent of a site: 128 bits of a hash of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryKey(u128);

impl EntryKey {
    /// The bytes of a short name.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// A short name of its bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }

    /// The short name of a key.
    #[must_use]
    pub fn of(key: &RecordKey) -> Self {
        let name = if let Subject::Agent(name) = &key.subject { name.as_str() } else { "" };
        let digest = Sha256::new_with_prefix(key.site.as_bytes()).chain_update(name.as_bytes()).finalize();
        Self(u128::from_be_bytes(digest[..16].try_into().expect("a digest has 32 bytes")))
    }
}

/// An agent, or the tombstone of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellEntry {
    /// Whose agent, and which.
    pub key: RecordKey,
    /// The short form of the key.
    pub hash: EntryKey,
    /// The number of this version.
    pub seq: u64,
    /// The id of the record.
    pub id: RecordId,
    /// When it was signed.
    pub issued_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// Its vectors; none when the agent was removed.
    pub vectors: Vec<VectorCodes>,
    /// Bytes of the record on the wire.
    pub size: usize,
}

impl CellEntry {
    /// The entry of an agent's record; none for other records, and for agents without vectors of the
    /// protocol.
    #[must_use]
    pub fn of(record: &Record) -> Option<Self> {
        let vectors = match record.body() {
            Body::Agent(profile) => {
                let vectors = profile.vectors().filter(|vectors| vectors.is_of_protocol())?;
                vectors.iter().cloned().collect()
            }
            Body::Removed if matches!(record.subject(), Subject::Agent(_)) => Vec::new(),
            _ => return None,
        };
        Some(Self {
            hash: EntryKey::of(record.key()),
            key: record.key().clone(),
            seq: record.seq(),
            id: record.id(),
            issued_at: record.issued_at(),
            expires_at: record.expires_at(),
            vectors,
            size: record.bytes().len(),
        })
    }

    /// Whether the agent was removed.
    #[must_use]
    pub const fn is_removed(&self) -> bool {
        self.vectors.is_empty()
    }

    /// Whether this is a later version than `other`.
    #[must_use]
    pub fn supersedes(&self, other: &Self) -> bool {
        (self.seq, self.id) > (other.seq, other.id)
    }

    /// How near its nearest vector is.
    #[must_use]
    pub fn nearness(&self, vector: &VectorCodes) -> f64 {
        self.vectors.iter().map(|own| own.nearness(vector)).fold(-1.0, f64::max)
    }
}
