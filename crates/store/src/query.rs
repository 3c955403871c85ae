//! What can be asked of a store, and the shapes of its answers.
//!
//! Promises: every list has a limit and a cursor that stays right while new rows come. It does not know SQL.

use agentsite_protocol::{
    AgentName, ContextId, JournalKind, JournalLine, JournalSubject, Principal, TaskEvent, TaskHead, TaskId,
    TaskState, Timestamp,
};
use serde::{Deserialize, Serialize};

use crate::fair::ClaimTurn;
use crate::{ConversationCursor, ConversationMatch, DeliveryRequest};

/// One page of a list.
#[derive(Debug, Clone)]
pub struct Page<T, C> {
    /// The rows.
    pub items: Vec<T>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<C>,
}

/// Longest page of tasks or rows a store gives, whatever was asked for; enough for any screen, little enough
/// for memory.
pub const MAX_PAGE: usize = 1_000;

impl Page<TaskHead, TaskCursor> {
    /// Cuts a sorted list, which may be longer than asked for, to one page with the cursor to the next.
    pub(crate) fn cut(mut items: Vec<TaskHead>, limit: usize) -> Self {
        let limit = limit.clamp(1, MAX_PAGE);
        let more = items.len() > limit;
        items.truncate(limit);
        let last = items.last().filter(|_| more);
        let next = last.map(|head| TaskCursor { updated_at: head.updated_at, id: head.id });
        Self { items, next }
    }
}

impl Page<ConversationMatch, ConversationCursor> {
    /// Sorts what was found, leaves out what came before, and cuts it to one page with the cursor to the
    /// next.
    pub(crate) fn of(
        mut items: Vec<ConversationMatch>,
        after: Option<ConversationCursor>,
        limit: usize,
    ) -> Self {
        let place = |found: &ConversationMatch| ConversationCursor::of(&found.conversation);
        let limit = limit.clamp(1, MAX_PAGE);
        items.retain(|found| after.is_none_or(|after| place(found) < after));
        items.sort_by_key(|found| std::cmp::Reverse(place(found)));
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(place);
        Self { items, next }
    }
}

/// A task with everything that happened to it.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskHistory {
    /// Which task.
    pub id: TaskId,
    /// All of its events, in order; none when the task is not there.
    pub events: Vec<TaskEvent>,
    /// Some of the tasks that it started, the last changed first.
    pub started: Vec<TaskHead>,
}

/// Which tasks are wanted; empty means all.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// Of this owner.
    pub owner: Option<Principal>,
    /// Of this agent.
    pub agent: Option<AgentName>,
    /// Of this conversation.
    pub context: Option<ContextId>,
    /// In one of these states; empty for any.
    pub states: Vec<TaskState>,
    /// Changed at or after this time.
    pub updated_since: Option<Timestamp>,
    /// Started in the course of this task.
    pub parent: Option<TaskId>,
}

impl TaskFilter {
    /// Whether a task is wanted.
    #[must_use]
    pub fn fits(&self, head: &TaskHead) -> bool {
        self.owner.as_ref().is_none_or(|owner| *owner == head.owner)
            && self.agent.as_ref().is_none_or(|agent| *agent == head.agent)
            && self.context.as_ref().is_none_or(|context| *context == head.context)
            && (self.states.is_empty() || self.states.contains(&head.state))
            && self.updated_since.is_none_or(|since| head.updated_at >= since)
            && (self.parent.is_none() || self.parent == head.parent)
    }
}

/// Place in the list of tasks, which is ordered by last change and then by id, both descending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCursor {
    /// Last change of the last task of the page.
    pub updated_at: Timestamp,
    /// Its id.
    pub id: TaskId,
}

/// Which lines of the journal are wanted.
#[derive(Debug, Clone, Default)]
pub struct JournalQuery {
    /// Only lines before this place.
    pub before: Option<u64>,
    /// Only lines after this place.
    pub after: Option<u64>,
    /// Only lines of this agent.
    pub agent: Option<AgentName>,
    /// Only lines of this task.
    pub task: Option<TaskId>,
    /// Only lines that contain this text.
    pub text: Option<String>,
    /// Only lines of this actor.
    pub actor: Option<String>,
    /// Only lines of this kind, or of a whole capability: `task.completed`, `task`.
    pub kind: Option<String>,
    /// Only lines about exactly this.
    pub subject: Option<JournalSubject>,
    /// Only lines about a task, or only those about none.
    pub about_task: Option<bool>,
    /// Only lines written at or after this time.
    pub since: Option<Timestamp>,
    /// Only lines written before this time.
    pub until: Option<Timestamp>,
    /// At most so many.
    pub limit: usize,
}

impl JournalQuery {
    /// Whether a line is wanted, its text apart, which each store compares in its own way.
    pub(crate) fn fits(&self, stored: &StoredLine) -> bool {
        let JournalLine { at, actor, kind, subject, agent, task, .. } = &stored.line;
        self.before.is_none_or(|before| stored.seq < before)
            && self.after.is_none_or(|after| stored.seq > after)
            && (self.agent.is_none() || self.agent == *agent)
            && (self.task.is_none() || self.task == *task)
            && self.actor.as_ref().is_none_or(|wanted| wanted == actor)
            && self.kind.as_ref().is_none_or(|wanted| kind.as_ref().is_some_and(|kind| is_of(kind, wanted)))
            && self.subject.as_ref().is_none_or(|wanted| wanted == subject)
            && self.about_task.is_none_or(|wanted| wanted == task.is_some())
            && self.since.is_none_or(|since| *at >= since)
            && self.until.is_none_or(|until| *at < until)
    }
}

/// Whether a kind is the one that is wanted, or one of its capability.
fn is_of(kind: &JournalKind, wanted: &str) -> bool {
    kind.as_str().strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// A line with its place in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredLine {
    /// Its place, from 1.
    pub seq: u64,
    /// The line.
    #[serde(flatten)]
    pub line: JournalLine,
}

/// A delivery that a worker took to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryClaim {
    /// Its id.
    pub id: u64,
    /// How often it was claimed before, whether or not the worker came back to say what became of it.
    pub attempts: u32,
    /// The row.
    pub row: DeliveryRequest,
}

/// The deliveries that a worker took in one round.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeliveryClaims {
    /// The rows.
    pub rows: Vec<DeliveryClaim>,
    /// Whose turn it is in the next round.
    pub turn: ClaimTurn,
}

/// Which rows of the outbox are wanted, in the order in which they were added.
#[derive(Debug, Clone, Default)]
pub struct DeliveryQuery {
    /// Only this row.
    pub id: Option<u64>,
    /// Only rows of this task.
    pub task: Option<TaskId>,
    /// Only rows that are dead, or only those that are not.
    pub dead: Option<bool>,
    /// Only rows after this one.
    pub after: Option<u64>,
    /// At most so many.
    pub limit: usize,
}

impl DeliveryQuery {
    /// How many rows are given at most.
    pub(crate) fn most(&self) -> usize {
        self.limit.min(MAX_PAGE)
    }

    /// Whether a row is wanted.
    pub(crate) fn fits(&self, id: u64, task: Option<TaskId>, dead: bool) -> bool {
        self.id.is_none_or(|wanted| wanted == id)
            && (self.task.is_none() || self.task == task)
            && self.dead.is_none_or(|wanted| wanted == dead)
            && self.after.is_none_or(|after| id > after)
    }
}

/// A delivery in the outbox, with its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its id.
    pub id: u64,
    /// How often it was claimed.
    pub attempts: u32,
    /// What last went wrong.
    pub error: Option<String>,
    /// Whether it was given up.
    pub dead: bool,
    /// The row.
    pub row: DeliveryRequest,
}

/// Which finished tasks may go. A task with rows in the outbox that are not dead stays until they have left
/// or were given up.
#[derive(Debug, Clone, Copy)]
pub struct Expiry {
    /// Those whose own time is over by now.
    pub now: Timestamp,
    /// Those last changed before this time; dead rows of the outbox whose deadline was earlier go too.
    pub before: Timestamp,
    /// Those beyond this number, oldest first.
    pub keep: usize,
    /// At most so many in one go, so that the writer is never held up for long.
    pub portion: usize,
    /// Journal lines older than this go too, except the newest, which keeps the count.
    pub journal_before: Timestamp,
    /// The oldest journal lines go while the journal holds more bytes than this.
    pub journal_bytes: u64,
    /// Those of callers without a key that were last changed before this time.
    pub anonymous_before: Timestamp,
    /// While callers without a key hold more bytes than this, those of theirs that were last changed before
    /// `anonymous_spare` go, the oldest first.
    pub anonymous_bytes: u64,
    /// See `anonymous_bytes`: results younger than this can still be fetched by their callers.
    pub anonymous_spare: Timestamp,
}

/// An expiry that removes nothing.
impl Default for Expiry {
    fn default() -> Self {
        let never = Timestamp::from_millis(0);
        Self {
            now: never,
            before: never,
            keep: usize::MAX,
            portion: 500,
            journal_before: never,
            journal_bytes: u64::MAX,
            anonymous_before: never,
            anonymous_bytes: u64::MAX,
            anonymous_spare: never,
        }
    }
}

impl Expiry {
    /// Journal lines that go with one portion of tasks: a task leaves a few lines each, and a line is cheap
    /// to remove.
    pub(crate) fn lines(&self) -> usize {
        const LINES_PER_TASK: usize = 8;
        self.portion.saturating_mul(LINES_PER_TASK)
    }
}

/// Sizes and counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreStats {
    /// All tasks.
    pub tasks: u64,
    /// Tasks that have not ended.
    pub open_tasks: u64,
    /// Lines of the journal.
    pub journal_lines: u64,
    /// Rows that wait to leave.
    pub outbox: u64,
    /// Rows that could not leave.
    pub dead: u64,
    /// Bytes on disk, the write-ahead log included.
    pub bytes: u64,
    /// Bytes of the write-ahead log, which is folded into the file now and then.
    pub log_bytes: u64,
    /// Version of the tables; 0 for a store in memory.
    pub schema: i64,
    /// Groups of changes that were made durable since the start.
    pub commits: u64,
}
