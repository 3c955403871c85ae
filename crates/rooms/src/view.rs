//! What people see of conversations and turns, made from rows and tasks.
//!
//! Promises: everything about question and answer comes from the task. Long answers are cut and say so, files
//! are named and not carried: the task has them whole. What was said on the way and what was started in the
//! course of it is told as far as people read it. A turn whose task cannot be found says so and is shown all
//! the same.

use agentsite_protocol::{
    AgentName, Artifact, ContextId, ConversationId, Message, MessageId, Part, Role, Task, TaskHead, TaskId,
    Timestamp, Usage,
};
use agentsite_store::{Conversation, TurnPosition};
use serde::Serialize;
use serde_json::{Value, json};

use crate::decide::start;

/// Bytes of an answer that are shown with its turn; longer ones are read from the task.
const SHOWN: usize = 256 << 10;

/// Messages of a turn that are told beside its question and its answer, the last ones: steps on the way are
/// read, not studied.
const TOLD: usize = 64;

/// Bytes of the words of one of them.
const TOLD_WORDS: usize = 4 << 10;

/// Tasks told of those that a turn started; more are in the graph of the task.
pub(crate) const STARTED: usize = 32;

/// A conversation without its turns.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationView {
    /// Its id.
    pub id: ConversationId,
    /// What it is called.
    pub title: String,
    /// Whether its owner chose the title.
    pub named: bool,
    /// Whether it stands before the others.
    pub pinned: bool,
    /// The agent it was begun with.
    pub agent: AgentName,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// How often it was changed.
    pub revision: u64,
    /// The turn that is shown last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<TaskId>,
    /// How many turns it has, on all branches.
    pub turns: u64,
    /// Where the words stand that were searched for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passage: Option<Passage>,
}

/// Words that were searched for, with what stands around them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Passage {
    /// `title`, `question` or `answer`.
    pub of: &'static str,
    /// The turn; none for the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<TaskId>,
    /// The words.
    pub text: String,
}

impl From<Conversation> for ConversationView {
    fn from(kept: Conversation) -> Self {
        let Conversation {
            id,
            title,
            named,
            pinned,
            agent,
            created_at,
            updated_at,
            revision,
            head,
            turns,
            ..
        } = kept;
        Self { id, title, named, pinned, agent, created_at, updated_at, revision, head, turns, passage: None }
    }
}

/// One message of a person to one agent, and what came of it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnView {
    /// The task that answers it, by which the turn is named.
    pub id: TaskId,
    /// The turn before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// The agent that was asked.
    pub agent: AgentName,
    /// The context in which it was asked.
    pub context_id: ContextId,
    /// The person's message; turns that ask several agents at once have the same.
    pub message_id: MessageId,
    /// When it was said.
    pub at: Timestamp,
    /// What was said; files are named and not carried.
    pub question: Vec<Value>,
    /// Where the task stands; `gone` when it cannot be found.
    pub state: &'static str,
    /// What the agent answered.
    pub answer: String,
    /// Whether the answer is longer than shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// The agent's last words about where the task stands: what it asks back, or why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// What the agent asks back, as it sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<AsksView>,
    /// What was said after the question: the agent's words on the way, what it asked back, and what was
    /// answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<SaidView>,
    /// The tasks that were started in its course, the first ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub started: Vec<StartedView>,
    /// What the agent made.
    pub artifacts: Vec<ArtifactView>,
    /// What it used.
    #[serde(skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
    /// How long it took, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The turns that stand beside it, itself among them, in the order in which they were said: the branches
    /// of this place.
    pub siblings: Vec<TaskId>,
}

/// What an agent asks back: words, and what a form can be made from.
#[derive(Debug, Clone, Serialize)]
pub struct AsksView {
    /// The words, and data such as a choice.
    pub parts: Vec<Value>,
    /// What stands beside them, such as the form of a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// One message within a turn.
#[derive(Debug, Clone, Serialize)]
pub struct SaidView {
    /// `user` or `agent`.
    pub role: &'static str,
    /// What was said; long words are cut, files are named and not carried.
    pub parts: Vec<Value>,
}

/// A task that a turn started: another agent that was asked.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StartedView {
    /// Its id.
    pub id: TaskId,
    /// Who was asked.
    pub agent: AgentName,
    /// Where it stands.
    pub state: &'static str,
    /// When it was started.
    pub at: Timestamp,
    /// How long it took, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// Something that an agent made, by name.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactView {
    /// Its id within the task.
    pub artifact_id: String,
    /// Its name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The types of its parts, each once.
    pub media_types: Vec<String>,
    /// Bytes of content.
    pub bytes: usize,
}

impl TurnView {
    /// A turn with its task as it is now, and the tasks that it started.
    pub(crate) fn new(place: TurnPosition, task: Option<&Task>, started: Vec<TaskHead>) -> Self {
        let TurnPosition { turn, siblings } = place;
        let asked = task.and_then(|task| task.history.first()).map_or(&[][..], |message| &message.parts);
        let answer = task.map(Task::answer).unwrap_or_default();
        let shown = start(&answer, SHOWN).to_owned();
        let words = task.and_then(|task| task.status.message.as_ref()).map(Message::plain_text);
        let asks = task.filter(|task| task.head.state.is_interrupted());
        let asks = asks.and_then(|task| task.status.message.as_ref());
        Self {
            id: turn.task,
            parent: turn.parent,
            agent: turn.agent,
            context_id: turn.context,
            message_id: turn.message,
            at: turn.at,
            question: asked.iter().map(named).collect(),
            state: task.map_or("gone", |task| task.head.state.word()),
            cut: shown.len() < answer.len(),
            answer: shown,
            words: words.filter(|words| !words.is_empty()),
            asks: asks.map(AsksView::from),
            said: task.map(said).unwrap_or_default(),
            started: started.into_iter().map(StartedView::from).collect(),
            artifacts: task
                .map(|task| task.artifacts.iter().map(ArtifactView::from).collect())
                .unwrap_or_default(),
            usage: task.map(|task| task.usage).unwrap_or_default(),
            duration_ms: task.and_then(|task| took(&task.head)),
            siblings,
        }
    }
}

impl From<&Message> for AsksView {
    fn from(message: &Message) -> Self {
        Self { parts: told(&message.parts), metadata: message.extra.get("metadata").cloned() }
    }
}

/// The messages of a task after the first.
fn said(task: &Task) -> Vec<SaidView> {
    let later = task.history.get(1..).unwrap_or_default();
    let last = &later[later.len().saturating_sub(TOLD)..];
    let one = |message: &Message| SaidView {
        role: if message.role == Role::User { "user" } else { "agent" },
        parts: told(&message.parts),
    };
    last.iter().map(one).collect()
}

/// Parts of a message on the way; long words are cut.
fn told(parts: &[Part]) -> Vec<Value> {
    let one = |part: &Part| match part.text.as_deref() {
        Some(text) if text.len() > TOLD_WORDS => json!({ "text": format!("{}…", start(text, TOLD_WORDS)) }),
        _ => named(part),
    };
    parts.iter().map(one).collect()
}

/// Milliseconds that a task took; none before it has ended.
fn took(head: &TaskHead) -> Option<u64> {
    let took = head.state.is_terminal().then(|| head.updated_at.since(head.created_at));
    took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX))
}

impl From<TaskHead> for StartedView {
    fn from(head: TaskHead) -> Self {
        let duration_ms = took(&head);
        Self { id: head.id, agent: head.agent, state: head.state.word(), at: head.created_at, duration_ms }
    }
}

/// A part of a message; the content of a file is left out.
fn named(part: &Part) -> Value {
    let Some(raw) = &part.raw else { return serde_json::to_value(part).unwrap_or_default() };
    // Four letters of base64 are three bytes.
    json!({ "filename": part.filename, "mediaType": part.media_type, "bytes": raw.len() / 4 * 3 })
}

impl From<&Artifact> for ArtifactView {
    fn from(artifact: &Artifact) -> Self {
        let mut media_types: Vec<String> = Vec::new();
        for part in &artifact.parts {
            let plain = || if part.text.is_some() { "text/plain" } else { "application/octet-stream" };
            let media = part.media_type.as_deref().unwrap_or_else(plain);
            if !media_types.iter().any(|known| known == media) {
                media_types.push(media.to_owned());
            }
        }
        let (artifact_id, name) = (artifact.artifact_id.clone(), artifact.name.clone());
        Self { artifact_id, name, media_types, bytes: artifact.size() }
    }
}
