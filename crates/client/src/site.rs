//! SiteClient: what a program or the command line uses to talk to a running site.
//!
//! Promises: answers are JSON of the asked type or an error with the site's own sentence; the token goes to
//! this site and to no other. It only knows the paths that it is given, and the A2A path of an agent.

use std::time::Duration;

use agentsite_egress::{Egress, EgressRequest};
use agentsite_protocol::AgentName;
use bytes::Bytes;
use http::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::{A2aClient, Binding, ClientError, Dialect, Token};

/// How long a site may take to answer; lists of many tasks come from disk.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Largest answer that is read: a list of a thousand tasks with what was said in them.
const MAX_ANSWER: usize = 32 << 20;

/// Talks to one running site.
#[derive(Debug, Clone)]
pub struct SiteClient {
    egress: Egress,
    base: Url,
    token: Option<Token>,
}

#[derive(Debug, Deserialize)]
struct ErrorBody {
    error: ErrorDetail,
}

#[derive(Debug, Deserialize)]
struct ErrorDetail {
    #[serde(default)]
    code: serde_json::Value,
    #[serde(default)]
    message: String,
}

impl SiteClient {
    /// A client of the site at this address; the address itself may always be asked.
    #[must_use]
    pub fn new(egress: &Egress, mut base: Url, token: Option<Token>) -> Self {
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        Self { egress: egress.trusting(&base), base, token }
    }

    /// The address of the site.
    #[must_use]
    pub const fn base(&self) -> &Url {
        &self.base
    }

    /// Asks for a value. `path` may carry a query.
    ///
    /// # Errors
    /// [`ClientError::Status`] with the site's sentence, or why there was no answer.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        let bytes = self.ask(self.request(Method::GET, path)?).await?;
        self.read(&bytes)
    }

    /// Asks for a text.
    ///
    /// # Errors
    /// [`ClientError`], as [`Self::get`].
    pub async fn get_text(&self, path: &str) -> Result<String, ClientError> {
        let bytes = self.ask(self.request(Method::GET, path)?).await?;
        String::from_utf8(bytes.into()).map_err(|error| self.bad(error.to_string()))
    }

    /// Sends a value and gets one back; an empty answer is read as JSON `null`.
    ///
    /// # Errors
    /// [`ClientError`], as [`Self::get`].
    pub async fn post<B: Serialize + ?Sized, T: DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<T, ClientError> {
        let bytes = self.ask(self.request(Method::POST, path)?.json(body)?).await?;
        self.read(&bytes)
    }

    /// Sends lines of JSON and gets a value back.
    ///
    /// # Errors
    /// [`ClientError`], as [`Self::get`].
    pub async fn post_lines<T: DeserializeOwned>(
        &self,
        path: &str,
        lines: Vec<u8>,
    ) -> Result<T, ClientError> {
        let request = self.request(Method::POST, path)?.body("application/x-ndjson", lines);
        self.read(&self.ask(request).await?)
    }

    /// Changes something and gets it back.
    ///
    /// # Errors
    /// [`ClientError`], as [`Self::get`].
    pub async fn patch<B: Serialize + ?Sized, T: DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<T, ClientError> {
        self.read(&self.ask(self.request(Method::PATCH, path)?.json(body)?).await?)
    }

    /// Removes something.
    ///
    /// # Errors
    /// [`ClientError`], as [`Self::get`].
    pub async fn delete(&self, path: &str) -> Result<(), ClientError> {
        self.ask(self.request(Method::DELETE, path)?).await.map(|_| ())
    }

    /// A client of one of the site's agents, called at this site's address instead of the public one in its
    /// card, by JSON-RPC unless another binding is named.
    ///
    /// # Errors
    /// [`ClientError`] when there is no such agent, or its card does not offer the binding.
    pub async fn a2a(&self, agent: &AgentName, binding: Option<Binding>) -> Result<A2aClient, ClientError> {
        let endpoint = self.join(&format!("a2a/{agent}"))?;
        let client = A2aClient::resolve_at(&self.egress, &endpoint, self.token.clone()).await?;
        let client = binding.map_or(Ok(client.clone()), |binding| client.only(binding))?;
        Ok(match binding {
            None | Some(Binding::JsonRpc) => client.at(Dialect::JsonRpc, endpoint),
            Some(Binding::Rest) => client.at(Dialect::Rest, endpoint),
            Some(Binding::Grpc) => client,
        })
    }

    fn join(&self, path: &str) -> Result<Url, ClientError> {
        self.base
            .join(path.trim_start_matches('/'))
            .map_err(|error| self.bad(format!("`{path}` is not a path: {error}")))
    }

    fn request(&self, method: Method, path: &str) -> Result<EgressRequest, ClientError> {
        let request = self.egress.request(method, self.join(path)?).timeout(TIMEOUT).limit(MAX_ANSWER);
        Ok(match &self.token {
            Some(token) => request.bearer(token.secret()),
            None => request,
        })
    }

    async fn ask(&self, request: EgressRequest) -> Result<Bytes, ClientError> {
        let answer = request.send().await?;
        let (status, bytes) = (answer.status(), answer.bytes().await?);
        if status.is_success() { Ok(bytes) } else { Err(self.error_from(status, &bytes)) }
    }

    fn error_from(&self, status: StatusCode, bytes: &[u8]) -> ClientError {
        let detail = serde_json::from_slice::<ErrorBody>(bytes).ok().map(|body| body.error);
        let code = detail.as_ref().and_then(|detail| detail.code.as_str().map(str::to_owned));
        let message = detail.map(|detail| detail.message).filter(|message| !message.is_empty());
        let message = message.unwrap_or_else(|| format!("{} answered {status}", self.base));
        ClientError::Status { status: status.as_u16(), code, message }
    }

    fn read<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, ClientError> {
        let bytes = if bytes.is_empty() { b"null" } else { bytes };
        serde_json::from_slice(bytes).map_err(|error| self.bad(error.to_string()))
    }

    fn bad(&self, what: String) -> ClientError {
        ClientError::BadAnswer { from: self.base.to_string(), what }
    }
}
