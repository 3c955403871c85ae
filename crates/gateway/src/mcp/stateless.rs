//! Requests of the stateless revisions: each one says everything about itself, and nothing is kept between
//! two.
//!
//! Promises: the order of checks is version, method, head, `_meta`, parameters. A call is answered with JSON,
//! or with a stream when there is something to tell before its result; hanging up ends the call. Questions go
//! back as a result with a sealed state. Nothing here outlives its request.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use agentsite_protocol::mcp::{Abilities, InputNeeded, ToolCall};
use agentsite_site::{About, Exchange, Notice, Site, Toolkit};
use axum::response::Response;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

use super::answer::{Answer, json_response};
use super::message::ClientMessage;
use super::notice::NoticeFilter;
use super::operation::{Done, Operation, about, named};
use super::params::{Params, abilities, text, wrong};
use super::round::{self, Bond};
use super::task::{needs_tasks, task_id};
use super::{McpCall, McpState, describe, headers, listen, version};
use crate::failure::{Era, Failure};
use crate::jsonrpc::no_such_method;
use crate::sse;
use crate::visit::StreamPlace;

/// The methods of these revisions; some only where the set of tools has what they are about.
pub(super) const METHODS: [&str; 13] = [
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "subscriptions/listen",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];

/// Answers one request.
pub(super) async fn answer(call: McpCall<'_>, asked: &ClientMessage<'_>, params: Params<'_>) -> Response {
    let id = asked.id;
    match request(call, asked, params).await {
        Ok(response) => response,
        Err(failure) => failure.mcp(Era::Stateless, Some(id)),
    }
}

async fn request(
    call: McpCall<'_>,
    asked: &ClientMessage<'_>,
    params: Params<'_>,
) -> Result<Response, Failure> {
    let about = about(&call.toolkit, &asked.method);
    version::check(&call.parts.headers, params.meta.as_ref(), is_known(&asked.method, &about))?;
    if !is_known(&asked.method, &about) {
        return Err(no_such_method(&asked.method, &METHODS));
    }
    let name = named(&asked.method, &params)?;
    headers::check(&call.parts.headers, &asked.method, name.as_deref())?;
    let declared = params.meta.as_ref().and_then(|meta| meta.capabilities).ok_or_else(|| {
        wrong("`_meta` must say `io.modelcontextprotocol/clientCapabilities` with every request; {} when there are none")
    })?;
    let abilities = abilities(declared, true)?;
    match &*asked.method {
        "server/discover" => {
            let site = &call.front.site.settings().site.name;
            let described = describe::discovered(&call.toolkit, &about, site);
            Answer::Server(described).response(Era::Stateless, asked.id).map(json_response)
        }
        "subscriptions/listen" => Box::pin(listen::answer(&call, asked, &params, &about, abilities)).await,
        "tasks/get" | "tasks/update" | "tasks/cancel" => {
            let answer = Box::pin(task(&call, &asked.method, &params, abilities)).await?;
            answer.response(Era::Stateless, asked.id).map(json_response)
        }
        _ => operate(call, asked, params, &about, abilities).await,
    }
}

fn is_known(method: &str, about: &About) -> bool {
    let there = match method.split('/').next() {
        Some("resources") => about.resources,
        Some("prompts") => about.prompts,
        Some("completion") => about.completions,
        _ => true,
    };
    there && METHODS.contains(&method)
}

/// Performs what both eras can ask.
async fn operate(
    call: McpCall<'_>,
    asked: &ClientMessage<'_>,
    mut params: Params<'_>,
    about: &About,
    abilities: Abilities,
) -> Result<Response, Failure> {
    let Some(operation) = Operation::read(&asked.method, &params, about)? else {
        return Err(no_such_method(&asked.method, &METHODS));
    };
    let meta = params.meta.take().unwrap_or_default();
    let wanted =
        NoticeFilter { progress: meta.progress.map(|token| token.get().to_owned()), log: meta.log_level()? };
    let (mut exchange, notices) = if wanted.is_nothing() || !call.takes_events {
        (Exchange::silent(call.caller.clone(), abilities), None)
    } else {
        let (exchange, notices) = Exchange::new(call.caller.clone(), abilities);
        (exchange, Some(notices))
    };
    exchange.meta = meta.rest;
    if let Operation::McpCall(called) = &operation {
        check_arguments(&call, &exchange, called).await?;
    }
    let operation = if params.input_responses.is_some() || params.request_state.is_some() {
        let now = call.front.site.ids().clock().now();
        operation.with(round::read(&params, &call.desk.seal, &call.bond(&asked.method, &params)?, now)?)
    } else {
        operation
    };
    let guard = exchange.cancel.clone().drop_guard();
    let Some(notices) = notices else {
        let done = operation.perform(&call.toolkit, exchange).await?;
        guard.disarm();
        let answer = match done {
            Done::Answer(answer) => answer,
            Done::Input(needed) => Asking::new(&call, asked, &params, abilities)?.put(needed)?,
        };
        return answer.response(Era::Stateless, asked.id).map(json_response);
    };
    let asking = Asking::new(&call, asked, &params, abilities)?;
    let (place, telling) = (call.stream_place()?, Telling { wanted, notices, guard });
    Box::pin(stream(&call, asked, operation, exchange, asking, telling, place)).await
}

/// What it takes to turn questions into an answer with a sealed state.
struct Asking {
    desk: Arc<McpState>,
    site: Site,
    bond: Bond,
    abilities: Abilities,
}

impl Asking {
    fn new(
        call: &McpCall<'_>,
        asked: &ClientMessage<'_>,
        params: &Params<'_>,
        abilities: Abilities,
    ) -> Result<Self, Failure> {
        let bond = call.bond(&asked.method, params)?;
        Ok(Self { desk: Arc::clone(call.desk), site: call.front.site.clone(), bond, abilities })
    }

    fn put(&self, needed: InputNeeded) -> Result<Answer, Failure> {
        round::check(self.abilities, &needed)?;
        let InputNeeded { requests, state } = needed;
        // An answer without questions is one that only the state tells from a mistake.
        let state = state.or_else(|| requests.is_empty().then_some(Value::Null));
        let ids = self.site.ids();
        let close = |state| self.desk.seal.close(&state, &self.bond, &**ids.clock(), &**ids.rng());
        Ok(Answer::Questions(requests, state.map(close)))
    }
}

/// The schema of a tool may say that arguments stand in the head, too.
async fn check_arguments(call: &McpCall<'_>, exchange: &Exchange, called: &ToolCall) -> Result<(), Failure> {
    match call.toolkit.foreign_schema(exchange, &called.name).await? {
        Some(schema) => headers::check_arguments(&call.parts.headers, &schema, &called.arguments),
        None => Ok(()),
    }
}

/// What is reported on the way to a result.
struct Telling {
    wanted: NoticeFilter,
    notices: mpsc::Receiver<Notice>,
    guard: DropGuard,
}

impl Telling {
    /// Writes a notice as an event when it is wanted.
    fn write(&self, out: &mut Vec<u8>, notice: &Notice) {
        if let Some(json) = self.wanted.write(notice) {
            sse::json_event(out, None, &json);
        }
    }

    /// Writes what was told before the end.
    fn write_rest(&mut self, out: &mut Vec<u8>) {
        while let Ok(notice) = self.notices.try_recv() {
            self.write(out, &notice);
        }
    }
}

/// Answers with JSON when nothing is reported before the result, and with a stream otherwise.
async fn stream(
    call: &McpCall<'_>,
    asked: &ClientMessage<'_>,
    operation: Operation,
    exchange: Exchange,
    asking: Asking,
    mut telling: Telling,
    place: StreamPlace,
) -> Result<Response, Failure> {
    let (toolkit, id) = (call.toolkit.clone(), asked.id.to_owned());
    let mut working: Working = Box::pin(async move {
        let answer = match operation.perform(&toolkit, exchange).await? {
            Done::Answer(answer) => answer,
            Done::Input(needed) => asking.put(needed)?,
        };
        answer.response(Era::Stateless, &id)
    });
    let mut first = Vec::new();
    let working = loop {
        tokio::select! {
            biased;
            Some(notice) = telling.notices.recv() => telling.write(&mut first, &notice),
            done = &mut working => {
                telling.write_rest(&mut first);
                if first.is_empty() {
                    telling.guard.disarm();
                    return done.map(json_response);
                }
                break Box::pin(std::future::ready(done)) as Working;
            }
        }
        if !first.is_empty() {
            break working;
        }
    };
    let source = CallStream { working: Some(working), telling: Some(telling), id: asked.id.to_owned() };
    Ok(sse::respond(call.front, place, first, source))
}

/// A call at work; it ends in a JSON-RPC response.
type Working = BoxFuture<'static, Result<Vec<u8>, Failure>>;

/// A call that tells something on the way. Dropping it ends the call.
struct CallStream {
    working: Option<Working>,
    telling: Option<Telling>,
    id: String,
}

impl sse::SseSource for CallStream {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + '_>> {
        Box::pin(async {
            let (working, telling) = (self.working.as_mut()?, self.telling.as_mut()?);
            let mut out = Vec::new();
            while out.is_empty() {
                tokio::select! {
                    biased;
                    Some(notice) = telling.notices.recv() => telling.write(&mut out, &notice),
                    done = &mut *working => {
                        telling.write_rest(&mut out);
                        let body = done.unwrap_or_else(|failure| failure.mcp_body(Era::Stateless, Some(&self.id)));
                        sse::json_event(&mut out, None, &body);
                        self.working = None;
                        if let Some(telling) = self.telling.take() {
                            telling.guard.disarm();
                        }
                        break;
                    }
                }
            }
            Some(out)
        })
    }
}

/// The verbs of the tasks extension.
async fn task(
    call: &McpCall<'_>,
    method: &str,
    params: &Params<'_>,
    abilities: Abilities,
) -> Result<Answer, Failure> {
    if !abilities.tasks {
        return Err(needs_tasks());
    }
    let written = text(params.task_id, "taskId")?;
    let id = task_id(&written)?;
    let (toolkit, caller): (&Toolkit, _) = (&call.toolkit, &call.caller);
    Ok(match method {
        "tasks/get" => Answer::Task(Box::new(toolkit.tasks().get(caller, id).await?)),
        "tasks/update" => {
            let raw = params.input_responses.ok_or_else(|| wrong("`inputResponses` is missing"))?;
            toolkit.tasks().update(caller, id, round::answers(Some(raw))?).await?;
            Answer::Nothing
        }
        _ => {
            toolkit.tasks().cancel(caller, id).await?;
            Answer::Nothing
        }
    })
}
