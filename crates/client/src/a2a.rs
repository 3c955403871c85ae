//! A2aClient: calls an agent by A2A 1.0 over JSON-RPC.
//!
//! Promises: every request goes through [`Egress`], names the protocol version and is bounded in time and size; an answer is
//! checked before it is believed. It speaks JSON-RPC only: REST, gRPC and A2A 0.3 are refused with what the agent offers.
//! It does not retry and does not remember tasks.

mod call;
mod card;
mod events;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agentsite_protocol::{AgentCard, Message};
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt, TryStreamExt};
use http::header::{ACCEPT, CACHE_CONTROL};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

pub(crate) use card::{MAX_CARD, card_url};
pub use wire::{RemoteStatus, RemoteTask, Reply, StreamItem};

use crate::{ClientError, Egress, EgressAnswer, EgressRequest, Token};
use call::Call;

/// The version of A2A that we speak, as its header wants it.
const VERSION: HeaderValue = HeaderValue::from_static("1.0");
const VERSION_HEADER: HeaderName = HeaderName::from_static("a2a-version");

/// The items of a stream; it ends after the task is settled, or with its first error.
pub type TaskStream = BoxStream<'static, Result<StreamItem, ClientError>>;

/// How long and how large the answers of an agent may be.
#[derive(Debug, Clone, Copy)]
pub struct A2aLimits {
    /// For the answer to a plain call; one that waits for the agent's work needs the time of the work.
    pub call_timeout: Duration,
    /// For silence in a stream; servers commonly send a sign of life every 15 s.
    pub idle_timeout: Duration,
    /// Bytes of a plain answer: a whole task with history and artifacts.
    pub max_answer: usize,
    /// Bytes of one event of a stream.
    pub max_event: usize,
    /// Bytes of a whole stream.
    pub max_stream: usize,
}

impl Default for A2aLimits {
    fn default() -> Self {
        Self {
            call_timeout: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(60),
            max_answer: 16 << 20,
            max_event: 4 << 20,
            max_stream: 64 << 20,
        }
    }
}

/// How a message is sent.
#[derive(Debug, Clone, Default)]
pub struct SendOptions {
    /// Answer as soon as the task is accepted instead of when it is settled.
    pub return_immediately: bool,
    /// How many earlier messages the answer shall bring; the agent decides when `None`.
    pub history_length: Option<u32>,
    /// Longest wait for the answer, or for the beginning of the stream; the client's own limit when `None`. An agent may think
    /// before it says anything, so callers with a limit of their own set this high.
    pub timeout: Option<Duration>,
    /// Further headers, such as `traceparent`.
    pub headers: HeaderMap,
}

/// Calls one agent. Cheap to clone.
#[derive(Debug, Clone)]
pub struct A2aClient {
    egress: Egress,
    card: Arc<AgentCard>,
    endpoint: Url,
    tenant: Option<String>,
    token: Option<Token>,
    limits: A2aLimits,
    calls: Arc<AtomicU64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SendParams<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    message: &'a Message,
    configuration: SendConfiguration,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SendConfiguration {
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    return_immediately: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskParams<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<u32>,
}

impl A2aClient {
    /// Fetches the card of an agent and picks the way to call it. `url` is the card's own address when it ends in `.json`, else
    /// the agent's, below which the well-known card lies.
    ///
    /// # Errors
    /// [`ClientError`] when there is no card, it cannot be read, or it offers nothing that we speak.
    pub async fn resolve(egress: &Egress, url: &Url, token: Option<Token>) -> Result<Self, ClientError> {
        let client = Self::introduced(egress, url, token).await?;
        egress.check(&client.endpoint)?;
        Ok(client)
    }

    /// Like [`Self::resolve`], but calls go to the scheme, host and port of `origin` whatever the card says: for a server that we
    /// started ourselves, whose card may name an address of another machine.
    ///
    /// # Errors
    /// [`ClientError`], as [`Self::resolve`].
    pub async fn resolve_at(
        egress: &Egress,
        origin: &Url,
        token: Option<Token>,
    ) -> Result<Self, ClientError> {
        let client = Self::introduced(egress, origin, token).await?;
        let mut endpoint = origin.clone();
        endpoint.set_path(client.endpoint.path());
        endpoint.set_query(client.endpoint.query());
        Ok(client.at(endpoint))
    }

    async fn introduced(egress: &Egress, url: &Url, token: Option<Token>) -> Result<Self, ClientError> {
        let from = card::card_url(url);
        let card = card::fetch(egress, &from, token.as_ref()).await?;
        let (endpoint, tenant) = card::choose(&card, &from)?;
        let (egress, card) = (egress.clone(), Arc::new(card));
        Ok(Self {
            egress,
            card,
            endpoint,
            tenant,
            token,
            limits: A2aLimits::default(),
            calls: Arc::default(),
        })
    }

    /// Calls the agent at this address, whatever its card says.
    #[must_use]
    pub fn at(mut self, endpoint: Url) -> Self {
        self.endpoint = endpoint;
        self
    }

    /// Sets how long and how large answers may be.
    #[must_use]
    pub const fn with_limits(mut self, limits: A2aLimits) -> Self {
        self.limits = limits;
        self
    }

    /// What the agent says of itself.
    #[must_use]
    pub const fn card(&self) -> &Arc<AgentCard> {
        &self.card
    }

    /// Where calls go.
    #[must_use]
    pub const fn endpoint(&self) -> &Url {
        &self.endpoint
    }

    /// Sends a message and waits for the task to settle, or only for its acceptance (see [`SendOptions`]).
    ///
    /// # Errors
    /// [`ClientError`]; whether the agent got the message is then not known, unless it is [`ClientError::Refused`].
    pub async fn send(&self, message: &Message, options: SendOptions) -> Result<Reply, ClientError> {
        let request = self.request("SendMessage", &self.send_params(message, &options), &options.headers)?;
        self.answer(request.timeout(options.timeout.unwrap_or(self.limits.call_timeout))).await
    }

    /// Sends a message and follows what comes of it.
    #[must_use = "nothing is sent until the stream is read"]
    pub fn stream(&self, message: &Message, options: &SendOptions) -> TaskStream {
        let request =
            self.request("SendStreamingMessage", &self.send_params(message, options), &options.headers);
        let patience = options.timeout.unwrap_or(self.limits.call_timeout);
        self.open(request.map(|request| request.timeout(patience)))
    }

    /// Follows a task that is at work.
    #[must_use = "nothing is asked until the stream is read"]
    pub fn subscribe(&self, task: &str) -> TaskStream {
        let params = TaskParams { tenant: self.tenant.as_deref(), id: task, history_length: None };
        self.open(self.request("SubscribeToTask", &params, &HeaderMap::new()))
    }

    /// Asks where a task stands.
    ///
    /// # Errors
    /// [`ClientError`], see [`ClientError::is_unknown_task`].
    pub async fn get_task(&self, task: &str, history_length: Option<u32>) -> Result<RemoteTask, ClientError> {
        let params = TaskParams { tenant: self.tenant.as_deref(), id: task, history_length };
        self.answer(self.request("GetTask", &params, &HeaderMap::new())?).await
    }

    /// Asks the agent to stop.
    ///
    /// # Errors
    /// [`ClientError`]; a task that has ended already is [`ClientError::is_unsupported`].
    pub async fn cancel_task(&self, task: &str) -> Result<RemoteTask, ClientError> {
        let params = TaskParams { tenant: self.tenant.as_deref(), id: task, history_length: None };
        self.answer(self.request("CancelTask", &params, &HeaderMap::new())?).await
    }

    fn send_params<'a>(&'a self, message: &'a Message, options: &SendOptions) -> SendParams<'a> {
        let SendOptions { return_immediately, history_length, .. } = *options;
        let configuration = SendConfiguration { history_length, return_immediately };
        SendParams { tenant: self.tenant.as_deref(), message, configuration }
    }

    async fn answer<T: DeserializeOwned>(&self, request: EgressRequest) -> Result<T, ClientError> {
        let answer = request.limit(self.limits.max_answer).send().await?;
        let (status, bytes) = (answer.status(), answer.bytes().await?);
        let from = self.name();
        if status.is_success() {
            call::read_answer(&from, &bytes)
        } else {
            Err(call::read_status(&from, status.as_u16(), &bytes))
        }
    }

    fn open(&self, request: Result<EgressRequest, ClientError>) -> TaskStream {
        let (from, limits) = (self.name(), self.limits);
        let opening = async move {
            let request = request?
                .header(ACCEPT, HeaderValue::from_static("text/event-stream"))
                .header(CACHE_CONTROL, HeaderValue::from_static("no-store"))
                .limit(limits.max_stream);
            opened(request.send().await?, from, limits).await
        };
        opening.into_stream().try_flatten().boxed()
    }

    fn request<P: Serialize>(
        &self,
        method: &str,
        params: &P,
        headers: &HeaderMap,
    ) -> Result<EgressRequest, ClientError> {
        let id = self.calls.fetch_add(1, Ordering::Relaxed).to_string();
        let call = Call { jsonrpc: "2.0", id, method, params };
        let mut request =
            self.egress.post(self.endpoint.clone()).headers(headers).header(VERSION_HEADER, VERSION);
        if let Some(token) = &self.token {
            request = request.bearer(token.secret());
        }
        Ok(request.json(&call)?.timeout(self.limits.call_timeout))
    }

    /// How the agent is named in errors.
    fn name(&self) -> String {
        let name: String = self.card.name.chars().take(60).collect();
        format!("`{name}` at {}", self.endpoint.origin().ascii_serialization())
    }
}

/// The items of an answer, which may also be one plain answer: an error before the first event.
async fn opened(answer: EgressAnswer, from: String, limits: A2aLimits) -> Result<TaskStream, ClientError> {
    let status = answer.status();
    if status.is_success() && answer.is_type("text/event-stream") {
        return Ok(events::items(answer, from, limits));
    }
    let bytes = answer.bytes().await?;
    if !status.is_success() {
        return Err(call::read_status(&from, status.as_u16(), &bytes));
    }
    let item: StreamItem = call::read_answer(&from, &bytes)?;
    Ok(stream::iter([Ok(item)]).boxed())
}
