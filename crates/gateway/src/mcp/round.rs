//! Round: questions back to the caller, and the state that the caller carries for us until it answers.
//!
//! Promises: state leaves only sealed (encrypted and authenticated with a key of the site), bound to its
//! caller, the agent, the method and the parameters of the request, for a limited time; anything else is
//! refused. Only questions leave that the client said it can answer. It does not promise that a state is used
//! once.

use std::collections::BTreeMap;
use std::time::Duration;

use agentsite_protocol::mcp::{Abilities, InputNeeded, Round};
use agentsite_protocol::{Clock, Rng, Timestamp};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::params::{Params, wrong};
use crate::failure::Failure;
use crate::jsonrpc::string;

/// How long a caller may take to answer: a person who is asked after lunch.
pub(super) const GOOD_FOR: Duration = Duration::from_secs(60 * 60);

/// Most bytes of a sealed state that is looked at; larger than any we send.
const MAX_STATE: usize = 256 << 10;

/// Most answers in one request.
const MAX_ANSWERS: usize = 100;

/// Bytes of the time that stands before a state.
const TIME: usize = 8;

/// What the key is made for; the site makes another one for every purpose.
pub(super) const PURPOSE: &str = "mcp request state v1";

/// Seals and opens states.
pub(super) struct Seal(LessSafeKey);

/// Shows nothing: a key must not reach a log.
impl std::fmt::Debug for Seal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Seal")
    }
}

/// What a state is bound to: the caller, the agent, the method, the name of the tool, prompt or resource, and
/// the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bond([u8; 32]);

impl Bond {
    /// The bond of everything that makes a request this one.
    pub(super) fn of(parts: [&str; 5]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        Self(hash.finalize().into())
    }
}

impl Seal {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        let key = UnboundKey::new(&CHACHA20_POLY1305, key).expect("the key has the length of the algorithm");
        Self(LessSafeKey::new(key))
    }

    /// Seals a state.
    pub(super) fn close(&self, state: &Value, bond: &Bond, clock: &dyn Clock, rng: &dyn Rng) -> String {
        let mut nonce = [0; NONCE_LEN];
        rng.fill(&mut nonce);
        let until = clock.now().plus(GOOD_FOR);
        let mut sealed = until.as_millis().to_le_bytes().to_vec();
        sealed.extend_from_slice(state.to_string().as_bytes());
        let nonce_value = Nonce::assume_unique_for_key(nonce);
        self.0
            .seal_in_place_append_tag(nonce_value, Aad::from(bond.0), &mut sealed)
            .expect("a state is shorter than the algorithm's limit");
        sealed.splice(0..0, nonce);
        URL_SAFE_NO_PAD.encode(sealed)
    }

    /// Opens a state that was sealed for this very request.
    pub(super) fn open(&self, sealed: &str, bond: &Bond, now: Timestamp) -> Result<Value, Failure> {
        let foreign = || {
            wrong(
                "`requestState` was not given out for this request; send it as it came, with the same caller, \
                 method and parameters, or begin without it",
            )
        };
        if sealed.len() > MAX_STATE {
            return Err(foreign());
        }
        let mut bytes = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| foreign())?;
        let (nonce, rest) = bytes.split_at_mut_checked(NONCE_LEN).ok_or_else(foreign)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| foreign())?;
        let opened = self.0.open_in_place(nonce, Aad::from(bond.0), rest).map_err(|_| foreign())?;
        let (until, state) = opened.split_first_chunk::<TIME>().ok_or_else(foreign)?;
        if Timestamp::from_millis(i64::from_le_bytes(*until)) < now {
            return Err(wrong("`requestState` is too old; begin again without it"));
        }
        serde_json::from_slice(state).map_err(|_| foreign())
    }
}

/// The answers that came with a request, as the client wrote them.
pub(super) fn answers(member: Option<&RawValue>) -> Result<BTreeMap<String, Value>, Failure> {
    let Some(raw) = member else { return Ok(BTreeMap::new()) };
    let answers: BTreeMap<String, Value> = serde_json::from_str(raw.get()).map_err(|_| {
        wrong("`inputResponses` must be an object of answers by the names of their questions")
    })?;
    if answers.len() > MAX_ANSWERS {
        return Err(wrong(format!("`inputResponses` holds more than {MAX_ANSWERS} answers; send less")));
    }
    if let Some((name, _)) = answers.iter().find(|(_, answer)| !answer.is_object()) {
        let short: String = name.chars().take(60).collect();
        return Err(wrong(format!("the answer `{short}` in `inputResponses` must be an object")));
    }
    Ok(answers)
}

/// What came with a request that was made before.
pub(super) fn read(params: &Params<'_>, seal: &Seal, bond: &Bond, now: Timestamp) -> Result<Round, Failure> {
    let answers = answers(params.input_responses)?;
    let state = match params.request_state {
        None => None,
        Some(raw) => {
            let sealed =
                string(raw.get()).ok_or_else(|| wrong("`requestState` must be the string that was given"))?;
            Some(seal.open(&sealed, bond, now)?)
        }
    };
    Ok(Round { answers, state })
}

/// Refuses questions that this client did not say it can answer.
pub(super) fn check(abilities: Abilities, needed: &InputNeeded) -> Result<(), Failure> {
    let Some(request) = needed.requests.values().find(|request| !abilities.allows(request)) else {
        return Ok(());
    };
    let url = request.params.get("mode").is_some_and(|mode| mode == "url");
    let (what, capability) = match request.method.as_str() {
        "elicitation/create" if url => {
            ("open addresses (elicitation.url)", json!({ "elicitation": { "url": {} } }))
        }
        "elicitation/create" => ("fill forms (elicitation)", json!({ "elicitation": {} })),
        "sampling/createMessage" => ("ask its model (sampling)", json!({ "sampling": {} })),
        "roots/list" => ("tell its folders (roots)", json!({ "roots": {} })),
        _ => ("answer this kind of question", json!({})),
    };
    Err(Failure::needs(what, &capability))
}

#[cfg(test)]
mod tests {
    use agentsite_site::{SystemClock, SystemRng};

    use super::*;
    use crate::failure::Fault;

    const PARTS: [&str; 5] = ["local", "agent", "tools/call", "tool", "{}"];

    fn sealed() -> (Seal, String) {
        let seal = Seal::new(&[7; 32]);
        let text = seal.close(&json!({ "step": 1 }), &Bond::of(PARTS), &SystemClock, &SystemRng);
        (seal, text)
    }

    #[test]
    fn a_state_comes_back_to_its_own_request_only() {
        let (seal, text) = sealed();
        let now = SystemClock.now();
        assert_eq!(seal.open(&text, &Bond::of(PARTS), now).unwrap(), json!({ "step": 1 }));
        assert!(!text.contains("step"));
        for at in 0..PARTS.len() {
            let mut parts = PARTS;
            parts[at] = "other";
            let failure = seal.open(&text, &Bond::of(parts), now).unwrap_err();
            assert_eq!(failure.fault, Fault::BadParams, "{parts:?}");
        }
        assert!(Seal::new(&[8; 32]).open(&text, &Bond::of(PARTS), now).is_err());
    }

    #[test]
    fn a_state_that_was_changed_or_is_old_is_refused() {
        let (seal, text) = sealed();
        let now = SystemClock.now();
        for bad in [format!("{text}-TAMPERED"), text[1..].to_owned(), String::new(), "A".repeat(40)] {
            assert!(seal.open(&bad, &Bond::of(PARTS), now).is_err(), "{bad}");
        }
        let late =
            seal.open(&text, &Bond::of(PARTS), now.plus(GOOD_FOR + Duration::from_secs(1))).unwrap_err();
        assert!(late.sentence.contains("too old"));
    }

    #[test]
    fn answers_are_objects_by_name() {
        let read = |json: &str| answers(Some(serde_json::from_str(json).unwrap()));
        assert_eq!(read(r#"{"a":{"action":"accept"}}"#).unwrap().len(), 1);
        for bad in ["null", "7", r#"{"a":1}"#] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
