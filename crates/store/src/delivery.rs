//! Deliveries: who is notified about tasks, what must leave the site, and what became of it.
//!
//! Promises: values only; building one does nothing. It does not know SQL and sends nothing.

use agentsite_protocol::{PushConfig, TaskId, Timestamp};

/// What happens to the push configs of tasks.
#[derive(Debug, Clone)]
pub enum PushChange {
    /// A receiver is added, or takes the place of the one of the same id.
    Put(TaskId, PushConfig),
    /// A receiver is removed, with everything that was still to be sent to it.
    Remove(TaskId, String),
}

/// Notifies the receivers of a task: one row of the outbox for each push config that the task has at this
/// point of the order, and each of these events. Which receivers there are is looked up inside the
/// transaction, so none is missed and none gets too much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventDeliveries {
    /// The task.
    pub task: TaskId,
    /// The numbers of the events.
    pub events: Vec<u64>,
    /// When to send.
    pub due: Timestamp,
    /// When to give up.
    pub deadline: Timestamp,
}

impl EventDeliveries {
    /// The kind of the rows that it makes.
    pub const KIND: &'static str = "push";

    /// The rows for one receiver of a task of this account.
    pub(crate) fn rows(&self, account: &str, config: &str) -> impl Iterator<Item = DeliveryRequest> {
        self.events.iter().map(move |seq| DeliveryRequest {
            account: account.to_owned(),
            task: Some(self.task),
            lane: Some(config.to_owned()),
            kind: Self::KIND.to_owned(),
            body: seq.to_string(),
            due: self.due,
            deadline: self.deadline,
        })
    }
}

/// What must leave the site: one row of the outbox without its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRequest {
    /// The account (`Principal::account`) that it counts on and that takes turns with others; empty for the
    /// site's own.
    pub account: String,
    /// The task it belongs to.
    pub task: Option<TaskId>,
    /// Rows of one task and one lane leave one after the other, in the order in which they were added; rows
    /// without both leave in any order.
    pub lane: Option<String>,
    /// What kind of delivery, for the worker that sends it.
    pub kind: String,
    /// What to send and where, in the worker's own form.
    pub body: String,
    /// When to try next.
    pub due: Timestamp,
    /// When to give up.
    pub deadline: Timestamp,
}

/// What happens to the outbox.
#[derive(Debug, Clone)]
pub enum DeliveryChange {
    /// Something new must leave.
    Add(DeliveryRequest),
    /// It has left.
    Done(u64),
    /// It could not leave; try again then. Brings a dead row back, too.
    Retry {
        /// The row.
        id: u64,
        /// When to try next.
        due: Timestamp,
        /// What went wrong, for people.
        error: String,
    },
    /// It was not tried after all: it is given back, and the claim does not count as an attempt.
    Defer {
        /// The row.
        id: u64,
        /// When to try next.
        due: Timestamp,
    },
    /// It could not leave and will not be tried again; it is kept for people. The rows behind it continue.
    Dead {
        /// The row.
        id: u64,
        /// What went wrong, for people.
        error: String,
    },
    /// An admin or its owner wants it to be tried as if it were new, whether it is dead or waits.
    Replay {
        /// The row.
        id: u64,
        /// When to try next.
        due: Timestamp,
        /// When to give up.
        deadline: Timestamp,
    },
}
