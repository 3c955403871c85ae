//! A response as a stream of its events.
//!
//! Promises: numbered from 0 without gaps; created and in progress come at once, then the one message of the
//! output as it grows, then how it ended, with the whole response. Each event is named as its type.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::response::Response;
use serde_json::{Value, json};

use super::super::exchange::Exchange;
use super::title::Title;
use super::view::{Frame, View, part};
use crate::front::Front;
use crate::sse;
use crate::visit::StreamPlace;

struct Events {
    exchange: Exchange,
    title: Title,
    frame: Frame,
    /// Number of the next event.
    number: u64,
    /// Whether the message of the output has begun.
    is_open: bool,
    is_over: bool,
}

pub(super) fn respond(
    front: &Arc<Front>,
    place: StreamPlace,
    exchange: Exchange,
    title: &Title,
    frame: Frame,
) -> Response {
    let title = title.clone();
    let mut events = Events { exchange, title, frame, number: 0, is_open: false, is_over: false };
    let mut first = Vec::new();
    let begun = events.begun();
    events.write(&mut first, "response.created", json!({ "response": begun }));
    events.write(&mut first, "response.in_progress", json!({ "response": begun }));
    sse::respond(front, place, first, events)
}

impl Events {
    fn view(&self) -> View<'_> {
        View::of(&self.exchange, &self.title, &self.frame)
    }

    /// The response before the agent has said anything, also when it was quick.
    fn begun(&self) -> Value {
        let mut response = self.view().json();
        response["status"] = "in_progress".into();
        for (field, nothing) in [("output", json!([])), ("usage", Value::Null), ("completed_at", Value::Null)]
        {
            response[field] = nothing;
        }
        response["error"] = Value::Null;
        response
    }

    fn write(&mut self, out: &mut Vec<u8>, name: &str, mut event: Value) {
        event["type"] = name.into();
        event["sequence_number"] = self.number.into();
        self.number += 1;
        out.extend_from_slice(format!("event: {name}\ndata: {event}\n\n").as_bytes());
    }

    /// An event about the text of the message.
    fn about_text(&mut self, out: &mut Vec<u8>, name: &str, field: &str, value: Value) {
        let mut event = json!({ "item_id": self.title.item(), "output_index": 0, "content_index": 0 });
        event[field] = value;
        if field != "part" {
            event["logprobs"] = json!([]);
        }
        self.write(out, name, event);
    }

    fn open(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.is_open, true) {
            return;
        }
        let mut item = self.view().item();
        item["status"] = "in_progress".into();
        item["content"] = json!([]);
        self.write(out, "response.output_item.added", json!({ "output_index": 0, "item": item }));
        self.about_text(out, "response.content_part.added", "part", part(""));
    }

    fn show(&mut self, text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        self.open(&mut out);
        self.about_text(&mut out, "response.output_text.delta", "delta", text.into());
        out
    }

    fn end(&mut self) -> Vec<u8> {
        self.is_over = true;
        let mut out = Vec::new();
        if let Err(failure) = self.exchange.unsettled() {
            let (sentence, code) = (failure.sentence.clone(), failure.row().word);
            self.write(&mut out, "error", json!({ "code": code, "message": sentence, "param": null }));
            return out;
        }
        let (name, is_done) = match self.view().status() {
            "completed" => ("response.completed", true),
            "failed" => ("response.failed", false),
            _ => ("response.incomplete", false),
        };
        if is_done {
            self.open(&mut out);
        }
        if self.is_open {
            let text = self.exchange.turn.text.clone();
            self.about_text(&mut out, "response.output_text.done", "text", text.as_str().into());
            self.about_text(&mut out, "response.content_part.done", "part", part(&text));
            let item = self.view().item();
            self.write(&mut out, "response.output_item.done", json!({ "output_index": 0, "item": item }));
        }
        let response = self.view().json();
        self.write(&mut out, name, json!({ "response": response }));
        out
    }
}

impl sse::SseSource for Events {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + '_>> {
        Box::pin(async move {
            if self.is_over {
                return None;
            }
            loop {
                match self.exchange.next().await {
                    Some(shown) if shown.is_empty() => {}
                    Some(shown) => return Some(self.show(&shown)),
                    None => return Some(self.end()),
                }
            }
        })
    }
}
