//! One message to the site and what comes back, over HTTP.
//!
//! Promises: a request gets exactly one answer, the site's or a sentence why there is none; what comes before
//! it (progress, questions of old-era servers) comes first. A message that no site took is sent again once,
//! to the site as it is found anew; one that may have been taken is not. A session that the site has
//! forgotten is opened again with the original request.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_client::sse::{SseLimits, sse_events};
use agentsite_egress::{EgressAnswer, EgressError};
use agentsite_gateway::Unanswered;
use futures::StreamExt;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::connection::{Address, SiteConnection};
use super::mirror::{self, Mirror};
use super::wire::{Kind, Message, one_line};
use crate::output::Output;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// How long a call may take: a tool may work for hours, and a client that no longer waits cancels.
const CALL_TIME: Duration = Duration::from_secs(86_400);

/// How long the site may take to accept a notification.
const NOTICE_TIME: Duration = Duration::from_secs(30);

/// Most bytes of one answer or stream.
const MAX_ANSWER: usize = 1 << 30;

/// Largest event that is read: more than the largest message that a site can be set to take.
const MAX_EVENT: usize = 64 << 20;

/// Pause before a stream of messages that broke off is opened again.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// Carries messages to the site and back.
pub(super) struct Relay {
    connection: tokio::sync::Mutex<SiteConnection>,
    // std locks: held for a look or a change, never across an await.
    session: Mutex<Session>,
    mirror: Mutex<Mirror>,
    out: mpsc::Sender<String>,
    output: Output,
}

/// What an old-era client and the site agreed on.
#[derive(Debug, Default)]
struct Session {
    id: Option<HeaderValue>,
    version: Option<String>,
    /// The request that opened it.
    opening: Option<String>,
    /// Whether the client has said that it is ready.
    is_ready: bool,
    /// Whether the site has no stream for messages that answer nothing.
    is_silent: bool,
    /// Listens for such messages.
    listening: Option<AbortHandle>,
}

/// Why there is no answer, and in which words.
struct RelayError(Unanswered, String);

impl Relay {
    pub(super) fn new(connection: SiteConnection, out: mpsc::Sender<String>, output: Output) -> Self {
        let connection = tokio::sync::Mutex::new(connection);
        Self { connection, session: Mutex::default(), mirror: Mutex::default(), out, output }
    }

    /// Carries a message, and everything that it leads to.
    pub(super) async fn carry(&self, message: &Message) {
        let carried = match self.post(message).await {
            Ok(answer) => self.deliver(message, answer).await,
            Err(trouble) => Err(trouble),
        };
        match (carried, &message.kind) {
            (Ok(()), _) => {}
            (Err(RelayError(why, sentence)), Kind::Request(id)) => self.send(why.answer(id, &sentence)).await,
            (Err(RelayError(_, sentence)), _) => self.output.note(&sentence),
        }
    }

    /// Writes a line to the client; one that is gone is noticed by the writer.
    pub(super) async fn send(&self, line: String) {
        let _ = self.out.send(line).await;
    }

    /// Ends the session and the site, if they are ours.
    pub(super) async fn close(&self) {
        let session = std::mem::take(&mut *self.session());
        if let Some(listening) = session.listening {
            listening.abort();
        }
        let mut connection = self.connection.lock().await;
        if let (Some(id), Some(address)) = (session.id, connection.known().await) {
            let request = address.request(Method::DELETE).header(SESSION, id).timeout(NOTICE_TIME);
            let _ = request.send().await;
        }
        connection.close().await;
    }

    async fn post(&self, message: &Message) -> Result<EgressAnswer, RelayError> {
        let is_request = matches!(message.kind, Kind::Request(_));
        let in_session = self.is_in_session(message);
        // Each once: a site that is gone is looked for, and a new one does not know the session.
        let (mut may_look, mut may_reopen) = (true, true);
        loop {
            let address = self.address().await?;
            let time = if is_request { CALL_TIME } else { NOTICE_TIME };
            let request = address.request(Method::POST).headers(&self.headers(message));
            let sent = request.body("application/json", message.text.clone()).timeout(time).limit(MAX_ANSWER);
            match sent.send().await {
                Ok(answer) if may_reopen && answer.status() == StatusCode::NOT_FOUND && in_session => {
                    may_reopen = false;
                    self.reopen(&address).await?;
                }
                Ok(answer) => return Ok(answer),
                Err(error) => {
                    self.connection.lock().await.lost();
                    let was_not_taken = matches!(error, EgressError::NoConnection { .. });
                    if !(may_look && was_not_taken) {
                        let sentence = format!("the site at {} does not answer: {error}", address.shown());
                        return Err(RelayError(Unanswered::NoSite, sentence));
                    }
                    may_look = false;
                }
            }
        }
    }

    async fn address(&self) -> Result<Address, RelayError> {
        let found = self.connection.lock().await.address().await;
        found.map_err(|error| RelayError(Unanswered::NoSite, format!("there is no site: {error}")))
    }

    fn headers(&self, message: &Message) -> HeaderMap {
        let mut headers = self.mirror().headers(&message.value);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if self.is_in_session(message) {
            self.session().dress(&mut headers);
        }
        headers
    }

    /// Whether a message belongs to the session of an old-era client.
    fn is_in_session(&self, message: &Message) -> bool {
        let is_old = mirror::version(&message.value).is_none() && message.method() != "initialize";
        is_old && self.session().version.is_some()
    }

    async fn deliver(&self, message: &Message, answer: EgressAnswer) -> Result<(), RelayError> {
        let status = answer.status();
        match message.method() {
            "initialize" if status.is_success() => {
                self.begin(message, answer.headers().get(SESSION).cloned());
            }
            "notifications/initialized" => self.session().is_ready = true,
            _ => {}
        }
        let broken =
            |error: EgressError| RelayError(Unanswered::BadAnswer, format!("the answer broke off: {error}"));
        let answered = if answer.is_type("text/event-stream") {
            self.follow(message, answer).await?
        } else {
            let bytes = answer.bytes().await.map_err(broken)?;
            let text = String::from_utf8_lossy(&bytes);
            if text.trim().is_empty() { false } else { self.forward(Some(message), &text).await }
        };
        match &message.kind {
            Kind::Request(_) if !answered => {
                let sentence = format!("the site answered {status} without an answer to the request");
                return Err(RelayError(Unanswered::BadAnswer, sentence));
            }
            Kind::Request(_) => {}
            _ if !status.is_success() => {
                return Err(RelayError(
                    Unanswered::BadAnswer,
                    format!("the site answered {status} to {}", message.method()),
                ));
            }
            _ => {}
        }
        Ok(())
    }

    /// Forwards a stream; gives whether the request was answered in it.
    async fn follow(&self, message: &Message, answer: EgressAnswer) -> Result<bool, RelayError> {
        let mut events = sse_events(answer.stream(), SseLimits::new(MAX_EVENT));
        let mut answered = false;
        while let Some(event) = events.next().await {
            let event = event.map_err(|error| {
                RelayError(Unanswered::BadAnswer, format!("the site broke off before it answered: {error}"))
            })?;
            if let Some(data) = event.data.filter(|data| !data.is_empty()) {
                answered |= self.forward(Some(message), &data).await;
            }
        }
        Ok(answered)
    }

    /// Forwards a message of the site; gives whether it answers `request`.
    async fn forward(&self, request: Option<&Message>, text: &str) -> bool {
        let id = request.and_then(|request| match &request.kind {
            Kind::Request(id) => Some(id.as_str()),
            _ => None,
        });
        let Some(line) = one_line(text, id) else {
            self.output.note("the site sent something that is not a message; it was ignored");
            return false;
        };
        let answers = id.is_some_and(|id| Message::read(line.as_bytes()).is_ok_and(|said| said.answers(id)));
        let line = match request {
            Some(request) if answers => self.heed(request, line),
            // An error in the form of another protocol is written in the form of this one.
            Some(_) if id.is_some() && !line.contains("\"jsonrpc\"") => {
                return self.send_refusal(id.unwrap_or("null"), &line).await;
            }
            _ => line,
        };
        self.send(line).await;
        answers
    }

    async fn send_refusal(&self, id: &str, body: &str) -> bool {
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let sentence = body["error"]["message"].as_str().unwrap_or("the site refused without a reason");
        self.send(Unanswered::BadAnswer.answer(id, sentence)).await;
        true
    }

    /// Takes from an answer what later messages need.
    fn heed(&self, request: &Message, line: String) -> String {
        let params = &request.value["params"];
        match request.method() {
            "initialize" => {
                let answer: Value = serde_json::from_str(&line).unwrap_or_default();
                self.session().version = answer["result"]["protocolVersion"].as_str().map(ToOwned::to_owned);
                line
            }
            "tools/list" if mirror::version(&request.value).is_some() => {
                let mut answer: Value = serde_json::from_str(&line).unwrap_or_default();
                let refused = self.mirror().learn(&mut answer, params["cursor"].is_null());
                if refused.is_empty() {
                    return line;
                }
                self.output
                    .note(&format!("left out because their headers are not allowed: {}", refused.join(", ")));
                answer.to_string()
            }
            _ => line,
        }
    }

    /// Begins a session.
    fn begin(&self, message: &Message, id: Option<HeaderValue>) {
        let mut session = self.session();
        if let Some(listening) = session.listening.take() {
            listening.abort();
        }
        *session = Session { id, opening: Some(message.text.clone()), ..Session::default() };
    }

    /// Opens the session again after the site has forgotten it.
    async fn reopen(&self, address: &Address) -> Result<(), RelayError> {
        let opening = self.session().opening.clone();
        let lost =
            || RelayError(Unanswered::NoSite, "the site has forgotten the session; initialize again".into());
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        let post = |text: String| {
            let request = address.request(Method::POST).header(ACCEPT, accept.clone());
            request.body("application/json", text).timeout(NOTICE_TIME)
        };
        let answer = post(opening.ok_or_else(lost)?).send().await.map_err(|_| lost())?;
        if !answer.status().is_success() {
            return Err(lost());
        }
        let id = answer.headers().get(SESSION).cloned();
        let _ = answer.bytes().await;
        let mut headers = HeaderMap::new();
        {
            let mut session = self.session();
            session.id = id;
            session.dress(&mut headers);
        }
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned();
        post(initialized).headers(&headers).send().await.map_err(|_| lost())?;
        self.output.note("the site was restarted; the session continues");
        Ok(())
    }

    /// Whether there is a session in which the site may send by itself, and no listener yet.
    pub(super) fn may_listen(&self) -> bool {
        let session = self.session();
        let is_heard = session.listening.as_ref().is_some_and(|listening| !listening.is_finished());
        session.id.is_some() && session.is_ready && !session.is_silent && !is_heard
    }

    /// Sets the receiver of messages that answer nothing.
    pub(super) fn is_heard_by(&self, listening: AbortHandle) {
        self.session().listening = Some(listening);
    }

    /// Forwards what the site says by itself, for as long as it has a stream for that.
    pub(super) async fn listen(&self) {
        let mut last: Option<HeaderValue> = None;
        loop {
            let Some(address) = self.connection.lock().await.known().await else {
                tokio::time::sleep(LISTEN_AGAIN).await;
                continue;
            };
            let mut headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("text/event-stream"))]);
            self.session().dress(&mut headers);
            headers.extend(last.clone().map(|id| (LAST_EVENT, id)));
            let request =
                address.request(Method::GET).headers(&headers).timeout(NOTICE_TIME).limit(MAX_ANSWER);
            match request.send().await {
                Ok(answer) if answer.status().is_success() => {
                    let mut events = sse_events(answer.stream(), SseLimits::new(MAX_EVENT));
                    while let Some(Ok(event)) = events.next().await {
                        let id = event.id.filter(|id| !id.is_empty());
                        last = id.and_then(|id| HeaderValue::from_str(&id).ok()).or(last);
                        if let Some(data) = event.data.filter(|data| !data.is_empty()) {
                            self.forward(None, &data).await;
                        }
                    }
                }
                // A site that has no such stream says so, one that forgot the session learns of it by the
                // next message.
                Ok(answer) => {
                    self.session().is_silent = answer.status() != StatusCode::NOT_FOUND;
                    return;
                }
                Err(_) => self.connection.lock().await.lost(),
            }
            tokio::time::sleep(LISTEN_AGAIN).await;
        }
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mirror(&self) -> MutexGuard<'_, Mirror> {
        self.mirror.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    fn dress(&self, headers: &mut HeaderMap) {
        headers.extend(self.id.clone().map(|id| (SESSION, id)));
        if let Some(version) = &self.version {
            mirror::put_version(headers, version);
        }
    }
}
