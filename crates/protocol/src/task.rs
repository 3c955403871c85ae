//! Task: one piece of work for one agent, as a pure state machine over a dense sequence of events.
//!
//! Promises: `decide` turns a command into events or a refusal and changes nothing; `apply` folds an event
//! into the state and takes events only in order (1, 2, 3, …). The same events always give the same task. A
//! terminal task never changes again. States and transitions are those of A2A 1.0.
//!
//! It does not store, send or wait: `site` does, after the events are on disk.

mod decide;
mod event;
mod state;
mod wire;

#[cfg(test)]
mod tests;

pub use decide::{Command, Outcome, Refusal, Step};
pub use event::{Opening, TaskEvent, TaskEventKind};
pub use state::{TaskState, TaskStatus};
pub use wire::{WireStreamItem, WireTask};

use std::time::Duration;

use serde_json::Value;

use crate::{
    AgentInstance, AgentName, Artifact, ContextId, ConversationId, Message, Principal, RoomId, TaskId,
    Timestamp, Usage,
};

/// Most events one task may have; Temporal warns at the same number. A task that says more than this fails,
/// saying so.
pub const MAX_EVENTS: u64 = 10_000;

/// The columns of a task that list and find it; derived from its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskHead {
    /// Its id.
    pub id: TaskId,
    /// The conversation it belongs to.
    pub context: ContextId,
    /// The agent that works on it.
    pub agent: AgentName,
    /// Its owner.
    pub owner: Principal,
    /// Its status.
    pub state: TaskState,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When its last event happened.
    pub updated_at: Timestamp,
    /// Number of its last event.
    pub seq: u64,
    /// The task in whose course it was started.
    pub parent: Option<TaskId>,
}

/// A task with everything that was said and made in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// What it is listed by.
    pub head: TaskHead,
    /// Which holder of the agent's name it was opened with; none for an agent of the site itself.
    pub instance: Option<AgentInstance>,
    /// Its status, with the agent's latest message.
    pub status: TaskStatus,
    /// What was said before, oldest first.
    pub history: Vec<Message>,
    /// What was made.
    pub artifacts: Vec<Artifact>,
    /// How many times a runner has been started on it.
    pub attempt: u32,
    /// How many of these were because the site was stopped under it, since the caller last spoke.
    pub retries: u32,
    /// When it must be done.
    pub deadline: Option<Timestamp>,
    /// How long it is kept after it has ended, if its caller said so.
    pub ttl: Option<Duration>,
    /// The kept conversation of which it is a turn.
    pub conversation: Option<ConversationId>,
    /// The room in which its agent was addressed.
    pub room: Option<RoomId>,
    /// What the runner asked to be reminded of in its next run, such as the id of a task at another site.
    pub memo: Option<Value>,
    /// What it has used so far.
    pub usage: Usage,
}

/// Events that do not belong to the task in this place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadEvent {
    /// A gap, a repeat or another task's event.
    #[error("expected event {expected} of the task, found {found}")]
    OutOfOrder {
        /// Number that had to come.
        expected: u64,
        /// The number received.
        found: u64,
    },
    /// A second opening, or a first event that opens nothing.
    #[error("a task opens with its first event and only with it")]
    Opening,
}

impl Task {
    /// Begins a task with its first event.
    ///
    /// # Errors
    /// [`BadEvent`] when the event does not open a task or is not number one.
    pub fn open(event: &TaskEvent) -> Result<Self, BadEvent> {
        let TaskEventKind::Opened(opening) = &event.kind else { return Err(BadEvent::Opening) };
        if event.seq != 1 {
            return Err(BadEvent::OutOfOrder { expected: 1, found: event.seq });
        }
        Ok(Self {
            head: TaskHead {
                id: event.task,
                context: opening.context.clone(),
                agent: opening.agent.clone(),
                owner: opening.owner.clone(),
                state: TaskState::Submitted,
                created_at: event.at,
                updated_at: event.at,
                seq: 1,
                parent: opening.parent,
            },
            instance: opening.instance.clone(),
            status: TaskStatus { state: TaskState::Submitted, message: None, timestamp: event.at },
            history: vec![opening.message.clone()],
            artifacts: Vec::new(),
            attempt: 0,
            retries: 0,
            deadline: opening.deadline,
            ttl: opening.ttl.map(Duration::from_millis),
            conversation: opening.conversation,
            room: opening.room,
            memo: None,
            usage: Usage::default(),
        })
    }

    /// Rebuilds a task from all its events; `None` when there are none.
    ///
    /// # Errors
    /// [`BadEvent`] when the events have a gap or do not begin with an opening.
    pub fn replay<'a>(events: impl IntoIterator<Item = &'a TaskEvent>) -> Result<Option<Self>, BadEvent> {
        let mut events = events.into_iter();
        let Some(first) = events.next() else { return Ok(None) };
        let mut task = Self::open(first)?;
        for event in events {
            task.apply(event)?;
        }
        Ok(Some(task))
    }

    /// Folds the next event into the state.
    ///
    /// # Errors
    /// [`BadEvent`] when the event is not the next one; the task is then unchanged.
    pub fn apply(&mut self, event: &TaskEvent) -> Result<(), BadEvent> {
        let expected = self.head.seq + 1;
        if event.seq != expected || event.task != self.head.id {
            return Err(BadEvent::OutOfOrder { expected, found: event.seq });
        }
        match &event.kind {
            TaskEventKind::Opened(_) => return Err(BadEvent::Opening),
            TaskEventKind::Said { message } => {
                self.settle_status_message();
                self.history.push(message.clone());
                self.retries = 0;
            }
            TaskEventKind::Started { attempt } => {
                self.attempt = *attempt;
                self.enter(TaskState::Working, None, event.at);
            }
            TaskEventKind::Status { state, message } => self.enter(*state, message.clone(), event.at),
            TaskEventKind::Artifact { artifact, append, .. } => self.take_artifact(artifact, *append),
            TaskEventKind::Memo { memo } => self.memo = Some(memo.clone()),
            TaskEventKind::Used { usage } => self.usage.add(*usage),
        }
        self.head.seq = event.seq;
        self.head.updated_at = event.at;
        Ok(())
    }

    /// Joins a further chunk of an artifact to the event before it, while that event is not stored yet, so
    /// that many small chunks become one event. Gives the size of what was joined.
    ///
    /// # Errors
    /// Gives the chunk back when `last` is not an open chunk of the same artifact; it then becomes a separate
    /// event.
    pub fn join_chunk(
        &mut self,
        last: Option<&mut TaskEvent>,
        chunk: Artifact,
        last_chunk: bool,
    ) -> Result<usize, Artifact> {
        let Some(TaskEventKind::Artifact { artifact, last_chunk: closed, .. }) =
            last.map(|event| &mut event.kind)
        else {
            return Err(chunk);
        };
        if *closed || artifact.artifact_id != chunk.artifact_id {
            return Err(chunk);
        }
        *closed = last_chunk;
        self.take_artifact(&chunk, true);
        let size = chunk.size();
        artifact.append(chunk);
        Ok(size)
    }

    /// The agent's answer as text: what it made, or else its last words.
    #[must_use]
    pub fn answer(&self) -> String {
        let made: Vec<String> =
            self.artifacts.iter().map(Artifact::plain_text).filter(|t| !t.is_empty()).collect();
        if made.is_empty() {
            self.status.message.as_ref().map(Message::plain_text).unwrap_or_default()
        } else {
            made.join("\n")
        }
    }

    /// When it is removed, if its caller said how long it is kept and it has ended.
    #[must_use]
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.ttl.filter(|_| self.head.state.is_terminal()).map(|ttl| self.head.updated_at.plus(ttl))
    }

    fn enter(&mut self, state: TaskState, message: Option<Message>, at: Timestamp) {
        self.settle_status_message();
        if (self.head.state, state) == (TaskState::Working, TaskState::Submitted) {
            self.retries += 1;
        }
        self.head.state = state;
        self.status = TaskStatus { state, message, timestamp: at };
    }

    /// Moves the agent's latest words into the history before they are replaced.
    fn settle_status_message(&mut self) {
        self.history.extend(self.status.message.take());
    }

    fn take_artifact(&mut self, artifact: &Artifact, append: bool) {
        let known = self.artifacts.iter_mut().find(|known| known.artifact_id == artifact.artifact_id);
        match known {
            Some(known) if append => known.append(artifact.clone()),
            Some(known) => *known = artifact.clone(),
            None => self.artifacts.push(artifact.clone()),
        }
    }
}
