//! A2aClient: calls an agent by A2A, in the binding and version that the agent prefers.
//!
//! Promises: every request goes through [`Egress`], names the protocol version and is bounded in time and
//! size; an answer is checked before it is believed. When an endpoint of the agent fails, its next one is
//! tried, but no message is sent twice that may have arrived. A stream that was cut continues where the
//! server numbers its events. It does not remember tasks.

mod attempts;
mod card;
mod endpoint;
mod events;
mod exchange;
mod follow;
mod grpc;
mod jsonrpc;
mod older;
mod operation;
mod page;
mod reason;
mod rest;
mod wire;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agentsite_egress::{CircuitOpen, Circuits, Egress};
use agentsite_protocol::{AgentCard, Message, PushConfig};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryStreamExt};
use http::HeaderMap;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use url::Url;

pub(crate) use card::MAX_CARD;
pub use card::card_url;
pub use endpoint::{Binding, Dialect, Endpoint, UnknownBinding};
pub use operation::ListTasks;
pub use page::TaskPage;
pub use wire::{RemoteStatus, RemoteTask, Reply, StreamItem};

use crate::{ClientError, Token};
use attempts::Attempts;
use exchange::Exchange;
use operation::{Configuration, Operation, Sending};
use page::PushPage;

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
    /// Longest wait for the answer, or for the beginning of the stream; the client's own limit when `None`.
    /// An agent may work before it sends anything, so callers with their own limit set this high.
    pub timeout: Option<Duration>,
    /// Further headers, such as `traceparent`.
    pub headers: HeaderMap,
}

/// Calls one agent. Cheap to clone.
#[derive(Debug, Clone)]
pub struct A2aClient {
    egress: Egress,
    card: Arc<AgentCard>,
    /// The preferred one first; never empty.
    endpoints: Arc<[Endpoint]>,
    token: Option<Token>,
    headers: HeaderMap,
    limits: A2aLimits,
    circuits: Option<Circuits>,
    calls: Arc<AtomicU64>,
}

/// An answer of which only the arrival counts.
#[derive(Debug)]
struct EmptyAnswer;

impl<'de> Deserialize<'de> for EmptyAnswer {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(input).map(|_| Self)
    }
}

impl A2aClient {
    /// Fetches the card of an agent and finds the ways to call it. `url` is the card's own address when it
    /// ends in `.json`, else the agent's, below which the well-known card lies.
    ///
    /// # Errors
    /// [`ClientError`] when there is no card, it cannot be read, or it offers no supported binding.
    pub async fn resolve(egress: &Egress, url: &Url, token: Option<Token>) -> Result<Self, ClientError> {
        let mut client = Self::introduced(egress, url, token).await?;
        let allowed: Vec<Endpoint> =
            client.endpoints.iter().filter(|endpoint| egress.check(&endpoint.url).is_ok()).cloned().collect();
        match client.endpoints.first() {
            Some(first) if allowed.is_empty() => egress.check(&first.url)?,
            _ => {}
        }
        client.endpoints = allowed.into();
        Ok(client)
    }

    /// Like [`Self::resolve`], but calls go to the scheme, host and port of `origin` regardless of the card:
    /// for a server that we started ourselves, whose card may name an address of another machine. A gRPC
    /// interface that the card puts on another port comes last, because only the port of `origin` is known to
    /// be the server's.
    ///
    /// # Errors
    /// [`ClientError`], as [`Self::resolve`].
    pub async fn resolve_at(
        egress: &Egress,
        origin: &Url,
        token: Option<Token>,
    ) -> Result<Self, ClientError> {
        let mut client = Self::introduced(egress, origin, token).await?;
        let port = origin.port_or_known_default();
        let elsewhere = |endpoint: &Endpoint| {
            endpoint.dialect == Dialect::Grpc && endpoint.url.port_or_known_default() != port
        };
        let (last, first): (Vec<_>, Vec<_>) = client.endpoints.iter().cloned().partition(elsewhere);
        client.endpoints = first.into_iter().chain(last).map(|endpoint| endpoint.moved(origin)).collect();
        Ok(client)
    }

    async fn introduced(egress: &Egress, url: &Url, token: Option<Token>) -> Result<Self, ClientError> {
        let (card, from) = card::find(egress, url, token.as_ref()).await?;
        let endpoints = card::endpoints(&card, &from)?.into();
        let (egress, card) = (egress.clone(), Arc::new(card));
        let (headers, limits) = (HeaderMap::new(), A2aLimits::default());
        Ok(Self { egress, card, endpoints, token, headers, limits, circuits: None, calls: Arc::default() })
    }

    /// Calls the agent at this address with this binding and version, regardless of its card.
    #[must_use]
    pub fn at(mut self, dialect: Dialect, url: Url) -> Self {
        self.endpoints = [Endpoint { dialect, url, tenant: None }].into();
        self
    }

    /// Calls the agent at this address, too: first when the addresses of its card are known to fail, else
    /// after the preferred one of them.
    #[must_use]
    pub fn also_at(mut self, dialect: Dialect, url: Url, is_first: bool) -> Self {
        let endpoint = Endpoint { dialect, url, tenant: None };
        let mut endpoints: Vec<Endpoint> =
            self.endpoints.iter().filter(|known| **known != endpoint).cloned().collect();
        let place = if is_first { 0 } else { endpoints.len().min(1) };
        endpoints.insert(place, endpoint);
        self.endpoints = endpoints.into();
        self
    }

    /// Whether the agent promises that the same message sent twice begins one task.
    #[must_use]
    pub fn sends_once(&self) -> bool {
        card::sends_once(&self.card)
    }

    /// Calls the agent in this binding only.
    ///
    /// # Errors
    /// [`ClientError::Unsupported`] with what the agent offers instead.
    pub fn only(mut self, binding: Binding) -> Result<Self, ClientError> {
        let wanted = |endpoint: &&Endpoint| endpoint.dialect.binding() == binding;
        let kept: Vec<Endpoint> = self.endpoints.iter().filter(wanted).cloned().collect();
        if kept.is_empty() {
            let (name, offers) = (&self.card.name, card::offers(&self.card));
            let what = format!(
                "`{name}` cannot be called by {binding} ({}): it offers {offers}",
                binding.card_name()
            );
            return Err(ClientError::Unsupported(what));
        }
        self.endpoints = kept.into();
        Ok(self)
    }

    /// Sets how long and how large answers may be.
    #[must_use]
    pub const fn with_limits(mut self, limits: A2aLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Shares what is known of failing endpoints with others; without it, each request tries each endpoint
    /// anew.
    #[must_use]
    pub fn with_circuits(mut self, circuits: Circuits) -> Self {
        self.circuits = Some(circuits);
        self
    }

    /// Sends these headers along with every request, such as `traceparent`.
    #[must_use]
    pub fn with_headers(mut self, headers: HeaderMap) -> Self {
        self.headers = headers;
        self
    }

    /// Calls the agent for a user of this site, of whom another site learns what the site lets it learn.
    #[must_use]
    pub fn calling_for(mut self, user: &str) -> Self {
        self.egress = self.egress.calling_for(user);
        self
    }

    /// What the agent says of itself.
    #[must_use]
    pub const fn card(&self) -> &Arc<AgentCard> {
        &self.card
    }

    /// Where calls go, the preferred address first.
    #[must_use]
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Why the agent cannot be called now, when all its endpoints are paused because they failed repeatedly.
    #[must_use]
    pub fn resting(&self) -> Option<String> {
        let circuits = self.circuits.as_ref()?;
        let all: Option<Vec<CircuitOpen>> =
            self.endpoints.iter().map(|endpoint| circuits.resting(&endpoint.name())).collect();
        all?.first().map(ToString::to_string)
    }

    /// Sends a message and waits for the task to settle, or only for its acceptance (see [`SendOptions`]).
    ///
    /// # Errors
    /// [`ClientError`]; whether the agent got the message is then not known, unless it is
    /// [`ClientError::Refused`].
    pub async fn send(&self, message: &Message, options: SendOptions) -> Result<Reply, ClientError> {
        let timeout = options.timeout.unwrap_or(self.limits.call_timeout);
        let client = self.clone().also(&options.headers);
        client.answer(&Operation::Send(sending(message, &options)), timeout).await
    }

    /// Sends a message and follows the result.
    #[must_use = "nothing is sent until the stream is read"]
    pub fn stream(&self, message: &Message, options: &SendOptions) -> TaskStream {
        let client = self.clone().also(&options.headers);
        let (message, options) = (message.clone(), options.clone());
        let patience = options.timeout.unwrap_or(self.limits.call_timeout);
        let opening =
            async move { client.open(&Operation::Stream(sending(&message, &options)), patience).await };
        opening.into_stream().try_flatten().boxed()
    }

    /// Follows a task that is at work.
    #[must_use = "nothing is asked until the stream is read"]
    pub fn subscribe(&self, task: &str) -> TaskStream {
        let (client, task) = (self.clone(), task.to_owned());
        let patience = self.limits.call_timeout;
        let opening = async move { client.open(&Operation::Subscribe { id: &task }, patience).await };
        opening.into_stream().try_flatten().boxed()
    }

    /// Queries the status of a task.
    ///
    /// # Errors
    /// [`ClientError`], see [`ClientError::is_unknown_task`].
    pub async fn get_task(&self, task: &str, history_length: Option<u32>) -> Result<RemoteTask, ClientError> {
        self.ask(&Operation::Get { id: task, history_length }).await
    }

    /// Asks for the caller's tasks, page by page.
    ///
    /// # Errors
    /// [`ClientError`]; agents of A2A 0.3 have no lists.
    pub async fn list_tasks(&self, wanted: &ListTasks) -> Result<TaskPage, ClientError> {
        self.ask(&Operation::List(wanted)).await
    }

    /// Asks the agent to stop.
    ///
    /// # Errors
    /// [`ClientError`]; a task that has ended already is [`ClientError::is_unsupported`].
    pub async fn cancel_task(&self, task: &str) -> Result<RemoteTask, ClientError> {
        self.ask(&Operation::Cancel { id: task }).await
    }

    /// Asks the agent to call back when the task of the configuration changes.
    ///
    /// # Errors
    /// [`ClientError`]; many agents do not call back.
    pub async fn create_push_config(&self, config: &PushConfig) -> Result<PushConfig, ClientError> {
        self.ask(&Operation::CreatePush(config)).await
    }

    /// Asks how the agent calls back for a task.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn push_config(&self, task: &str, id: &str) -> Result<PushConfig, ClientError> {
        self.ask(&Operation::GetPush { task_id: task, id }).await
    }

    /// Asks for all ways in which the agent calls back for a task.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn push_configs(&self, task: &str) -> Result<Vec<PushConfig>, ClientError> {
        self.ask::<PushPage>(&Operation::ListPush { task_id: task }).await.map(|page| page.configs)
    }

    /// Asks the agent not to call back any more.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn delete_push_config(&self, task: &str, id: &str) -> Result<(), ClientError> {
        self.ask::<EmptyAnswer>(&Operation::DeletePush { task_id: task, id }).await.map(|EmptyAnswer| ())
    }

    /// Asks for the card that the agent shows to those it knows.
    ///
    /// # Errors
    /// [`ClientError`]; many agents have only one card.
    pub async fn extended_card(&self) -> Result<AgentCard, ClientError> {
        self.ask(&Operation::ExtendedCard {}).await
    }

    async fn ask<T: DeserializeOwned>(&self, operation: &Operation<'_>) -> Result<T, ClientError> {
        self.answer(operation, self.limits.call_timeout).await
    }

    async fn answer<T: DeserializeOwned>(
        &self,
        operation: &Operation<'_>,
        timeout: Duration,
    ) -> Result<T, ClientError> {
        let mut attempts = self.attempts(operation);
        while let Some(attempt) = attempts.next() {
            let outcome = self.exchange(attempt.endpoint, timeout).answer(operation).await;
            if let ControlFlow::Break(done) = attempts.judge(attempt, outcome) {
                return done;
            }
        }
        Err(attempts.trouble())
    }

    async fn open(&self, operation: &Operation<'_>, timeout: Duration) -> Result<TaskStream, ClientError> {
        let mut attempts = self.attempts(operation);
        while let Some(attempt) = attempts.next() {
            let endpoint = attempt.endpoint.clone();
            let outcome = self.exchange(&endpoint, timeout).open(operation).await;
            if let ControlFlow::Break(done) = attempts.judge(attempt, outcome) {
                return done.map(|source| follow::followed(self.clone(), endpoint, source));
            }
        }
        Err(attempts.trouble())
    }

    fn attempts(&self, operation: &Operation<'_>) -> Attempts<'_> {
        // A message may go out twice only where the agent promises that the same one twice is one task.
        let harmless = operation.repeats_safely() || self.sends_once();
        Attempts::new(&self.endpoints, self.circuits.as_ref(), harmless)
    }

    fn exchange<'a>(&'a self, endpoint: &'a Endpoint, timeout: Duration) -> Exchange<'a> {
        Exchange {
            egress: &self.egress,
            endpoint,
            token: self.token.as_ref(),
            headers: &self.headers,
            limits: self.limits,
            timeout,
            number: self.calls.fetch_add(1, Ordering::Relaxed),
            resumes: card::resumes(&self.card),
            from: self.name_at(endpoint),
        }
    }

    fn also(mut self, headers: &HeaderMap) -> Self {
        self.headers.extend(headers.clone());
        self
    }

    /// How the agent is named in errors.
    fn name_at(&self, endpoint: &Endpoint) -> String {
        let name: String = self.card.name.chars().take(60).collect();
        format!("`{name}` at {}", endpoint.url.origin().ascii_serialization())
    }
}

fn sending<'a>(message: &'a Message, options: &SendOptions) -> Sending<'a> {
    let SendOptions { return_immediately, history_length, .. } = *options;
    Sending { message, configuration: Configuration { history_length, return_immediately } }
}
