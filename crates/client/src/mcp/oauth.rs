//! OAuth 2.1 as a client: how we get a token when a tool server asks for one.
//!
//! Promises: the person decides ([`Consent`]), the keeper of the site decides where credentials stay ([`CredentialStore`]), and all of it
//! goes through the egress.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use url::Url;

use super::McpError;
use crate::Token;

/// How to get a token.
#[derive(Debug, Clone)]
pub struct OAuth {
    /// Where the authorization server sends the person back to.
    pub redirect: Url,
    /// Who asks the person.
    pub consent: Arc<dyn Consent>,
    /// Where credentials stay.
    pub store: Arc<dyn CredentialStore>,
    /// A client that was registered before, by hand.
    pub client: Option<RegisteredClient>,
    /// Where the document about our client is, for servers that read one.
    pub metadata: Option<Url>,
    /// The name a person reads when a client is registered.
    pub client_name: String,
    /// Scopes to ask for when the server names none.
    pub scopes: Vec<String>,
}

/// A client that was registered before.
#[derive(Debug, Clone)]
pub struct RegisteredClient {
    /// Its id.
    pub id: String,
    /// Its secret, unless it is a public one.
    pub secret: Option<Token>,
}

/// Asks a person for consent in a browser.
pub trait Consent: Send + Sync + fmt::Debug + 'static {
    /// Opens the address of the authorization server and comes back with the address to which it sent the person.
    fn ask(&self, address: Url) -> BoxFuture<'_, Result<Url, McpError>>;
}

/// Keeps credentials over restarts; what is kept is secret and no business of the keeper.
pub trait CredentialStore: Send + Sync + fmt::Debug + 'static {
    /// What was kept for this server.
    fn load(&self, server: &Url) -> BoxFuture<'_, Result<Option<String>, McpError>>;
    /// Keeps it; nothing to keep means to forget.
    fn save(&self, server: &Url, credentials: Option<String>) -> BoxFuture<'_, Result<(), McpError>>;
}
