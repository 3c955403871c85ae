//! Keys that sign, and keys that prove: Ed25519 and P-256.
//!
//! Promises: signing is deterministic (EdDSA; ECDSA by RFC 6979), so it needs no randomness; a key works with
//! its one algorithm and no other. A secret is never shown by `Debug` and is wiped from memory when dropped.
//! It does not make seeds and does not keep keys.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::Signer as _;
use p256::ecdsa::signature::Verifier as _;
use serde_json::{Value, json};

/// The two algorithms that are used here, by their names in JOSE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Ed25519.
    EdDsa,
    /// ECDSA on P-256 with SHA-256.
    Es256,
}

impl Algorithm {
    /// Its name in JOSE.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EdDsa => "EdDSA",
            Self::Es256 => "ES256",
        }
    }
}

/// Why a value is not a valid key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadKey {
    /// No `did:key`.
    #[error("this is not a did:key; a did:key begins with did:key:z")]
    Did,
    /// Another kind of key.
    #[error("this kind of key is not supported; use Ed25519 or P-256")]
    Kind,
    /// The bytes are not a key of the kind they claim.
    #[error("these bytes are not a key of the stated kind")]
    Bytes,
    /// A JSON Web Key that lacks something or is for something else.
    #[error("this JSON Web Key is not one for signatures with EdDSA or ES256")]
    Jwk,
}

/// A key that signs.
#[derive(Clone)]
pub struct SigningKey(Secret);

#[derive(Clone)]
enum Secret {
    Ed25519(Box<ed25519_dalek::SigningKey>),
    P256(Box<p256::ecdsa::SigningKey>),
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SigningKey({})", self.public().did_key())
    }
}

impl SigningKey {
    /// Makes the key of a seed of 32 unpredictable bytes.
    ///
    /// # Errors
    /// [`BadKey::Bytes`] when a P-256 key cannot be made of this seed (once in 2^32 times); draw another.
    pub fn from_seed(algorithm: Algorithm, seed: &[u8; 32]) -> Result<Self, BadKey> {
        Ok(Self(match algorithm {
            Algorithm::EdDsa => Secret::Ed25519(Box::new(ed25519_dalek::SigningKey::from_bytes(seed))),
            Algorithm::Es256 => {
                let key = p256::ecdsa::SigningKey::from_slice(seed).map_err(|_| BadKey::Bytes)?;
                Secret::P256(Box::new(key))
            }
        }))
    }

    /// The algorithm it signs with.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        match self.0 {
            Secret::Ed25519(_) => Algorithm::EdDsa,
            Secret::P256(_) => Algorithm::Es256,
        }
    }

    /// The key with which others verify.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        match &self.0 {
            Secret::Ed25519(key) => PublicKey::Ed25519(key.verifying_key()),
            Secret::P256(key) => PublicKey::P256(*key.verifying_key()),
        }
    }

    /// The seed that this key was made of, when it is an Ed25519 key: for a transport that proves who is at
    /// its ends with the same key, and must sign by itself.
    #[must_use]
    pub fn to_ed25519_seed(&self) -> Option<[u8; 32]> {
        match &self.0 {
            Secret::Ed25519(key) => Some(key.to_bytes()),
            Secret::P256(_) => None,
        }
    }

    /// Signs these bytes; 64 bytes, in the form that JOSE uses.
    pub(crate) fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        match &self.0 {
            Secret::Ed25519(key) => key.sign(bytes).to_bytes().to_vec(),
            Secret::P256(key) => {
                let signature: p256::ecdsa::Signature = key.sign(bytes);
                signature.to_bytes().to_vec()
            }
        }
    }
}

/// A key that proves who signed.
#[derive(Clone, PartialEq, Eq)]
pub enum PublicKey {
    /// Ed25519.
    Ed25519(ed25519_dalek::VerifyingKey),
    /// P-256.
    P256(p256::ecdsa::VerifyingKey),
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PublicKey({})", self.did_key())
    }
}

impl PublicKey {
    /// The algorithm it verifies.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        match self {
            Self::Ed25519(_) => Algorithm::EdDsa,
            Self::P256(_) => Algorithm::Es256,
        }
    }

    /// The key as a JSON Web Key that bears its `did:key` as `kid`.
    #[must_use]
    pub fn jwk(&self) -> Value {
        let (kid, alg) = (self.did_key(), self.algorithm().name());
        match self {
            Self::Ed25519(key) => {
                let x = URL_SAFE_NO_PAD.encode(key.as_bytes());
                json!({ "kty": "OKP", "crv": "Ed25519", "x": x, "kid": kid, "alg": alg, "use": "sig" })
            }
            Self::P256(key) => {
                let point = key.to_sec1_point(false);
                let coordinates = point.as_bytes().get(1..).unwrap_or_default();
                let (x, y) = coordinates.split_at(coordinates.len() / 2);
                let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
                json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": kid, "alg": alg, "use": "sig" })
            }
        }
    }

    /// Reads a JSON Web Key.
    ///
    /// # Errors
    /// [`BadKey`] when it is of another kind, for another use or another algorithm.
    pub fn from_jwk(jwk: &Value) -> Result<Self, BadKey> {
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        let coordinate = |name: &str| {
            let bytes = text(name).and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
            bytes.filter(|bytes| bytes.len() == 32).ok_or(BadKey::Jwk)
        };
        let key = match (text("kty"), text("crv")) {
            (Some("OKP"), Some("Ed25519")) => Self::ed25519(&coordinate("x")?)?,
            (Some("EC"), Some("P-256")) => {
                Self::p256(&[&[4][..], &coordinate("x")?, &coordinate("y")?].concat())?
            }
            _ => return Err(BadKey::Kind),
        };
        let fits = |name: &str, wanted: &[&str]| match jwk.get(name) {
            None => true,
            Some(given) => given.as_str().is_some_and(|given| wanted.contains(&given)),
        };
        // RFC 9864 names Ed25519 by itself.
        let named: &[&str] = match key {
            Self::Ed25519(_) => &["EdDSA", "Ed25519"],
            Self::P256(_) => &["ES256"],
        };
        if fits("use", &["sig"]) && fits("alg", named) { Ok(key) } else { Err(BadKey::Jwk) }
    }

    pub(crate) fn ed25519(bytes: &[u8]) -> Result<Self, BadKey> {
        let bytes = bytes.try_into().map_err(|_| BadKey::Bytes)?;
        let key = ed25519_dalek::VerifyingKey::from_bytes(bytes).map_err(|_| BadKey::Bytes)?;
        if key.is_weak() { Err(BadKey::Bytes) } else { Ok(Self::Ed25519(key)) }
    }

    pub(crate) fn p256(bytes: &[u8]) -> Result<Self, BadKey> {
        p256::ecdsa::VerifyingKey::from_sec1_bytes(bytes).map(Self::P256).map_err(|_| BadKey::Bytes)
    }

    /// The bytes of the key; compressed for P-256.
    pub(crate) fn point(&self) -> Vec<u8> {
        match self {
            Self::Ed25519(key) => key.as_bytes().to_vec(),
            Self::P256(key) => key.to_sec1_point(true).as_bytes().to_vec(),
        }
    }

    /// Whether this is the key's signature of these bytes.
    pub(crate) fn verifies(&self, bytes: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Ed25519(key) => ed25519_dalek::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify_strict(bytes, &signature).is_ok()),
            Self::P256(key) => p256::ecdsa::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify(bytes, &signature).is_ok()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(algorithm: Algorithm) -> SigningKey {
        SigningKey::from_seed(algorithm, &[7; 32]).unwrap()
    }

    #[test]
    fn a_web_key_is_read_back() {
        for algorithm in [Algorithm::EdDsa, Algorithm::Es256] {
            let public = key(algorithm).public();
            assert_eq!(PublicKey::from_jwk(&public.jwk()).unwrap(), public);
        }
    }

    #[test]
    fn web_keys_for_something_else_are_refused() {
        let fine = key(Algorithm::EdDsa).public().jwk();
        for (member, value) in [
            ("kty", json!("oct")),
            ("kty", json!("RSA")),
            ("crv", json!("X25519")),
            ("crv", json!("P-256")),
            ("x", json!("AAAA")),
            ("x", json!(7)),
            ("use", json!("enc")),
            ("alg", json!("HS256")),
            ("alg", json!(null)),
        ] {
            let mut odd = fine.clone();
            odd[member] = value.clone();
            assert!(PublicKey::from_jwk(&odd).is_err(), "{member}: {value}");
        }
        let mut off_curve = key(Algorithm::Es256).public().jwk();
        off_curve["y"] = off_curve["x"].clone();
        assert_eq!(PublicKey::from_jwk(&off_curve).unwrap_err(), BadKey::Bytes);
    }

    #[test]
    fn a_weak_point_is_no_key() {
        let mut one = [0; 32];
        one[0] = 1;
        assert_eq!(PublicKey::ed25519(&one).unwrap_err(), BadKey::Bytes);
    }

    #[test]
    fn signing_twice_gives_the_same_and_only_for_the_same_bytes() {
        for algorithm in [Algorithm::EdDsa, Algorithm::Es256] {
            let key = key(algorithm);
            let signature = key.sign(b"words");
            assert_eq!(signature, key.sign(b"words"));
            assert!(key.public().verifies(b"words", &signature));
            assert!(!key.public().verifies(b"swords", &signature));
            assert!(!key.public().verifies(b"words", &signature[1..]));
        }
    }

    #[test]
    fn a_secret_is_not_shown() {
        let shown = format!("{:?}", key(Algorithm::EdDsa));
        assert!(shown.starts_with("SigningKey(did:key:z6Mk"), "{shown}");
    }

    #[test]
    fn a_seed_outside_the_curve_is_refused() {
        assert!(SigningKey::from_seed(Algorithm::Es256, &[0; 32]).is_err());
        assert!(SigningKey::from_seed(Algorithm::Es256, &[0xff; 32]).is_err());
    }
}
