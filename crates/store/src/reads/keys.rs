//! Reads of API keys and of the site's settings.
//!
//! Promises: a key is never stored, only its hash. A setting is one value; structured data lies in records
//! (`RecordReads`).

use agentsite_protocol::KeyId;

use crate::{KeyRecord, Reply};

/// What can be read about keys and settings.
pub trait KeyReads {
    /// All API keys and sessions.
    fn keys(&self) -> Reply<'_, Vec<KeyRecord>>;

    /// One API key.
    fn key(&self, id: KeyId) -> Reply<'_, Option<KeyRecord>>;

    /// A setting of the site (tokens by hash, identity).
    fn setting(&self, name: &str) -> Reply<'_, Option<String>>;
}
