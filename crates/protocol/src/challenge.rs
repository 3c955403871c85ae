//! Challenge: how a caller proves that it holds the key of an entry in a hub.
//!
//! Promises: an answer is good for one entry and one challenge only, and no other signature passes for one.
//! It does not create challenges and does not identify the owner of a key.

use serde_json::json;

use crate::canonical::canonical_json;
use crate::key::{PublicKey, SigningKey};
use crate::signature::{BadSignature, CardSignature, sign_bytes};

/// The type that the header of an answer names, so that no other signature passes for one.
const CHALLENGE: &str = "agentsite-challenge+jose";

/// Answers the challenge of an entry with this key.
#[must_use]
pub fn answer_challenge(key: &SigningKey, entry: &str, challenge: &str) -> CardSignature {
    sign_bytes(&payload(entry, challenge), key, CHALLENGE, None)
}

/// Checks that this key answered the challenge of this entry.
///
/// # Errors
/// [`BadSignature`] says why not.
pub fn verify_challenge(
    answer: &CardSignature,
    key: &PublicKey,
    entry: &str,
    challenge: &str,
) -> Result<(), BadSignature> {
    if answer.header()?.typ.as_deref() != Some(CHALLENGE) {
        return Err(BadSignature::Header("its `typ` is not `agentsite-challenge+jose`"));
    }
    answer.verify_bytes(&payload(entry, challenge), key)
}

/// What is signed: the canonical form of both words.
fn payload(entry: &str, challenge: &str) -> Vec<u8> {
    canonical_json(&json!({ "challenge": challenge, "entry": entry }))
        .expect("two texts have a canonical form")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Algorithm;

    #[test]
    fn an_answer_is_good_for_its_entry_and_its_challenge_only() {
        let key = SigningKey::from_seed(Algorithm::EdDsa, &[7; 32]).unwrap();
        let other = SigningKey::from_seed(Algorithm::EdDsa, &[8; 32]).unwrap().public();
        let answer = answer_challenge(&key, "urn:air:a:b:c", "word");
        let check =
            |entry: &str, challenge: &str, key: &PublicKey| verify_challenge(&answer, key, entry, challenge);
        assert_eq!(check("urn:air:a:b:c", "word", &key.public()), Ok(()));
        assert!(check("urn:air:a:b:d", "word", &key.public()).is_err());
        assert!(check("urn:air:a:b:c", "other", &key.public()).is_err());
        assert!(check("urn:air:a:b:c", "word", &other).is_err());
    }

    #[test]
    fn another_signature_of_the_same_words_is_no_answer() {
        let key = SigningKey::from_seed(Algorithm::EdDsa, &[7; 32]).unwrap();
        let forged = sign_bytes(&payload("a", "n"), &key, "JOSE", None);
        assert!(matches!(verify_challenge(&forged, &key.public(), "a", "n"), Err(BadSignature::Header(_))));
    }
}
