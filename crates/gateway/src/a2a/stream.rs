//! SendStreamingMessage and SubscribeToTask: a task as a stream of its events.
//!
//! Promises: the first event is the task, or exactly one message; then every event once, in order, with its number as the event's
//! id; the stream ends when the task has ended or waits for its caller. Hanging up does not stop the task.

use std::future::Future;
use std::pin::Pin;

use agentsite_protocol::{Task, WireStreamItem};
use agentsite_site::{Sent, TaskWatch};
use axum::response::Response;

use super::send::Sending;
use super::task::named_task;
use super::{Call, task};
use crate::failure::{Failure, Fault};
use crate::{jsonrpc, sse};

/// Answers SendStreamingMessage.
pub(super) async fn send(call: &Call<'_>, params: &str) -> Result<Response, Failure> {
    let sending = Sending::read(params)?;
    match call.front.site.send(&call.caller, &call.agent, sending.message).await? {
        Sent::Task(mut watch) => {
            let task = watch.opening();
            follow(call, watch, &task, sending.history)
        }
        Sent::Message(message) => {
            let mut first = Vec::new();
            write(&mut first, None, call.id.as_json(), &WireStreamItem::Message(&message));
            Ok(sse::respond(call.front, call.at_work()?, first, Nothing))
        }
    }
}

/// Answers SubscribeToTask.
pub(super) async fn subscribe(call: &Call<'_>, params: &str) -> Result<Response, Failure> {
    let wanted: task::TaskParams = task::read_task(params)?;
    let task = named_task(call, &wanted.id).await?;
    let state = task.head.state;
    if state.is_terminal() {
        let sentence = format!("the task has ended ({}); read it with GetTask", state.word());
        return Err(Failure::new(Fault::Unsupported, sentence).fact("state", state.word()));
    }
    let mut watch = call.front.site.watch(&call.caller, task.head.id, task.head.seq).await?;
    let task = watch.snapshot();
    follow(call, watch, &task, None)
}

/// The task first, then what comes after it.
fn follow(
    call: &Call<'_>,
    watch: TaskWatch,
    task: &Task,
    history: Option<usize>,
) -> Result<Response, Failure> {
    let mut first = Vec::with_capacity(1024);
    let id = call.id.as_json().to_owned();
    write(&mut first, Some(task.head.seq), &id, &WireStreamItem::Task(task.wire(history)));
    Ok(sse::respond(call.front, call.at_work()?, first, Events { watch, id }))
}

/// The events of a task as answers to one request.
struct Events {
    watch: TaskWatch,
    id: String,
}

impl sse::Source for Events {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + '_>> {
        Box::pin(async {
            let events = self.watch.next().await?;
            let mut out = Vec::new();
            for event in &events {
                if let Some(item) = event.wire(self.watch.context()) {
                    write(&mut out, Some(event.seq), &self.id, &item);
                }
            }
            Some(out)
        })
    }
}

/// A source that ends at once.
struct Nothing;

impl sse::Source for Nothing {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + '_>> {
        Box::pin(std::future::ready(None))
    }
}

fn write(out: &mut Vec<u8>, seq: Option<u64>, id: &str, item: &WireStreamItem<'_>) {
    let written = sse::event(out, seq, |out| jsonrpc::write_result(out, id, item));
    if let Err(error) = written {
        tracing::error!(%error, "an event could not be written");
    }
}
