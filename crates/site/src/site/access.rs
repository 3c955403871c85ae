//! The handle for callers of a site: API keys, the admin token, tokens of an authorization server, and
//! browsers that sign in.
//!
//! Promises: a secret is shown once, to whoever made it; only admins make, list and end
//! keys. How keys are kept is `keys`' matter.

use std::sync::Arc;

use agentsite_protocol::{Caller, Ids, KeyId, Principal, Scope, Timestamp};
use agentsite_store::KeyRecord;

use super::admin_only;
use super::connect::{ConnectedAgents, key_owner};
use super::founding::Founding;
use crate::keys::Keys;
use crate::tokens::Tokens;
use crate::{NewKey, Session, SignedIn, SiteError, TokenIssuer};

/// The keys, tokens and browser sessions by which callers of a site are known.
#[derive(Debug, Clone)]
pub struct ApiKeys {
    pub(super) keys: Arc<Keys>,
    pub(super) tokens: Option<Arc<Tokens>>,
    pub(super) connected: ConnectedAgents,
    pub(super) founding: Arc<Founding>,
    pub(super) ids: Ids,
}

impl ApiKeys {
    /// Who holds this key, token or session.
    ///
    /// # Errors
    /// [`SiteError::BadKey`].
    pub async fn caller(&self, secret: &str) -> Result<Caller, SiteError> {
        self.keys.caller(secret).await
    }

    /// Whose tokens are taken beside the site's own keys.
    #[must_use]
    pub fn issuer(&self) -> Option<&TokenIssuer> {
        self.tokens.as_deref().map(Tokens::issuer)
    }

    /// Who holds this token of the authorization server, made for one of these addresses of the site.
    ///
    /// # Errors
    /// [`SiteError::BadToken`], [`SiteError::ScopeNeeded`]; [`SiteError::BadKey`] when no server is trusted.
    pub async fn caller_by_token(&self, token: &str, addresses: &[String]) -> Result<Caller, SiteError> {
        match &self.tokens {
            Some(tokens) => tokens.caller(token, addresses).await,
            None => Err(SiteError::BadKey),
        }
    }

    /// Makes an API key.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins.
    pub async fn create(
        &self,
        by: &Caller,
        label: &str,
        scopes: Vec<Scope>,
        expires_at: Option<Timestamp>,
    ) -> Result<NewKey, SiteError> {
        admin_only(by)?;
        if scopes.is_empty() {
            return Err(SiteError::BadMessage("name at least one scope: admin, call or call:AGENT".into()));
        }
        self.keys.make(by.owner().as_str(), label, scopes, expires_at).await
    }

    /// All API keys and sessions, without their secrets.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins.
    pub async fn list(&self, by: &Caller) -> Result<Vec<KeyRecord>, SiteError> {
        admin_only(by)?;
        Ok(self.keys.list())
    }

    /// Ends an API key or session; false when there is none. Agents that connected with it are taken out.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins; [`SiteError::AdminToken`] for the
    /// admin token.
    pub async fn revoke(&self, by: &Caller, id: &KeyId) -> Result<bool, SiteError> {
        admin_only(by)?;
        let revoked = self.keys.revoke(by.owner().as_str(), id).await?;
        self.connected.disconnect_owner(by.owner(), &key_owner(id), "was revoked").await?;
        Ok(revoked)
    }

    /// Makes sure that the site has an admin token: the one that the binary kept when it is good, otherwise a
    /// new one, which is given back to be kept. The one before ends.
    ///
    /// # Errors
    /// [`SiteError::Store`].
    pub async fn ensure_admin_token(&self, kept: Option<&str>) -> Result<Option<String>, SiteError> {
        // A new site begins with one transaction: its identity, its secret and its admin token.
        let mut founding = self.founding.lock().await;
        let others = self.keys.others_run().await?;
        let made = self.keys.ensure_admin_token(kept, founding.clone(), others).await?;
        if made.is_some() {
            founding.clear();
        }
        Ok(made)
    }

    /// Replaces the admin token; the one before and the browser sessions that were begun with it end at once.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins.
    pub async fn replace_admin_token(&self, by: &Caller) -> Result<NewKey, SiteError> {
        admin_only(by)?;
        self.keys.replace_admin_token(by.owner().as_str(), Vec::new()).await
    }

    /// Makes a one-time token with which a browser signs in.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins.
    pub async fn new_sign_in(&self, by: &Caller) -> Result<String, SiteError> {
        admin_only(by)?;
        Ok(self.keys.new_sign_in())
    }

    /// Signs a browser in with a one-time token; `browser` is what it calls itself.
    ///
    /// # Errors
    /// [`SiteError::BadKey`] when it is unknown, used or too old.
    pub async fn sign_in(&self, one_time: &str, browser: &str) -> Result<Session, SiteError> {
        self.keys.sign_in(one_time, browser).await
    }

    /// Signs a browser in with a key; `browser` is what it calls itself. What belongs to the key belongs to
    /// the browser, too, until the key ends.
    ///
    /// # Errors
    /// [`SiteError::BadKey`] when it is unknown, revoked or expired.
    pub async fn begin_session(&self, key: &str, browser: &str) -> Result<Session, SiteError> {
        self.keys.begin_session(key, browser).await
    }

    /// Who sits at the browser with this session.
    ///
    /// # Errors
    /// [`SiteError::BadKey`] when it has ended, or is a key and no session.
    pub async fn caller_by_session(&self, secret: &str) -> Result<Caller, SiteError> {
        self.keys.sitting(secret).await
    }

    /// As whom the browser with this session is signed in.
    ///
    /// # Errors
    /// [`SiteError::BadKey`] when it has ended.
    pub fn presence(&self, secret: &str) -> Result<SignedIn, SiteError> {
        self.keys.presence(secret)
    }

    /// Ends the session of a browser; the key that it was begun with goes on working.
    ///
    /// # Errors
    /// [`SiteError::BadKey`] when it has ended already.
    pub async fn end_session(&self, secret: &str) -> Result<(), SiteError> {
        self.keys.end_session(secret).await
    }

    /// The caller behind an owner, with no more powers than it has now: a key as it is kept, a token while it
    /// is good. Whoever is not known here counts as unknown.
    pub(super) fn caller_of(&self, owner: &Principal) -> Caller {
        let unknown = || Caller::anonymous(std::net::Ipv4Addr::UNSPECIFIED.into());
        match owner.as_str().split_once(':') {
            None if owner.is_admin() => Caller::admin(),
            Some(("key", id)) => {
                let now = self.ids.clock().now();
                let holds = |id: KeyId| {
                    let keys = self.keys.list();
                    let key = keys.into_iter().find(|key| key.id == id)?;
                    key.expires_at.is_none_or(|end| end > now).then(|| Caller::key(&id, key.scopes))
                };
                id.parse().ok().and_then(holds).unwrap_or_else(unknown)
            }
            Some(("user", _)) => {
                self.tokens.as_ref().and_then(|tokens| tokens.holder(owner)).unwrap_or_else(unknown)
            }
            _ => unknown(),
        }
    }
}
