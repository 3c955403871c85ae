//! Requests of the revisions with sessions: 2025-11-25 and before.
//!
//! Promises: a call that says something on the way, asks back or takes long is answered with a stream that a
//! client can come back to; all others with JSON. Hanging up does not end a call, `notifications/cancelled`
//! does. Questions of a tool go to the client as requests of the server, and the tool is called again with
//! the answers, a bounded number of times. It does not keep anything but sessions.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::JsonMap;
use agentsite_protocol::mcp::{Abilities, InputNeeded, Round};
use agentsite_site::{Change, Exchange, Notice, Toolkit};
use axum::response::Response;
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;

use super::answer::{Answer, json_response};
use super::feed::{self, Follower};
use super::message::{Answered, ClientMessage};
use super::notice::{self, NoticeFilter};
use super::operation::{Done, Operation, about};
use super::params::{Params, abilities, parse, text, wrong};
use super::session::{Running, Session};
use super::version::{Revision, SESSION, header};
use super::{McpCall, accepted, describe, round};
use crate::document::nothing;
use crate::failure::{Era, Failure, Fault};
use crate::jsonrpc::no_such_method;
use crate::sse;

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// How long an answer may take before it becomes a stream: no proxy has lost patience by then.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a client may take to answer a question: a person reads and thinks.
const ANSWER_TIME: Duration = Duration::from_secs(10 * 60);

/// Most times that one call asks back; a form and a few corrections.
const MAX_ROUNDS: usize = 16;

/// The methods of these revisions; some only where the set of tools has what they are about.
const METHODS: [&str; 13] = [
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
];

/// The session that a request belongs to.
pub(super) fn session(call: &McpCall<'_>) -> Result<Arc<Session>, Failure> {
    let Some(id) = header(&call.parts.headers, &SESSION)? else {
        let sentence =
            "send the header Mcp-Session-Id that `initialize` answered with, or use version 2026-07-28";
        return Err(Failure::new(Fault::BadRequest, sentence));
    };
    call.desk.sessions.find(id, &call.caller, call.toolkit.agent())
}

/// Answers one request.
pub(super) async fn answer(call: McpCall<'_>, asked: &ClientMessage<'_>, params: Params<'_>) -> Response {
    if asked.method == "initialize" {
        return initialize(&call, asked, &params).unwrap_or_else(|failure| refuse(&failure, asked));
    }
    // Without a session nothing is said in one: the status must be seen.
    let session = match session(&call) {
        Ok(session) => session,
        Err(failure) => return failure.mcp(Era::Stateless, Some(asked.id)),
    };
    request(call, &session, asked, params).await.unwrap_or_else(|failure| refuse(&failure, asked))
}

fn refuse(failure: &Failure, asked: &ClientMessage<'_>) -> Response {
    failure.mcp(Era::Sessions, Some(asked.id))
}

fn initialize(
    call: &McpCall<'_>,
    asked: &ClientMessage<'_>,
    params: &Params<'_>,
) -> Result<Response, Failure> {
    let revision = Revision::agreed(&text(params.protocol_version, "protocolVersion")?);
    let declared = params.capabilities.ok_or_else(|| wrong("`capabilities` is missing"))?;
    // A client that reads no streams cannot be asked.
    let abilities = if call.takes_events { abilities(declared, false)? } else { Abilities::default() };
    let agent = call.toolkit.agent().cloned();
    let rng = call.front.site.ids().rng();
    let session = call.desk.sessions.open(&call.caller, agent, revision, abilities, &**rng)?;
    let site = &call.front.site.settings().site.name;
    let described = describe::initialized(&call.toolkit, &call.toolkit.about(), site, revision);
    let mut response = Answer::Server(described).response(Era::Sessions, asked.id).map(json_response)?;
    let id = HeaderValue::from_str(&session.id).expect("the id of a session is visible ASCII");
    response.headers_mut().insert(SESSION, id);
    Ok(response)
}

async fn request(
    call: McpCall<'_>,
    session: &Arc<Session>,
    asked: &ClientMessage<'_>,
    params: Params<'_>,
) -> Result<Response, Failure> {
    let about = about(&call.toolkit, &asked.method);
    let answer = match &*asked.method {
        "ping" => Answer::Nothing,
        "logging/setLevel" => {
            let level = params.level.ok_or_else(|| wrong("`level` is missing"))?;
            session.set_level(parse(level, "level")?);
            Answer::Nothing
        }
        "resources/subscribe" | "resources/unsubscribe" if about.resources => {
            let uri = text(params.uri, "uri")?;
            session.subscribe(&uri, &call.toolkit, asked.method == "resources/subscribe")?;
            Answer::Nothing
        }
        method => {
            let Some(operation) = Operation::read(method, &params, &about)? else {
                return Err(no_such_method(method, &METHODS));
            };
            return operate(call, session, asked, params, operation).await;
        }
    };
    answer.response(Era::Sessions, asked.id).map(json_response)
}

async fn operate(
    call: McpCall<'_>,
    session: &Arc<Session>,
    asked: &ClientMessage<'_>,
    params: Params<'_>,
    operation: Operation,
) -> Result<Response, Failure> {
    if !matches!(operation, Operation::McpCall(_) | Operation::Read(_) | Operation::Prompt(_)) {
        let exchange = Exchange::silent(call.caller.clone(), session.abilities);
        return match operation.perform(&call.toolkit, exchange).await? {
            Done::Answer(answer) => answer.response(Era::Sessions, asked.id).map(json_response),
            Done::Input(_) => Err(Failure::new(Fault::AgentFailed, "the server asks back where it must not")),
        };
    }
    // A call that says something on the way needs a stream, and cannot be told so when it has begun.
    let place = if call.takes_events { Some(call.stream_place()?) } else { None };
    let meta = params.meta.unwrap_or_default();
    let progress = meta.progress.map(|token| token.get().to_owned());
    let running = session.begin(asked.id)?;
    let feed = Arc::clone(&running.feed);
    let work = Work {
        session: Arc::clone(session),
        toolkit: call.toolkit.clone(),
        exchange: Exchange::silent(call.caller.clone(), session.abilities),
        meta: meta.rest,
        wanted: NoticeFilter { progress, log: Some(session.level()) },
        operation,
        id: asked.id.to_owned(),
        running,
        closing: call.front.closing.clone(),
    };
    // Most calls end without waiting for anything: those need no task of their own. The work ends with its
    // session at the latest, and the tracker knows of it until then.
    let mut work = Box::pin(work.go());
    if futures::poll!(&mut work).is_pending() {
        call.desk.work.spawn(work);
    }
    let _at_work = call.at_work()?;
    let Some(place) = place else {
        return feed.end().await.map_or_else(|| Ok(accepted()), |json| Ok(json_response(json.to_vec())));
    };
    if let Ok(Some(json)) = tokio::time::timeout(PATIENCE, feed.settled()).await
        && super::takes(&call.parts.headers, "application/json")
    {
        return Ok(json_response(json.to_vec()));
    }
    let mut first = Vec::new();
    if session.revision.has_priming() {
        feed.prime(&mut first);
    }
    let source = Reading { follower: feed.follow_first(), session: Arc::clone(session) };
    Ok(sse::respond(call.front, place, first, source))
}

/// A call at work. It continues when its client hangs up.
struct Work {
    session: Arc<Session>,
    toolkit: Toolkit,
    exchange: Exchange,
    meta: JsonMap,
    wanted: NoticeFilter,
    operation: Operation,
    id: String,
    running: Running,
    /// Fires when the site must stop.
    closing: CancellationToken,
}

impl Work {
    async fn go(self) {
        let cancel = self.running.cancel.clone();
        tokio::select! {
            biased;
            // No client waits for the answer: none is sent.
            () = cancel.cancelled() => {}
            () = self.closing.cancelled() => {}
            answer = self.answer() => {
                let body = answer.unwrap_or_else(|failure| failure.mcp_body(Era::Sessions, Some(&self.id)));
                self.running.feed.push(body);
            }
        }
    }

    async fn answer(&self) -> Result<Vec<u8>, Failure> {
        let mut operation = self.operation.clone();
        for _ in 0..MAX_ROUNDS {
            let needed = match self.perform(operation).await? {
                Done::Answer(answer) => return answer.response(Era::Sessions, &self.id),
                Done::Input(needed) => needed,
            };
            round::check(self.session.abilities, &needed)?;
            let InputNeeded { requests, state } = needed;
            let answers = self.ask(requests).await?;
            operation = self.operation.clone().with(Round { answers, state });
        }
        let sentence = format!("the tool asked back {MAX_ROUNDS} times without coming to an end");
        Err(Failure::new(Fault::AgentFailed, sentence))
    }

    /// Does it once, and tells on the way what is wanted.
    async fn perform(&self, operation: Operation) -> Result<Done, Failure> {
        let (mut exchange, mut notices) =
            Exchange::new(self.exchange.caller.clone(), self.exchange.abilities);
        exchange.meta.clone_from(&self.meta);
        exchange.cancel = self.running.cancel.clone();
        let mut work = std::pin::pin!(operation.perform(&self.toolkit, exchange));
        loop {
            tokio::select! {
                biased;
                Some(notice) = notices.recv() => self.tell(&notice),
                done = &mut work => {
                    self.tell_rest(&mut notices);
                    return done;
                }
            }
        }
    }

    fn tell_rest(&self, notices: &mut mpsc::Receiver<Notice>) {
        while let Ok(notice) = notices.try_recv() {
            self.tell(&notice);
        }
    }

    fn tell(&self, notice: &Notice) {
        if *notice == Notice::Detach && self.session.revision.has_priming() {
            self.running.feed.release();
        }
        if let Some(json) = self.wanted.write(notice) {
            self.running.feed.push(json);
        }
    }

    /// Puts questions to the client and waits for all answers.
    async fn ask(
        &self,
        requests: BTreeMap<String, agentsite_protocol::mcp::InputRequest>,
    ) -> Result<BTreeMap<String, Value>, Failure> {
        let mut waiting = Vec::with_capacity(requests.len());
        for (name, request) in requests {
            let (number, answer) = self.session.question();
            let mut question = json!({ "jsonrpc": "2.0", "id": number, "method": request.method });
            if !request.params.is_empty() {
                question["params"] = Value::Object(request.params);
            }
            self.running.feed.push(question.to_string().into_bytes());
            waiting.push((name, request.method, answer));
        }
        let mut answers = BTreeMap::new();
        for (name, method, answer) in waiting {
            let said = tokio::time::timeout(ANSWER_TIME, answer).await;
            let answer = match said {
                Ok(Ok(Ok(answer))) => answer,
                // A client that cannot be asked has not agreed.
                Ok(Ok(Err(_))) if method == "elicitation/create" => json!({ "action": "cancel" }),
                Ok(Ok(Err(why))) => return Err(unanswered(&method, &why)),
                Ok(Err(_)) => return Err(unanswered(&method, "the session ended")),
                Err(_) => return Err(unanswered(&method, "no answer came in time")),
            };
            answers.insert(name, answer);
        }
        Ok(answers)
    }
}

fn unanswered(method: &str, why: &str) -> Failure {
    let short: String = why.chars().take(200).collect();
    Failure::new(
        Fault::AgentFailed,
        format!("the tool asked your client ({method}) and got no answer: {short}"),
    )
}

/// Somebody reads the stream of a request.
struct Reading {
    follower: Follower,
    session: Arc<Session>,
}

impl sse::SseSource for Reading {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + '_>> {
        Box::pin(async {
            let Self { follower, session } = self;
            tokio::select! {
                biased;
                next = follower.next() => next,
                () = session.ended.cancelled() => None,
            }
        })
    }
}

/// Takes a notification.
pub(super) fn notified(session: &Session, asked: &ClientMessage<'_>) -> Result<(), Failure> {
    if asked.method == "notifications/cancelled" {
        let params = Params::read(asked)?;
        if let Some(id) = params.request_id {
            session.cancel(id.get());
        }
    }
    Ok(())
}

/// Takes an answer to a question.
pub(super) fn answered(session: &Session, answered: &Answered<'_>) {
    let Ok(number) = answered.id.parse() else { return };
    let read = |json: &str| serde_json::from_str::<Value>(json).unwrap_or_default();
    let said = match answered.outcome {
        Ok(result) => Ok(read(result)),
        Err(error) => Err(read(error)["message"].as_str().unwrap_or("an error").to_owned()),
    };
    session.answer(number, said);
}

/// Opens the stream of what belongs to no request, or resumes one that was cut off.
pub(super) fn open_stream(call: &McpCall<'_>) -> Result<Response, Failure> {
    if !call.takes_events {
        return Err(Failure::new(Fault::NotAcceptable, "this is a stream; send Accept: text/event-stream"));
    }
    let session = session(call)?;
    let seen = header(&call.parts.headers, &LAST_EVENT)?.filter(|id| !id.is_empty());
    let (number, seen) = match seen {
        None => (0, session.general.last()),
        Some(id) => feed::read_id(id).ok_or_else(|| wrong("Last-Event-ID is none of this site's"))?,
    };
    let feed = session
        .stream(number)
        .ok_or_else(|| wrong("the stream of this Last-Event-ID is no longer kept; ask again"))?;
    let place = call.stream_place()?;
    let mut first = Vec::new();
    if session.revision.has_priming() && number == 0 && seen == 0 {
        feed.prime(&mut first);
    }
    let follower = feed.follow(seen);
    if number > 0 {
        return Ok(sse::respond(call.front, place, first, Reading { follower, session }));
    }
    let changes = call.toolkit.changes();
    Ok(sse::respond(call.front, place, first, General { follower, session, changes }))
}

/// Ends a session.
pub(super) fn close(call: &McpCall<'_>) -> Result<Response, Failure> {
    call.desk.sessions.close(&*session(call)?);
    Ok(nothing())
}

/// Somebody listens to what belongs to no request.
struct General {
    follower: Follower,
    session: Arc<Session>,
    changes: Option<broadcast::Receiver<Change>>,
}

impl General {
    /// Adds a change to the stream when the session wants to know.
    fn note(session: &Session, change: &Change) {
        if let Change::Resource(uri) = change
            && !session.follows(uri)
        {
            return;
        }
        let (method, params) = notice::change(change);
        session.general.push(notice::notification(method, &params));
    }
}

impl sse::SseSource for General {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + '_>> {
        Box::pin(async {
            let Self { follower, session, changes } = self;
            loop {
                let changed = async {
                    match changes.as_mut() {
                        Some(changes) => changes.recv().await,
                        None => std::future::pending().await,
                    }
                };
                let change = tokio::select! {
                    biased;
                    next = follower.next() => return next,
                    () = session.ended.cancelled() => return None,
                    change = changed => change,
                };
                match change {
                    Ok(change) => Self::note(session, &change),
                    Err(broadcast::error::RecvError::Lagged(_)) => {
                        let lists = [Change::Tools, Change::Resources, Change::Prompts];
                        let resources = session.followed().into_iter().map(Change::Resource);
                        lists.into_iter().chain(resources).for_each(|change| Self::note(session, &change));
                    }
                    Err(broadcast::error::RecvError::Closed) => *changes = None,
                }
            }
        })
    }
}
