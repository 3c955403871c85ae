//! TaskLog: the committed events of a live task, and the watches that follow it.
//!
//! Promises: only committed events get in; every watch sees all of them, in order, once. A slow watch costs nothing: it holds a
//! cursor, not a queue. When the task is no longer live, a watch reads what it still lacks from the store. A patient watch goes on when
//! a task that waited for its caller does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::{ContextId, Task, TaskEvent, TaskId, TaskState};
use agentsite_store::SharedStore;
use tokio::sync::watch;

use super::Desk;
use super::sleep::Sleeper;
use crate::anonymous::IdCipher;

/// Events read from the store at once; about one screen of a stream.
const PAGE: usize = 256;

/// What is committed of a live task.
#[derive(Debug)]
pub(crate) struct TaskLog {
    // A std lock: held while a few events are added or copied, never across an await.
    state: Mutex<LogState>,
    /// Ticks when events were added or the log was closed.
    tick: watch::Sender<()>,
    /// Whether the task may have receivers; a hint that saves looking, never a reason not to tell.
    told: AtomicBool,
}

#[derive(Debug)]
struct LogState {
    task: Option<Task>,
    /// The task before `events`, when it goes on.
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

    /// The log of a task that goes on; its earlier events are in the store.
    pub(crate) fn resumed(task: Task) -> Arc<Self> {
        Self::with(Some(task))
    }

    fn with(task: Option<Task>) -> Arc<Self> {
        let base = task.as_ref().map_or(0, |task| task.head.seq);
        let state = LogState { start: task.clone(), task, base, events: Vec::new(), closed: false };
        // What an earlier process or turn has kept is not looked up, so a task that goes on may have receivers.
        let told = AtomicBool::new(base > 0);
        Arc::new(Self { state: Mutex::new(state), tick: watch::Sender::new(()), told })
    }

    /// Says that the task has a receiver.
    pub(crate) fn tell(&self) {
        self.told.store(true, Ordering::Relaxed);
    }

    /// Whether the task may have receivers.
    pub(crate) fn is_told(&self) -> bool {
        self.told.load(Ordering::Relaxed)
    }

    /// Adds events that are on disk now.
    pub(crate) fn publish(&self, events: Vec<TaskEvent>) {
        let mut state = self.lock();
        for event in events {
            let applied = match &mut state.task {
                Some(task) => task.apply(&event),
                None => Task::open(&event).map(|task| state.task = Some(task)),
            };
            debug_assert!(applied.is_ok(), "committed events are dense: {applied:?}");
            state.events.push(Arc::new(event));
        }
        drop(state);
        self.tick.send_replace(());
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

    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Follows one task from a cursor.
#[derive(Debug)]
pub struct TaskWatch {
    id: TaskId,
    /// How an anonymous caller gets the ids; everybody else gets them as they are.
    cipher: Option<IdCipher>,
    context: ContextId,
    cursor: u64,
    log: Arc<TaskLog>,
    tick: watch::Receiver<()>,
    store: SharedStore,
    /// Where a patient watch finds the task again.
    desk: Option<Arc<Desk>>,
}

/// What a look into the log gave.
enum Look {
    Events(Vec<Arc<TaskEvent>>),
    InStore,
    Wait,
    /// Nothing more comes until the caller speaks.
    Asleep,
    End,
}

impl TaskWatch {
    pub(crate) fn new(task: &Task, cursor: u64, log: Arc<TaskLog>, store: SharedStore) -> Self {
        let tick = log.tick.subscribe();
        let context = task.head.context.clone();
        Self { id: task.head.id, cipher: None, context, cursor, log, tick, store, desk: None }
    }

    /// The same watch for an anonymous caller, who gets no id as it is in the store.
    pub(crate) fn enciphered(mut self, cipher: IdCipher) -> Self {
        self.context = cipher.shown_context(&self.context);
        self.cipher = Some(cipher);
        self
    }

    fn shown(&self, task: Task) -> Task {
        match &self.cipher {
            Some(cipher) => cipher.show_task(task),
            None => task,
        }
    }

    /// A watch on a task that is not live.
    pub(crate) fn ended(task: &Task, cursor: u64, store: SharedStore) -> Self {
        let log = TaskLog::resumed(task.clone());
        log.close();
        Self::new(task, cursor, log, store)
    }

    /// The same watch, which does not end while the task waits for its caller.
    pub(crate) fn patient(mut self, desk: &Arc<Desk>) -> Self {
        self.desk = Some(desk.clone());
        self
    }

    /// The task that is followed.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.cipher.as_ref().map_or(self.id, |cipher| cipher.shown_task(self.id))
    }

    /// Its conversation.
    #[must_use]
    pub fn context(&self) -> &ContextId {
        &self.context
    }

    /// The committed state now; [`Self::next`] goes on after it.
    ///
    /// # Panics
    /// Never: a watch is made only of tasks that have a committed state.
    #[must_use]
    pub fn snapshot(&mut self) -> Task {
        let task = self.log.task().expect("a watched task is committed");
        self.cursor = task.head.seq;
        self.shown(task)
    }

    /// The state in which the message that made this watch put the task: accepted and waiting for its turn. [`Self::next`] then gives everything
    /// that happened since, also for a task that has ended meanwhile.
    ///
    /// # Panics
    /// Never: a watch is made only of tasks that have a committed state.
    #[must_use]
    pub fn opening(&mut self) -> Task {
        let opened = {
            let state = self.log.lock();
            let mut events = state.events.iter();
            let start = state.start.clone().or_else(|| Task::open(events.next()?).ok());
            start.map(|start| accepted(start, events))
        };
        let Some(task) = opened else { return self.snapshot() };
        self.cursor = task.head.seq;
        self.shown(task)
    }

    /// The next events after the cursor, waiting for them. `None` when the task has ended, or waits for its caller and the watch is not to
    /// outlast that, and everything was given. Cancellation safe: events that were not returned are given by the next call.
    pub async fn next(&mut self) -> Option<Vec<Arc<TaskEvent>>> {
        loop {
            self.tick.mark_unchanged();
            let events = match self.look() {
                Look::Events(events) => events,
                Look::InStore => {
                    let events = self.store.events(self.id, self.cursor, PAGE).await.ok()?;
                    events.into_iter().map(Arc::new).collect()
                }
                Look::End => return None,
                Look::Asleep => {
                    self.sleep().await?;
                    continue;
                }
                Look::Wait => {
                    self.tick.changed().await.ok()?;
                    continue;
                }
            };
            self.cursor = events.last()?.seq;
            return Some(match &self.cipher {
                Some(cipher) => events.iter().map(|event| Arc::new(cipher.show_event(event))).collect(),
                None => events,
            });
        }
    }

    /// Waits until the task has ended or waits for its caller.
    ///
    /// # Panics
    /// Never: a watch is made only of tasks that have a committed state.
    pub async fn settled(mut self) -> Task {
        loop {
            self.tick.mark_unchanged();
            let done = {
                let state = self.log.lock();
                state.closed || state.task.as_ref().is_some_and(|task| task.head.state.is_settled())
            };
            if done || self.tick.changed().await.is_err() {
                let task = self.log.task().expect("a watched task is committed");
                return self.shown(task);
            }
        }
    }

    /// Sleeps until the task goes on or was ended, and finds it again; `None` when the site stops or the task is no more.
    async fn sleep(&mut self) -> Option<()> {
        let desk = self.desk.clone()?;
        loop {
            let mut sleeper = Sleeper::on(&desk, self.id);
            if let Some(live) = desk.live(self.id)
                && !Arc::ptr_eq(&live.log, &self.log)
            {
                self.attach(live.log);
                return Some(());
            }
            let task = desk.replay(self.id).await.ok()??;
            if task.head.seq > self.cursor || task.head.state.is_terminal() {
                let log = TaskLog::resumed(task);
                log.close();
                self.attach(log);
                return Some(());
            }
            if !sleeper.woken().await {
                return None;
            }
        }
    }

    fn attach(&mut self, log: Arc<TaskLog>) {
        self.tick = log.tick.subscribe();
        self.log = log;
    }

    fn look(&self) -> Look {
        let state = self.log.lock();
        let last = state.base + state.events.len() as u64;
        if self.cursor < state.base {
            return Look::InStore;
        }
        if self.cursor < last {
            let from = usize::try_from(self.cursor - state.base).unwrap_or(usize::MAX);
            return Look::Events(state.events[from..].to_vec());
        }
        let stands = state.task.as_ref().map(|task| task.head.state);
        let settled = stands.is_some_and(TaskState::is_settled);
        match (self.desk.is_some(), state.closed) {
            (true, _) if stands.is_some_and(TaskState::is_terminal) => Look::End,
            (true, true) => Look::Asleep,
            (true, false) => Look::Wait,
            (false, closed) if closed || settled => Look::End,
            (false, _) => Look::Wait,
        }
    }
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
