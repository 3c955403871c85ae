//! Statement: the shortest signature, 64 bytes over a domain and some bytes.
//!
//! Promises: a signature made for one domain holds in no other, and none of them passes for a JWS or the
//! other way round: the signed bytes begin with the domain and a zero byte, which the input of a JWS,
//! base64url and a dot, cannot contain. It has no header: the reader knows the key and the domain. Use a
//! JWS ([`crate::sign_detached`]) where others than sites read it.

use crate::key::{BadKey, PublicKey, SigningKey};
use crate::signature::BadSignature;

/// Length of a signature by either algorithm.
pub const SIGNATURE_BYTES: usize = 64;

impl SigningKey {
    /// Signs these bytes for this domain, a short name of what is signed and its version.
    #[must_use]
    pub fn sign_statement(&self, domain: &str, bytes: &[u8]) -> [u8; SIGNATURE_BYTES] {
        let signature = self.sign(&statement(domain, bytes));
        signature.try_into().expect("both algorithms sign with 64 bytes")
    }
}

impl PublicKey {
    /// Checks that this key signed these bytes for this domain.
    ///
    /// # Errors
    /// [`BadSignature::Mismatch`] when it did not.
    pub fn verify_statement(&self, domain: &str, bytes: &[u8], signature: &[u8]) -> Result<(), BadSignature> {
        if self.verifies(&statement(domain, bytes), signature) { Ok(()) } else { Err(BadSignature::Mismatch) }
    }

    /// Reads the 32 bytes of an Ed25519 key.
    ///
    /// # Errors
    /// [`BadKey::Bytes`] when they are not a point of the curve, or one of its few weak ones.
    pub fn from_ed25519(bytes: &[u8; 32]) -> Result<Self, BadKey> {
        Self::ed25519(bytes)
    }

    /// The 32 bytes of an Ed25519 key; none for other keys.
    #[must_use]
    pub fn to_ed25519(&self) -> Option<[u8; 32]> {
        match self {
            Self::Ed25519(key) => Some(key.to_bytes()),
            Self::P256(_) => None,
        }
    }
}

fn statement(domain: &str, bytes: &[u8]) -> Vec<u8> {
    debug_assert!(!domain.is_empty() && !domain.contains('\0'), "a domain is a short printable name");
    [domain.as_bytes(), &[0], bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Algorithm;

    fn key(algorithm: Algorithm) -> SigningKey {
        SigningKey::from_seed(algorithm, &[7; 32]).unwrap()
    }

    #[test]
    fn a_statement_holds_for_its_domain_its_bytes_and_its_key_only() {
        for algorithm in [Algorithm::EdDsa, Algorithm::Es256] {
            let key = key(algorithm);
            let signature = key.sign_statement("record v1", b"words");
            let public = key.public();
            assert!(public.verify_statement("record v1", b"words", &signature).is_ok());
            assert!(public.verify_statement("record v2", b"words", &signature).is_err());
            assert!(public.verify_statement("record v1", b"swords", &signature).is_err());
            assert!(public.verify_statement("record v1", b"words", &signature[1..]).is_err());
            let other = SigningKey::from_seed(algorithm, &[8; 32]).unwrap().public();
            assert!(other.verify_statement("record v1", b"words", &signature).is_err());
        }
    }

    #[test]
    fn a_boundary_between_domain_and_bytes_cannot_be_moved() {
        let key = key(Algorithm::EdDsa);
        let signature = key.sign_statement("a", b"b\0c");
        assert!(key.public().verify_statement("a\u{1}b", b"c", &signature).is_err());
        assert!(key.public().verify_statement("a", b"b\0c", &signature).is_ok());
    }

    #[test]
    fn a_jws_is_no_statement() {
        let key = key(Algorithm::EdDsa);
        let jws = crate::sign_detached(&serde_json::json!({}), &key, "x", None).unwrap();
        let (protected, _) = jws.split_once("..").unwrap();
        let input = format!("{protected}.e30");
        assert!(!input.contains('\0'), "no signing input of a JWS can be a statement");
    }

    #[test]
    fn the_bytes_of_an_ed25519_key_come_back() {
        let ed = key(Algorithm::EdDsa).public();
        assert_eq!(PublicKey::from_ed25519(&ed.to_ed25519().unwrap()).unwrap(), ed);
        assert_eq!(key(Algorithm::Es256).public().to_ed25519(), None);
        let mut weak = [0; 32];
        weak[0] = 1;
        assert!(PublicKey::from_ed25519(&weak).is_err());
    }
}
