//! Sessions: how browsers stay signed in.
//!
//! Promises: a session has a secret of its own, which is kept only as a hash and says nothing about the key
//! that it was begun with; it may do what that key may at the moment, belongs to the same owner, and ends
//! with the key. Sessions are in the store, so they outlast a restart. A one-time link (`sign_in_link`)
//! begins one session.

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::{Caller, KeyId, Scope, Timestamp};
use agentsite_store::{KeyRecord, RecordChange, StoreError};
use serde::Serialize;

use super::{Keys, clean, hash};
use crate::SiteError;

/// How long a browser stays signed in.
const SESSION_LIFE: Duration = Duration::from_secs(30 * 86_400);

/// Browsers that are signed in with one key at once: every machine of a person several times over. The one
/// that was used longest ago gives way, so that signing in again and again fills nothing.
const MAX_SESSIONS: usize = 32;

/// A browser's session just begun.
#[derive(Debug, Clone)]
pub struct Session {
    /// What the browser sends.
    pub secret: String,
    /// Until when.
    pub expires_at: Timestamp,
}

/// As whom a browser is signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SignedIn {
    /// The session.
    pub id: KeyId,
    /// What the key behind it is called; none when it was begun by a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// Since when.
    pub since: Timestamp,
    /// Until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl Keys {
    /// Makes a one-time link for a browser; gives what stands in its address.
    pub(crate) fn new_sign_in(&self) -> String {
        self.links.make(self.random(), self.ids.clock().now())
    }

    /// Uses a one-time link and begins a session of an admin in the browser that calls itself `label`.
    pub(crate) async fn sign_in(&self, link: &str, label: &str) -> Result<Session, SiteError> {
        let link = self.links.read(link, self.ids.clock().now()).ok_or(SiteError::BadKey)?;
        match self.begin(None, label, Some(link.used()?)).await {
            // Another browser, perhaps through another process, was first.
            Err(SiteError::Store(StoreError::Moved(_))) => Err(SiteError::BadKey),
            begun => begun,
        }
    }

    /// Begins a session for whoever holds this key, in the browser that calls itself `label`. A session is no
    /// key, or it could prolong itself for ever.
    pub(crate) async fn begin_session(&self, secret: &str, label: &str) -> Result<Session, SiteError> {
        self.follow().await?;
        let key = self.proven(secret)?;
        if key.session {
            return Err(SiteError::BadKey);
        }
        self.begin(Some(&key), label, None).await
    }

    async fn begin(
        &self,
        key: Option<&KeyRecord>,
        label: &str,
        link: Option<RecordChange>,
    ) -> Result<Session, SiteError> {
        let (id, secret) = self.secret();
        let created_at = self.ids.clock().now();
        let longest = created_at.plus(SESSION_LIFE);
        let expires_at = key.and_then(|key| key.expires_at).map_or(longest, |end| end.min(longest));
        let of = key.map(|key| key.id.clone());
        let by = key.map_or_else(Caller::admin, |key| Caller::key(&key.id, key.scopes.clone()));
        let record = KeyRecord {
            id,
            hash: hash(&secret),
            label: clean(label),
            scopes: key.map_or_else(|| vec![Scope::Admin], |key| key.scopes.clone()),
            created_at,
            expires_at: Some(expires_at),
            last_used_at: None,
            session: true,
            of: of.clone(),
        };
        let oldest = self.oldest_beyond(of.as_ref());
        self.keep(by.owner().as_str(), "signed in".into(), record, oldest, link).await?;
        Ok(Session { secret, expires_at })
    }

    /// The sessions that must give way to one more of the same key.
    fn oldest_beyond(&self, of: Option<&KeyId>) -> Vec<KeyId> {
        let mut same = self.list();
        same.retain(|one| one.session && one.of.as_ref() == of);
        same.sort_by_key(|one| one.last_used_at.unwrap_or(one.created_at));
        let beyond = (same.len() + 1).saturating_sub(MAX_SESSIONS);
        same.into_iter().take(beyond).map(|one| one.id).collect()
    }

    /// The record whose rights a proven one has: the key of a session, else the record itself.
    pub(super) fn behind(&self, record: &Arc<KeyRecord>) -> Result<Arc<KeyRecord>, SiteError> {
        match &record.of {
            None => Ok(record.clone()),
            Some(key) => self.known(key).filter(|key| self.lasts(key)).ok_or(SiteError::BadKey),
        }
    }

    /// Who sits at a browser with this session. A key is no session: a browser that was handed one by
    /// anything but signing in is a stranger.
    pub(crate) async fn sitting(&self, secret: &str) -> Result<Caller, SiteError> {
        self.follow().await?;
        if !self.proven(secret)?.session {
            return Err(SiteError::BadKey);
        }
        self.caller(secret).await
    }

    /// As whom the browser with this session is signed in.
    pub(crate) fn presence(&self, secret: &str) -> Result<SignedIn, SiteError> {
        let session = self.proven(secret).ok().filter(|record| record.session).ok_or(SiteError::BadKey)?;
        let key = self.behind(&session)?;
        Ok(SignedIn {
            id: session.id.clone(),
            key: session
                .of
                .as_ref()
                .map(|id| if key.label.is_empty() { id.to_string() } else { key.label.clone() }),
            scopes: key.scopes.clone(),
            since: session.created_at,
            until: session.expires_at,
        })
    }

    /// Ends a browser's session; the key behind it goes on working.
    pub(crate) async fn end_session(&self, secret: &str) -> Result<(), SiteError> {
        let session = self.proven(secret).ok().filter(|record| record.session).ok_or(SiteError::BadKey)?;
        let by = self.caller(secret).await?;
        self.revoke(by.owner().as_str(), &session.id).await?;
        Ok(())
    }
}
