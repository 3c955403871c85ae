//! Keys: how callers prove who they are.
//!
//! Promises: a key is shown once and kept only as a hash; comparison takes the same time whatever is wrong; a revoked or expired key stops
//! working at once. One-time sign-in links work once and for a short while.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use agentsite_protocol::{Caller, Ids, JournalLine, KeyId, Scope, Timestamp};
use agentsite_store::{Change, KeyChange, KeyRecord, SettingChange, SharedStore};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::sync::Mutex;

use crate::SiteError;

/// How long a one-time sign-in link works.
const SIGN_IN_LIFE: Duration = Duration::from_secs(15 * 60);

/// How long a browser stays signed in.
const SESSION_LIFE: Duration = Duration::from_secs(30 * 86_400);

/// How exactly the last use of a key is noted; finer would cost a write for each request.
const LAST_USED_GRAIN: Duration = Duration::from_secs(60);

/// Most keys and sessions of a site: far more than people make by hand, few enough to be held in memory.
const MAX_KEYS: usize = 10_000;

/// How every key of a site begins, so that it is recognised as one wherever it turns up.
pub const KEY_PREFIX: &str = "ask_";

/// The setting that marks a site as begun.
const BEGUN: &str = "begun";

/// What the first start of a site gives to the person at the keyboard.
#[derive(Debug, Clone)]
pub struct FirstRun {
    /// The admin token, shown only now.
    pub admin_token: String,
}

/// A key just made; the secret is shown only now.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// What is kept.
    pub record: KeyRecord,
    /// What the caller sends.
    pub secret: String,
}

/// A browser's session just begun.
#[derive(Debug, Clone)]
pub struct Session {
    /// What the browser sends.
    pub secret: String,
    /// Until when.
    pub expires_at: Timestamp,
}

/// All keys of a site.
#[derive(Debug)]
pub(crate) struct Keys {
    store: SharedStore,
    ids: Ids,
    // A std lock: held for a look-up or an insert, never across an await.
    known: RwLock<HashMap<KeyId, Arc<KeyRecord>>>,
    /// Held while a one-time link is used up, so that it works once.
    signing_in: Mutex<()>,
}

impl Keys {
    pub(crate) async fn open(store: SharedStore, ids: Ids) -> Result<Self, SiteError> {
        let records = store.keys().await?;
        let known = records.into_iter().map(|record| (record.id.clone(), Arc::new(record))).collect();
        Ok(Self { store, ids, known: RwLock::new(known), signing_in: Mutex::default() })
    }

    /// Who holds this secret.
    pub(crate) async fn caller(&self, secret: &str) -> Result<Caller, SiteError> {
        let id = secret.strip_prefix(KEY_PREFIX).and_then(|rest| rest.split_once('_')).map(|(id, _)| id);
        let id: KeyId = id.and_then(|id| id.parse().ok()).ok_or(SiteError::BadKey)?;
        let record = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        let record = record.ok_or(SiteError::BadKey)?;
        let now = self.ids.clock().now();
        let same: bool = record.hash.ct_eq(&hash(secret)).into();
        if !same || record.expires_at.is_some_and(|end| end <= now) {
            return Err(SiteError::BadKey);
        }
        if record.last_used_at.is_none_or(|last| now.since(last) >= LAST_USED_GRAIN) {
            self.note_use(&record, now).await;
        }
        Ok(if record.scopes.contains(&Scope::Admin) {
            Caller::admin()
        } else {
            Caller::key(&id, record.scopes.clone())
        })
    }

    /// Makes a key.
    pub(crate) async fn make(
        &self,
        by: &str,
        label: &str,
        scopes: Vec<Scope>,
        expires_at: Option<Timestamp>,
        session: bool,
    ) -> Result<NewKey, SiteError> {
        let known = self.list().len();
        if known >= MAX_KEYS {
            return Err(SiteError::BadMessage(format!(
                "there are {known} keys; revoke some before making more"
            )));
        }
        let (id, secret) = self.secret();
        let created_at = self.ids.clock().now();
        let label: String = label.chars().filter(|letter| !letter.is_control()).take(120).collect();
        let record = KeyRecord {
            id,
            hash: hash(&secret),
            label,
            scopes,
            created_at,
            expires_at,
            last_used_at: None,
            session,
        };
        let what = if session {
            "signed in".to_owned()
        } else {
            format!("made the key {} ({})", record.id, record.label)
        };
        let change = Change {
            keys: vec![KeyChange::Put(record.clone())],
            journal: vec![self.line(by, what)],
            ..Change::default()
        };
        self.store.commit(change).await?;
        self.remember(record.clone());
        Ok(NewKey { record, secret })
    }

    /// All keys and sessions, oldest first.
    pub(crate) fn list(&self) -> Vec<KeyRecord> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut records: Vec<KeyRecord> = known.values().map(|record| KeyRecord::clone(record)).collect();
        records.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        records
    }

    /// Ends a key; false when there is none.
    pub(crate) async fn revoke(&self, by: &str, id: &KeyId) -> Result<bool, SiteError> {
        if !self.known.read().unwrap_or_else(PoisonError::into_inner).contains_key(id) {
            return Ok(false);
        }
        let change = Change {
            keys: vec![KeyChange::Remove(id.clone())],
            journal: vec![self.line(by, format!("revoked the key {id}"))],
            ..Change::default()
        };
        self.store.commit(change).await?;
        self.known.write().unwrap_or_else(PoisonError::into_inner).remove(id);
        Ok(true)
    }

    /// On the very first start, makes the admin token.
    pub(crate) async fn first_run(&self) -> Result<Option<FirstRun>, SiteError> {
        if self.store.setting(BEGUN).await?.is_some() {
            return Ok(None);
        }
        let made = self.make("site", "admin token", vec![Scope::Admin], None, false).await?;
        let begun = SettingChange { name: BEGUN.into(), value: Some(self.ids.clock().now().to_string()) };
        self.store.commit(Change { settings: vec![begun], ..Change::default() }).await?;
        Ok(Some(FirstRun { admin_token: made.secret }))
    }

    /// Makes a one-time token for a browser.
    pub(crate) async fn new_sign_in(&self) -> Result<String, SiteError> {
        let token = hex(&self.random::<32>());
        let end = self.ids.clock().now().plus(SIGN_IN_LIFE);
        let setting = SettingChange { name: sign_in_name(&token), value: Some(end.to_string()) };
        self.store.commit(Change { settings: vec![setting], ..Change::default() }).await?;
        Ok(token)
    }

    /// Uses up a one-time token and begins a session.
    pub(crate) async fn sign_in(&self, token: &str) -> Result<Session, SiteError> {
        let _once = self.signing_in.lock().await;
        let name = sign_in_name(token);
        let end = self.store.setting(&name).await?.ok_or(SiteError::BadKey)?;
        let used = SettingChange { name, value: None };
        self.store.commit(Change { settings: vec![used], ..Change::default() }).await?;
        let now = self.ids.clock().now();
        if Timestamp::parse(&end).is_ok_and(|end| end <= now) {
            return Err(SiteError::BadKey);
        }
        let expires_at = now.plus(SESSION_LIFE);
        let made = self.make("admin", "browser", vec![Scope::Admin], Some(expires_at), true).await?;
        Ok(Session { secret: made.secret, expires_at })
    }

    /// Begins a browser's session for whoever holds this key. An admin gets a secret of its own, which can be ended apart from the key. For
    /// anybody else the key itself is the session, so that what belongs to the key belongs to the browser, too.
    pub(crate) async fn begin_session(&self, secret: &str) -> Result<Session, SiteError> {
        let caller = self.caller(secret).await?;
        let expires_at = self.ids.clock().now().plus(SESSION_LIFE);
        if !caller.is_admin() {
            return Ok(Session { secret: secret.to_owned(), expires_at });
        }
        let made = self.make("admin", "browser", vec![Scope::Admin], Some(expires_at), true).await?;
        Ok(Session { secret: made.secret, expires_at })
    }

    /// Ends a browser's session; a key goes on working.
    pub(crate) async fn end_session(&self, secret: &str) -> Result<(), SiteError> {
        self.caller(secret).await?;
        let of_session = self.list().into_iter().find(|record| record.session && record.hash == hash(secret));
        if let Some(record) = of_session {
            self.revoke("admin", &record.id).await?;
        }
        Ok(())
    }

    /// Removes keys and sessions that have expired.
    pub(crate) async fn sweep(&self) -> Result<usize, SiteError> {
        let now = self.ids.clock().now();
        let expired: Vec<KeyId> = self
            .list()
            .into_iter()
            .filter(|key| key.expires_at.is_some_and(|end| end <= now))
            .map(|key| key.id)
            .collect();
        for id in &expired {
            self.revoke("site", id).await?;
        }
        Ok(expired.len())
    }

    async fn note_use(&self, record: &KeyRecord, now: Timestamp) {
        self.remember(KeyRecord { last_used_at: Some(now), ..record.clone() });
        let change = Change { keys: vec![KeyChange::Used(record.id.clone(), now)], ..Change::default() };
        // Nobody waits for it: losing the minute of last use harms nobody.
        let _ = self.store.enqueue(change).await;
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

    fn line(&self, by: &str, text: String) -> JournalLine {
        JournalLine { at: self.ids.clock().now(), actor: by.into(), agent: None, task: None, text }
    }
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

fn sign_in_name(token: &str) -> String {
    format!("sign-in:{}", hex(&hash(token)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
