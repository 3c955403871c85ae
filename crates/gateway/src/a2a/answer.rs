//! Answers of the two bindings that speak JSON.
//!
//! Promises: the same content in both; a stream is written as server-sent events with the number of each event as its id. It does not
//! perform operations.

use std::future::Future;
use std::pin::Pin;

use agentsite_protocol::{JsonMap, WireStreamItem};
use axum::response::Response;

use super::Call;
use super::binding::Binding;
use super::operation::Answer;
use super::stream::Events;
use crate::failure::Failure;
use crate::sse;

/// Room for the first event of a small task.
const FIRST_EVENT: usize = 1024;

/// Writes an answer in this binding.
pub(super) fn respond(answer: Answer, call: &Call<'_>, binding: &Binding<'_>) -> Result<Response, Failure> {
    Ok(match answer {
        Answer::Message(message) => binding.answer(&WireStreamItem::Message(&message)),
        Answer::Sent(task, history) => binding.answer(&WireStreamItem::Task(task.wire(history))),
        Answer::Task(task, history) => binding.answer(&task.wire(history)),
        Answer::Tasks(list) => binding.answer(&list.wire()),
        Answer::Card(card) => binding.answer(&card),
        Answer::PushConfig(config) => binding.answer(&config),
        Answer::PushConfigs(list) => binding.answer(&list),
        Answer::Nothing => binding.answer(&JsonMap::new()),
        Answer::Events(events) => return stream(events, call, binding.to_owned()),
    })
}

fn stream(events: Events, call: &Call<'_>, binding: Binding<'static>) -> Result<Response, Failure> {
    let mut first = Vec::with_capacity(FIRST_EVENT);
    events.open(|seq, item| binding.event(&mut first, seq, item));
    Ok(sse::respond(call.front, call.at_work()?, first, Feed { events, binding }))
}

/// The events of a task as the frames of one answer.
struct Feed {
    events: Events,
    binding: Binding<'static>,
}

impl sse::Source for Feed {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + '_>> {
        Box::pin(async {
            let Self { events, binding } = self;
            let mut out = Vec::new();
            events.next(|seq, item| binding.event(&mut out, Some(seq), item)).await?;
            Some(out)
        })
    }
}
