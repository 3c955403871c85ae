//! Signatures as A2A cards carry them: JWS (RFC 7515) whose payload is the card itself.
//!
//! Promises: only EdDSA and ES256 are made and taken; the algorithm is the key's, never the header's word.
//! Both readings of the card's payload that are in use verify: the specification's, and that of the Python
//! SDK, which also drops empty members that are required. A card that also serves A2A 0.3 is signed twice
//! with each key, in full and as the 1.0 card that it holds, because some verifiers drop members that 1.0
//! does not know and others keep them (decision 0008). It fetches no keys: the verifier supplies them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canonical::{NoCanonicalForm, canonical_json};
use crate::key::{Algorithm, PublicKey, SigningKey};
use crate::legacy::without_legacy_members;
use crate::presence::{members_that_say_something, signed_members};

/// The type that the header of a card's signature names.
pub(crate) const JOSE: &str = "JOSE";

/// Longest protected header that is read; ours have 250 letters.
const MAX_HEADER: usize = 4096;

/// One signature of a card, as an element of `signatures`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardSignature {
    /// The protected header, base64url.
    pub protected: String,
    /// The signature itself, base64url.
    pub signature: String,
    /// What its maker adds without protection; never read here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<Value>,
}

/// What a protected header says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtectedHeader {
    /// The algorithm.
    pub alg: String,
    /// What is signed; `JOSE` for cards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typ: Option<String>,
    /// Which key signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kid: Option<String>,
    /// Where the key is published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jku: Option<String>,
    /// Members that must be understood; none are, so a header with any is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    crit: Option<Value>,
}

/// Why a signature does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSignature {
    /// The header cannot be read.
    #[error("its header cannot be read: {0}")]
    Header(&'static str),
    /// The algorithm is not taken.
    #[error("its algorithm `{0}` is not supported; only EdDSA and ES256 are")]
    Algorithm(String),
    /// The key is for another algorithm.
    #[error("its algorithm `{given}` is not that of the key, {wanted}")]
    OtherAlgorithm {
        /// What the header says.
        given: String,
        /// What the key is for.
        wanted: &'static str,
    },
    /// The signature is not that of this content by this key.
    #[error("it does not match what it signs: the card was changed, or another key signed it")]
    Mismatch,
    /// The content has no canonical form.
    #[error(transparent)]
    Content(#[from] NoCanonicalForm),
}

impl CardSignature {
    /// What the protected header says, when it is one that we understand.
    ///
    /// # Errors
    /// [`BadSignature::Header`] and [`BadSignature::Algorithm`].
    pub fn header(&self) -> Result<ProtectedHeader, BadSignature> {
        if self.protected.len() > MAX_HEADER {
            return Err(BadSignature::Header("it is too long"));
        }
        let bytes = URL_SAFE_NO_PAD
            .decode(&self.protected)
            .map_err(|_| BadSignature::Header("it is not base64url without padding"))?;
        let header: ProtectedHeader = serde_json::from_slice(&bytes)
            .map_err(|_| BadSignature::Header("it is not a JSON object with `alg`"))?;
        if header.crit.is_some() {
            return Err(BadSignature::Header("it requires extensions of JWS that are not supported"));
        }
        header.algorithm()?;
        Ok(header)
    }

    /// Checks that this key made this signature of these bytes.
    pub(crate) fn verify_bytes(&self, payload: &[u8], key: &PublicKey) -> Result<(), BadSignature> {
        let header = self.header()?;
        if header.algorithm()? != key.algorithm() {
            return Err(BadSignature::OtherAlgorithm { given: header.alg, wanted: key.algorithm().name() });
        }
        let signature = URL_SAFE_NO_PAD.decode(&self.signature).map_err(|_| BadSignature::Mismatch)?;
        let input = signing_input(&self.protected, payload);
        if key.verifies(input.as_bytes(), &signature) { Ok(()) } else { Err(BadSignature::Mismatch) }
    }

    /// Checks that this key signed this card, or the card of 1.0 that it holds: then its members of 0.3 are
    /// only the server's word.
    ///
    /// # Errors
    /// [`BadSignature`] says why not.
    pub fn verify_card(&self, card: &Value, key: &PublicKey) -> Result<(), BadSignature> {
        let mut outcome = self.verify_reading(card, key);
        if outcome == Err(BadSignature::Mismatch) {
            let modern = without_legacy_members(card);
            if modern != *card {
                outcome = self.verify_reading(&modern, key);
            }
        }
        outcome
    }

    fn verify_reading(&self, card: &Value, key: &PublicKey) -> Result<(), BadSignature> {
        let by_the_letter = self.verify_bytes(&canonical_json(&signed_members(card))?, key);
        match by_the_letter {
            Err(BadSignature::Mismatch) => {
                self.verify_bytes(&canonical_json(&members_that_say_something(card))?, key)
            }
            other => other,
        }
    }
}

impl ProtectedHeader {
    /// The algorithm, if it is one of the two.
    ///
    /// # Errors
    /// [`BadSignature::Algorithm`] for every other, `none` and shared secrets among them.
    pub fn algorithm(&self) -> Result<Algorithm, BadSignature> {
        match self.alg.as_str() {
            "EdDSA" | "Ed25519" => Ok(Algorithm::EdDsa),
            "ES256" => Ok(Algorithm::Es256),
            other => Err(BadSignature::Algorithm(other.chars().take(20).collect())),
        }
    }
}

/// Signs a card with each of these keys, and likewise the 1.0 card that a hybrid one holds; `jku` says where
/// they are published. Signatures already there do not matter.
///
/// # Errors
/// [`NoCanonicalForm`] when the card has none.
pub fn sign_card<'a>(
    card: &Value,
    keys: impl IntoIterator<Item = &'a SigningKey>,
    jku: Option<&str>,
) -> Result<Vec<CardSignature>, NoCanonicalForm> {
    let modern = without_legacy_members(card);
    let mut payloads = vec![canonical_json(&signed_members(&modern))?];
    if modern != *card {
        payloads.push(canonical_json(&signed_members(card))?);
    }
    let keys: Vec<&SigningKey> = keys.into_iter().collect();
    let each = payloads.iter().flat_map(|payload| keys.iter().map(move |key| (payload, key)));
    Ok(each.map(|(payload, key)| sign_bytes(payload, key, JOSE, jku)).collect())
}

/// Signs a card with one key under a name of your own, such as that of a method in a `did:web` document.
///
/// # Errors
/// [`NoCanonicalForm`] when the card has none.
pub fn sign_card_as(card: &Value, key: &SigningKey, kid: &str) -> Result<CardSignature, NoCanonicalForm> {
    Ok(sign_named(&canonical_json(&signed_members(card))?, key, kid, JOSE, None))
}

/// Signs a value as a detached JWS in compact form, `HEADER..SIGNATURE`: the payload is the canonical form of
/// the value, which is sent separately.
///
/// # Errors
/// [`NoCanonicalForm`] when the value has none.
pub fn sign_detached(
    value: &Value,
    key: &SigningKey,
    typ: &str,
    jku: Option<&str>,
) -> Result<String, NoCanonicalForm> {
    let made = sign_bytes(&canonical_json(value)?, key, typ, jku);
    Ok(format!("{}..{}", made.protected, made.signature))
}

/// Checks that this key signed this value with a header of this type.
///
/// # Errors
/// [`BadSignature`] says why not.
pub fn verify_detached(value: &Value, jws: &str, key: &PublicKey, typ: &str) -> Result<(), BadSignature> {
    let (protected, signature) =
        jws.split_once("..").ok_or(BadSignature::Header("it is not a detached JWS, HEADER..SIGNATURE"))?;
    let made = CardSignature { protected: protected.into(), signature: signature.into(), header: None };
    if made.header()?.typ.as_deref() != Some(typ) {
        return Err(BadSignature::Header("it signs something of another type"));
    }
    made.verify_bytes(&canonical_json(value)?, key)
}

/// Signs bytes as a JWS whose payload is carried elsewhere.
pub(crate) fn sign_bytes(payload: &[u8], key: &SigningKey, typ: &str, jku: Option<&str>) -> CardSignature {
    sign_named(payload, key, &key.public().did_key(), typ, jku)
}

fn sign_named(payload: &[u8], key: &SigningKey, kid: &str, typ: &str, jku: Option<&str>) -> CardSignature {
    let header = ProtectedHeader {
        alg: key.algorithm().name().into(),
        typ: Some(typ.into()),
        kid: Some(kid.into()),
        jku: jku.map(Into::into),
        crit: None,
    };
    let header = serde_json::to_vec(&header).expect("a header of texts is always written");
    let protected = URL_SAFE_NO_PAD.encode(header);
    let signature = URL_SAFE_NO_PAD.encode(key.sign(signing_input(&protected, payload).as_bytes()));
    CardSignature { protected, signature, header: None }
}

fn signing_input(protected: &str, payload: &[u8]) -> String {
    format!("{protected}.{}", URL_SAFE_NO_PAD.encode(payload))
}

#[cfg(test)]
mod tests;
