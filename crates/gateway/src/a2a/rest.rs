//! The HTTP+JSON binding: an address for each operation.
//!
//! Promises: the same operations as by JSON-RPC; errors in the form of AIP-193 with the statuses of the
//! specification 1.0.1; a body where one is optional may be left out. It does not know what an operation
//! does.

use std::sync::Arc;

use agentsite_protocol::extension::RESUME_AFTER;
use agentsite_protocol::{JsonMap, Nesting, TaskState, Timestamp};
use axum::body::Body;
use axum::extract::{Query, Request};
use axum::response::Response;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use tracing::Instrument;

use super::address::{Address, Target};
use super::binding::Binding;
use super::operation::Operation;
use super::push::{self, ConfigWanted, ConfigsWanted};
use super::send::Sending;
use super::task::{ListWanted, TaskWanted};
use super::version::Version;
use super::{A2aCall, answer, call_span, check_media_type, tenant, wrong};
use crate::failure::{Failure, Fault};
use crate::front::Front;

/// Answers one request for an operation.
pub(super) async fn answer(front: &Arc<Front>, address: &Address<'_>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let binding = Binding::rest(&parts.headers);
    let span = call_span("http+json", name(&address.place, &parts.method), address.agent, &parts.headers);
    let answer = async {
        let caller = front.admit(&parts).await?;
        let body = take_body(front, &address.place, &parts, body).await?;
        Version::asked(&parts)?.check_current()?;
        let tenant = tenant(&parts, text(&body)?)?;
        let call = A2aCall::new(front, &parts, caller, tenant::agreed(address.agent, tenant.as_deref())?)?;
        let answer = operation(&address.place, &parts, &body)?.perform(&call).await?;
        Ok(answer::respond(answer, &call, &binding))
    };
    answer.instrument(span).await.unwrap_or_else(|failure: Failure| binding.refuse(&failure))
}

/// What is answered where nothing is.
pub(super) fn nothing_here(headers: &HeaderMap) -> Response {
    let sentence = "there is nothing at this address; an agent's card says which addresses it has";
    Binding::rest(headers).refuse(&Failure::new(Fault::NoSuchPath, sentence))
}

/// What is answered when the address is right and the method is not.
pub(super) fn wrong_method(place: &Target<'_>, request: &Request) -> Response {
    let methods = place.methods();
    let sentence = format!("{} is not possible at this address; {methods} is", request.method());
    let failure = Failure::new(Fault::BadRequest, sentence);
    let mut response = Binding::rest(request.headers()).refuse(&failure);
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
    response
}

/// Reads the body, if there is one or must be one.
async fn take_body(front: &Front, place: &Target<'_>, parts: &Parts, body: Body) -> Result<Bytes, Failure> {
    let needed = matches!(place, Target::Send | Target::Stream | Target::PushConfigs(_));
    if parts.method != Method::POST {
        return Ok(Bytes::new());
    }
    if needed {
        check_media_type(&parts.headers)?;
    }
    let body = front.body(body).await?;
    if !needed && body.is_empty() {
        return Ok(body);
    }
    check_media_type(&parts.headers)?;
    Nesting::REQUEST.check(&body).map_err(|error| Failure::new(Fault::BadRequest, error.to_string()))?;
    match body.trim_ascii_start().first() {
        Some(b'{') => Ok(body),
        Some(_) => Err(Failure::new(Fault::BadRequest, "the body must be a JSON object")),
        None => Err(Failure::new(Fault::NotJson, "the body is empty; send a JSON object")),
    }
}

/// The name that all bindings share.
fn name(place: &Target<'_>, method: &Method) -> &'static str {
    match place {
        Target::Send => "SendMessage",
        Target::Stream => "SendStreamingMessage",
        Target::Task(_) => "GetTask",
        Target::Tasks => "ListTasks",
        Target::Cancel(_) => "CancelTask",
        Target::Subscribe(_) => "SubscribeToTask",
        Target::PushConfigs(_) if method == Method::POST => "CreateTaskPushNotificationConfig",
        Target::PushConfigs(_) => "ListTaskPushNotificationConfigs",
        Target::PushConfig(..) if method == Method::DELETE => "DeleteTaskPushNotificationConfig",
        Target::PushConfig(..) => "GetTaskPushNotificationConfig",
        Target::ExtendedCard | Target::Agent | Target::Card => "GetExtendedAgentCard",
    }
}

/// The tenant that a request names beside its path: in the body, or in the query where there is none.
fn tenant(parts: &Parts, body: &str) -> Result<Option<String>, Failure> {
    if !body.is_empty() {
        return tenant::in_json(body);
    }
    match parts.uri.query() {
        Some(query) if query.contains("tenant=") => {
            Ok(QueryParams::read(parts)?.text("tenant").map(Into::into))
        }
        _ => Ok(None),
    }
}

fn text(body: &[u8]) -> Result<&str, Failure> {
    std::str::from_utf8(body)
        .map_err(|_| Failure::new(Fault::NotJson, "the body is not UTF-8; send JSON in UTF-8"))
}

fn operation(place: &Target<'_>, parts: &Parts, body: &[u8]) -> Result<Operation, Failure> {
    let text = text(body)?;
    let optional = || {
        let read = if text.is_empty() { Ok(serde::de::IgnoredAny) } else { serde_json::from_str(text) };
        read.map_err(|error| Failure::new(Fault::NotJson, format!("the request is not JSON: {error}")))
    };
    Ok(match place {
        Target::Send => Operation::Send(Sending::read(text)?),
        Target::Stream => Operation::Stream(Sending::read(text)?),
        Target::Task(id) => {
            let history_length = QueryParams::read(parts)?.number("historyLength")?;
            Operation::Get(TaskWanted { history_length, ..TaskWanted::new(id) })
        }
        Target::Tasks => Operation::List(QueryParams::read(parts)?.list()?),
        Target::Cancel(id) => {
            optional()?;
            Operation::Cancel(TaskWanted::new(id))
        }
        Target::Subscribe(id) => {
            optional()?;
            let metadata = QueryParams::read(parts)?.number("after")?;
            let metadata = metadata.map(|after| JsonMap::from_iter([(RESUME_AFTER.into(), after.into())]));
            Operation::Subscribe(TaskWanted { metadata, ..TaskWanted::new(id) })
        }
        Target::PushConfigs(task) if parts.method == Method::POST => {
            let mut config = push::read_config(text)?;
            if !config.task_id.is_empty() && config.task_id != *task {
                return Err(wrong("taskId", "is not the task of this address"));
            }
            config.task_id = (*task).to_owned();
            Operation::CreatePush(config)
        }
        Target::PushConfigs(task) => {
            let asked = QueryParams::read(parts)?;
            Operation::ListPush(ConfigsWanted {
                task_id: (*task).to_owned(),
                page_size: asked.number("pageSize")?,
                page_token: asked.text("pageToken").map(Into::into),
            })
        }
        Target::PushConfig(task, id) => {
            let wanted = ConfigWanted { task_id: (*task).to_owned(), id: (*id).to_owned() };
            if parts.method == Method::DELETE {
                Operation::DeletePush(wanted)
            } else {
                Operation::GetPush(wanted)
            }
        }
        Target::ExtendedCard | Target::Agent | Target::Card => Operation::ExtendedCard,
    })
}

/// Parameters in a query. One without a value counts as left out.
struct QueryParams(Vec<(String, String)>);

impl QueryParams {
    fn read(parts: &Parts) -> Result<Self, Failure> {
        let Query(mut pairs) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)
            .map_err(|error| Failure::new(Fault::BadParams, format!("the query is not right: {error}")))?;
        pairs.retain(|(_, value)| !value.is_empty());
        Ok(Self(pairs))
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> Result<Option<i64>, Failure> {
        self.text(name).map(str::parse).transpose().map_err(|_| wrong(name, "must be a whole number"))
    }

    fn list(&self) -> Result<ListWanted, Failure> {
        let state = |word: &str| {
            let state = serde_json::from_value::<TaskState>(word.into());
            state.map_err(|_| wrong("status", "must be a state, such as TASK_STATE_COMPLETED"))
        };
        let truth = |word: &str| match word {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(wrong("includeArtifacts", "must be true or false")),
        };
        let time = |text: &str| {
            Timestamp::parse(text)
                .map_err(|_| wrong("statusTimestampAfter", "must be a time, such as 2026-01-31T12:00:00Z"))
        };
        Ok(ListWanted {
            context_id: self.text("contextId").map(Into::into),
            status: self.text("status").map(state).transpose()?,
            page_size: self.number("pageSize")?,
            page_token: self.text("pageToken").map(Into::into),
            history_length: self.number("historyLength")?,
            status_timestamp_after: self.text("statusTimestampAfter").map(time).transpose()?,
            include_artifacts: self.text("includeArtifacts").map(truth).transpose()?,
        })
    }
}
