//! Secret: a random key of the site from which keys for single purposes are made.
//!
//! Promises: made at the first start, kept in the store, and the same after a restart; what is made for one
//! purpose tells nothing about another. It never leaves this file but as such a key. It does not sign: see
//! `identity`.

use agentsite_protocol::Ids;
use agentsite_store::{SettingChange, SharedStore};
use sha2::{Digest, Sha256};

use crate::SiteError;

/// The setting that holds it.
const SETTING: &str = "secret";

/// The random key of a site.
pub(crate) struct Secret([u8; 32]);

/// Shows nothing: a key must not reach a log.
impl std::fmt::Debug for Secret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Secret")
    }
}

impl Secret {
    /// Reads the key of the site, or makes it; a new one is kept once the setting that comes with it is
    /// committed.
    pub(crate) async fn open(
        store: &SharedStore,
        ids: &Ids,
    ) -> Result<(Self, Option<SettingChange>), SiteError> {
        if let Some(text) = store.setting(SETTING).await? {
            return serde_json::from_str(&text).map(|key| (Self(key), None)).map_err(|_| SiteError::Identity);
        }
        let mut key = [0; 32];
        ids.rng().fill(&mut key);
        let value = serde_json::to_string(&key).map_err(|_| SiteError::Identity)?;
        Ok((Self(key), Some(SettingChange { name: SETTING.into(), value: Some(value), owner: None })))
    }

    /// The key for one purpose.
    pub(crate) fn key_for(&self, purpose: &str) -> [u8; 32] {
        let mut hash = Sha256::new();
        // The key has a fixed length and comes first, and the purposes are ours: nothing can be lengthened
        // into another.
        hash.update(self.0);
        hash.update(purpose.as_bytes());
        hash.finalize().into()
    }
}
