//! The fake of the Model seam: a model that says what a script tells it.
//!
//! Promises: keeps the contract of the seam; plays one turn per request, in order, and remembers every
//! request. It is part of the crate so that tests of a whole site can use it; only tests create one.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agentsite_protocol::Usage;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};

use super::model::{ChatRequest, EndReason, Model, ModelError, ModelEvent, ModelStream, ToolCall};

/// One turn of a script.
#[derive(Debug, Clone, Default)]
pub struct ScriptedTurn {
    refusal: Option<ModelError>,
    events: Vec<Result<ModelEvent, ModelError>>,
    usage: Usage,
    end: Option<EndReason>,
    hangs: bool,
}

impl ScriptedTurn {
    /// A turn that says these pieces of text.
    #[must_use]
    pub fn says<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Self {
        let events = pieces.into_iter().map(|text| Ok(ModelEvent::Text(text.to_owned()))).collect();
        Self {
            events,
            usage: Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() },
            ..Self::default()
        }
    }

    /// A turn that is refused before any output.
    #[must_use]
    pub fn refused(error: ModelError) -> Self {
        Self { refusal: Some(error), ..Self::default() }
    }

    /// The same turn that then calls a tool.
    #[must_use]
    pub fn calls(mut self, id: &str, name: &str, arguments: &str) -> Self {
        let call = ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() };
        self.events.push(Ok(ModelEvent::ToolCall(call)));
        self
    }

    /// The same turn that then breaks off.
    #[must_use]
    pub fn breaks(mut self, error: ModelError) -> Self {
        self.events.push(Err(error));
        self
    }

    /// The same turn that then says nothing more for ever.
    #[must_use]
    pub const fn hangs(mut self) -> Self {
        self.hangs = true;
        self
    }

    /// The same turn that costs this many tokens.
    #[must_use]
    pub const fn costs(mut self, input_tokens: u64, output_tokens: u64) -> Self {
        self.usage = Usage { input_tokens, output_tokens, turns: 0, calls: 0 };
        self
    }

    /// The same turn that ends for this reason.
    #[must_use]
    pub fn ends(mut self, reason: EndReason) -> Self {
        self.end = Some(reason);
        self
    }

    fn play(self) -> Result<ModelStream, ModelError> {
        if let Some(error) = self.refusal {
            return Err(error);
        }
        let broken = self.events.iter().position(Result::is_err);
        let calls = self.events.iter().any(|event| matches!(event, Ok(ModelEvent::ToolCall(_))));
        let end = self.end.unwrap_or(if calls { EndReason::ToolCalls } else { EndReason::Stop });
        let mut events = self.events;
        match broken {
            Some(at) => events.truncate(at + 1),
            None if self.hangs => return Ok(stream::iter(events).chain(stream::pending()).boxed()),
            None => events.extend([Ok(ModelEvent::Usage(self.usage)), Ok(ModelEvent::End(end))]),
        }
        Ok(stream::iter(events).boxed())
    }
}

/// A model that says what a script tells it.
#[derive(Debug, Default)]
pub struct ScriptedModel {
    // Std locks: held to take or add one item, never across an await.
    turns: Mutex<VecDeque<ScriptedTurn>>,
    requests: Mutex<Vec<ChatRequest>>,
}

impl ScriptedModel {
    /// A model that plays these turns, one per request.
    pub fn new(turns: impl IntoIterator<Item = ScriptedTurn>) -> Self {
        Self { turns: Mutex::new(turns.into_iter().collect()), requests: Mutex::default() }
    }

    /// What it was asked so far.
    #[must_use]
    pub fn requests(&self) -> Vec<ChatRequest> {
        lock(&self.requests).clone()
    }

    /// How many turns were not played yet.
    #[must_use]
    pub fn turns_left(&self) -> usize {
        lock(&self.turns).len()
    }
}

impl Model for ScriptedModel {
    fn chat(&self, request: ChatRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        lock(&self.requests).push(request);
        let ended = || {
            let why = "the script has no further turn".into();
            Err(ModelError::BadAnswer { place: "script".into(), why })
        };
        let answer = lock(&self.turns).pop_front().map_or_else(ended, ScriptedTurn::play);
        Box::pin(std::future::ready(answer))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
