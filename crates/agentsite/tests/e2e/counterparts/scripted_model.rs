//! A model with scripted answers: an OpenAI-style server inside the test.
//!
//! Promises: each request gets the next answer of the script, streamed in pieces, and is kept to be looked
//! at. It deliberately understands nothing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::{Json, Router, routing};
use serde_json::{Value, json};

/// One answer of the script.
#[derive(Debug, Clone)]
pub(super) enum Line {
    /// Words, in these pieces.
    Says(Vec<&'static str>),
    /// Wants to ask a tool.
    Asks {
        /// The tool.
        tool: &'static str,
        /// What to ask.
        message: &'static str,
    },
    /// Wants to use a tool.
    Uses {
        /// The tool.
        tool: &'static str,
        /// Its arguments.
        arguments: Value,
    },
}

#[derive(Debug, Default)]
struct Stage {
    script: VecDeque<Line>,
    heard: Vec<Value>,
}

/// The running server; it ends with the test's runtime.
#[derive(Debug, Clone)]
pub(super) struct ScriptedModel {
    /// Where it listens, as `base_url` wants it.
    pub(super) url: String,
    // A std lock: held for a copy, never across an await.
    stage: Arc<Mutex<Stage>>,
}

impl ScriptedModel {
    /// Starts a model with this script.
    pub(super) async fn start(script: impl IntoIterator<Item = Line>) -> Self {
        let stage = Arc::new(Mutex::new(Stage { script: script.into_iter().collect(), heard: Vec::new() }));
        let router =
            Router::new().route("/v1/chat/completions", routing::post(chat)).with_state(stage.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, stage }
    }

    /// The requests so far.
    pub(super) fn heard(&self) -> Vec<Value> {
        self.stage.lock().unwrap().heard.clone()
    }
}

fn uses(tool: &str, arguments: &Value) -> (Vec<Value>, &'static str) {
    let function = json!({"name": tool, "arguments": arguments.to_string()});
    let call = json!({"index": 0, "id": "call-1", "type": "function", "function": function});
    (vec![json!({"tool_calls": [call]})], "tool_calls")
}

async fn chat(State(stage): State<Arc<Mutex<Stage>>>, Json(request): Json<Value>) -> impl IntoResponse {
    let line = {
        let mut stage = stage.lock().unwrap();
        stage.heard.push(request);
        stage.script.pop_front().expect("the script has a line for every request")
    };
    let (deltas, end) = match line {
        Line::Says(pieces) => {
            (pieces.into_iter().map(|piece| json!({"content": piece})).collect::<Vec<_>>(), "stop")
        }
        Line::Asks { tool, message } => uses(tool, &json!({"message": message})),
        Line::Uses { tool, arguments } => uses(tool, &arguments),
    };
    let mut body = String::new();
    for delta in deltas {
        let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
        body.push_str(&format!("data: {chunk}\n\n"));
    }
    let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": {"prompt_tokens": 11, "completion_tokens": 7}});
    body.push_str(&format!("data: {last}\n\ndata: [DONE]\n\n"));
    ([(CONTENT_TYPE, "text/event-stream")], body)
}
