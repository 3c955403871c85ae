//! How frames are written.
//!
//! Promises: every frame is one line of JSON-RPC 2.0 that `read` understands. It does not write refusals:
//! their codes are the gateway's.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Ending, FrameId, FromAgent, FromSite, Progress, method};

impl FromAgent {
    /// The frame as it goes over the wire.
    #[must_use]
    pub fn write(&self) -> String {
        match self {
            Self::Register { id, introduction } => request(id, method::REGISTER, introduction),
            Self::Ping { id } => request(id, method::PING, &Map::new()),
            Self::Step { task, progress } => {
                let mut params = progress_of(progress);
                params.insert("task".into(), json!(task));
                notification(method::STEP, &params)
            }
            Self::End { task, ending } => {
                let mut params = ending_of(ending);
                params.insert("task".into(), json!(task));
                notification(method::END, &params)
            }
            Self::Unknown { id: Some(id), method } => request(id, method, &Map::new()),
            Self::Unknown { id: None, method } => notification(method, &Map::new()),
        }
    }
}

impl FromSite {
    /// The frame as it goes over the wire; `None` for what only the gateway can write, and for what is not
    /// known.
    #[must_use]
    pub fn write(&self) -> Option<String> {
        Some(match self {
            Self::Welcome { id, welcome } => result(id, welcome),
            Self::Pong { id } => result(id, &Map::new()),
            Self::Run(assignment) => notification(method::RUN, assignment),
            Self::Cancel { task } => notification(method::CANCEL, &json!({ "task": task })),
            Self::Notice { text } => notification(method::NOTICE, &json!({ "message": text })),
            Self::Refused { .. } | Self::Unknown => return None,
        })
    }
}

fn progress_of(progress: &Progress) -> Map<String, Value> {
    let mut params = Map::new();
    match progress {
        Progress::Text(text) => drop(params.insert("text".into(), json!(text))),
        Progress::Status(text) => drop(params.insert("status".into(), json!(text))),
        Progress::Said(message) => drop(params.insert("message".into(), json!(message))),
        Progress::Artifact { artifact, append, last_chunk } => {
            params.insert("artifact".into(), json!(artifact));
            params.insert("append".into(), json!(append));
            params.insert("lastChunk".into(), json!(last_chunk));
        }
    }
    params
}

fn ending_of(ending: &Ending) -> Map<String, Value> {
    let mut params = Map::new();
    params.insert("outcome".into(), json!(ending.way));
    if let Some(message) = &ending.message {
        params.insert("message".into(), json!(message));
    }
    if let Some(text) = &ending.text {
        params.insert("text".into(), json!(text));
    }
    params
}

fn request(id: &FrameId, method: &str, params: &impl Serialize) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

fn notification(method: &str, params: &impl Serialize) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

fn result(id: &FrameId, result: &impl Serialize) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}
