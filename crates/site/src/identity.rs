//! Identity: the keys with which a site signs, and how they change.
//!
//! Promises: an Ed25519 and a P-256 key are made at the first start and kept in the store, with their public
//! keys beside the seeds so that a damaged or replaced seed is refused; a change of keys is one transaction
//! with the old keys' word for the new ones. Secrets leave this file only into the store. A card is signed
//! once for each content, not for each request. It does not encrypt: the store does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentsite_protocol::{
    AgentCard, Algorithm, CardSignature, Delivery, DeliveryProof, Ids, JournalKind, JournalLine, PublicKey,
    RotationRecord, SigningKey, Timestamp, answer_challenge, sign_card, sign_detached,
};
use agentsite_registry::{ChallengeSigner, TRUST_MANIFEST};
use agentsite_store::{Change, Collection, JournalHead, RecordChange, SharedStore, SignedHead, StoreError};
use agentsite_tasks::Capability;
use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::SiteError;

/// The collection of the keys, which has one record. `agentsite audit verify` reads it from the file.
const KEYS: Collection<StoredIdentity> = Collection::new("identity");

/// The site took new keys.
const KEYS_CHANGED: JournalKind = JournalKind::new("site.keys_changed");

/// What the identity contributes to a site.
pub(crate) fn capability(identity: &Arc<Identity>) -> Capability {
    let identity = identity.clone();
    Capability::new("identity").kinds(const { &[KEYS_CHANGED] }).collections(const { &[KEYS.name()] }).follow(
        move |_| {
            let identity = identity.clone();
            async move { identity.read_again().await }
        },
    )
}

/// The key of that record.
const RECORD: &str = "keys";

/// The setting in which an earlier version kept the keys.
const OLD_SETTING: &str = "identity";

/// The algorithms of a site's keys; the first one's key is its name.
const ALGORITHMS: [Algorithm; 2] = [Algorithm::EdDsa, Algorithm::Es256];

/// Most signed contents that are remembered: every agent under a few addresses. Whoever asks under ever new
/// names makes the site sign again, and nothing grow.
const MAX_SIGNED: usize = 1024;

/// Former keys that are still published: those of the last eight rotations. Rotation records are kept for
/// ever.
const MAX_FORMER: usize = 8 * ALGORITHMS.len();

/// Where keys are published below a site's address.
const JWKS_PATH: &str = "/.well-known/jwks.json";

/// The type that the header of a head's signature names, so that no other signature passes for one.
pub(crate) const JOURNAL_HEAD: &str = "journal-head+jose";

/// Who a site is, as everybody may know.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IdentityView {
    /// Its name: the `did:key` of its Ed25519 key.
    pub did_key: String,
    /// The present keys, by their `did:key`.
    pub kids: Vec<String>,
    /// Since when it signs with them.
    pub since: Timestamp,
    /// Present and former keys as a JSON Web Key Set, the present ones first.
    pub jwks: Value,
    /// How each former key named its successor, oldest first.
    pub rotations: Vec<RotationRecord>,
}

/// What the store holds. No `Debug`: the seeds are secret.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredIdentity {
    /// One for each of [`ALGORITHMS`].
    seeds: [[u8; 32]; 2],
    /// The `did:key` of each seed's public key; a seed that does not lead to it was damaged or replaced.
    /// Sites made by an earlier version have none until their next start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    public: Option<[String; 2]>,
    since: Timestamp,
    #[serde(default)]
    former: Vec<Value>,
    #[serde(default)]
    rotations: Vec<RotationRecord>,
}

impl StoredIdentity {
    /// New keys.
    fn new(ids: &Ids) -> Result<Self, SiteError> {
        let (seeds, since) = (new_seeds(ids), ids.clock().now());
        Self { seeds, public: None, since, former: Vec::new(), rotations: Vec::new() }.with_public()
    }

    /// The same with the public keys that belong to the seeds.
    fn with_public(self) -> Result<Self, SiteError> {
        let public = signing_keys(&self.seeds)?.map(|key| key.public().did_key());
        Ok(Self { public: Some(public), ..self })
    }
}

/// The keys at work.
#[derive(Debug)]
struct Ring {
    keys: [SigningKey; 2],
    view: IdentityView,
}

/// The identity of a site.
pub(crate) struct Identity {
    store: SharedStore,
    ids: Ids,
    ring: ArcSwap<Ring>,
    /// What is on disk, with the revision of the record; held while the keys change.
    kept: tokio::sync::Mutex<(StoredIdentity, u64)>,
    // A std lock: held for a look-up or an insert, never across an await.
    signed: Mutex<HashMap<[u8; 32], Arc<Value>>>,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Identity({})", self.ring.load().view.did_key)
    }
}

impl Identity {
    /// Reads the keys of the site, or makes them; new ones are kept once the change that comes with them is
    /// committed.
    pub(crate) async fn open(
        store: SharedStore,
        ids: Ids,
    ) -> Result<(Self, Option<RecordChange>), SiteError> {
        take_over(&store).await?;
        let stored = store.record(KEYS.name(), RECORD).await?;
        let revision = stored.as_ref().map_or(0, |stored| stored.revision);
        let (kept, is_new) = match stored {
            Some(stored) => {
                // A record that cannot be read must not be replaced by another identity.
                let kept: StoredIdentity =
                    serde_json::from_str(&stored.body).map_err(|_| SiteError::Identity)?;
                if kept.public.is_some() { (kept, false) } else { (kept.with_public()?, true) }
            }
            None => (StoredIdentity::new(&ids)?, true),
        };
        let new = is_new.then(|| KEYS.put(RECORD, None, revision, &kept)).transpose()?;
        let ring = ArcSwap::from_pointee(Ring::of(&kept)?);
        let kept = tokio::sync::Mutex::new((kept, revision + u64::from(is_new)));
        Ok((Self { store, ids, ring, kept, signed: Mutex::default() }, new))
    }

    /// Takes over the keys that another process of the site took.
    pub(crate) async fn read_again(&self) -> Result<(), StoreError> {
        let mut kept = self.kept.lock().await;
        let Some(stored) = self.store.record(KEYS.name(), RECORD).await? else { return Ok(()) };
        if stored.revision <= kept.1 {
            return Ok(());
        }
        let damaged = || StoreError::Corrupt("the keys of the site cannot be read".into());
        let read: StoredIdentity = serde_json::from_str(&stored.body).map_err(|_| damaged())?;
        let ring = Ring::of(&read).map_err(|_| damaged())?;
        *kept = (read, stored.revision);
        self.ring.store(Arc::new(ring));
        self.signed.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(())
    }

    /// Who the site is.
    pub(crate) fn view(&self) -> IdentityView {
        self.ring.load().view.clone()
    }

    /// Takes new keys, for which the old ones vouch.
    pub(crate) async fn rotate(&self, by: &str) -> Result<IdentityView, SiteError> {
        let mut kept = self.kept.lock().await;
        let old = self.ring.load_full();
        let (seeds, at) = (new_seeds(&self.ids), self.ids.clock().now());
        let new = signing_keys(&seeds)?;
        let records =
            old.keys.iter().zip(&new).map(|(old, new)| RotationRecord::sign(old, &new.public(), at));
        let mut next = StoredIdentity { seeds, since: at, ..kept.0.clone() }.with_public()?;
        next.rotations.extend(records);
        next.former.splice(0..0, old.keys.iter().map(|key| key.public().jwk()));
        next.former.truncate(MAX_FORMER);
        let ring = Ring::of(&next)?;
        let text = format!("changed the keys of the site; it is now {}", ring.view.did_key);
        let line = JournalLine::new(KEYS_CHANGED, at, by, text);
        let put = KEYS.put(RECORD, None, kept.1, &next)?;
        self.store.commit(Change::new(line).edit(put)).await?;
        *kept = (next, kept.1 + 1);
        self.ring.store(Arc::new(ring));
        self.signed.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(self.view())
    }

    /// Adds the site's signatures to a card that is served under `base`.
    pub(crate) fn sign(&self, card: &mut AgentCard, base: &str) {
        match self.signatures(card, base) {
            Ok(signatures) => {
                card.extra.insert("signatures".into(), Value::clone(&signatures));
            }
            Err(error) => tracing::warn!(card = card.name, %error, "A card could not be signed."),
        }
    }

    /// The Ed25519 key, for the mesh: it is the identity of the site there.
    pub(crate) fn mesh_key(&self) -> SigningKey {
        self.ring.load().keys[0].clone()
    }

    /// Signs a delivery with the Ed25519 key.
    pub(crate) fn sign_delivery(
        &self,
        delivery: &Delivery<'_>,
        now: Timestamp,
        good_for: Duration,
    ) -> DeliveryProof {
        delivery.sign(&self.ring.load().keys[0], now, good_for)
    }

    /// Signs a head of the journal with the Ed25519 key.
    pub(crate) fn sign_head(&self, head: &JournalHead) -> Result<SignedHead, SiteError> {
        let at = self.ids.clock().now();
        let signed = sign_detached(&head_statement(head, at), &self.ring.load().keys[0], JOURNAL_HEAD, None);
        let signature = signed.map_err(|_| SiteError::Identity)?;
        Ok(SignedHead { seq: head.seq, at, hash: head.hash, signature })
    }

    /// Signs a trust manifest that is served under `base` with the Ed25519 key; gives the detached JWS.
    pub(crate) fn sign_manifest(&self, manifest: &Value, base: &str) -> Option<String> {
        let signed =
            self.remembered_or(TRUST_MANIFEST, &manifest.to_string().into_bytes(), base, |ring, jku| {
                sign_detached(manifest, &ring.keys[0], TRUST_MANIFEST, Some(jku))
                    .map(Value::String)
                    .map_err(|error| error.to_string())
            });
        match signed {
            Ok(jws) => jws.as_str().map(str::to_owned),
            Err(error) => {
                tracing::warn!(%error, "A trust manifest could not be signed.");
                None
            }
        }
    }

    fn signatures(&self, card: &AgentCard, base: &str) -> Result<Arc<Value>, String> {
        let unsigned = serde_json::to_vec(card).map_err(|error| error.to_string())?;
        self.remembered_or("card", &unsigned, base, |ring, jku| {
            let value = serde_json::to_value(card).map_err(|error| error.to_string())?;
            let made: Vec<CardSignature> =
                sign_card(&value, &ring.keys, Some(jku)).map_err(|error| error.to_string())?;
            Ok(json!(made))
        })
    }

    /// What was signed before for this content under `base`, else what `sign` makes with the keys and the
    /// address of the key set.
    fn remembered_or(
        &self,
        kind: &str,
        unsigned: &[u8],
        base: &str,
        sign: impl FnOnce(&Ring, &str) -> Result<Value, String>,
    ) -> Result<Arc<Value>, String> {
        let ring = self.ring.load();
        let mut hash = Sha256::new();
        // The name of the keys, so that what an ending rotation left behind is never taken for new.
        for part in [kind.as_bytes(), ring.view.did_key.as_bytes(), base.as_bytes(), unsigned] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let content: [u8; 32] = hash.finalize().into();
        if let Some(known) = self.signed.lock().unwrap_or_else(PoisonError::into_inner).get(&content) {
            return Ok(known.clone());
        }
        let made = Arc::new(sign(&ring, &format!("{base}{JWKS_PATH}"))?);
        let mut signed = self.signed.lock().unwrap_or_else(PoisonError::into_inner);
        if signed.len() >= MAX_SIGNED {
            signed.clear();
        }
        signed.insert(content, made.clone());
        Ok(made)
    }

    /// How many contents are remembered with their signatures.
    #[cfg(test)]
    pub(crate) fn remembered(&self) -> usize {
        self.signed.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// Challenges are answered with the Ed25519 key, which is the first to sign a card.
impl ChallengeSigner for Identity {
    fn answer_challenge(&self, entry: &str, word: &str) -> CardSignature {
        answer_challenge(&self.ring.load().keys[0], entry, word)
    }
}

impl Ring {
    fn of(kept: &StoredIdentity) -> Result<Self, SiteError> {
        let keys = signing_keys(&kept.seeds)?;
        let public: Vec<PublicKey> = keys.iter().map(SigningKey::public).collect();
        if let Some(stored) = &kept.public
            && !stored.iter().eq(public.iter().map(PublicKey::did_key).collect::<Vec<_>>().iter())
        {
            return Err(SiteError::Identity);
        }
        let present = public.iter().map(PublicKey::jwk);
        let all: Vec<Value> = present.chain(kept.former.iter().cloned()).collect();
        let kids: Vec<String> = public.iter().map(PublicKey::did_key).collect();
        let view = IdentityView {
            did_key: kids.first().cloned().unwrap_or_default(),
            kids,
            since: kept.since,
            jwks: json!({ "keys": all }),
            rotations: kept.rotations.clone(),
        };
        Ok(Self { keys, view })
    }
}

/// What is signed of a head of the journal.
pub(crate) fn head_statement(head: &JournalHead, at: Timestamp) -> Value {
    let hash: String = head.hash.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({ "line": head.seq, "hash": hash, "at": at.to_string() })
}

/// The public keys in the setting that holds a site's identity, the present ones first; `None` when they do
/// not fit together.
pub(crate) fn known_keys(setting: &str) -> Option<Vec<PublicKey>> {
    let kept: StoredIdentity = serde_json::from_str(setting).ok()?;
    let ring = Ring::of(&kept).ok()?;
    let former = kept.former.iter().map(|jwk| PublicKey::from_jwk(jwk).ok());
    ring.keys.iter().map(|key| Some(key.public())).chain(former).collect()
}

fn signing_keys(seeds: &[[u8; 32]; 2]) -> Result<[SigningKey; 2], SiteError> {
    let key = |place: usize| {
        SigningKey::from_seed(ALGORITHMS[place], &seeds[place]).map_err(|_| SiteError::Identity)
    };
    Ok([key(0)?, key(1)?])
}

/// Seeds from which keys can be made; nearly every one is.
fn new_seeds(ids: &Ids) -> [[u8; 32]; 2] {
    ALGORITHMS.map(|algorithm| {
        loop {
            let mut seed = [0; 32];
            ids.rng().fill(&mut seed);
            if SigningKey::from_seed(algorithm, &seed).is_ok() {
                return seed;
            }
        }
    })
}

/// Takes over what an earlier version kept in a setting.
async fn take_over(store: &SharedStore) -> Result<(), SiteError> {
    let Some(text) = store.setting(OLD_SETTING).await? else { return Ok(()) };
    let kept: StoredIdentity = serde_json::from_str(&text).map_err(|_| SiteError::Identity)?;
    Ok(KEYS.adopt(store, vec![(RECORD.into(), None, kept)], vec![OLD_SETTING.into()]).await?)
}
