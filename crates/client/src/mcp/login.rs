//! Login: getting and keeping the token of one tool server.
//!
//! Promises: the server's own challenge says where to ask and for what; an authorization server that changed
//! gets nothing of the old one; one request at a time asks the person, and the others use its result.
//! Discovery, registration, proof keys and the checks of issuer and resource are the engine's. It does not
//! decide how often to try: `Connection` does; a person who logs in apart from any request does so with
//! `PendingLogin`.

mod credentials;
mod fetch;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agentsite_egress::Egress;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession, ClientCredentialsConfig,
    OAuthClientConfig, WWWAuthenticateParams,
};
use tokio::sync::Mutex;
use url::Url;

use super::{Consent, Grant, McpError, OAuth};

pub(super) use credentials::SavedCredentials;
use fetch::Fetch;

/// How long a person may take to consent.
const CONSENT: Duration = Duration::from_secs(600);

/// The token of one server, and the way to the next one.
pub(super) struct Login {
    server: Url,
    egress: Egress,
    oauth: OAuth,
    /// Held while a person is asked, so that only one request asks.
    state: Mutex<State>,
    /// How many tokens there were; tells a request whether the token that was refused is still the one we
    /// have.
    turn: AtomicU64,
}

#[derive(Default)]
struct State {
    /// The engine; missing at first, and after a login that was broken off.
    manager: Option<AuthorizationManager>,
    /// Who issued the token we have.
    issuer: Option<String>,
}

impl Login {
    pub(super) fn new(server: Url, egress: Egress, oauth: OAuth) -> Self {
        Self { server, egress, oauth, state: Mutex::default(), turn: AtomicU64::new(0) }
    }

    /// Which token is the present one.
    pub(super) fn turn(&self) -> u64 {
        self.turn.load(Ordering::Acquire)
    }

    /// Whether there is no person to ask when the saved login is refused.
    pub(super) const fn is_unattended(&self) -> bool {
        matches!(self.oauth.grant, Grant::Kept)
    }

    /// The token to come in with, when there is one; refreshed when it is about to end.
    pub(super) async fn token(&self) -> Result<Option<String>, AuthError> {
        let mut state = self.state.lock().await;
        let manager = match state.manager.take() {
            Some(manager) => manager,
            None => self.before(&mut state).await?,
        };
        let token = manager.get_access_token().await;
        state.manager = Some(manager);
        match token {
            Ok(token) => Ok(Some(token)),
            Err(AuthError::AuthorizationRequired) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gets another token, as the server's challenge requires.
    pub(super) async fn renew(&self, challenge: &str, turn: u64) -> Result<(), McpError> {
        let mut state = self.state.lock().await;
        if self.turn() != turn {
            return Ok(());
        }
        self.renewed(&mut state, challenge).await.map_err(|error| refused(&error))?;
        self.turn.fetch_add(1, Ordering::Release);
        Ok(())
    }

    async fn renewed(&self, state: &mut State, challenge: &str) -> Result<(), AuthError> {
        let mut manager = match state.manager.take() {
            Some(manager) => manager,
            None => self.before(state).await?,
        };
        let found = manager.resolve_metadata_from_challenge(Some(challenge)).await?;
        let issuer = found.metadata.issuer.clone();
        manager.set_metadata(found.metadata);
        let known = state.issuer.is_some() && state.issuer == issuer;
        let manager = match &self.oauth.grant {
            Grant::Machine => self.as_itself(manager).await?,
            Grant::Kept => self.as_before(manager, challenge, known).await?,
            Grant::Person { redirect, consent } => {
                let person = (redirect, consent.as_ref());
                self.as_person(manager, person, challenge, known).await?
            }
        };
        state.manager = Some(manager);
        state.issuer = issuer;
        Ok(())
    }

    /// Gets a token for the client itself.
    async fn as_itself(&self, mut manager: AuthorizationManager) -> Result<AuthorizationManager, AuthError> {
        let client = self.oauth.client.as_ref();
        let secret = client.and_then(|client| Some((client.id.clone(), client.secret.as_ref()?)));
        let (client_id, secret) = secret.ok_or_else(|| failed("there is no client with a secret".into()))?;
        let named = manager.select_initial_scopes(&[]).await;
        let scopes = if self.oauth.scopes.is_empty() { named } else { self.oauth.scopes.clone() };
        let config = ClientCredentialsConfig::ClientSecret {
            client_id,
            client_secret: secret.secret().to_owned(),
            scopes,
            resource: Some(self.server.to_string()),
        };
        manager.validate_client_credentials_metadata(&config)?;
        manager.configure_client_credentials(&config)?;
        manager.exchange_client_credentials(&config).await?;
        Ok(manager)
    }

    /// Refreshes the token of a person who logged in before, without asking.
    async fn as_before(
        &self,
        manager: AuthorizationManager,
        challenge: &str,
        known: bool,
    ) -> Result<AuthorizationManager, AuthError> {
        let wants = WWWAuthenticateParams::parse(challenge, &self.server);
        if wants.is_insufficient_scope() {
            let scope = wants.scope.unwrap_or_default();
            return Err(failed(format!(
                "the login does not cover this; add the required scopes ({scope}) and log in again"
            )));
        }
        if !known {
            return Err(AuthError::AuthorizationRequired);
        }
        match manager.refresh_token().await {
            Ok(_) => Ok(manager),
            Err(AuthError::TokenRefreshRejected(_)) => Err(AuthError::AuthorizationRequired),
            Err(error) => Err(error),
        }
    }

    /// Gets a token for a person: silently where the token can be refreshed, otherwise with the person's
    /// consent.
    async fn as_person(
        &self,
        manager: AuthorizationManager,
        (redirect, consent): (&Url, &dyn Consent),
        challenge: &str,
        known: bool,
    ) -> Result<AuthorizationManager, AuthError> {
        let wants = WWWAuthenticateParams::parse(challenge, &self.server);
        let further = wants.is_insufficient_scope();
        let session = match wants.scope.filter(|_| known && further) {
            Some(scope) => {
                let address = manager.request_scope_upgrade(&scope).await?;
                AuthorizationSession::for_scope_upgrade(manager, address, redirect.as_str())
            }
            None if known && !further && manager.refresh_token().await.is_ok() => return Ok(manager),
            None => self.session(manager, redirect).await?,
        };
        let address = Url::parse(session.get_authorization_url())?;
        let asked = tokio::time::timeout(CONSENT, consent.ask(address)).await;
        let back = asked.map_err(|_| failed("no consent was given in time".into()))?;
        let back = back.map_err(|error| failed(error.to_string()))?;
        if let Some(error) = denial(&back) {
            return Err(failed(error));
        }
        session.handle_callback_url(back.as_str()).await?;
        Ok(session.auth_manager)
    }

    /// Begins a login: registers a client where needed, and chooses the scopes.
    async fn session(
        &self,
        manager: AuthorizationManager,
        redirect: &Url,
    ) -> Result<AuthorizationSession, AuthError> {
        let mut request = AuthorizationRequest::new(redirect.as_str())
            .with_client_name(self.oauth.client_name.clone())
            .with_initial_scope_selection();
        if manager.select_initial_scopes(&[]).await.is_empty() {
            request = request.with_scopes(self.oauth.scopes.clone());
        }
        if let Some(client) = &self.oauth.client {
            request = request.with_preregistered_client(client.id.clone());
            if let Some(secret) = &client.secret {
                request = request.with_client_secret(secret.secret());
            }
        }
        if let Some(metadata) = &self.oauth.metadata {
            request = request.with_client_metadata_url(metadata.as_str());
        }
        AuthorizationSession::new(manager, request).await.map_err(|(_, error)| error)
    }

    /// The engine with what was kept from before, which counts only for the client and the issuer that it is
    /// from.
    async fn before(&self, state: &mut State) -> Result<AuthorizationManager, AuthError> {
        let mut manager = engine(&self.server, &self.egress).await?;
        state.issuer = None;
        let mut kept = SavedCredentials::new(self.server.clone(), self.oauth.clone());
        if let Some(before) = kept.before().await? {
            let found = manager.resolve_metadata().await?;
            let issuer = found.metadata.issuer.clone();
            manager.set_metadata(found.metadata);
            let ours =
                self.oauth.client.as_ref().is_none_or(|client| client.id == before.credentials.client_id);
            if ours && before.credentials.issuer == issuer {
                let given = self.oauth.client.as_ref().and_then(|client| client.secret.as_ref());
                kept.secret = given.map(|secret| secret.secret().to_owned()).or(before.secret);
                let id = before.credentials.client_id;
                // Refreshing uses no redirect; the engine requires some address.
                let mut config = OAuthClientConfig::new(id, self.server.as_str());
                config.client_secret = kept.secret.clone();
                manager.configure_client(config)?;
                state.issuer = issuer;
            } else {
                tracing::warn!(server = %self.server, "The authorization server or the client changed; the earlier login was forgotten.");
                kept.forget().await?;
            }
        }
        manager.set_credential_store(kept);
        Ok(manager)
    }
}

/// The engine, knowing nothing.
pub(super) async fn engine(server: &Url, egress: &Egress) -> Result<AuthorizationManager, AuthError> {
    AuthorizationManager::new_with_oauth_http_client(server.as_str(), Arc::new(Fetch(egress.clone()))).await
}

pub(super) fn failed(why: String) -> AuthError {
    AuthError::AuthorizationFailed(why)
}

pub(super) fn refused(error: &AuthError) -> McpError {
    match error {
        AuthError::AuthorizationRequired => McpError::LoginNeeded,
        AuthError::AuthorizationFailed(why) => {
            McpError::Unauthorized(format!("the login to the tool server failed: {why}"))
        }
        other => McpError::Unauthorized(format!("the login to the tool server failed: {other}")),
    }
}

/// What an authorization server says when it sends a person back without consent.
pub(super) fn denial(back: &Url) -> Option<String> {
    let said =
        |name: &str| back.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    let error = said("error")?;
    Some(said("error_description").map_or_else(|| error.clone(), |words| format!("{error}: {words}")))
}
