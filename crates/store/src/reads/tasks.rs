//! Reads of tasks: heads, events, lists, and what agents have used.
//!
//! Promises: reads see only what is committed; every list has a limit. It changes nothing.

use agentsite_protocol::{AgentName, MessageId, Principal, TaskEvent, TaskHead, TaskId, Usage};

use crate::{Page, Reply, TaskCursor, TaskFilter, TaskHistory};

/// What can be read about tasks.
pub trait TaskReads {
    /// The head of a task.
    fn task(&self, id: TaskId) -> Reply<'_, Option<TaskHead>>;

    /// Events of a task after number `after`, at most about `limit` (whole commits are kept together, so a
    /// few more may come), in order.
    fn events(&self, id: TaskId, after: u64, limit: usize) -> Reply<'_, Vec<TaskEvent>>;

    /// The first of these tasks, in this order, each with all of its events and at most `started` of the
    /// tasks that it started: as many tasks as have about `events` events together, and at least one.
    fn histories(&self, ids: Vec<TaskId>, events: usize, started: usize) -> Reply<'_, Vec<TaskHistory>>;

    /// Which task a message opened or continued, if it was accepted before.
    fn sent(&self, owner: &Principal, agent: &AgentName, message: &MessageId) -> Reply<'_, Option<TaskId>>;

    /// Tasks that match, newest change first, with a cursor to the next page.
    fn tasks(
        &self,
        filter: TaskFilter,
        after: Option<TaskCursor>,
        limit: usize,
    ) -> Reply<'_, Page<TaskHead, TaskCursor>>;

    /// How many tasks match.
    fn count_tasks(&self, filter: TaskFilter) -> Reply<'_, u64>;

    /// All tasks that have not ended, oldest first; read once at start.
    fn open_tasks(&self) -> Reply<'_, Vec<TaskHead>>;

    /// What an agent has used on a day (see `Timestamp::day`).
    fn usage(&self, agent: &AgentName, day: i64) -> Reply<'_, Usage>;
}
