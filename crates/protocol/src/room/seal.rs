//! Signatures: that of the sender over its envelope, and that of the room's site over an event.
//!
//! Promises: the sender's signature covers the canonical form without `seq`, `recv_ts` and `sig`, which are
//! not the sender's; so any site may relay a signed message and none can alter it. The key is the reader's
//! to find: `kid` is only a hint. A signature made here holds for nothing else (see `statement`).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::{ChainHash, Envelope, EnvelopeSignature};
use crate::{BadSignature, NoCanonicalForm, PublicKey, SigningKey, Timestamp, canonical_json};

/// What an envelope's signature is made for.
const ENVELOPE_DOMAIN: &str = "agentsite-envelope-1";

/// What the site's signature of an event is made for.
pub const ROOM_EVENT_DOMAIN: &str = "agentsite-room-event-1";

impl Envelope {
    /// What the sender signs.
    ///
    /// # Errors
    /// [`NoCanonicalForm`] for numbers that not every reader holds exactly.
    pub fn signed_form(&self) -> Result<Vec<u8>, NoCanonicalForm> {
        let mut value = self.to_value();
        if let Value::Object(members) = &mut value {
            for of_others in ["seq", "recv_ts", "sig"] {
                members.remove(of_others);
            }
        }
        canonical_json(&value)
    }

    /// Signs the message with a key.
    ///
    /// # Errors
    /// [`NoCanonicalForm`] when it has none.
    pub fn sign(&mut self, key: &SigningKey) -> Result<(), NoCanonicalForm> {
        let signature = key.sign_statement(ENVELOPE_DOMAIN, &self.signed_form()?);
        self.sig = Some(EnvelopeSignature {
            kid: key.public().did_key(),
            alg: key.algorithm().name().into(),
            val: URL_SAFE_NO_PAD.encode(signature),
        });
        Ok(())
    }

    /// Checks that this key signed the message.
    ///
    /// # Errors
    /// [`BadSignature`] when there is no signature, or one of another key or another message.
    pub fn verify(&self, key: &PublicKey) -> Result<(), BadSignature> {
        let sig = self.sig.as_ref().ok_or(BadSignature::Header("there is none"))?;
        if sig.alg != key.algorithm().name() {
            let wanted = key.algorithm().name();
            return Err(BadSignature::OtherAlgorithm { given: sig.alg.chars().take(20).collect(), wanted });
        }
        let bytes = URL_SAFE_NO_PAD.decode(&sig.val).map_err(|_| BadSignature::Mismatch)?;
        key.verify_statement(ENVELOPE_DOMAIN, &self.signed_form()?, &bytes)
    }

    /// The hash by which the sender's next message names this one.
    ///
    /// # Errors
    /// [`NoCanonicalForm`] when it has none.
    pub fn digest(&self) -> Result<ChainHash, NoCanonicalForm> {
        Ok(ChainHash::of(&[&self.signed_form()?]))
    }

    /// The hash by which repetitions are compared. The sender's time is not part of it: a client that sends
    /// again writes the time of the repetition.
    ///
    /// # Errors
    /// [`NoCanonicalForm`] when it has none.
    pub fn body_digest(&self) -> Result<ChainHash, NoCanonicalForm> {
        let timeless = Self { ts: Timestamp::from_millis(0), ..self.clone() };
        Ok(ChainHash::of(&[&timeless.signed_form()?]))
    }
}
