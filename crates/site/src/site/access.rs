//! The verbs of a site about access: API keys, the admin token, tokens of an authorization server, and
//! browsers that sign in.
//!
//! Promises: a secret is shown once, to whoever made it; only the people who run the site make, list and end
//! keys. How keys are kept is `keys`' matter.

use agentsite_protocol::{Caller, JournalLine, KeyId, Scope, Timestamp};
use agentsite_store::{Change, KeyRecord};

use super::connect::key_owner;
use super::{Site, admin_only};
use crate::tokens::Tokens;
use crate::{NewKey, Presence, Session, SiteError, TokenIssuer, kinds};

impl Site {
    /// Who holds this key, token or session.
    ///
    /// # Errors
    /// [`SiteError::BadKey`].
    pub async fn caller_by_key(&self, secret: &str) -> Result<Caller, SiteError> {
        self.0.keys.caller(secret).await
    }

    /// Whose tokens are taken beside the site's own keys.
    #[must_use]
    pub fn token_issuer(&self) -> Option<&TokenIssuer> {
        self.0.tokens.as_ref().map(Tokens::issuer)
    }

    /// Who holds this token of the authorization server, made for one of these addresses of the site.
    ///
    /// # Errors
    /// [`SiteError::BadToken`], [`SiteError::ScopeNeeded`]; [`SiteError::BadKey`] when no server is trusted.
    pub async fn caller_by_token(&self, token: &str, addresses: &[String]) -> Result<Caller, SiteError> {
        match &self.0.tokens {
            Some(tokens) => tokens.caller(token, addresses).await,
            None => Err(SiteError::BadKey),
        }
    }

    /// Makes an API key.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but the people who run the site.
    pub async fn new_key(
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
        self.0.keys.make(by.owner().as_str(), label, scopes, expires_at).await
    }

    /// All API keys and sessions, without their secrets.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but the people who run the site.
    pub async fn keys(&self, by: &Caller) -> Result<Vec<KeyRecord>, SiteError> {
        admin_only(by)?;
        Ok(self.0.keys.list())
    }

    /// Ends an API key or session; false when there is none. Agents that connected with it are taken out.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but the people who run the site; [`SiteError::AdminToken`] for the
    /// admin token.
    pub async fn revoke_key(&self, by: &Caller, id: &KeyId) -> Result<bool, SiteError> {
        admin_only(by)?;
        let revoked = self.0.keys.revoke(by.owner().as_str(), id).await?;
        self.disconnect_owner(by.owner(), &key_owner(id), "was revoked").await?;
        Ok(revoked)
    }

    /// Makes sure that the site has an admin token: the one that the binary kept when it is good, otherwise a
    /// new one, which is given back to be kept. The one before ends.
    ///
    /// # Errors
    /// [`SiteError::Store`].
    pub async fn ensure_admin_token(&self, kept: Option<&str>) -> Result<Option<String>, SiteError> {
        // A new site begins with one transaction: its identity, its secret and its admin token.
        let mut founding = self.0.founding.lock().await;
        let made = self.0.keys.ensure_admin_token(kept, founding.clone()).await?;
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
        self.0.keys.replace_admin_token(by.owner().as_str(), Vec::new()).await
    }

    /// Keeps what a site must remember and did not commit with a new admin token, such as one made by an
    /// earlier version.
    pub(super) async fn commit_founding(&self) -> Result<(), SiteError> {
        let mut founding = self.0.founding.lock().await;
        if !founding.is_empty() {
            let now = self.ids().clock().now();
            let line = JournalLine::new(kinds::site::FOUNDED, now, "site", "wrote the keys of the site");
            self.0.store.commit(Change::new(line).edits(founding.clone())).await?;
            founding.clear();
        }
        Ok(())
    }

    /// Makes a one-time token with which a browser signs in.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but the people who run the site.
    pub async fn new_sign_in(&self, by: &Caller) -> Result<String, SiteError> {
        admin_only(by)?;
        Ok(self.0.keys.new_sign_in())
    }

    /// Signs a browser in with a one-time token; `browser` is what it calls itself.
    ///
    /// # Errors
    /// [`SiteError::BadKey`] when it is unknown, used or too old.
    pub async fn sign_in(&self, one_time: &str, browser: &str) -> Result<Session, SiteError> {
        self.0.keys.sign_in(one_time, browser).await
    }

    /// Signs a browser in with a key; `browser` is what it calls itself. What belongs to the key belongs to
    /// the browser, too, until the key ends.
    ///
    /// # Errors
    /// [`SiteError::BadKey`] when it is unknown, revoked or expired.
    pub async fn begin_session(&self, key: &str, browser: &str) -> Result<Session, SiteError> {
        self.0.keys.begin_session(key, browser).await
    }

    /// Who sits at the browser with this session.
    ///
    /// # Errors
    /// [`SiteError::BadKey`] when it has ended, or is a key and no session.
    pub async fn caller_by_session(&self, secret: &str) -> Result<Caller, SiteError> {
        self.0.keys.sitting(secret).await
    }

    /// As whom the browser with this session is signed in.
    ///
    /// # Errors
    /// [`SiteError::BadKey`] when it has ended.
    pub fn presence(&self, secret: &str) -> Result<Presence, SiteError> {
        self.0.keys.presence(secret)
    }

    /// Ends the session of a browser; the key that it was begun with goes on working.
    ///
    /// # Errors
    /// [`SiteError::BadKey`] when it has ended already.
    pub async fn end_session(&self, secret: &str) -> Result<(), SiteError> {
        self.0.keys.end_session(secret).await
    }
}
