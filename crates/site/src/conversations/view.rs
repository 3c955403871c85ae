//! What people see of conversations and turns, made from rows and tasks.
//!
//! Promises: everything about question and answer comes from the task. Long answers are cut and say so, files are named and not carried: the
//! task has them whole. A turn whose task cannot be found says so and is shown all the same.

use agentsite_protocol::{
    AgentName, Artifact, ContextId, ConversationId, Message, MessageId, Part, Task, TaskId, Timestamp, Usage,
};
use agentsite_store::{Conversation, Place};
use serde::Serialize;
use serde_json::{Value, json};

use super::decide::start;

/// Bytes of an answer that are shown with its turn; longer ones are read from the task.
const SHOWN: usize = 256 << 10;

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
    /// What the agent made.
    pub artifacts: Vec<ArtifactView>,
    /// What it used.
    #[serde(skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
    /// How long it took, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The turns that stand beside it, itself among them, in the order in which they were said: the branches of this place.
    pub siblings: Vec<TaskId>,
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
    /// A turn with its task as it is now.
    pub(crate) fn new(place: Place, task: Option<&Task>) -> Self {
        let Place { turn, siblings } = place;
        let asked = task.and_then(|task| task.history.first()).map_or(&[][..], |message| &message.parts);
        let answer = task.map(Task::answer).unwrap_or_default();
        let shown = start(&answer, SHOWN).to_owned();
        let words = task.and_then(|task| task.status.message.as_ref()).map(Message::plain_text);
        let ended = task.filter(|task| task.head.state.is_terminal());
        let took = ended.map(|task| task.head.updated_at.since(task.head.created_at));
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
            artifacts: task
                .map(|task| task.artifacts.iter().map(ArtifactView::from).collect())
                .unwrap_or_default(),
            usage: task.map(|task| task.usage).unwrap_or_default(),
            duration_ms: took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
            siblings,
        }
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
