//! OpenCall: a tool call that has not ended, with its open questions and the received answers.
//!
//! Promises: it fits in the memo of a task, so that nothing is lost when the site stops between question and
//! answer. The name of a question is unique over the life of the task: the round in which it was asked
//! precedes the tool's own name. Answers may come one by one; what was not asked for is ignored.

use std::collections::BTreeMap;

use agentsite_protocol::extension::MCP;
use agentsite_protocol::mcp::{InputNeeded, InputRequest, Round, ToolCall};
use agentsite_protocol::{JsonMap, Message, Task};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{answer, named_tool, question};
use crate::Job;

/// Most questions at a time; people answer one form after the other.
const MAX_QUESTIONS: usize = 32;

/// Most bytes of the questions and the state of one round, because they are kept with the task.
const MAX_QUESTION_BYTES: usize = 256 * 1024;

/// The key of the memo under which it is kept.
const MEMO: &str = "call";

/// A call that has not ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenCall {
    tool: String,
    arguments: JsonMap,
    /// How often the tool has been called.
    round: u32,
    /// The state that the tool expects back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<Value>,
    /// The questions that wait, by the tool's own names.
    #[serde(default)]
    asked: BTreeMap<String, InputRequest>,
    /// The received answers, by the tool's own names.
    #[serde(default)]
    answers: BTreeMap<String, Value>,
}

impl OpenCall {
    /// The call that a message asks for.
    pub(crate) fn begin(data: &JsonMap, state: Option<Value>) -> Self {
        let object = |name: &str| data.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
        Self {
            tool: named_tool(data).unwrap_or_default().to_owned(),
            arguments: object("arguments"),
            round: 0,
            state,
            asked: BTreeMap::new(),
            answers: object("answers").into_iter().collect(),
        }
    }

    /// The call that an earlier run left open.
    pub(crate) fn remembered(memo: &Value) -> Option<Self> {
        serde_json::from_value(memo.get(MEMO)?.clone()).ok()
    }

    /// What the next run must be reminded of.
    pub(crate) fn memo(&self) -> Value {
        json!({ MEMO: self })
    }

    pub(super) fn tool(&self) -> &str {
        &self.tool
    }

    pub(crate) fn round(&self) -> u32 {
        self.round
    }

    /// Whether every question has an answer.
    pub(crate) fn is_answered(&self) -> bool {
        self.asked.is_empty()
    }

    /// The call as the toolbox takes it.
    pub(super) fn call(&self, round: Round) -> ToolCall {
        ToolCall { name: self.tool.clone(), arguments: self.arguments.clone(), round }
    }

    /// Takes what was answered into the next call.
    pub(crate) fn next_round(&mut self) -> Round {
        self.round += 1;
        Round { answers: std::mem::take(&mut self.answers), state: self.state.take() }
    }

    /// Records the tool's questions.
    pub(crate) fn ask(&mut self, needed: InputNeeded) -> Result<(), String> {
        let size = serde_json::to_vec(&needed.requests).map_or(0, |bytes| bytes.len())
            + needed.state.as_ref().map_or(0, |state| state.to_string().len());
        if needed.requests.len() > MAX_QUESTIONS || size > MAX_QUESTION_BYTES {
            return Err(format!(
                "{} asks {} things in {size} bytes; at most {MAX_QUESTIONS} in {MAX_QUESTION_BYTES} bytes are put to a caller",
                self.tool,
                needed.requests.len()
            ));
        }
        (self.asked, self.state) = (needed.requests, needed.state);
        Ok(())
    }

    /// Takes the answers of a message: those of its data parts, or its words when only one thing is asked.
    /// Gives what could not be read.
    pub(crate) fn take_answer(&mut self, message: &Message) -> Option<String> {
        if self.asked.is_empty() {
            return None;
        }
        let data = message.parts.iter().filter_map(|part| part.data.as_ref()?.get("answers")?.as_object());
        let given: Vec<(String, Value)> =
            data.flatten().map(|(key, value)| (key.clone(), value.clone())).collect();
        for (key, value) in given {
            let name = self.name_of(&key).to_owned();
            if let Some(request) = self.asked.get(&name)
                && let Some(answer) = answer::of_data(request, value)
            {
                self.asked.remove(&name);
                self.answers.insert(name, answer);
            }
        }
        let words = message.plain_text();
        let only = self.asked.iter().next().filter(|_| self.asked.len() == 1 && !words.trim().is_empty());
        let (name, request) = only.map(|(name, request)| (name.clone(), request))?;
        match answer::of_words(request, words.trim()) {
            Ok(answer) => {
                self.asked.remove(&name);
                self.answers.insert(name, answer);
                None
            }
            Err(why) => Some(why),
        }
    }

    /// What is asked, for people and for programs.
    pub(crate) fn question(&self, job: &Job, misread: Option<&str>) -> Message {
        let requests = self.open();
        let mut message = job.words(question::in_words(&requests, misread));
        message.extra.insert("metadata".into(), json!({ MCP: { "requests": requests } }));
        message
    }

    /// The questions that wait, by names that are unique in the life of the task.
    fn open(&self) -> BTreeMap<String, InputRequest> {
        let round = self.round;
        self.asked.iter().map(|(name, request)| (format!("{round}.{name}"), request.clone())).collect()
    }

    /// The tool's own name of a question; callers may use either.
    fn name_of<'a>(&self, key: &'a str) -> &'a str {
        let numbered = key.split_once('.').filter(|(round, _)| *round == self.round.to_string());
        numbered.map_or(key, |(_, name)| name)
    }
}

/// The questions that a task waits for, by names that are unique in its life; none when it waits for nothing
/// or is not a tool call.
#[must_use]
pub fn open_questions(task: &Task) -> BTreeMap<String, InputRequest> {
    let waits = task.head.state.is_interrupted();
    let open = task.memo.as_ref().filter(|_| waits).and_then(OpenCall::remembered);
    open.map(|open| open.open()).unwrap_or_default()
}
