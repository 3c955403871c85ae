//! PendingLogin: a login that a person has begun, apart from any connection.
//!
//! Promises: it begins with what the tool server itself asks for (RFC 9728, then RFC 8414), registers a
//! client unless one is given, and binds the answer to its own state, proof key and issuer. It ends with
//! credentials in the store, once, or with a sentence why not. It shows no address and does not wait:
//! its caller does.

use std::fmt;
use std::time::Duration;

use agentsite_egress::Egress;
use http::header::WWW_AUTHENTICATE;
use http::{Method, StatusCode};
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadataSource, AuthorizationRequest, AuthorizationSession,
};
use serde_json::json;
use url::Url;

use super::login::{SavedCredentials, denial, engine, failed, refused};
use super::{McpError, OAuth};
use crate::Token;

/// How long the tool server may take to name its requirements.
const ANSWER: Duration = Duration::from_secs(30);

/// A login that a person has begun.
pub struct PendingLogin {
    session: AuthorizationSession,
    address: Url,
    state: String,
}

/// Shows no state: a reader of it could answer for the person.
impl fmt::Debug for PendingLogin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("PendingLogin(…)")
    }
}

impl PendingLogin {
    /// Begins a login at a tool server; the person comes back to `redirect`.
    ///
    /// # Errors
    /// [`McpError`] when the server requires no login, or its authorization server cannot be used.
    pub async fn begin(
        server: &Url,
        egress: &Egress,
        oauth: &OAuth,
        redirect: &Url,
    ) -> Result<Self, McpError> {
        let challenge = challenge(server, egress).await?;
        let begun = begin(server, egress, oauth, redirect, challenge.as_deref()).await;
        let session = begun.map_err(|error| refused(&error))?;
        let unfit = || refused(&failed("the authorization server has no address for browsers".into()));
        let address = Url::parse(session.get_authorization_url()).map_err(|_| unfit())?;
        let state = parameter(&address, "state").ok_or_else(unfit)?;
        Ok(Self { session, address, state })
    }

    /// Where the person consents.
    #[must_use]
    pub const fn address(&self) -> &Url {
        &self.address
    }

    /// Whether this address, to which a browser was sent, answers this login and no other.
    #[must_use]
    pub fn is_answered_by(&self, back: &Url) -> bool {
        parameter(back, "state").is_some_and(|state| Token::new(&state) == Token::new(&self.state))
    }

    /// Ends the login with the address to which the authorization server sent the person, and stores the
    /// result.
    ///
    /// # Errors
    /// [`McpError`] with the text of the authorization server when the person did not consent, or when it
    /// refuses.
    pub async fn finish(self, back: &Url) -> Result<(), McpError> {
        if let Some(error) = denial(back) {
            return Err(refused(&failed(error)));
        }
        let done = self.session.handle_callback_url(back.as_str()).await;
        done.map(|_| ()).map_err(|error| refused(&error))
    }
}

fn parameter(address: &Url, name: &str) -> Option<String> {
    address.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// What the server says to a caller without a token.
async fn challenge(server: &Url, egress: &Egress) -> Result<Option<String>, McpError> {
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let asking = egress.request(Method::POST, server.clone()).timeout(ANSWER).json(&hello)?;
    let answer = asking.send().await?;
    let words = answer.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    let wanted = answer.status() == StatusCode::UNAUTHORIZED;
    Ok(wanted.then(|| words.unwrap_or_default().to_owned()))
}

async fn begin(
    server: &Url,
    egress: &Egress,
    oauth: &OAuth,
    redirect: &Url,
    challenge: Option<&str>,
) -> Result<AuthorizationSession, AuthError> {
    let mut manager = engine(server, egress).await?;
    let found = manager.resolve_metadata_from_challenge(challenge).await?;
    if challenge.is_none() && found.source == AuthorizationMetadataSource::LegacyEndpointFallback {
        return Err(failed("it requests no login and names no authorization server".into()));
    }
    manager.set_metadata(found.metadata);
    let chosen = manager.select_initial_scopes(&[]).await;
    let scopes = if oauth.scopes.is_empty() { chosen } else { oauth.scopes.clone() };
    let (id, secret) = client(&mut manager, oauth, redirect, &scopes).await?;
    let mut kept = SavedCredentials::new(server.clone(), oauth.clone());
    if oauth.client.is_none() {
        kept.secret.clone_from(&secret);
    }
    manager.set_credential_store(kept);
    let mut request =
        AuthorizationRequest::new(redirect.as_str()).with_scopes(scopes).with_preregistered_client(id);
    if let Some(secret) = secret {
        request = request.with_client_secret(secret);
    }
    AuthorizationSession::new(manager, request).await.map_err(|(_, error)| error)
}

/// The client that logs in: the one that was given, or one that is registered now.
async fn client(
    manager: &mut AuthorizationManager,
    oauth: &OAuth,
    redirect: &Url,
    scopes: &[String],
) -> Result<(String, Option<String>), AuthError> {
    if let Some(client) = &oauth.client {
        return Ok((client.id.clone(), client.secret.as_ref().map(|secret| secret.secret().to_owned())));
    }
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let registered = manager.register_client(&oauth.client_name, redirect.as_str(), &scopes).await;
    match registered {
        Ok(config) => Ok((config.client_id, config.client_secret)),
        Err(error) => Err(failed(format!(
            "no client could be registered ({error}); register one manually and name it with client_id"
        ))),
    }
}
