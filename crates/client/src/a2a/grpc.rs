//! The gRPC binding of A2A 1.0: messages in protobuf, over HTTP/2 through the same egress as everything else.
//!
//! Promises: a message is bounded before it is put together; an answer without a status at its end is an
//! error. An answer is turned into the ProtoJSON of the other bindings, so that it is read in one place only.
//!
//! The framing is our own (five bytes before each message): a generated client would bring its own
//! connections, and with them a second way out of the site past the guard.

mod frames;
mod status;

use agentsite_egress::{BodyPiece, Egress, EgressAnswer, EgressRequest};
use agentsite_protocol::extension::RESUME_SEQUENCE;
use agentsite_protocol::proto::{self, SERVICE};
use agentsite_protocol::{Message, PushConfig, Timestamp};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use http::header::{CONTENT_TYPE, TE};
use http::{HeaderMap, HeaderValue};
use prost::Message as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::A2aLimits;
use super::endpoint::Endpoint;
use super::events::{Numbered, NumberedStream};
use super::jsonrpc::{VERSION, VERSION_HEADER};
use super::operation::{ListTasks, Operation, Sending};
use crate::ClientError;
use frames::Frames;

/// The media type of gRPC; servers may add what they write the messages in.
const MEDIA_TYPE: &str = "application/grpc";

/// The request for an operation.
pub(super) fn request(
    egress: &Egress,
    endpoint: &Endpoint,
    operation: &Operation<'_>,
) -> Result<EgressRequest, ClientError> {
    let tenant = endpoint.tenant.clone().unwrap_or_default();
    let message = encode(operation, tenant)
        .map_err(|wrong| ClientError::Unsupported(format!("gRPC cannot express this: {wrong}")))?;
    let mut url = endpoint.url.clone();
    url.set_path(&format!("/{SERVICE}/{}", operation.name()));
    Ok(egress
        .post(url)
        .http2()
        .header(TE, HeaderValue::from_static("trailers"))
        .header(VERSION_HEADER, VERSION)
        .body(MEDIA_TYPE, frames::framed(&message)))
}

fn encode(operation: &Operation<'_>, tenant: String) -> Result<Vec<u8>, proto::WrongField> {
    Ok(match *operation {
        Operation::Send(ref sending) | Operation::Stream(ref sending) => {
            send_request(sending, tenant)?.encode_to_vec()
        }
        Operation::Get { id, history_length } => {
            let history_length = history_length.map(number);
            proto::GetTaskRequest { tenant, id: id.into(), history_length }.encode_to_vec()
        }
        Operation::List(wanted) => list_request(wanted, tenant).encode_to_vec(),
        Operation::Cancel { id } => {
            proto::CancelTaskRequest { tenant, id: id.into(), metadata: None }.encode_to_vec()
        }
        Operation::Subscribe { id } => {
            proto::SubscribeToTaskRequest { tenant, id: id.into() }.encode_to_vec()
        }
        Operation::CreatePush(config) => push_config(config, tenant).encode_to_vec(),
        Operation::GetPush { task_id, id } => {
            let (task_id, id) = (task_id.into(), id.into());
            proto::GetTaskPushNotificationConfigRequest { tenant, task_id, id }.encode_to_vec()
        }
        Operation::ListPush { task_id } => proto::ListTaskPushNotificationConfigsRequest {
            tenant,
            task_id: task_id.into(),
            ..Default::default()
        }
        .encode_to_vec(),
        Operation::DeletePush { task_id, id } => {
            let (task_id, id) = (task_id.into(), id.into());
            proto::DeleteTaskPushNotificationConfigRequest { tenant, task_id, id }.encode_to_vec()
        }
        Operation::ExtendedCard {} => proto::GetExtendedAgentCardRequest { tenant }.encode_to_vec(),
    })
}

fn send_request(
    sending: &Sending<'_>,
    tenant: String,
) -> Result<proto::SendMessageRequest, proto::WrongField> {
    let message: &Message = sending.message;
    let configuration = proto::SendMessageConfiguration {
        history_length: sending.configuration.history_length.map(number),
        return_immediately: sending.configuration.return_immediately,
        ..Default::default()
    };
    let message = Some(message.try_into()?);
    Ok(proto::SendMessageRequest { tenant, message, configuration: Some(configuration), metadata: None })
}

fn list_request(wanted: &ListTasks, tenant: String) -> proto::ListTasksRequest {
    proto::ListTasksRequest {
        tenant,
        context_id: wanted.context_id.clone().unwrap_or_default(),
        status: wanted.status.map(|state| proto::TaskState::from(state).into()).unwrap_or_default(),
        page_size: wanted.page_size.map(number),
        page_token: wanted.page_token.clone().unwrap_or_default(),
        history_length: wanted.history_length.map(number),
        status_timestamp_after: wanted.status_timestamp_after.map(moment),
        include_artifacts: wanted.include_artifacts,
    }
}

fn push_config(config: &PushConfig, tenant: String) -> proto::TaskPushNotificationConfig {
    proto::TaskPushNotificationConfig {
        tenant,
        id: config.id.clone(),
        task_id: config.task_id.clone(),
        url: config.url.clone(),
        token: config.token.clone(),
        authentication: config.authentication.as_ref().map(|shown| proto::AuthenticationInfo {
            scheme: shown.scheme.clone(),
            credentials: shown.credentials.clone(),
        }),
    }
}

fn number(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn moment(at: Timestamp) -> prost_types::Timestamp {
    let millis = at.as_millis();
    let nanos = i32::try_from(millis.rem_euclid(1000) * 1_000_000).unwrap_or_default();
    prost_types::Timestamp { seconds: millis.div_euclid(1000), nanos }
}

/// Reads the one message of a plain answer.
pub(super) async fn read_answer<T: DeserializeOwned>(
    answer: EgressAnswer,
    from: &str,
    operation: &Operation<'_>,
    limits: A2aLimits,
) -> Result<T, ClientError> {
    let mut messages = messages(answer, from, limits.max_answer)?;
    let bad = |what: String| ClientError::BadAnswer { from: from.to_owned(), what };
    let first = messages.try_next().await?.ok_or_else(|| bad("a success without a message".into()))?;
    // The status comes after the message, and it may still be an error.
    if messages.try_next().await?.is_some() {
        return Err(bad("more than one message".into()));
    }
    let json = decode(operation, first).map_err(bad)?;
    serde_json::from_value(json).map_err(|error| bad(error.to_string()))
}

fn decode(operation: &Operation<'_>, message: Bytes) -> Result<Value, String> {
    fn read<M: prost::Message + Default + serde::Serialize>(message: Bytes) -> Result<Value, String> {
        let message = M::decode(message).map_err(|error| error.to_string())?;
        proto::to_json(&message).map_err(|wrong| wrong.to_string())
    }
    match operation {
        Operation::Send(_) => read::<proto::SendMessageResponse>(message),
        Operation::Stream(_) | Operation::Subscribe { .. } => read::<proto::StreamResponse>(message),
        Operation::Get { .. } | Operation::Cancel { .. } => read::<proto::Task>(message),
        Operation::List(_) => read::<proto::ListTasksResponse>(message),
        Operation::CreatePush(_) | Operation::GetPush { .. } => {
            read::<proto::TaskPushNotificationConfig>(message)
        }
        Operation::ListPush { .. } => read::<proto::ListTaskPushNotificationConfigsResponse>(message),
        Operation::DeletePush { .. } => Ok(Value::Null),
        Operation::ExtendedCard {} => read::<proto::AgentCard>(message),
    }
}

/// The items of a stream. gRPC servers send no keep-alives in a silent stream, so silence may only mean long
/// work.
pub(super) fn items(
    answer: EgressAnswer,
    from: &str,
    limits: A2aLimits,
) -> Result<NumberedStream, ClientError> {
    let messages = messages(answer, from, limits.max_event)?;
    let (from, idle) = (from.to_owned(), limits.idle_timeout);
    let next = move |mut messages: MessageStream| {
        let from = from.clone();
        async move {
            let late = |_| ClientError::TimedOut(format!("{from} was silent for {} s", idle.as_secs_f32()));
            match tokio::time::timeout(idle, messages.next()).await.map_err(late) {
                Err(error) => Some((Err(error), stream::empty().boxed())),
                Ok(message) => {
                    message.map(|message| (message.and_then(|bytes| item(&from, bytes)), messages))
                }
            }
        }
    };
    Ok(stream::unfold(messages, next).boxed())
}

fn item(from: &str, message: Bytes) -> Result<Numbered, ClientError> {
    let bad = |what: String| ClientError::BadAnswer { from: from.to_owned(), what };
    let json = decode(&Operation::Subscribe { id: "" }, message).map_err(bad)?;
    let id = sequence(&json);
    let item = serde_json::from_value(json).map_err(|error| bad(error.to_string()))?;
    Ok(Numbered { id, item })
}

/// The number of an event, which gRPC has in the metadata of the task or the update.
fn sequence(item: &Value) -> Option<String> {
    let content = item.as_object()?.values().next()?;
    content.get("metadata")?.get(RESUME_SEQUENCE)?.as_u64().map(|number| number.to_string())
}

type MessageStream = futures::stream::BoxStream<'static, Result<Bytes, ClientError>>;

/// The messages of an answer; an error at its end is its last item.
fn messages(answer: EgressAnswer, from: &str, most: usize) -> Result<MessageStream, ClientError> {
    let status = answer.status().as_u16();
    if let Some(error) = status::in_head(from, answer.headers()) {
        return Err(error);
    }
    if status != 200 {
        return Err(super::reason::of_status(from, status, ""));
    }
    if !is_grpc(answer.headers()) {
        let what = "the content is not gRPC; is there another server at this address?".to_owned();
        return Err(ClientError::BadAnswer { from: from.to_owned(), what });
    }
    let reading =
        Reading { pieces: answer.pieces(), frames: Frames::new(most), from: from.to_owned(), done: false };
    let next = |mut reading: Reading| async move { reading.next().await.map(|message| (message, reading)) };
    Ok(stream::unfold(reading, next).boxed())
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let media = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    media.strip_prefix(MEDIA_TYPE).is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', ';']))
}

struct Reading {
    pieces: futures::stream::BoxStream<'static, Result<BodyPiece, crate::EgressError>>,
    frames: Frames,
    from: String,
    done: bool,
}

impl Reading {
    async fn next(&mut self) -> Option<Result<Bytes, ClientError>> {
        while !self.done {
            match self.frames.next(&self.from) {
                Ok(Some(message)) => return Some(Ok(message)),
                Ok(None) => {}
                Err(error) => {
                    self.done = true;
                    return Some(Err(error));
                }
            }
            match self.pieces.next().await {
                Some(Ok(BodyPiece::Data(bytes))) => self.frames.push(&bytes),
                Some(Ok(BodyPiece::Trailers(trailers))) => {
                    self.done = true;
                    return status::at_end(&self.from, &trailers, self.frames.is_empty()).map(Err);
                }
                Some(Err(error)) => {
                    self.done = true;
                    return Some(Err(error.into()));
                }
                None => {
                    self.done = true;
                    return Some(Err(ClientError::Cut { from: self.from.clone() }));
                }
            }
        }
        None
    }
}
