//! MCP as a client: one connection to any tool server, of either era of the protocol.
//!
//! Promises: callers see one form, that of revision 2026-07-28: a question of the server is a value
//! ([`Reply::Input`]), and the request is made again with the answers. For servers of older revisions, which
//! ask in the middle of a call, the call is set aside and taken up again. Everything a server says is bounded
//! in size, count and time; dropping a future tells the server to stop.
//!
//! It does not start processes, keeps no lists and asks no person. `rmcp` is the engine
//! (docs/decisions/0010-mcp-client-on-rmcp.md); none of its types leaves this module.

mod answer;
mod call;
mod calls;
mod connect;
mod failure;
mod http;
mod lines;
mod listening;
mod login;
mod oauth;
mod options;
mod pages;
mod parked;
mod pending;
mod tap;
mod tasks;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use agentsite_protocol::mcp::{
    Change, Completing, CompletionOf, Completions, Contents, Notice, Prompt, PromptCall, PromptText, Reading,
    Reply, Resource, ResourceTemplate, Round, Tool, ToolCall, ToolResult,
};
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, CompleteRequest, CompleteRequestParams,
    CompletionContext, GetPromptRequest, GetPromptRequestParams, ReadResourceRequest,
    ReadResourceRequestParams, Reference,
};
use rmcp::service::{Peer, RunningService};
use serde_json::{Value, json};
use tokio::sync::{Mutex, broadcast, watch};

pub use failure::McpError;
pub use oauth::{Consent, CredentialError, CredentialStore, Grant, InMemory, OAuth, RegisteredClient};
pub use options::{Address, Authorization, Limits, Options};
pub use pending::PendingLogin;

use answer::QuestionRouter;
use call::{Call, CallInterrupted, Outcome, Shared};
use calls::OnNotice;
use failure::challenge_of;
use listening::Listening;
use login::Login;
use tasks::TaskTools;

#[cfg(test)]
mod tests;

/// The key under which a request of revision 2026-07-28 states the log level that it wants.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// How often one request may lead to a login: once for the first token, and for scopes that are wanted one
/// after the other. A server that is never content must not ask a person forever.
const MAX_LOGINS: usize = 3;

/// A connection to a tool server. Cheap to clone; the connection ends with the last clone.
#[derive(Clone, Debug)]
pub struct McpClient {
    connection: Arc<Connection>,
}

/// Who a tool server is and what it has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// Its name for programs; empty when it does not say.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// Its version; empty when it does not say.
    pub version: String,
    /// How a model should use it.
    pub instructions: Option<String>,
    /// Whether it has tools.
    pub tools: bool,
    /// Whether it has resources.
    pub resources: bool,
    /// Whether it tells when a resource changes.
    pub subscriptions: bool,
    /// Whether it has prompts.
    pub prompts: bool,
    /// Whether it completes arguments.
    pub completions: bool,
    /// Whether its tools log.
    pub logging: bool,
}

struct Connection {
    peer: Peer<RoleClient>,
    engine: Mutex<Option<RunningService<RoleClient, QuestionRouter>>>,
    shared: Shared,
    listening: Listening,
    about: About,
    revision: String,
    modern: bool,
    options: Options,
    /// Why the connection was ended from our side.
    fate: Arc<OnceLock<String>>,
    login: Option<Arc<Login>>,
    alive: watch::Receiver<()>,
    task_tools: TaskTools,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Connection")
            .field("about", &self.about)
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.parked.clear();
    }
}

impl McpClient {
    /// Connects: asks for revision 2026-07-28 first, and shakes hands as the older revisions do with a server
    /// that does not know it.
    ///
    /// # Errors
    /// [`McpError`] when the server cannot be reached, supports no common revision, or requires an
    /// authorization that we do not have.
    pub async fn connect(address: Address, options: Options) -> Result<Self, McpError> {
        let connection = Box::pin(connect::connect(address, options)).await?;
        Ok(Self { connection: Arc::new(connection) })
    }

    /// Who the server is and what it has.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.connection.about
    }

    /// The negotiated revision of the protocol, such as `2026-07-28`.
    #[must_use]
    pub fn revision(&self) -> &str {
        &self.connection.revision
    }

    /// All tools.
    ///
    /// # Errors
    /// [`McpError`] when the list cannot be fetched completely.
    pub async fn tools(&self) -> Result<Vec<Tool>, McpError> {
        if self.connection.about.tools { pages::tools(&self.connection).await } else { Ok(Vec::new()) }
    }

    /// All resources with a fixed address.
    ///
    /// # Errors
    /// [`McpError`] when the list cannot be fetched completely.
    pub async fn resources(&self) -> Result<Vec<Resource>, McpError> {
        if self.connection.about.resources {
            pages::resources(&self.connection).await
        } else {
            Ok(Vec::new())
        }
    }

    /// All families of resources.
    ///
    /// # Errors
    /// [`McpError`] when the list cannot be fetched completely.
    pub async fn templates(&self) -> Result<Vec<ResourceTemplate>, McpError> {
        if self.connection.about.resources {
            pages::templates(&self.connection).await
        } else {
            Ok(Vec::new())
        }
    }

    /// All prompts.
    ///
    /// # Errors
    /// [`McpError`] when the list cannot be fetched completely.
    pub async fn prompts(&self) -> Result<Vec<Prompt>, McpError> {
        if self.connection.about.prompts { pages::prompts(&self.connection).await } else { Ok(Vec::new()) }
    }

    /// Uses a tool. Dropping the future tells the server to stop, unless the call was set aside with a
    /// question.
    ///
    /// # Errors
    /// [`McpError`]; what the tool itself says went wrong is a result with `is_error`.
    pub async fn call(
        &self,
        call: ToolCall,
        on_notice: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Result<Reply<ToolResult>, McpError> {
        let (subject, on_notice): (_, OnNotice) = (format!("tool {}", call.name), Arc::new(on_notice));
        if !self.connection.modern && self.connection.task_tools.has(&call.name) {
            if let Some(call) =
                Call::resume(&self.connection.shared, &subject, &call.round, on_notice.clone())
            {
                let outcome = call?.go_on().await;
                return self.connection.known(outcome).and_then(Outcome::read);
            }
            return self.connection.call_as_task(subject, &call, on_notice).await;
        }
        let mut params = CallToolRequestParams::new(call.name.clone()).with_arguments(call.arguments.clone());
        (params.input_responses, params.request_state) = wire_round(&call.round);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let first =
            self.connection.go(subject.clone(), &call.round, request.clone(), on_notice.clone()).await;
        match first {
            // The server requires arguments in headers, too; only the list of tools names them.
            Err(error) if error.misses_headers() => {
                Box::pin(self.tools()).await?;
                self.connection.go(subject, &call.round, request, on_notice).await
            }
            // So a server of revision 2025-11-25 says that the tool answers only as a task.
            Err(error) if !self.connection.modern && error.is_unsupported() => {
                let reply = self.connection.call_as_task(subject, &call, on_notice).await;
                if reply.is_ok() {
                    self.connection.task_tools.add(&call.name);
                }
                reply.map_err(|_| error)
            }
            // The official TypeScript package says the same in a result.
            Ok(Reply::Done(result)) if !self.connection.modern && tasks::wants_task(&result) => {
                let reply = self.connection.call_as_task(subject, &call, on_notice).await;
                if reply.is_ok() {
                    self.connection.task_tools.add(&call.name);
                }
                reply.or(Ok(Reply::Done(result)))
            }
            reply => reply,
        }
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// [`McpError`].
    pub async fn read(&self, reading: Reading) -> Result<Reply<Vec<Contents>>, McpError> {
        let mut params = ReadResourceRequestParams::new(reading.uri.clone());
        (params.input_responses, params.request_state) = wire_round(&reading.round);
        let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
        let reply = self
            .connection
            .go(format!("resource {}", reading.uri), &reading.round, request, silent())
            .await?;
        Ok(match reply {
            Reply::Done(answer::Read { contents }) => Reply::Done(contents),
            Reply::Input(needed) => Reply::Input(needed),
        })
    }

    /// Fills a prompt.
    ///
    /// # Errors
    /// [`McpError`].
    pub async fn prompt(&self, call: PromptCall) -> Result<Reply<PromptText>, McpError> {
        let mut params = GetPromptRequestParams::new(call.name.clone());
        let arguments = call.arguments.into_iter().map(|(name, value)| (name, Value::String(value)));
        params.arguments = Some(arguments.collect());
        (params.input_responses, params.request_state) = wire_round(&call.round);
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        self.connection.go(format!("prompt {}", call.name), &call.round, request, silent()).await
    }

    /// What may fill a place of a prompt or a template.
    ///
    /// # Errors
    /// [`McpError`].
    pub async fn complete(&self, completing: Completing) -> Result<Completions, McpError> {
        let of = match completing.of {
            CompletionOf::Prompt(name) => Reference::for_prompt(name),
            CompletionOf::Template(uri) => Reference::for_resource(uri),
        };
        let argument = rmcp::model::ArgumentInfo::new(completing.argument, completing.value);
        let mut params = CompleteRequestParams::new(of, argument);
        if !completing.others.is_empty() {
            params.context = Some(CompletionContext::with_arguments(completing.others.into_iter().collect()));
        }
        let request = ClientRequest::CompleteRequest(CompleteRequest::new(params));
        let answer::Completed { completion } = self.connection.ask("complete", request).await?;
        Ok(completion)
    }

    /// Reports from now on what changes at the server. A receiver that lags behind should read everything
    /// again.
    #[must_use]
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        let changes = self.connection.shared.calls.changes();
        self.connection.listening.begin(&self.connection);
        changes
    }

    /// Subscribes to changes of this resource; [`McpClient::changes`] reports them.
    ///
    /// # Errors
    /// [`McpError`] when the server does not offer subscriptions.
    pub async fn subscribe(&self, uri: &str) -> Result<(), McpError> {
        self.connection.listening.watch(&self.connection, uri, true).await
    }

    /// Ends the subscription.
    ///
    /// # Errors
    /// [`McpError`] when the server does not offer subscriptions.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), McpError> {
        self.connection.listening.watch(&self.connection, uri, false).await
    }

    /// Waits until the connection is over, and says why.
    pub async fn closed(&self) -> McpError {
        let mut alive = self.connection.alive.clone();
        while alive.changed().await.is_ok() {}
        self.connection.gone()
    }

    /// Whether the connection is over.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.connection.peer.is_transport_closed()
    }

    /// Closes the connection cleanly: running calls fail, and a session of the server is closed.
    pub async fn close(&self) {
        self.connection.shared.parked.clear();
        let engine = self.connection.engine.lock().await.take();
        if let Some(mut engine) = engine {
            let _ = engine.close_with_timeout(connect::GOODBYE).await;
        }
    }
}

impl Connection {
    /// Makes a request that the server may answer with a question, or takes up one that was set aside.
    async fn go<T: serde::de::DeserializeOwned>(
        &self,
        subject: String,
        round: &Round,
        request: ClientRequest,
        on_notice: OnNotice,
    ) -> Result<Reply<T>, McpError> {
        self.go_within(self.options.limits, subject, round, request, on_notice).await
    }

    /// The same within other limits than usual.
    async fn go_within<T: serde::de::DeserializeOwned>(
        &self,
        limits: Limits,
        subject: String,
        round: &Round,
        request: ClientRequest,
        on_notice: OnNotice,
    ) -> Result<Reply<T>, McpError> {
        if let Some(call) = Call::resume(&self.shared, &subject, round, on_notice.clone()) {
            let outcome = call?.go_on().await;
            return self.known(outcome).and_then(Outcome::read);
        }
        let outcome = self.admitted(|| async {
            let call = self.send(limits, subject.clone(), request.clone(), on_notice.clone()).await?;
            call.go_on().await
        });
        outcome.await?.read()
    }

    /// Makes a request that has one answer.
    async fn ask<T: serde::de::DeserializeOwned>(
        &self,
        what: &'static str,
        request: ClientRequest,
    ) -> Result<T, McpError> {
        let after = self.options.limits.request;
        let outcome = self.admitted(|| async {
            let limits = self.options.limits;
            let call = self.send(limits, what.to_owned(), request.clone(), silent()).await?;
            let late = |_| CallInterrupted::Known(McpError::TimedOut { what: "answer", after });
            tokio::time::timeout(after, call.go_on()).await.map_err(late)?
        });
        match outcome.await?.read()? {
            Reply::Done(value) => Ok(value),
            Reply::Input(_) => {
                Err(McpError::BadAnswer(format!("it asks a question where none is possible ({what})")))
            }
        }
    }

    /// Runs an operation, and repeats it after a login when the server required one.
    async fn admitted<T, F: Future<Output = Result<T, CallInterrupted>>>(
        &self,
        request: impl Fn() -> F,
    ) -> Result<T, McpError> {
        let mut logins = 0;
        loop {
            let turn = self.login.as_ref().map_or(0, |login| login.turn());
            let stopped = match request().await {
                Ok(value) => return Ok(value),
                Err(stopped) => stopped,
            };
            let challenge =
                if let CallInterrupted::Service(error) = &stopped { challenge_of(error) } else { None };
            match (challenge, &self.login) {
                (Some(challenge), Some(login)) if logins < MAX_LOGINS => {
                    Box::pin(login.renew(challenge, turn)).await?;
                }
                (Some(_), Some(login)) if login.is_unattended() => return Err(McpError::LoginNeeded),
                _ => return self.known(Err(stopped)),
            }
            logins += 1;
        }
    }

    async fn send(
        &self,
        limits: Limits,
        subject: String,
        request: ClientRequest,
        on_notice: OnNotice,
    ) -> Result<Call, CallInterrupted> {
        let level = self.options.log.filter(|_| self.modern);
        let meta = level.and_then(|level| serde_json::from_value(json!({ LOG_LEVEL: level })).ok());
        let meta = meta.unwrap_or_default();
        Call::send(&self.peer, &self.shared, limits, subject, request, meta, on_notice).await
    }

    /// Says what a stop means, with the reason for which we ended the connection where there is one.
    fn known<T>(&self, result: Result<T, CallInterrupted>) -> Result<T, McpError> {
        result.map_err(|stopped| match stopped {
            CallInterrupted::Known(error) => error,
            CallInterrupted::Service(rmcp::ServiceError::TransportClosed) => self.gone(),
            CallInterrupted::Service(error) => McpError::from(error),
        })
    }

    fn gone(&self) -> McpError {
        match self.fate.get() {
            Some(why) => McpError::TooLarge(why.clone()),
            None => McpError::Down("the tool server ended the connection".into()),
        }
    }
}

fn silent() -> OnNotice {
    Arc::new(|_| {})
}

/// The answers and the state of a round in the wire form of revision 2026-07-28.
fn wire_round(round: &Round) -> (Option<BTreeMap<String, Value>>, Option<String>) {
    let answers = (!round.answers.is_empty()).then(|| round.answers.clone());
    (answers, round.state.as_ref().and_then(Value::as_str).map(str::to_owned))
}
