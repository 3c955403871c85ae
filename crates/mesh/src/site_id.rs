//! SiteId: the identity of a site in the mesh, its Ed25519 key.
//!
//! Promises: one id for one key, written as its `did:key`. The mesh takes Ed25519 only, because the same key
//! is the site's identity on the transport. A value may hold bytes that are not a key: then nothing verifies
//! under it.

use std::fmt;
use std::str::FromStr;

use agentsite_protocol::{BadKey, PublicKey};

/// The identity of a site, which is also that of a peer: its Ed25519 key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteId([u8; 32]);

impl SiteId {
    /// Wraps the bytes of a key.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The id of this key.
    ///
    /// # Errors
    /// [`BadKey::Kind`] when it is not an Ed25519 key.
    pub fn of(key: &PublicKey) -> Result<Self, BadKey> {
        key.to_ed25519().map(Self).ok_or(BadKey::Kind)
    }

    /// The bytes of the key.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The key itself.
    ///
    /// # Errors
    /// [`BadKey::Bytes`] when the bytes are not a key.
    pub fn key(&self) -> Result<PublicKey, BadKey> {
        PublicKey::from_ed25519(&self.0)
    }
}

impl FromStr for SiteId {
    type Err = BadKey;

    fn from_str(did: &str) -> Result<Self, BadKey> {
        // A fragment names the same key in other words; a site has one written form.
        if did.contains('#') {
            return Err(BadKey::Did);
        }
        Self::of(&PublicKey::from_did_key(did)?)
    }
}

impl fmt::Display for SiteId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key() {
            Ok(key) => out.write_str(&key.did_key()),
            Err(_) => write!(out, "invalid key {:02x?}", &self.0[..4]),
        }
    }
}

impl fmt::Debug for SiteId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentsite_protocol::{Algorithm, SigningKey};

    #[test]
    fn a_site_is_written_as_its_did_and_read_back() {
        let key = SigningKey::from_seed(Algorithm::EdDsa, &[1; 32]).unwrap().public();
        let site = SiteId::of(&key).unwrap();
        assert_eq!(site.to_string(), key.did_key());
        assert_eq!(key.did_key().parse::<SiteId>().unwrap(), site);
        let with_fragment = format!("{0}#{1}", key.did_key(), &key.did_key()["did:key:".len()..]);
        assert!(with_fragment.parse::<SiteId>().is_err(), "one written form");
    }

    #[test]
    fn other_kinds_of_keys_are_refused() {
        let key = SigningKey::from_seed(Algorithm::Es256, &[1; 32]).unwrap().public();
        assert_eq!(SiteId::of(&key).unwrap_err(), BadKey::Kind);
        assert!(key.did_key().parse::<SiteId>().is_err());
        assert!("did:web:example.org".parse::<SiteId>().is_err());
        assert!(SiteId::from_bytes([0; 32]).key().is_err());
        assert!(format!("{:?}", SiteId::from_bytes([0; 32])).contains("invalid"));
    }
}
