//! Who signed a card: verifying the cards of others.
//!
//! Promises: only EdDSA and ES256; a key counts as an agent's when its card's own origin publishes it (as a
//! key set, or in its `did:web` document), when it is pinned, or, weaker, when it is the signature's own
//! `did:key`. An origin that publishes keys is believed in what it leaves out, so that a withdrawn key proves
//! nothing. The answer says who signed, or why no signature holds. It does not decide whether to trust the
//! signer.

use agentsite_egress::Egress;
use agentsite_protocol::{
    BadSignature, CardSignature, NoCanonicalForm, PublicKey, RotationRecord, follow_rotations,
    read_unambiguous,
};
use serde::Serialize;
use serde_json::Value;
use url::Url;

use crate::a2a::{MAX_CARD, card_url};
use crate::{ClientError, Token};

/// Most signatures of one card that are checked: two algorithms, old and new keys, and as many again.
const MAX_SIGNATURES: usize = 8;

/// Most keys of one key set that are read; ours publish up to eighteen.
const MAX_KEYS: usize = 64;

/// Most rotation records that are followed; more than one a week for years.
const MAX_ROTATIONS: usize = 512;

/// Largest key set that is read: 64 keys and 512 rotations.
const MAX_KEY_SET: usize = 1 << 20;

/// How it is known whose key it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "by", content = "origin")]
pub enum KnownBy {
    /// The origin of the card publishes the key.
    Origin(String),
    /// The caller named the key, or one that has vouched for it.
    Pin,
    /// The signature names its key, and nothing more is known: the same signer can be recognised again.
    Itself,
}

/// A signer whose signature of a card holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Signer {
    /// The key, as a `did:key`.
    pub key: String,
    /// EdDSA or ES256.
    pub algorithm: &'static str,
    /// How it is known whose key it is.
    pub known: KnownBy,
}

/// A card whose signature holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SignedCard {
    /// What the card calls its agent.
    pub name: String,
    /// Who signed it; at least one.
    pub signers: Vec<Signer>,
    /// Why further signatures do not hold.
    pub passed_over: Vec<String>,
}

/// Why a card does not count as signed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CardRefusal {
    /// It could not be fetched.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// It is not a card.
    #[error("this is not an agent card: {0}")]
    NoCard(String),
    /// It is not signed.
    #[error("the card is not signed")]
    NoSignature,
    /// No signature holds.
    #[error("no signature of the card is valid: {}", .0.join("; "))]
    Refused(Vec<String>),
    /// It is signed, but not by a signer that was named.
    #[error("the card is signed, but not with a key that you named: {}", .0.join(", "))]
    Stranger(Vec<String>),
}

/// The keys that verify a card.
#[derive(Debug, Clone, Default)]
pub struct KnownKeys {
    origin: Option<Url>,
    published: Option<Vec<(String, PublicKey)>>,
    rotations: Vec<RotationRecord>,
    pinned: Vec<PublicKey>,
    /// Keys of a `did:web` document by their names there.
    named: Vec<(String, PublicKey)>,
}

impl KnownKeys {
    /// Demands that one of these keys signed, or one for which they vouch.
    #[must_use]
    pub fn pinned(mut self, keys: impl IntoIterator<Item = PublicKey>) -> Self {
        self.pinned.extend(keys);
        self
    }

    /// Sets the address of the card.
    #[must_use]
    pub fn from_origin(mut self, url: &Url) -> Self {
        self.origin = Some(url.clone());
        self
    }

    /// Adds what the origin publishes; keys of kinds that are not used here are left out.
    #[must_use]
    pub fn published(mut self, key_set: &Value) -> Self {
        let keys = key_set["keys"].as_array().into_iter().flatten().take(MAX_KEYS);
        let named = |key: &Value| Some((key["kid"].as_str()?.to_owned(), PublicKey::from_jwk(key).ok()?));
        self.published = Some(keys.filter_map(named).collect());
        let records = key_set["rotations"].as_array().into_iter().flatten().take(MAX_ROTATIONS);
        self.rotations = records.filter_map(|record| serde_json::from_value(record.clone()).ok()).collect();
        self
    }

    /// Adds the keys of the `did:web` document of the card's own host, by their names there.
    #[must_use]
    pub fn of_did_web(mut self, keys: Vec<(String, PublicKey)>) -> Self {
        self.named.extend(keys);
        self
    }

    /// The key that a signature names, and how it is known.
    fn find(&self, signature: &CardSignature) -> Result<(PublicKey, KnownBy), String> {
        let header = signature.header().map_err(|error| error.to_string())?;
        let kid = header.kid.ok_or("it names no key (`kid`)")?;
        let short: String = kid.chars().take(100).collect();
        let itself = PublicKey::from_did_key(&kid).ok();
        if let Some(key) = itself.as_ref().filter(|key| self.is_pinned(key)) {
            return Ok((key.clone(), KnownBy::Pin));
        }
        if kid.starts_with("did:web:") {
            let found = self.named.iter().find(|(name, _)| *name == kid);
            let (name, key) =
                found.ok_or_else(|| format!("no document of its host names the key `{short}`"))?;
            let did = name.split('#').next().unwrap_or_default().to_owned();
            return Ok((key.clone(), KnownBy::Origin(did)));
        }
        let (Some(jku), Some(origin)) = (&header.jku, &self.origin) else {
            let key = itself.ok_or_else(|| format!("the publisher of the key `{short}` is unknown"))?;
            return Ok((key, KnownBy::Itself));
        };
        if !Url::parse(jku).is_ok_and(|jku| jku.origin() == origin.origin()) {
            let jku: String = jku.chars().take(200).collect();
            return Err(format!("its keys are published elsewhere (`{jku}`) than the card"));
        }
        let published = self.published.as_ref().ok_or("the keys of its origin could not be read")?;
        let found = published.iter().find(|(name, _)| *name == kid).map(|(_, key)| key.clone());
        let key =
            found.ok_or_else(|| format!("its origin does not publish the key `{short}` (or no longer)"))?;
        if itself.is_some_and(|itself| itself != key) {
            return Err(format!("its origin publishes another key under the name `{short}`"));
        }
        Ok((key, KnownBy::Origin(origin.origin().ascii_serialization())))
    }

    fn is_pinned(&self, key: &PublicKey) -> bool {
        self.pinned.iter().any(|pin| {
            pin == key || follow_rotations(pin, &self.rotations).is_ok_and(|successor| successor == *key)
        })
    }
}

/// Verifies the original bytes of a card with these keys, not a card that was read and written again.
///
/// # Errors
/// [`CardRefusal`] when it does not count as signed.
pub fn verify_card(card_json: &[u8], keys: &KnownKeys) -> Result<SignedCard, CardRefusal> {
    let card = read_card(card_json)?;
    let signatures = signatures(&card)?;
    let (mut signers, mut passed_over) = (Vec::new(), Vec::new());
    for (place, signature) in signatures.iter().enumerate() {
        match check(&card, signature, keys) {
            Ok(signer) => signers.push(signer),
            Err(why) => passed_over.push(format!("signature {}: {why}", place + 1)),
        }
    }
    if signers.is_empty() {
        return Err(CardRefusal::Refused(passed_over));
    }
    let is_wanted =
        |signer: &Signer| PublicKey::from_did_key(&signer.key).is_ok_and(|key| keys.is_pinned(&key));
    if !keys.pinned.is_empty() && !signers.iter().any(is_wanted) {
        return Err(CardRefusal::Stranger(signers.into_iter().map(|signer| signer.key).collect()));
    }
    let name = card["name"].as_str().unwrap_or_default().chars().take(200).collect();
    Ok(SignedCard { name, signers, passed_over })
}

/// Fetches the card of an agent, and the keys of its origin where a signature names them there, and verifies
/// it.
///
/// # Errors
/// [`CardRefusal`] when it does not count as signed.
pub async fn verify_card_at(
    egress: &Egress,
    url: &Url,
    token: Option<&Token>,
    pinned: &[PublicKey],
) -> Result<SignedCard, CardRefusal> {
    let (origin, bytes) = fetch(egress, &card_url(url), token, MAX_CARD).await?;
    let card = read_card(&bytes)?;
    let mut keys = KnownKeys::default().from_origin(&origin).pinned(pinned.iter().cloned());
    if let Some(jku) = own_key_set(&card, &origin) {
        let (from, set) = fetch(egress, &jku, None, MAX_KEY_SET).await?;
        // An origin that sends us elsewhere for its keys does not publish them.
        if let (true, Ok(set)) = (from.origin() == origin.origin(), read_unambiguous(&set)) {
            keys = keys.published(&set);
        }
    }
    verify_card(&bytes, &keys)
}

/// Where the keys are that the signatures of this card name on its own origin, if they name any there.
#[must_use]
pub fn key_set_url(card_json: &[u8], origin: &Url) -> Option<Url> {
    own_key_set(&read_card(card_json).ok()?, origin)
}

/// The `did:web` that a signature of this card names as its signer, if one does.
#[must_use]
pub fn did_web_of(card_json: &[u8]) -> Option<String> {
    let card = read_card(card_json).ok()?;
    let kid = |signature: &Value| {
        let kid = serde_json::from_value::<CardSignature>(signature.clone()).ok()?.header().ok()?.kid?;
        let did = kid.split('#').next()?;
        did.starts_with("did:web:").then(|| did.to_owned())
    };
    signatures(&card).ok()?.iter().find_map(kid)
}

fn check(card: &Value, signature: &Value, keys: &KnownKeys) -> Result<Signer, String> {
    let signature: CardSignature = serde_json::from_value(signature.clone())
        .map_err(|_| "it lacks `protected` or `signature`".to_owned())?;
    let (key, known) = keys.find(&signature)?;
    signature.verify_card(card, &key).map_err(|error: BadSignature| error.to_string())?;
    Ok(Signer { key: key.did_key(), algorithm: key.algorithm().name(), known })
}

fn read_card(json: &[u8]) -> Result<Value, CardRefusal> {
    if json.len() > MAX_CARD {
        return Err(CardRefusal::NoCard(format!("it is larger than {MAX_CARD} bytes")));
    }
    let card = read_unambiguous(json).map_err(|error| no_card(&error))?;
    if card.is_object() { Ok(card) } else { Err(CardRefusal::NoCard("it is not a JSON object".into())) }
}

fn no_card(error: &NoCanonicalForm) -> CardRefusal {
    CardRefusal::NoCard(error.to_string())
}

fn signatures(card: &Value) -> Result<&[Value], CardRefusal> {
    let all = card["signatures"].as_array().filter(|all| !all.is_empty()).ok_or(CardRefusal::NoSignature)?;
    Ok(&all[..all.len().min(MAX_SIGNATURES)])
}

/// The first address of a key set on the card's own origin.
fn own_key_set(card: &Value, origin: &Url) -> Option<Url> {
    let headers = signatures(card).ok()?.iter().filter_map(|signature| {
        serde_json::from_value::<CardSignature>(signature.clone()).ok()?.header().ok()
    });
    let addresses = headers.filter_map(|header| Url::parse(&header.jku?).ok());
    addresses.into_iter().find(|jku| jku.origin() == origin.origin())
}

async fn fetch(
    egress: &Egress,
    url: &Url,
    token: Option<&Token>,
    limit: usize,
) -> Result<(Url, bytes::Bytes), ClientError> {
    let mut request = egress.get(url.clone()).limit(limit);
    if let Some(token) = token {
        request = request.bearer(token.secret());
    }
    let answer = request.send().await?;
    let status = answer.status();
    if !status.is_success() {
        let message = format!("{url} answered {status}; check the address");
        return Err(ClientError::Status { status: status.as_u16(), code: None, message });
    }
    let from = answer.url().clone();
    Ok((from, answer.bytes().await?))
}
