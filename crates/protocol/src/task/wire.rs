//! How a task and its events look to other agents: A2A 1.0 ProtoJSON.
//!
//! Promises: borrowed views, nothing is copied to be written. Internal events (memo, usage, the caller's own
//! messages) are not shown; every stream of a task shows the same items in the same order.

use serde::Serialize;

use super::{Task, TaskEvent, TaskEventKind, TaskState, TaskStatus};
use crate::extension::{RESUME_SEQUENCE, TASK_TTL_EXPIRES_AT};
use crate::{Artifact, ContextId, JsonMap, Message, TaskId};

/// A task as other agents see it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WireTask<'a> {
    pub(crate) id: TaskId,
    pub(crate) context_id: &'a ContextId,
    pub(crate) status: &'a TaskStatus,
    #[serde(skip_serializing_if = "<[Artifact]>::is_empty")]
    pub(crate) artifacts: &'a [Artifact],
    #[serde(skip_serializing_if = "<[Message]>::is_empty")]
    pub(crate) history: &'a [Message],
    #[serde(skip_serializing_if = "JsonMap::is_empty")]
    pub(crate) metadata: JsonMap,
}

impl Task {
    /// The task as other agents see it, with at most `history_length` of the latest messages (all when
    /// `None`).
    #[must_use]
    pub fn wire(&self, history_length: Option<usize>) -> WireTask<'_> {
        let from = history_length.map_or(0, |most| self.history.len().saturating_sub(most));
        let mut metadata = JsonMap::new();
        if !self.usage.is_empty() {
            metadata.insert("usage".into(), serde_json::to_value(self.usage).unwrap_or_default());
        }
        if let Some(at) = self.expires_at() {
            metadata.insert(TASK_TTL_EXPIRES_AT.into(), at.to_string().into());
        }
        WireTask {
            id: self.head.id,
            context_id: &self.head.context,
            status: &self.status,
            artifacts: &self.artifacts,
            history: &self.history[from..],
            metadata,
        }
    }
}

/// One item of a stream as other agents see it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum WireStreamItem<'a> {
    /// The whole task; always the first item.
    Task(WireTask<'a>),
    /// A message instead of a task; then the only item.
    Message(&'a Message),
    /// The status of the task changed.
    #[serde(rename_all = "camelCase")]
    StatusUpdate {
        /// The task.
        task_id: TaskId,
        /// Its conversation.
        context_id: &'a ContextId,
        /// Its status.
        status: TaskStatus,
        /// What extensions say of the event.
        #[serde(skip_serializing_if = "JsonMap::is_empty")]
        metadata: JsonMap,
    },
    /// The agent made something, or a further piece of it.
    #[serde(rename_all = "camelCase")]
    ArtifactUpdate {
        /// The task.
        task_id: TaskId,
        /// Its conversation.
        context_id: &'a ContextId,
        /// The thing or the piece.
        artifact: &'a Artifact,
        /// Whether it continues the artifact of the same id.
        append: bool,
        /// Whether nothing more of it will come.
        last_chunk: bool,
        /// What extensions say of the event.
        #[serde(skip_serializing_if = "JsonMap::is_empty")]
        metadata: JsonMap,
    },
}

impl WireStreamItem<'_> {
    /// The item with the number of the event, for callers that asked for it; a message has none.
    #[must_use]
    pub fn numbered(mut self, seq: u64) -> Self {
        match &mut self {
            Self::Task(WireTask { metadata, .. })
            | Self::StatusUpdate { metadata, .. }
            | Self::ArtifactUpdate { metadata, .. } => {
                metadata.insert(RESUME_SEQUENCE.into(), seq.into());
            }
            Self::Message(_) => {}
        }
        self
    }
}

impl TaskEvent {
    /// The event as other agents see it, or `None` when it is only our own matter.
    #[must_use]
    pub fn wire<'a>(&'a self, context: &'a ContextId) -> Option<WireStreamItem<'a>> {
        let status = |state, message| WireStreamItem::StatusUpdate {
            task_id: self.task,
            context_id: context,
            status: TaskStatus { state, message, timestamp: self.at },
            metadata: JsonMap::new(),
        };
        match &self.kind {
            TaskEventKind::Started { .. } => Some(status(TaskState::Working, None)),
            TaskEventKind::Status { state, message } => Some(status(*state, message.clone())),
            TaskEventKind::Artifact { artifact, append, last_chunk } => {
                Some(WireStreamItem::ArtifactUpdate {
                    task_id: self.task,
                    context_id: context,
                    artifact,
                    append: *append,
                    last_chunk: *last_chunk,
                    metadata: JsonMap::new(),
                })
            }
            TaskEventKind::Opened(_)
            | TaskEventKind::Said { .. }
            | TaskEventKind::Memo { .. }
            | TaskEventKind::Used { .. } => None,
        }
    }

    /// Whether the event is pushed to receivers: everything that a stream shows, and the opening.
    #[must_use]
    pub const fn is_told(&self) -> bool {
        match self.kind {
            TaskEventKind::Opened(_)
            | TaskEventKind::Started { .. }
            | TaskEventKind::Status { .. }
            | TaskEventKind::Artifact { .. } => true,
            TaskEventKind::Said { .. } | TaskEventKind::Memo { .. } | TaskEventKind::Used { .. } => false,
        }
    }

    /// What is pushed to receivers, as the JSON of a `StreamResponse`: the task for its opening, else what a
    /// stream shows.
    #[must_use]
    pub fn told(&self, context: &ContextId) -> Option<Vec<u8>> {
        let written = match (&self.kind, self.wire(context)) {
            (TaskEventKind::Opened(_), _) => {
                let task = Task::open(self).ok()?;
                serde_json::to_vec(&WireStreamItem::Task(task.wire(None)))
            }
            (_, item) => serde_json::to_vec(&item?),
        };
        written.ok()
    }
}
