//! TaskWatch: follows the committed events of one task.
//!
//! Promises: every watch sees all events, in order, once. A slow watch costs nothing: it holds a cursor, not
//! a queue. When the task is no longer live, a watch reads what it still lacks from the store. A watch that
//! was made to outlast the times in which the task waits for its caller finds the task again when it
//! continues.

use std::sync::Arc;

use agentsite_protocol::{ContextId, Task, TaskEvent, TaskId, TaskState};
use agentsite_store::SharedStore;
use tokio::sync::watch;

use crate::anonymous::IdCipher;
use crate::followed::catch_up;
use crate::live::LiveTasks;
use crate::log::{LogPage, TaskLog};
use crate::replay::replay;

/// Events read from the store at once; about one screen of a stream.
const PAGE: usize = 256;

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
    /// Where a watch finds the task again that outlasts its pauses.
    live: Option<Arc<LiveTasks>>,
}

/// What to do when the log has nothing after the cursor.
enum Idle {
    Wait,
    /// Nothing more comes until the caller speaks.
    Paused,
    End,
}

impl TaskWatch {
    pub(crate) fn new(task: &Task, cursor: u64, log: Arc<TaskLog>, store: SharedStore) -> Self {
        let tick = log.subscribe();
        let context = task.head.context.clone();
        Self { id: task.head.id, cipher: None, context, cursor, log, tick, store, live: None }
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
    pub(crate) fn through_pauses(mut self, live: &Arc<LiveTasks>) -> Self {
        self.live = Some(live.clone());
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

    /// The committed state now; [`Self::next`] continues after it.
    ///
    /// # Panics
    /// Never: a watch is made only of tasks that have a committed state.
    #[must_use]
    pub fn snapshot(&mut self) -> Task {
        let task = self.log.task().expect("a watched task is committed");
        self.cursor = task.head.seq;
        self.shown(task)
    }

    /// The state in which the message that made this watch put the task: accepted and waiting for its turn.
    /// [`Self::next`] then gives everything that happened since, also for a task that has ended meanwhile.
    ///
    /// # Panics
    /// Never: a watch is made only of tasks that have a committed state.
    #[must_use]
    pub fn opening(&mut self) -> Task {
        let opened = self.log.opening();
        let Some(task) = opened else { return self.snapshot() };
        self.cursor = task.head.seq;
        self.shown(task)
    }

    /// The next events after the cursor, waiting for them. `None` when the task has ended, or waits for its
    /// caller and the watch is not to outlast that, and everything was given. Cancellation safe: events that
    /// were not returned are given by the next call.
    pub async fn next(&mut self) -> Option<Vec<Arc<TaskEvent>>> {
        loop {
            self.tick.mark_unchanged();
            let events = match self.log.after(self.cursor) {
                LogPage::Events(events) => events,
                LogPage::InStore => {
                    let events = self.store.events(self.id, self.cursor, PAGE).await.ok()?;
                    events.into_iter().map(Arc::new).collect()
                }
                LogPage::None { state, closed } => {
                    match self.idle(state, closed) {
                        Idle::Wait => self.tick.changed().await.ok()?,
                        Idle::Paused => self.outlast_pause().await?,
                        Idle::End => return None,
                    }
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
            if self.log.is_done() || self.tick.changed().await.is_err() {
                let task = self.log.task().expect("a watched task is committed");
                return self.shown(task);
            }
        }
    }

    /// Waits until the task continues or was ended, and finds it again; `None` when the site stops or the
    /// task is gone.
    async fn outlast_pause(&mut self) -> Option<()> {
        let live = self.live.clone()?;
        loop {
            // Before the look, so that nothing is missed in between.
            let mut watcher = live.wait_for(self.id);
            if let Some(found) = live.get(self.id)
                && !Arc::ptr_eq(&found.log, &self.log)
            {
                self.attach(found.log);
                return Some(());
            }
            let task = replay(&self.store, self.id).await.ok()??;
            if live.shared && !task.head.state.is_settled() {
                let log = live.followed.follow(task);
                catch_up(&self.store, self.id, &log).await.ok()?;
                self.attach(log);
                return Some(());
            }
            if task.head.seq > self.cursor || task.head.state.is_terminal() {
                let log = TaskLog::resumed(task);
                log.close();
                self.attach(log);
                return Some(());
            }
            if !watcher.woken().await {
                return None;
            }
        }
    }

    fn attach(&mut self, log: Arc<TaskLog>) {
        self.tick = log.subscribe();
        self.log = log;
    }

    fn idle(&self, state: Option<TaskState>, closed: bool) -> Idle {
        let settled = state.is_some_and(TaskState::is_settled);
        match (self.live.is_some(), closed) {
            (true, _) if state.is_some_and(TaskState::is_terminal) => Idle::End,
            (true, true) => Idle::Paused,
            (true, false) => Idle::Wait,
            (false, closed) if closed || settled => Idle::End,
            (false, _) => Idle::Wait,
        }
    }
}
