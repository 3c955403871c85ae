//! An answer in chunks, as chat programs read it.
//!
//! Promises: the role comes first and at once, then the text as it grows, then the reason of the end, the
//! usage if it was asked for, and `[DONE]`. A task that failed ends the stream with an error in its place.
//! A caller that hangs up cancels the task.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use agentsite_protocol::JsonMap;
use axum::response::Response;
use serde::Serialize;
use serde_json::json;

use super::super::exchange::Exchange;
use super::super::seconds;
use super::{Tokens, failed};
use crate::failure::Failure;
use crate::front::Front;
use crate::sse;
use crate::visit::StreamPlace;

#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: i64,
    model: &'a str,
    choices: Vec<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Option<Tokens>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<JsonMap>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    delta: Delta<'a>,
    logprobs: Option<()>,
    finish_reason: Option<&'static str>,
}

#[derive(Serialize, Default)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
}

struct Chunks {
    id: String,
    exchange: Exchange,
    wants_usage: bool,
    is_over: bool,
}

pub(super) fn respond(
    front: &Arc<Front>,
    place: StreamPlace,
    exchange: Exchange,
    wants_usage: bool,
) -> Response {
    let id = format!("chatcmpl-{}", exchange.name());
    let chunks = Chunks { id, exchange, wants_usage, is_over: false };
    let mut first = Vec::new();
    chunks.write(&mut first, Delta { role: Some("assistant"), content: Some("") }, None);
    sse::respond(front, place, first, chunks)
}

impl Chunks {
    fn write(&self, out: &mut Vec<u8>, delta: Delta<'_>, finish_reason: Option<&'static str>) {
        let choices = vec![Choice { index: 0, delta, logprobs: None, finish_reason }];
        let metadata = finish_reason.map(|_| self.exchange.metadata());
        self.write_chunk(out, choices, self.wants_usage.then_some(None), metadata);
    }

    fn write_chunk(
        &self,
        out: &mut Vec<u8>,
        choices: Vec<Choice<'_>>,
        usage: Option<Option<Tokens>>,
        metadata: Option<JsonMap>,
    ) {
        let chunk = Chunk {
            id: &self.id,
            object: "chat.completion.chunk",
            created: seconds(self.exchange.created),
            model: self.exchange.agent.as_str(),
            choices,
            usage,
            metadata,
        };
        if let Err(error) = sse::event(out, None, |out| serde_json::to_writer(out, &chunk)) {
            tracing::error!(%error, "a chunk could not be written");
        }
    }

    fn end(&mut self) -> Vec<u8> {
        self.is_over = true;
        let mut out = Vec::new();
        if let Err(failure) = self.exchange.unsettled().and_then(|()| failed(&self.exchange)) {
            return refusal(&failure);
        }
        self.write(&mut out, Delta::default(), Some("stop"));
        if self.wants_usage {
            let usage = Some(Some(self.exchange.turn.usage.into()));
            self.write_chunk(&mut out, Vec::new(), usage, None);
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
        out
    }
}

fn refusal(failure: &Failure) -> Vec<u8> {
    format!("data: {}\n\n", json!({ "error": failure.openai_error() })).into_bytes()
}

impl sse::SseSource for Chunks {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + '_>> {
        Box::pin(async move {
            if self.is_over {
                return None;
            }
            loop {
                match self.exchange.next().await {
                    // Silence is broken by the stream itself, not by every event that shows nothing.
                    Some(shown) if shown.is_empty() => {}
                    Some(shown) => {
                        let mut out = Vec::new();
                        self.write(&mut out, Delta { role: None, content: Some(&shown) }, None);
                        return Some(out);
                    }
                    None => return Some(self.end()),
                }
            }
        })
    }
}
