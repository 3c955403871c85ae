//! Proof: who published a document, found out by looking where it says it comes from.
//!
//! Promises: a signature counts with a key that the document's own origin publishes, or the `did:web` of the
//! agent's host; a document counts as its domain's when it came from the host at which its agent is called;
//! a caller that posts a document proves to own it with its key or from its domain. A document signed by
//! another key than before, without that key's word, is told apart. It writes nothing but the proven entry.

use agentsite_client::{
    CardRefusal, KnownBy, KnownKeys, SignedCard, card_url, did_web_of, key_set_url, verify_card,
};
use agentsite_egress::Fetched;
use agentsite_protocol::listing::{ListingId, Proof, Standing};
use agentsite_protocol::{Caller, CardSignature, PublicKey, read_unambiguous, verify_challenge};
use agentsite_store::Registration;
use serde_json::Value;
use url::Url;

use super::did::{self, Claim};
use super::draft::{Draft, bad};
use super::{Candidate, OTHER_KEY, Registry};
use crate::entry::CHALLENGE_PATH;
use crate::error::RegistryError;

/// Largest card that is read; the largest seen has 9 kB.
pub(super) const MAX_CARD: usize = 1 << 20;

/// Largest key set that is read.
const MAX_KEY_SET: usize = 1 << 20;

/// Largest answer to a challenge: a file of many challenges.
const MAX_ANSWER: usize = 64 << 10;

/// What was found out about a document.
pub(super) struct Judged {
    pub(super) draft: Draft,
    pub(super) proof: Proof,
    pub(super) key: Option<String>,
    /// Why the signatures that it has do not count.
    pub(super) warning: Option<String>,
    /// Whether it is signed by another key than the one that was known.
    pub(super) other_key: bool,
}

impl Registry {
    /// Looks at an address: a card first, and a tool server where there is none.
    pub(super) async fn look_at(&self, url: &Url) -> Result<Candidate, RegistryError> {
        let card = card_url(url);
        let timeout = self.settings.timeout.0;
        let fetched = match self.scout.fetch(card.clone(), None, MAX_CARD, timeout).await {
            Ok(fetched) => fetched,
            Err(why) if url.path().ends_with(".json") => return Err(RegistryError::Unreachable(why)),
            Err(why) => {
                let server = self.scout.meet(url.clone(), timeout).await;
                let server = server.map_err(|_| RegistryError::Unreachable(why))?;
                return self.met(Draft::of_tool_server(server, url)?, url);
            }
        };
        let Fetched::Document { bytes, etag, url: from, .. } = fetched else {
            return Err(RegistryError::Unreachable(format!("{card} gave no document")));
        };
        let judged = self.judge(&bytes, &from, None).await?;
        let mut draft = judged.draft;
        (draft.url, draft.document) = (Some(card.to_string()), None);
        let warnings = judged.warning.into_iter().collect();
        Ok(Candidate {
            draft,
            proof: judged.proof,
            key: judged.key,
            etag,
            warnings,
            at: Some(from),
            contacted: true,
        })
    }

    /// A tool server that answered itself is the domain's.
    fn met(&self, draft: Draft, url: &Url) -> Result<Candidate, RegistryError> {
        let at = Some(url.clone());
        let (proof, warnings) = (Proof::Domain, Vec::new());
        Ok(Candidate { draft, proof, key: None, etag: None, warnings, at, contacted: true })
    }

    /// Reads a posted document; a key that signed it is known by itself only.
    pub(super) async fn read_posted(&self, document: &[u8]) -> Result<Candidate, RegistryError> {
        if document.len() > MAX_CARD {
            return Err(bad(format!("the document is larger than {MAX_CARD} bytes")));
        }
        let value = read(document)?;
        let draft = Draft::read(&value)?;
        let (keys, unread) = self.with_did(KnownKeys::default(), document, None, &draft).await;
        let (proof, key, warning) = match verify_card(document, &keys) {
            Ok(signed) => match signer(&signed, |known| matches!(known, KnownBy::Origin(_))) {
                Some(key) => (Proof::Signature, Some(key), None),
                None => (Proof::None, signer(&signed, |_| true), None),
            },
            Err(CardRefusal::Refused(why)) => {
                (Proof::None, None, Some(warning_of(&unread.unwrap_or_else(|| why.join("; ")))))
            }
            Err(_) => (Proof::None, None, None),
        };
        let warnings = warning.into_iter().collect();
        let mut candidate = Candidate { draft, proof, key, etag: None, warnings, at: None, contacted: false };
        if let Some(claim) = Claim::of(&value) {
            self.check_claims(vec![(&mut candidate, claim)]).await;
        }
        Ok(candidate)
    }

    /// Finds out who published a document that came from this address.
    pub(super) async fn judge(
        &self,
        bytes: &[u8],
        from: &Url,
        known: Option<&Registration>,
    ) -> Result<Judged, RegistryError> {
        let draft = Draft::read(&read(bytes)?)?;
        let mut keys = KnownKeys::default().from_origin(from);
        if let Some(key_set) = key_set_url(bytes, from)
            && let Some(published) = self.published(key_set, from).await
        {
            keys = keys.published(&published);
        }
        let (keys, unread) = self.with_did(keys, bytes, Some(from), &draft).await;
        let here = from.host_str().is_some_and(|host| draft.host().is_none_or(|named| named == host));
        let by_domain = if here { Proof::Domain } else { Proof::None };
        let (proof, key, warning) = match verify_card(bytes, &keys) {
            Ok(signed) => match signer(&signed, |known| matches!(known, KnownBy::Origin(_))) {
                Some(key) => (Proof::Signature, Some(key), None),
                None => (by_domain, signer(&signed, |_| true), None),
            },
            Err(CardRefusal::NoSignature) => (by_domain, None, None),
            Err(refusal) => {
                let why = unread.unwrap_or_else(|| refusal.to_string());
                (by_domain, None, Some(warning_of(&why)))
            }
        };
        let before = known.and_then(|known| PublicKey::from_did_key(known.key.as_deref()?).ok());
        let other_key = before.is_some_and(|before| verify_card(bytes, &keys.pinned([before])).is_err());
        Ok(Judged { draft, proof, key, warning, other_key })
    }

    /// Adds the keys of the `did:web` that a signature names, if it is the identity of the agent's host; else
    /// gives why there are none.
    async fn with_did(
        &self,
        keys: KnownKeys,
        document: &[u8],
        from: Option<&Url>,
        draft: &Draft,
    ) -> (KnownKeys, Option<String>) {
        let Some(did) = did_web_of(document) else { return (keys, None) };
        let endpoint = draft.endpoint.as_deref().and_then(|endpoint| Url::parse(endpoint).ok());
        let places: Vec<&Url> = from.into_iter().chain(&endpoint).collect();
        match self.did_keys(&did, &places).await {
            Ok(named) => (keys.of_did_web(named), None),
            Err(why) => (keys, Some(why)),
        }
    }

    /// The keys that an origin publishes; one that sends us elsewhere for them does not publish them.
    async fn published(&self, key_set: Url, origin: &Url) -> Option<Value> {
        match self.scout.fetch(key_set, None, MAX_KEY_SET, self.settings.timeout.0).await.ok()? {
            Fetched::Document { bytes, url, .. } if url.origin() == origin.origin() => {
                read_unambiguous(&bytes).ok()
            }
            _ => None,
        }
    }

    /// Takes the answer to the challenge of an entry: signed with its key, or served on its domain when none
    /// is given.
    pub(super) async fn check_proof(
        &self,
        caller: &Caller,
        id: &ListingId,
        answer: Option<&CardSignature>,
    ) -> Result<Registration, RegistryError> {
        let entry = self.own_entry(caller, id).await?;
        let Some(challenge) = entry.challenge.clone() else {
            return if entry.listing.standing == Standing::Pending {
                Err(bad("the entry has no challenge; resume it to get one".into()))
            } else {
                Ok(entry)
            };
        };
        let proof = match answer {
            Some(answer) => check_signed(&entry, answer, &challenge)?,
            None => self.check_served(&entry, &challenge).await?,
        };
        let change = move |entry: &mut Registration, _| {
            if entry.challenge.as_deref() == Some(challenge.as_str()) {
                (entry.listing.standing, entry.listing.proof) =
                    (Standing::Active, entry.listing.proof.max(proof));
                (entry.challenge, entry.vouched) = (None, true);
                entry.listing.warnings.retain(|warning| !warning.starts_with(OTHER_KEY));
            }
            format!("proved to own {}", entry.listing.id)
        };
        self.edit(caller, id, change).await
    }

    /// Looks for the challenge on the domain of the entry: as a file of its own, or as a line of one file.
    async fn check_served(&self, entry: &Registration, challenge: &str) -> Result<Proof, RegistryError> {
        let at =
            entry.endpoint.as_deref().or(entry.listing.url.as_deref()).and_then(|at| Url::parse(at).ok());
        let at =
            at.ok_or_else(|| bad("the entry names no address; sign its challenge with its key".into()))?;
        let mut last = String::new();
        for path in [format!("{CHALLENGE_PATH}/{challenge}"), format!("{CHALLENGE_PATH}.txt")] {
            let mut url = at.clone();
            url.set_path(&path);
            url.set_query(None);
            url.set_fragment(None);
            match self.scout.fetch(url.clone(), None, MAX_ANSWER, self.settings.timeout.0).await {
                Ok(Fetched::Document { bytes, url: from, .. }) if from.host() == at.host() => {
                    let said = String::from_utf8_lossy(&bytes);
                    if said.lines().any(|line| line.trim() == challenge) {
                        return Ok(Proof::Domain);
                    }
                    last = format!("{url} says something else");
                }
                Ok(_) => last = format!("{url} leads elsewhere"),
                Err(why) => last = why,
            }
        }
        Err(bad(format!("the challenge was not found: {last}")))
    }
}

/// Checks the answer against the key that signed the entry's document.
fn check_signed(
    entry: &Registration,
    answer: &CardSignature,
    challenge: &str,
) -> Result<Proof, RegistryError> {
    let key = entry.key.as_deref().and_then(|key| PublicKey::from_did_key(key).ok());
    let key =
        key.ok_or_else(|| bad("the entry's card is not signed; serve the challenge on its domain".into()))?;
    verify_challenge(answer, &key, entry.listing.id.as_str(), challenge)
        .map_err(|error| bad(format!("the answer to the challenge does not hold: {error}")))?;
    Ok(Proof::Signature)
}

fn warning_of(why: &str) -> String {
    did::warning("its signature", why)
}

fn read(bytes: &[u8]) -> Result<Value, RegistryError> {
    let value =
        read_unambiguous(bytes).map_err(|error| bad(format!("the document cannot be read: {error}")))?;
    if value.is_object() { Ok(value) } else { Err(bad("the document is no JSON object".into())) }
}

fn signer(signed: &SignedCard, counts: impl Fn(&KnownBy) -> bool) -> Option<String> {
    signed.signers.iter().find(|signer| counts(&signer.known)).map(|signer| signer.key.clone())
}
