//! TaskLog: the committed events of a live task.
//!
//! Promises: only committed events get in, in order. It does not read the store, and it knows no watcher: a
//! watch holds a cursor, so a slow one costs nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::{Task, TaskEvent, TaskState};
use tokio::sync::watch;

/// What is committed of a live task.
#[derive(Debug)]
pub(crate) struct TaskLog {
    // A std lock: held while a few events are added or copied, never across an await.
    state: Mutex<LogState>,
    /// Ticks when events were added or the log was closed.
    tick: watch::Sender<()>,
}

#[derive(Debug)]
struct LogState {
    task: Option<Task>,
    /// The task before `events`, when it is continued.
    start: Option<Task>,
    /// Number of the last event before `events`.
    base: u64,
    events: Vec<Arc<TaskEvent>>,
    closed: bool,
}

impl TaskLog {
    /// The log of a new task, of which nothing is committed yet.
    pub(crate) fn new() -> Arc<Self> {
        Self::with(None)
    }

    /// The log of a task that is continued; its earlier events are in the store.
    pub(crate) fn resumed(task: Task) -> Arc<Self> {
        Self::with(Some(task))
    }

    fn with(task: Option<Task>) -> Arc<Self> {
        let base = task.as_ref().map_or(0, |task| task.head.seq);
        let state = LogState { start: task.clone(), task, base, events: Vec::new(), closed: false };
        Arc::new(Self { state: Mutex::new(state), tick: watch::Sender::new(()) })
    }

    /// Adds events that are on disk now.
    pub(crate) fn publish(&self, events: &[Arc<TaskEvent>]) {
        let mut state = self.lock();
        for event in events {
            let applied = match &mut state.task {
                Some(task) => task.apply(event),
                None => Task::open(event).map(|task| state.task = Some(task)),
            };
            debug_assert!(applied.is_ok(), "committed events are dense: {applied:?}");
            state.events.push(event.clone());
        }
        drop(state);
        self.tick.send_replace(());
    }

    /// Adds those events that come after the last one, for a log that is read from the store.
    pub(crate) fn extend(&self, events: impl IntoIterator<Item = Arc<TaskEvent>>) {
        let mut state = self.lock();
        for event in events {
            let Some(task) = &mut state.task else { break };
            if event.seq == task.head.seq + 1 && task.apply(&event).is_ok() {
                state.events.push(event);
            }
        }
        drop(state);
        self.tick.send_replace(());
    }

    /// The number of the last committed event.
    pub(crate) fn last(&self) -> u64 {
        self.lock().task.as_ref().map_or(0, |task| task.head.seq)
    }

    /// Says that this process adds no more events.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.tick.send_replace(());
    }

    /// The committed state; `None` before the first commit.
    pub(crate) fn task(&self) -> Option<Task> {
        self.lock().task.clone()
    }

    /// Ticks from now on when events were added or the log was closed.
    pub(crate) fn subscribe(&self) -> watch::Receiver<()> {
        self.tick.subscribe()
    }

    /// Whether nothing more comes without the caller: the task has settled, or the log is closed.
    pub(crate) fn is_done(&self) -> bool {
        let state = self.lock();
        state.closed || state.task.as_ref().is_some_and(|task| task.head.state.is_settled())
    }

    /// The task as the message that began this log left it: accepted, before anything that the agent did.
    pub(crate) fn opening(&self) -> Option<Task> {
        let state = self.lock();
        let mut events = state.events.iter();
        let start = state.start.clone().or_else(|| Task::open(events.next()?).ok());
        start.map(|start| accepted(start, events))
    }

    /// What there is after a cursor.
    pub(crate) fn after(&self, cursor: u64) -> LogPage {
        let state = self.lock();
        let last = state.base + state.events.len() as u64;
        if cursor < state.base {
            return LogPage::InStore;
        }
        if cursor < last {
            let from = usize::try_from(cursor - state.base).unwrap_or(usize::MAX);
            return LogPage::Events(state.events[from..].to_vec());
        }
        LogPage::None { state: state.task.as_ref().map(|task| task.head.state), closed: state.closed }
    }

    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a log has after a cursor.
pub(crate) enum LogPage {
    /// These events.
    Events(Vec<Arc<TaskEvent>>),
    /// Events from before the log began; the store has them.
    InStore,
    /// Nothing yet, or nothing more when the log is closed.
    None {
        /// Where the task stands; none before its first commit.
        state: Option<TaskState>,
        /// Whether this process adds no more events.
        closed: bool,
    },
}

/// The task after the words of its caller and before anything that the agent did.
fn accepted<'a>(mut task: Task, events: impl Iterator<Item = &'a Arc<TaskEvent>>) -> Task {
    for event in events {
        if task.head.state == TaskState::Submitted || task.apply(event).is_err() {
            break;
        }
    }
    task
}
