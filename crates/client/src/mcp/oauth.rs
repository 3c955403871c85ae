//! OAuth 2.1 as a client: what a caller must bring to use servers that ask for a token.
//!
//! Promises: a person decides ([`Consent`]), and the caller decides where credentials stay
//! ([`CredentialStore`]). The steps themselves are in `login`.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::{BoxFuture, ready};
use url::Url;

use super::McpError;
use crate::Token;

/// How to get a token from the authorization server that a tool server names.
#[derive(Debug, Clone)]
pub struct OAuth {
    /// Who the token is for.
    pub grant: Grant,
    /// Whose credentials they are, such as an agent: two holders never share a token, also at the same
    /// server.
    pub holder: String,
    /// Where credentials stay.
    pub store: Arc<dyn CredentialStore>,
    /// A client that was registered manually; preferred to everything else.
    pub client: Option<RegisteredClient>,
    /// Where the document about our client is, for authorization servers that read one; preferred to
    /// registering a client.
    pub metadata: Option<Url>,
    /// The name that a person reads when a client is registered.
    pub client_name: String,
    /// Scopes to ask for, instead of those that the tool server names. A person who is asked in the course of
    /// a request is asked for what the server names, and for these only when it names none.
    pub scopes: Vec<String>,
}

/// Who a token is for.
#[derive(Debug, Clone)]
pub enum Grant {
    /// A person, who consents in a browser (authorization code with a proof key).
    Person {
        /// Where the authorization server sends the person back to.
        redirect: Url,
        /// The component that asks the person.
        consent: Arc<dyn Consent>,
    },
    /// A person who logged in before ([`PendingLogin`](super::PendingLogin)): what was kept is used and
    /// refreshed, and no person is asked.
    Kept,
    /// The client itself, with its secret (client credentials); it must be registered before.
    Machine,
}

impl OAuth {
    /// Asks a person, registers a client where needed, and forgets everything at the end.
    #[must_use]
    pub fn new(redirect: Url, consent: Arc<dyn Consent>) -> Self {
        Self::with(Grant::Person { redirect, consent })
    }

    /// Asks no person: what this holder's login left in the store is used.
    #[must_use]
    pub fn kept(holder: String, store: Arc<dyn CredentialStore>) -> Self {
        Self { holder, store, ..Self::with(Grant::Kept) }
    }

    /// Asks no person: the client logs in as itself.
    #[must_use]
    pub fn machine(client: RegisteredClient) -> Self {
        Self { client: Some(client), ..Self::with(Grant::Machine) }
    }

    fn with(grant: Grant) -> Self {
        Self {
            grant,
            holder: String::new(),
            store: Arc::new(InMemory::default()),
            client: None,
            metadata: None,
            client_name: "agentsite".into(),
            scopes: Vec::new(),
        }
    }
}

/// A client that was registered before.
#[derive(Debug, Clone)]
pub struct RegisteredClient {
    /// Its id.
    pub id: String,
    /// Its secret, unless it is a public one.
    pub secret: Option<Token>,
}

/// Asks a person for consent.
pub trait Consent: Send + Sync + fmt::Debug + 'static {
    /// Shows the address of the authorization server and comes back with the address to which it sent the
    /// person.
    fn ask(&self, address: Url) -> BoxFuture<'_, Result<Url, McpError>>;
}

/// Stores credentials; the stored bytes are secret and opaque to the store.
pub trait CredentialStore: Send + Sync + fmt::Debug + 'static {
    /// What was kept for this holder at this server.
    fn load(&self, holder: &str, server: &Url) -> BoxFuture<'_, Result<Option<String>, CredentialError>>;

    /// Keeps it in the place of what was kept before; nothing to keep means to forget.
    fn save(
        &self,
        holder: &str,
        server: &Url,
        credentials: Option<String>,
    ) -> BoxFuture<'_, Result<(), CredentialError>>;
}

/// Credentials cannot be stored or read; the text gives the reason and contains no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CredentialError(pub String);

/// Keeps credentials until the program ends.
#[derive(Default)]
pub struct InMemory {
    /// A std lock: held for one map operation.
    kept: Mutex<HashMap<(String, Url), String>>,
}

impl fmt::Debug for InMemory {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("InMemory(…)")
    }
}

impl CredentialStore for InMemory {
    fn load(&self, holder: &str, server: &Url) -> BoxFuture<'_, Result<Option<String>, CredentialError>> {
        let key = (holder.to_owned(), server.clone());
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        Box::pin(ready(Ok(kept)))
    }

    fn save(
        &self,
        holder: &str,
        server: &Url,
        credentials: Option<String>,
    ) -> BoxFuture<'_, Result<(), CredentialError>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (holder.to_owned(), server.clone());
        match credentials {
            Some(credentials) => kept.insert(key, credentials),
            None => kept.remove(&key),
        };
        Box::pin(ready(Ok(())))
    }
}
