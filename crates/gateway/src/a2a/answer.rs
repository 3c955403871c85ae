//! Answers of the two bindings that speak JSON.
//!
//! Promises: the same content in both; a stream is written as server-sent events with the number of each
//! event as its id. It does not perform operations.

use std::future::Future;
use std::pin::Pin;

use agentsite_protocol::{JsonMap, WireStreamItem};
use axum::response::Response;

use super::A2aCall;
use super::binding::Binding;
use super::operation::Answer;
use super::stream::Events;
use crate::sse;
use crate::visit::StreamPlace;

/// Space for the first event of a small task.
const FIRST_EVENT: usize = 1024;

/// Writes an answer in this binding.
pub(super) fn respond(answer: Answer, call: &A2aCall<'_>, binding: &Binding<'_>) -> Response {
    match answer {
        Answer::Message(message) => binding.answer(&WireStreamItem::Message(&message)),
        Answer::Sent(task, history) => binding.answer(&WireStreamItem::Task(task.wire(history))),
        Answer::Task(task, history) => binding.answer(&task.wire(history)),
        Answer::Tasks(list) => binding.answer(&list.wire()),
        Answer::Card(card) => binding.answer(&card),
        Answer::PushConfig(config) => binding.answer(&config),
        Answer::PushConfigs(list) => binding.answer(&list),
        Answer::Nothing => binding.answer(&JsonMap::new()),
        Answer::Events(events, place) => stream(events, place, call, binding.to_owned()),
    }
}

fn stream(events: Events, place: StreamPlace, call: &A2aCall<'_>, binding: Binding<'static>) -> Response {
    let mut first = Vec::with_capacity(FIRST_EVENT);
    events.open(|seq, item| binding.event(&mut first, seq, item));
    sse::respond(call.front, place, first, Feed { events, binding })
}

/// The events of a task as the frames of one answer.
struct Feed {
    events: Events,
    binding: Binding<'static>,
}

impl sse::SseSource for Feed {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + '_>> {
        Box::pin(async {
            let Self { events, binding } = self;
            let mut out = Vec::new();
            events.next(|seq, item| binding.event(&mut out, Some(seq), item)).await?;
            Some(out)
        })
    }
}
