//! Answers in gRPC: one message, or the events of a task as they happen, and a status at the end.
//!
//! Promises: the same content and the same order as in the other bindings. What protobuf has no form for is
//! reported as a failure, with the field. A stream that the site has to end before its task says so, so that
//! no reader takes it for complete. The connection itself is kept awake by HTTP/2; nothing is sent to fill
//! silence.

use std::convert::Infallible;
use std::sync::Arc;

use agentsite_protocol::proto::{self, SendPayload, WrongField};
use agentsite_protocol::{PushConfig, Task, WireStreamItem};
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::stream;
use http::{HeaderMap, HeaderValue, header};
use http_body_util::StreamBody;
use hyper::body::Frame;
use prost::Message;

use super::super::A2aCall;
use super::super::operation::Answer;
use super::super::stream::Events;
use super::super::task::TaskList;
use super::frame;
use crate::failure::{Failure, Fault, GRPC, grpc_success};
use crate::front::Front;
use crate::metrics::OpenConnection;
use crate::unread::Guarded;
use crate::visit::StreamPlace;

/// Writes an answer.
pub(super) fn respond(answer: Answer, call: &A2aCall<'_>) -> Result<Response, Failure> {
    let reply = |payload| proto::SendMessageResponse { payload: Some(payload) };
    match answer {
        Answer::Message(message) => {
            let message = (&message).try_into().map_err(unwritable)?;
            Ok(whole(&reply(SendPayload::Message(message))))
        }
        Answer::Sent(task, history) => Ok(whole(&reply(SendPayload::Task(written(&task, history)?)))),
        Answer::Task(task, history) => Ok(whole(&written(&task, history)?)),
        Answer::Tasks(list) => Ok(whole(&page(&list)?)),
        Answer::Card(card) => Ok(whole(&proto::AgentCard::try_from(&*card).map_err(unwritable)?)),
        Answer::PushConfig(config) => Ok(whole(&receiver(&config)?)),
        Answer::PushConfigs(list) => Ok(whole(&proto::ListTaskPushNotificationConfigsResponse {
            configs: list.configs.iter().map(receiver).collect::<Result<_, _>>()?,
            next_page_token: list.next_page_token,
        })),
        Answer::Nothing => Ok(whole(&())),
        Answer::Events(events, place) => follow(events, place, call),
    }
}

fn written(task: &Task, history: Option<usize>) -> Result<proto::Task, Failure> {
    proto::Task::try_from(&task.wire(history)).map_err(unwritable)
}

fn receiver(config: &PushConfig) -> Result<proto::TaskPushNotificationConfig, Failure> {
    let wire = serde_json::to_value(config).unwrap_or_default();
    proto::from_json(wire).map_err(unwritable)
}

fn page(list: &TaskList) -> Result<proto::ListTasksResponse, Failure> {
    Ok(proto::ListTasksResponse {
        tasks: list.tasks.iter().map(|task| written(task, list.history)).collect::<Result<_, _>>()?,
        next_page_token: list.next.clone(),
        page_size: i32::try_from(list.size).unwrap_or(i32::MAX),
        total_size: i32::try_from(list.total).unwrap_or(i32::MAX),
    })
}

/// What has been stored by other bindings need not fit into protobuf.
#[expect(clippy::needless_pass_by_value, reason = "stands in map_err")]
fn unwritable(error: WrongField) -> Failure {
    let sentence = format!("the answer cannot be written in protobuf: {error}; ask by JSON-RPC or HTTP+JSON");
    Failure::new(Fault::Unsupported, sentence)
}

/// An answer of one message.
fn whole(message: &impl Message) -> Response {
    let mut out = Vec::new();
    frame::append(&mut out, message);
    let frames = [Frame::data(Bytes::from(out)), Frame::trailers(grpc_success())];
    response(Body::new(StreamBody::new(stream::iter(frames.map(Ok::<_, Infallible>)))))
}

fn response(body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(GRPC));
    response
}

/// An answer of many messages.
fn follow(events: Events, place: StreamPlace, call: &A2aCall<'_>) -> Result<Response, Failure> {
    let (mut first, mut opened) = (Vec::new(), Ok(()));
    events.open(|_, item| opened = append(&mut first, item));
    opened?;
    let (front, line) = (Arc::clone(call.front), Arc::clone(&place.connection));
    let open = front.settings.metrics.stream();
    let following = GrpcStream { front, events, stage: Stage::Opening(first), _place: place, _open: open };
    let frames = Guarded::new(&line, stream::unfold(following, GrpcStream::step));
    Ok(response(Body::new(StreamBody::new(frames))))
}

fn append(out: &mut Vec<u8>, item: &WireStreamItem<'_>) -> Result<(), Failure> {
    frame::append(out, &proto::StreamResponse::try_from(item).map_err(unwritable)?);
    Ok(())
}

/// A stream under way.
struct GrpcStream {
    front: Arc<Front>,
    events: Events,
    stage: Stage,
    _place: StreamPlace,
    _open: OpenConnection,
}

/// What comes next in a stream.
enum Stage {
    /// What is there already.
    Opening(Vec<u8>),
    /// What will happen.
    Waiting,
    /// The status.
    Ending(HeaderMap),
    /// Nothing.
    Over,
}

impl GrpcStream {
    async fn step(mut self) -> Option<(Result<Frame<Bytes>, Infallible>, Self)> {
        loop {
            let frames = match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Opening(first) => {
                    self.stage = Stage::Waiting;
                    first
                }
                Stage::Waiting => self.wait().await,
                Stage::Ending(trailers) => return Some((Ok(Frame::trailers(trailers)), self)),
                Stage::Over => return None,
            };
            if !frames.is_empty() {
                return Some((Ok(Frame::data(frames.into())), self));
            }
        }
    }

    /// Waits for the next events and decides what comes after them.
    async fn wait(&mut self) -> Vec<u8> {
        let (mut frames, mut written) = (Vec::new(), Ok(()));
        let stop = self.front.stop.clone();
        let write = |_, item: &WireStreamItem<'_>| {
            if written.is_ok() {
                written = append(&mut frames, item);
            }
        };
        let next = tokio::select! {
            biased;
            next = self.events.next(write) => Ok(next),
            () = stop.cancelled() => Err(stopping()),
        };
        self.stage = match (written, next) {
            (Err(failure), _) | (_, Err(failure)) => Stage::Ending(failure.grpc_trailers()),
            (Ok(()), Ok(Some(()))) => Stage::Waiting,
            (Ok(()), Ok(None)) => Stage::Ending(grpc_success()),
        };
        frames
    }
}

fn stopping() -> Failure {
    Failure::new(Fault::Stopping, "the site stops; the task continues when it is back, follow it again then")
}
