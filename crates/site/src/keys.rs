//! Keys: how callers prove who they are.
//!
//! Promises: a key is shown once and kept only as a hash; comparison takes the same time whatever is wrong; a
//! revoked or expired key stops working at once, and with it the sessions of browsers that were begun with it
//! (`sessions`). Nothing that happens at the same time brings a revoked key back. What another handle of the
//! same store changes is followed (`follow`). The admin token (`admin_token`) is replaced, never revoked, so
//! that nobody locks the command line out.

mod admin_token;
mod follow;
mod sessions;
mod sign_in_link;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use agentsite_protocol::{Caller, Ids, JournalKind, JournalLine, JournalSubject, KeyId, Scope, Timestamp};
use agentsite_store::{Change, KeyChange, KeyRecord, RecordChange, SharedStore, Unjournaled};
use agentsite_tasks::Capability;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::SiteError;

pub use sessions::{Session, SignedIn};

use follow::Follower;
use sign_in_link::SignInLinks;

/// A key was made.
const CREATED: JournalKind = JournalKind::new("key.created");
/// A key or session was ended.
const REVOKED: JournalKind = JournalKind::new("key.revoked");
/// A browser signed in.
const SIGNED_IN: JournalKind = JournalKind::new("key.signed_in");
/// The admin token was made or replaced.
const ADMIN_TOKEN: JournalKind = JournalKind::new("key.admin_token");

/// How exactly the last use of a key is noted; finer would cost a write for each request.
const LAST_USED_GRAIN: Duration = Duration::from_secs(60);

/// Most keys and sessions of a site: far more than people make by hand, few enough to be held in memory.
const MAX_KEYS: usize = 10_000;

/// Longest label of a key, in characters: a sentence, or what a browser calls itself.
const MAX_LABEL: usize = 120;

/// How every key of a site begins, so that it is recognised as one wherever it turns up.
pub const KEY_PREFIX: &str = "ask_";

/// What keys contribute to a site.
pub(crate) fn capability() -> Capability {
    Capability::new("keys")
        .kinds(const { &[CREATED, REVOKED, SIGNED_IN, ADMIN_TOKEN] })
        .collections(const { &[sign_in_link::USED.name()] })
}

/// A key just made; the secret is shown only now.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// What is kept.
    pub record: KeyRecord,
    /// What the caller sends.
    pub secret: String,
}

/// All keys of a site.
#[derive(Debug)]
pub(crate) struct Keys {
    store: SharedStore,
    ids: Ids,
    // A std lock: held for a look-up or an insert, never across an await.
    known: RwLock<HashMap<KeyId, Arc<KeyRecord>>>,
    /// Makes and reads the one-time links of admins.
    links: SignInLinks,
    /// The record of the admin token.
    admin_token: RwLock<Option<KeyId>>,
    /// How far what is in memory follows the store.
    follower: Follower,
}

impl Keys {
    /// Reads the keys of a site; `link_key` is the key of its one-time links.
    pub(crate) async fn open(store: SharedStore, ids: Ids, link_key: [u8; 32]) -> Result<Self, SiteError> {
        // Before the keys are read, so that nothing falls between.
        let follower = Follower::new(&store);
        let records = store.keys().await?;
        let known = records.into_iter().map(|record| (record.id.clone(), Arc::new(record))).collect();
        let admin_token = store.setting(admin_token::SETTING).await?.and_then(|id| id.parse().ok());
        let admin_token = RwLock::new(admin_token);
        let links = SignInLinks::new(link_key);
        Ok(Self { store, ids, known: RwLock::new(known), links, admin_token, follower })
    }

    /// Who holds this key.
    pub(crate) async fn caller(&self, secret: &str) -> Result<Caller, SiteError> {
        self.follow().await?;
        let record = self.proven(secret)?;
        let key = self.behind(&record)?;
        let now = self.ids.clock().now();
        for used in std::iter::once(&record).chain(record.of.is_some().then_some(&key)) {
            if used.last_used_at.is_none_or(|last| now.since(last) >= LAST_USED_GRAIN) {
                self.note_use(used, now).await;
            }
        }
        Ok(if key.scopes.contains(&Scope::Admin) {
            Caller::admin()
        } else {
            Caller::key(&key.id, key.scopes.clone())
        })
    }

    /// The record of a secret that is right and has not expired.
    fn proven(&self, secret: &str) -> Result<Arc<KeyRecord>, SiteError> {
        let id = secret.strip_prefix(KEY_PREFIX).and_then(|rest| rest.split_once('_')).map(|(id, _)| id);
        let id: KeyId = id.and_then(|id| id.parse().ok()).ok_or(SiteError::BadKey)?;
        let record = self.known(&id).ok_or(SiteError::BadKey)?;
        let same: bool = record.hash.ct_eq(&hash(secret)).into();
        if same && self.lasts(&record) { Ok(record) } else { Err(SiteError::BadKey) }
    }

    fn known(&self, id: &KeyId) -> Option<Arc<KeyRecord>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    fn lasts(&self, record: &KeyRecord) -> bool {
        record.expires_at.is_none_or(|end| end > self.ids.clock().now())
    }

    /// Makes a key.
    pub(crate) async fn make(
        &self,
        by: &str,
        label: &str,
        scopes: Vec<Scope>,
        expires_at: Option<Timestamp>,
    ) -> Result<NewKey, SiteError> {
        let (id, secret) = self.secret();
        let record = KeyRecord {
            id,
            hash: hash(&secret),
            label: clean(label),
            scopes,
            created_at: self.ids.clock().now(),
            expires_at,
            last_used_at: None,
            session: false,
            of: None,
        };
        let what = format!("made the key {} ({})", record.id, record.label);
        self.keep(by, what, record, Vec::new(), None).await.map(|record| NewKey { record, secret })
    }

    /// Writes a key or session down, ends those whose place it takes, and uses a one-time link up.
    async fn keep(
        &self,
        by: &str,
        what: String,
        record: KeyRecord,
        gone: Vec<KeyId>,
        link: Option<RecordChange>,
    ) -> Result<KeyRecord, SiteError> {
        let known = self.list().len();
        if known >= MAX_KEYS {
            return Err(SiteError::BadMessage(format!(
                "there are {known} keys; revoke some before making more"
            )));
        }
        let kind = if record.session { SIGNED_IN } else { CREATED };
        let change = Change::new(self.line(kind, by, &record.id, what))
            .edit(KeyChange::Put(record.clone()))
            .edits(gone.iter().cloned().map(KeyChange::Remove))
            .edits(link);
        self.store.commit(change).await?;
        self.remember(record.clone());
        self.drop_known(&gone);
        Ok(record)
    }

    /// All keys and sessions, oldest first.
    pub(crate) fn list(&self) -> Vec<KeyRecord> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut records: Vec<KeyRecord> = known.values().map(|record| KeyRecord::clone(record)).collect();
        records.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        records
    }

    /// Ends a key and the sessions that stand for it, or one session; false when there is none.
    pub(crate) async fn revoke(&self, by: &str, id: &KeyId) -> Result<bool, SiteError> {
        self.follow().await?;
        let Some(record) = self.known(id) else { return Ok(false) };
        if self.is_admin_token(id) {
            return Err(SiteError::AdminToken);
        }
        let of_it = |one: &KeyRecord| one.of.as_ref() == Some(id);
        let mut gone: Vec<KeyId> = self.list().into_iter().filter(of_it).map(|one| one.id).collect();
        gone.push(id.clone());
        let text = match (record.session, gone.len() - 1) {
            (true, _) => format!("ended the session {id}"),
            (false, 0) => format!("revoked the key {id}"),
            (false, sessions) => format!("revoked the key {id} and its browser sessions ({sessions})"),
        };
        let change =
            Change::new(self.line(REVOKED, by, id, text)).edits(gone.iter().cloned().map(KeyChange::Remove));
        self.store.commit(change).await?;
        self.drop_known(&gone);
        Ok(true)
    }

    fn drop_known(&self, gone: &[KeyId]) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        gone.iter().for_each(|id| drop(known.remove(id)));
    }

    /// Removes keys and sessions that have certainly expired. They are refused from their end on; a clock
    /// that jumped removes none.
    pub(crate) async fn sweep(&self) -> Result<usize, SiteError> {
        let now = self.ids.clock().settled();
        // A session that was begun while its key was revoked has none any more.
        let orphaned = |key: &KeyRecord| key.of.as_ref().is_some_and(|of| self.known(of).is_none());
        let expired: Vec<KeyId> = self
            .list()
            .into_iter()
            .filter(|key| key.expires_at.is_some_and(|end| end <= now) || orphaned(key))
            .map(|key| key.id)
            .collect();
        for id in &expired {
            self.revoke("site", id).await?;
        }
        Ok(expired.len())
    }

    async fn note_use(&self, record: &KeyRecord, now: Timestamp) {
        if !self.touch(&record.id, now) {
            return;
        }
        let change = Change::unjournaled(Unjournaled::KeyUse).edit(KeyChange::Used(record.id.clone(), now));
        // Nobody waits for it: losing the minute of last use harms nobody.
        let _ = self.store.enqueue(change).await;
    }

    /// Notes the use of a key that is still known; one that was revoked since it was looked up stays revoked.
    fn touch(&self, id: &KeyId, now: Timestamp) -> bool {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let Some(record) = known.get_mut(id) else { return false };
        Arc::make_mut(record).last_used_at = Some(now);
        true
    }

    fn remember(&self, record: KeyRecord) {
        self.known
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(record.id.clone(), Arc::new(record));
    }

    fn secret(&self) -> (KeyId, String) {
        let id = hex(&self.random::<6>());
        let secret = format!("{KEY_PREFIX}{id}_{}", hex(&self.random::<32>()));
        (id.parse().expect("hex is an id"), secret)
    }

    fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.ids.rng().fill(&mut bytes);
        bytes
    }

    fn line(&self, kind: JournalKind, by: &str, id: &KeyId, text: String) -> JournalLine {
        JournalLine::new(kind, self.ids.clock().now(), by, text).about(JournalSubject::Key(id.clone()))
    }
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// What somebody calls a key, or a browser itself: one line without marks that terminals heed.
fn clean(label: &str) -> String {
    label.chars().filter(|letter| !letter.is_control()).take(MAX_LABEL).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests;
