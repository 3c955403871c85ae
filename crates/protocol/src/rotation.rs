//! Rotation: how a key names its successor.
//!
//! Promises: a record is signed by the old key, so a party that trusted the old key can trust the new one
//! without a further lookup; a chain of records leads from any former key to the present one, or is refused
//! whole. It does not say when a key stops being good.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Timestamp;
use crate::canonical::canonical_json;
use crate::key::{BadKey, PublicKey, SigningKey};
use crate::signature::{BadSignature, CardSignature, sign_bytes};

/// The type that the header of a rotation's signature names, so that no other signature passes for one.
const ROTATION: &str = "rotation+jose";

/// A key's word that another one takes its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RotationRecord {
    /// The `did:key` of the key that is replaced.
    pub old_kid: String,
    /// The `did:key` of the key that takes its place.
    pub new_kid: String,
    /// The new key as a JSON Web Key.
    pub new_key: Value,
    /// When.
    pub at: Timestamp,
    /// The old key's signature.
    pub signature: CardSignature,
}

/// Why a rotation does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRotation {
    /// A key in it is none.
    #[error("a key in the rotation record is invalid: {0}")]
    Key(#[from] BadKey),
    /// The old key did not sign it.
    #[error("the old key did not sign the rotation record: {0}")]
    Signature(#[from] BadSignature),
    /// Names and keys do not fit each other, or the records do not follow each other.
    #[error("the rotation record names other keys than those it carries or follows")]
    Names,
}

impl RotationRecord {
    /// Lets the old key name its successor.
    #[must_use]
    pub fn sign(old: &SigningKey, new: &PublicKey, at: Timestamp) -> Self {
        let (old_kid, new_kid, new_key) = (old.public().did_key(), new.did_key(), new.jwk());
        let payload = payload(&old_kid, &new_kid, &new_key, at);
        let signature = sign_bytes(&payload, old, ROTATION, None);
        Self { old_kid, new_kid, new_key, at, signature }
    }

    /// Checks the old key's word and gives the new key.
    ///
    /// # Errors
    /// [`BadRotation`] says what does not hold.
    pub fn verify(&self) -> Result<PublicKey, BadRotation> {
        let old = PublicKey::from_did_key(&self.old_kid)?;
        let new = PublicKey::from_did_key(&self.new_kid)?;
        let header = self.signature.header()?;
        if PublicKey::from_jwk(&self.new_key)? != new
            || header.kid.as_ref() != Some(&self.old_kid)
            || header.typ.as_deref() != Some(ROTATION)
        {
            return Err(BadRotation::Names);
        }
        self.signature.verify_bytes(&payload(&self.old_kid, &self.new_kid, &self.new_key, self.at), &old)?;
        Ok(new)
    }
}

/// Follows records, oldest first, from a key that is trusted to its latest successor. Records of other keys
/// are passed over.
///
/// # Errors
/// [`BadRotation`] when a record on the way does not hold.
pub fn follow_rotations(from: &PublicKey, records: &[RotationRecord]) -> Result<PublicKey, BadRotation> {
    let mut present = from.clone();
    for record in records {
        if record.old_kid == present.did_key() {
            present = record.verify()?;
        }
    }
    Ok(present)
}

fn payload(old_kid: &str, new_kid: &str, new_key: &Value, at: Timestamp) -> Vec<u8> {
    let record = json!({ "oldKid": old_kid, "newKid": new_kid, "newKey": new_key, "at": at });
    canonical_json(&record).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Algorithm;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(Algorithm::EdDsa, &[seed; 32]).unwrap()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000 + second * 1000)
    }

    #[test]
    fn a_chain_leads_from_any_former_key_to_the_present_one() {
        let other = SigningKey::from_seed(Algorithm::Es256, &[9; 32]).unwrap();
        let records = [
            RotationRecord::sign(&key(1), &key(2).public(), at(1)),
            RotationRecord::sign(&other, &key(5).public(), at(1)),
            RotationRecord::sign(&key(2), &key(3).public(), at(2)),
        ];
        for seed in [1, 2, 3] {
            assert_eq!(follow_rotations(&key(seed).public(), &records).unwrap(), key(3).public());
        }
        assert_eq!(follow_rotations(&key(8).public(), &records).unwrap(), key(8).public());
        let text = serde_json::to_string(&records).unwrap();
        let back: Vec<RotationRecord> = serde_json::from_str(&text).unwrap();
        assert_eq!(back, records);
    }

    #[test]
    fn a_changed_record_does_not_hold() {
        let record = RotationRecord::sign(&key(1), &key(2).public(), at(1));
        assert_eq!(record.verify().unwrap(), key(2).public());
        let later = RotationRecord { at: at(9), ..record.clone() };
        assert_eq!(later.verify().unwrap_err(), BadRotation::Signature(BadSignature::Mismatch));
        let thief = RotationRecord {
            new_kid: key(6).public().did_key(),
            new_key: key(6).public().jwk(),
            ..record.clone()
        };
        assert!(thief.verify().is_err());
        let mixed = RotationRecord { new_key: key(6).public().jwk(), ..record.clone() };
        assert_eq!(mixed.verify().unwrap_err(), BadRotation::Names);
        let forged = RotationRecord {
            signature: RotationRecord::sign(&key(6), &key(2).public(), at(1)).signature,
            ..record.clone()
        };
        assert_eq!(forged.verify().unwrap_err(), BadRotation::Names);
        assert!(follow_rotations(&key(1).public(), &[thief]).is_err());
    }

    #[test]
    fn a_signature_of_something_else_is_no_rotation() {
        let record = RotationRecord::sign(&key(1), &key(2).public(), at(1));
        let bytes = payload(&record.old_kid, &record.new_kid, &record.new_key, record.at);
        let as_card = sign_bytes(&bytes, &key(1), crate::signature::JOSE, None);
        let record = RotationRecord { signature: as_card, ..record };
        assert_eq!(record.verify().unwrap_err(), BadRotation::Names);
    }
}
