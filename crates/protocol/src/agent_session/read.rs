//! How frames are read.
//!
//! Promises: for any bytes, the result is a frame or a sentence about what is wrong with them; an invalid
//! frame with a readable task id names that task, so that its caller gets the error. It never panics and
//! recurses only as deep as [`Nesting::REQUEST`].

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Assignment, Ending, EndingWay, FromAgent, FromSite, Introduction, MAX_FRAME, Progress, Welcome, method,
};
use crate::{Artifact, MAX_FOREIGN_ID, Message, Nesting, Part, TaskId};

/// Letters of a foreign word that are repeated in a sentence.
const MAX_SHOWN: usize = 80;

/// The id of a request: a number or a short text, as the other end chose it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct FrameId(Value);

impl FrameId {
    /// An id of our own.
    #[must_use]
    pub fn number(number: u64) -> Self {
        Self(number.into())
    }

    fn read(value: &Value) -> Option<Self> {
        let fits = match value {
            Value::Number(_) => true,
            Value::String(text) => text.len() <= MAX_FOREIGN_ID,
            _ => false,
        };
        fits.then(|| Self(value.clone()))
    }
}

/// Writes the id as JSON.
impl std::fmt::Display for FrameId {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.0, out)
    }
}

/// Why a frame was not understood.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BadFrame {
    /// It is not a frame; the other end does not use this protocol.
    #[error("{0}")]
    NoFrame(String),
    /// Its method is known and what comes with it is wrong.
    #[error("{what}")]
    Params {
        /// The task it is about, when that could be read.
        task: Option<TaskId>,
        /// The id of the request, when it is one.
        id: Option<FrameId>,
        /// What is wrong.
        what: String,
    },
}

/// A frame with nothing read but its envelope.
struct Envelope {
    id: Option<FrameId>,
    method: Option<String>,
    params: Value,
    result: Option<Value>,
    error: Option<Value>,
}

impl Envelope {
    fn read(bytes: &[u8]) -> Result<Self, BadFrame> {
        let no_frame = |what: String| BadFrame::NoFrame(what);
        if bytes.len() > MAX_FRAME {
            return Err(no_frame(format!("a frame has at most {MAX_FRAME} bytes; send less at once")));
        }
        Nesting::REQUEST.check(bytes).map_err(|error| no_frame(error.to_string()))?;
        let value: Value =
            serde_json::from_slice(bytes).map_err(|error| no_frame(format!("not valid JSON: {error}")))?;
        let Value::Object(mut members) = value else {
            return Err(no_frame("a frame is one JSON object; batches are not supported".into()));
        };
        if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(no_frame("a frame is a JSON-RPC 2.0 object: \"jsonrpc\" must be \"2.0\"".into()));
        }
        let method = match members.remove("method") {
            Some(Value::String(method)) => Some(method),
            None => None,
            Some(_) => return Err(no_frame("\"method\" must be a text".into())),
        };
        Ok(Self {
            id: members.get("id").and_then(FrameId::read),
            method,
            params: members.remove("params").unwrap_or(Value::Null),
            result: members.remove("result"),
            error: members.remove("error"),
        })
    }

    fn params<T: DeserializeOwned>(&self) -> Result<T, BadFrame> {
        T::deserialize(&self.params).map_err(|error| self.wrong(error.to_string()))
    }

    fn wrong(&self, what: impl AsRef<str>) -> BadFrame {
        let method = shown(self.method.as_deref().unwrap_or_default());
        BadFrame::Params {
            task: self.params.get("task").and_then(|task| task.as_str()?.parse().ok()),
            id: self.id.clone(),
            what: format!("{method}: {}", what.as_ref()),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StepParams {
    task: TaskId,
    text: Option<String>,
    status: Option<String>,
    message: Option<Message>,
    artifact: Option<Artifact>,
    #[serde(default)]
    append: bool,
    #[serde(default)]
    last_chunk: bool,
}

impl StepParams {
    fn progress(self) -> Result<Progress, String> {
        match (self.text, self.status, self.message, self.artifact) {
            (Some(text), None, None, None) => Ok(Progress::Text(text)),
            (None, Some(text), None, None) => Ok(Progress::Status(text)),
            (None, None, Some(message), None) => {
                Part::check_all(&message.parts).map_err(|bad| bad.to_string())?;
                Ok(Progress::Said(message))
            }
            (None, None, None, Some(artifact)) => {
                Part::check_all(&artifact.parts).map_err(|bad| bad.to_string())?;
                if artifact.artifact_id.is_empty() || artifact.artifact_id.len() > MAX_FOREIGN_ID {
                    return Err("artifactId must have 1 to 128 characters".into());
                }
                Ok(Progress::Artifact { artifact, append: self.append, last_chunk: self.last_chunk })
            }
            _ => Err("give exactly one of text, status, message and artifact".into()),
        }
    }
}

#[derive(Deserialize)]
struct EndParams {
    task: TaskId,
    outcome: EndingWay,
    message: Option<Message>,
    text: Option<String>,
}

#[derive(Deserialize)]
struct TaskParams {
    task: TaskId,
}

impl FromAgent {
    /// Reads a frame of a program.
    ///
    /// # Errors
    /// [`BadFrame`] says what is wrong.
    pub fn read(bytes: &[u8]) -> Result<Self, BadFrame> {
        let envelope = Envelope::read(bytes)?;
        let Some(name) = envelope.method.clone() else {
            // Nothing that a site says is a request, so an answer is an answer to nothing.
            return Ok(Self::Unknown { id: None, method: String::new() });
        };
        let id =
            || envelope.id.clone().ok_or_else(|| envelope.wrong("it needs an id: a number or a short text"));
        match name.as_str() {
            method::REGISTER => {
                let introduction: Introduction = envelope.params()?;
                Ok(Self::Register { id: id()?, introduction: Box::new(introduction) })
            }
            method::PING => Ok(Self::Ping { id: id()? }),
            method::STEP => {
                let params: StepParams = envelope.params()?;
                let task = params.task;
                let progress = params.progress().map_err(|what| envelope.wrong(what))?;
                Ok(Self::Step { task, progress })
            }
            method::END => {
                let EndParams { task, outcome, message, text } = envelope.params()?;
                if let Some(message) = &message {
                    Part::check_all(&message.parts).map_err(|bad| envelope.wrong(bad.to_string()))?;
                }
                Ok(Self::End { task, ending: Ending { way: outcome, message, text } })
            }
            other => Ok(Self::Unknown { id: envelope.id, method: shown(other) }),
        }
    }
}

impl FromSite {
    /// Reads a frame of a site.
    ///
    /// # Errors
    /// [`BadFrame`] says what is wrong.
    pub fn read(bytes: &[u8]) -> Result<Self, BadFrame> {
        let mut envelope = Envelope::read(bytes)?;
        let Some(name) = envelope.method.clone() else { return Self::answer(&mut envelope) };
        match name.as_str() {
            method::RUN => envelope.params::<Assignment>().map(|work| Self::Run(Box::new(work))),
            method::CANCEL => envelope.params().map(|TaskParams { task }| Self::Cancel { task }),
            method::NOTICE => {
                let text = envelope.params["message"].as_str().unwrap_or_default().to_owned();
                Ok(Self::Notice { text })
            }
            _ => Ok(Self::Unknown),
        }
    }

    fn answer(envelope: &mut Envelope) -> Result<Self, BadFrame> {
        if let Some(error) = envelope.error.take() {
            let why = error["message"].as_str().unwrap_or("the site gives no reason").to_owned();
            return Ok(Self::Refused { id: envelope.id.take(), why });
        }
        let Some((id, result)) = envelope.id.take().zip(envelope.result.take()) else {
            return Err(BadFrame::NoFrame("a frame has a method, a result or an error".into()));
        };
        if result.get("name").is_none() {
            return Ok(Self::Pong { id });
        }
        match Welcome::deserialize(&result) {
            Ok(welcome) => Ok(Self::Welcome { id, welcome: Box::new(welcome) }),
            Err(error) => Err(BadFrame::Params { task: None, id: Some(id), what: error.to_string() }),
        }
    }
}

fn shown(word: &str) -> String {
    word.chars().filter(|letter| !letter.is_control()).take(MAX_SHOWN).collect()
}
