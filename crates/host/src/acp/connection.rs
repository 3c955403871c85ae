//! Connection: one life of an ACP agent's process, and the talk with it.
//!
//! Promises: answers reach their request, updates and questions the turn of their session, in order. Nothing
//! that the agent does holds memory without bound: lines, waiting updates and open requests are limited.
//! Updates that belong to no turn are dropped, questions that belong to none are answered as cancelled.
//! Callers that wait when the connection ends learn so.
//!
//! It does not know what an update means; see `turn`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use agentsite_protocol::Period;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

use super::files::FileDoor;
use super::port::{Inbox, Port};
use super::wire::{self, Abilities, Incoming, PermissionRequest, RpcError};
use crate::child::{Bulletin, Lines};
use crate::{AgentLog, LogSource};

/// Longest line that an agent may send: a large picture in base64.
const MAX_LINE: usize = 8 << 20;

/// Messages that may wait to be written; an agent that reads none of so many does not listen.
const WRITE_QUEUE: usize = 64;

/// Requests that may be unanswered at once; more only gather when an agent never answers what was cancelled.
const MOST_REQUESTS: usize = 1_024;

/// Consecutive lines that may be something other than a message; agents print banners and warnings.
const MOST_GARBAGE: usize = 1_000;

/// Why a request has no result.
#[derive(Debug, Clone)]
pub(super) enum RequestError {
    /// The agent refused it.
    Refused(RpcError),
    /// The talk ended before it was answered.
    Lost,
}

/// The result of a request.
pub(super) type Answered = Result<Value, RequestError>;

/// A request that the agent has not answered yet.
#[derive(Debug)]
struct PendingRequest {
    reply: oneshot::Sender<Answered>,
    /// The session that is busy with it.
    session: Option<String>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    asked: HashMap<u64, PendingRequest>,
    ports: HashMap<String, Port>,
    closed: bool,
}

/// What is the same for every life of the process.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    /// Which files the agent may ask the site for.
    pub(super) files: FileDoor,
    /// The way to sign in that the manifest names.
    pub(super) auth_method: Option<String>,
    /// How long it may take until the agent is ready.
    pub(super) patience: Duration,
    /// Where its noise goes.
    pub(super) log: AgentLog,
}

/// The talk with one process of the agent.
#[derive(Debug)]
pub(super) struct Connection {
    /// Which life of the agent this is; sessions of another one are gone.
    pub(super) life: u64,
    out: mpsc::Sender<Value>,
    // A std lock: held for a look-up, never across an await.
    state: Mutex<State>,
    abilities: OnceLock<Abilities>,
    terms: Terms,
}

impl Connection {
    /// Talks through these pipes until the talk ends; says why, or `None` when the agent hung up. Declares
    /// the agent ready on the bulletin.
    pub(super) async fn serve(
        life: u64,
        from: impl AsyncRead + Unpin,
        to: impl AsyncWrite + Unpin,
        terms: Terms,
        bulletin: Arc<Bulletin<Self>>,
    ) -> Option<String> {
        let (out, queue) = mpsc::channel(WRITE_QUEUE);
        let connection =
            Arc::new(Self { life, out, state: Mutex::default(), abilities: OnceLock::new(), terms });
        let end = tokio::select! {
            end = connection.read(from) => end,
            () = write(to, queue) => Some("its server was ended: it closed its input; see its log".into()),
            reason = connection.begin(&bulletin) => Some(reason),
        };
        connection.close();
        end
    }

    /// What the agent can do.
    pub(super) fn abilities(&self) -> &Abilities {
        static NOTHING: OnceLock<Abilities> = OnceLock::new();
        self.abilities.get().unwrap_or_else(|| NOTHING.get_or_init(Abilities::default))
    }

    /// Agrees on the version, signs in, and declares the agent ready; comes back only with a reason why not.
    async fn begin(self: &Arc<Self>, bulletin: &Bulletin<Self>) -> String {
        let beginning = self.agree();
        let patience = self.terms.patience;
        match tokio::time::timeout(patience, beginning).await {
            Ok(Ok(())) => bulletin.ready(self.clone()),
            Ok(Err(reason)) => return reason,
            Err(_) => {
                return format!(
                    "its server did not complete the handshake within {}; see its log, and check that it \
                     supports ACP",
                    Period(patience)
                );
            }
        }
        std::future::pending().await
    }

    async fn agree(&self) -> Result<(), String> {
        let refused = |what: &str| {
            let what = what.to_owned();
            move |trouble| match trouble {
                RequestError::Refused(error) => format!("its server refused {what}: {}", error.words()),
                RequestError::Lost => "its server hung up".to_owned(),
            }
        };
        let files = &self.terms.files;
        let hello = json!({
            "protocolVersion": wire::VERSION,
            "clientCapabilities": {
                "fs": {"readTextFile": files.may_read(), "writeTextFile": files.may_write()},
                "terminal": false
            },
            "clientInfo": {"name": "agentsite", "title": "agentsite", "version": env!("CARGO_PKG_VERSION")}
        });
        let answer = self.ask("initialize", &hello).await.map_err(refused("to begin"))?;
        let abilities = Abilities::read(&answer)?;
        if let Some(method) = &self.terms.auth_method {
            if !abilities.auth_methods.contains(method) {
                let known = abilities.auth_methods.join(", ");
                return Err(format!(
                    "its server has no sign-in method `{method}`; it has: {known}; correct auth_method in \
                     agent.toml"
                ));
            }
            self.ask("authenticate", &json!({"methodId": method})).await.map_err(refused("the sign-in"))?;
        }
        let _ = self.abilities.set(abilities);
        Ok(())
    }

    /// Asks the agent and waits for its answer.
    ///
    /// # Errors
    /// [`RequestError`] when the agent refuses or the talk ends.
    pub(super) async fn ask(&self, method: &str, params: &Value) -> Answered {
        self.request(method, params, None).await?.await.unwrap_or(Err(RequestError::Lost))
    }

    /// Asks the agent; the answer can be waited for at leisure. `session` counts as busy until it comes.
    ///
    /// # Errors
    /// [`RequestError::Lost`] when the talk has ended.
    pub(super) async fn request(
        &self,
        method: &str,
        params: &Value,
        session: Option<String>,
    ) -> Result<oneshot::Receiver<Answered>, RequestError> {
        let (reply, answer) = oneshot::channel();
        let id = {
            let mut state = self.lock();
            if state.closed || state.asked.len() >= MOST_REQUESTS {
                return Err(RequestError::Lost);
            }
            state.next += 1;
            let id = state.next;
            state.asked.insert(id, PendingRequest { reply, session });
            id
        };
        self.out.send(wire::request(id, method, params)).await.map_err(|_| RequestError::Lost)?;
        Ok(answer)
    }

    /// Tells the agent something; it is lost when the agent does not listen.
    pub(super) fn tell(&self, method: &str, params: &Value) {
        let _ = self.out.try_send(wire::notification(method, params));
    }

    /// Sends a request whose answer is not needed.
    pub(super) fn ask_in_passing(&self, method: &str, params: &Value) {
        let id = {
            let mut state = self.lock();
            state.next += 1;
            state.next
        };
        let _ = self.out.try_send(wire::request(id, method, params));
    }

    /// Answers a request of the agent; tells whether the agent still listens.
    pub(super) fn answer(&self, id: &Value, answer: Result<Value, RpcError>) -> bool {
        self.out.try_send(wire::answer(id, answer)).is_ok()
    }

    /// Whether the agent is still busy with a request in this session whose answer is no longer needed.
    pub(super) fn is_busy(&self, session: &str) -> bool {
        self.lock().asked.values().any(|asked| asked.session.as_deref() == Some(session))
    }

    /// Whether the talk has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// From now on what comes for this session goes to this inbox.
    pub(super) fn listen(&self, session: &str) -> Inbox {
        let (port, inbox) = Port::open();
        let mut state = self.lock();
        if !state.closed {
            state.ports.insert(session.to_owned(), port);
        }
        inbox
    }

    /// This session has no listener any more.
    pub(super) fn hang_up(&self, session: &str) {
        self.lock().ports.remove(session);
    }

    /// Reads until the end; `None` when the agent hung up.
    async fn read(&self, from: impl AsyncRead + Unpin) -> Option<String> {
        let mut lines = Lines::new(from, MAX_LINE);
        let mut garbage = 0;
        loop {
            let line = match lines.next().await {
                Ok(Some(line)) => line,
                Ok(None) => return None,
                Err(error) => return Some(format!("its server was ended: {error}")),
            };
            match serde_json::from_slice::<Incoming>(&line) {
                Ok(message) => {
                    garbage = 0;
                    if let Err(reason) = self.take(message, line.len()).await {
                        return Some(reason);
                    }
                }
                Err(_) => {
                    garbage += 1;
                    self.terms.log.push(LogSource::Out, &String::from_utf8_lossy(&line));
                }
            }
            if garbage > MOST_GARBAGE {
                return Some(
                    "its server was ended: it prints output that is not a message; check that it supports \
                     ACP"
                    .into(),
                );
            }
            // A flood of messages must not occupy a core.
            tokio::task::consume_budget().await;
        }
    }

    async fn take(&self, message: Incoming, size: usize) -> Result<(), String> {
        let Incoming { id, method, params, result, error } = message;
        match (method, id) {
            (None, Some(id)) => {
                self.settle(&id, error.map_or(Ok(result), |error| Err(RequestError::Refused(error))));
            }
            (Some(method), None) if method == "session/update" => self.update(params, size).await,
            (Some(method), Some(id)) => {
                if !self.serve_request(&method, id, params, size).await {
                    return Err("its server was ended: it does not read its input".into());
                }
            }
            (Some(_) | None, None) => {}
        }
        Ok(())
    }

    fn settle(&self, id: &Value, answered: Answered) {
        let asked = id.as_u64().and_then(|id| self.lock().asked.remove(&id));
        if let Some(asked) = asked {
            let _ = asked.reply.send(answered);
        }
    }

    async fn update(&self, mut params: Value, size: usize) {
        let Some(port) = self.port(&params) else { return };
        if !port.update(params["update"].take(), size).await {
            self.hang_up(params["sessionId"].as_str().unwrap_or_default());
        }
    }

    /// Serves a request of the agent; tells whether the agent still listens.
    async fn serve_request(&self, method: &str, id: Value, params: Value, size: usize) -> bool {
        match method {
            "session/request_permission" => {
                let Some(port) = self.port(&params) else { return self.answer(&id, Ok(cancelled())) };
                match serde_json::from_value::<PermissionRequest>(params) {
                    Ok(request) => match port.question(id, request, size).await {
                        Ok(()) => true,
                        Err(id) => self.answer(&id, Ok(cancelled())),
                    },
                    Err(error) => self.answer(&id, Err(RpcError::refused(error.to_string()))),
                }
            }
            "fs/read_text_file" => self.answer(&id, self.terms.files.read(&params).await),
            "fs/write_text_file" => self.answer(&id, self.terms.files.write(&params).await),
            _ => self.answer(&id, Err(RpcError::no_such_method(method))),
        }
    }

    fn port(&self, params: &Value) -> Option<Port> {
        self.lock().ports.get(params["sessionId"].as_str()?).cloned()
    }

    /// Ends the connection for all waiting requests.
    fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.ports.clear();
        for (_, asked) in state.asked.drain() {
            let _ = asked.reply.send(Err(RequestError::Lost));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer to a question that will not be answered.
pub(super) fn cancelled() -> Value {
    json!({"outcome": {"outcome": "cancelled"}})
}

/// How long an agent that closed its input may still live: mostly it is about to end, and its exit says more.
const DEAF: Duration = Duration::from_secs(1);

/// Writes what is queued; ends a while after the agent has closed its input.
async fn write(mut to: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Value>) {
    while let Some(message) = queue.recv().await {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        if to.write_all(&line).await.is_err() || to.flush().await.is_err() {
            break;
        }
    }
    tokio::time::sleep(DEAF).await;
}
