//! The sessions of one connected agent, and the runs that go over them.
//!
//! Promises: at most one session counts at a time; a run belongs to the session over which it was begun and
//! ends with it. Locks are held for a look-up, never across an await.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::agent_session::{Ending, FromSite, Progress};
use agentsite_protocol::{AgentName, Clock, TaskId, Timestamp};
use tokio::sync::{Notify, mpsc, watch};

use super::SESSION_QUEUE;
use super::session_end::{EndSignal, SessionEnd};
use crate::{AgentLog, LogSource, STEP_QUEUE};

/// Whether a program is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It has not connected since the site started.
    Waiting,
    /// It is.
    Here {
        /// Since when.
        since: Timestamp,
    },
    /// It was.
    Away {
        /// Since when it is not any more.
        since: Timestamp,
    },
}

/// What a program sends about a run.
#[derive(Debug)]
pub(super) enum RunEvent {
    Progress(Box<Progress>),
    Ended(Ending),
    Malformed(String),
}

/// The sessions of one connected agent, and the runs that go over them.
#[derive(Debug)]
pub(super) struct AgentSessions {
    name: AgentName,
    log: AgentLog,
    clock: Arc<dyn Clock>,
    changed: Arc<Notify>,
    presence: watch::Sender<Presence>,
    // A std lock: held for a look-up or an insert, never across an await.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    current: Option<Outbound>,
    /// Counts sessions, so that what belongs to an earlier one is recognised.
    epoch: u64,
    runs: HashMap<TaskId, Run>,
    retry: u32,
    retired: Option<SessionEnd>,
    notice: Option<String>,
}

/// The way to the program over the current session.
#[derive(Debug)]
struct Outbound {
    out: mpsc::Sender<String>,
    end: Arc<EndSignal>,
}

#[derive(Debug)]
struct Run {
    epoch: u64,
    inbox: mpsc::Sender<RunEvent>,
}

/// A run that was begun over a session. Dropping it before [`Self::done`] tells the program to stop.
#[derive(Debug)]
pub(super) struct ActiveRun {
    sessions: Arc<AgentSessions>,
    task: TaskId,
    epoch: u64,
    inbox: mpsc::Receiver<RunEvent>,
    done: bool,
}

impl AgentSessions {
    pub(super) fn new(
        name: AgentName,
        retry: u32,
        log: AgentLog,
        clock: Arc<dyn Clock>,
        changed: Arc<Notify>,
    ) -> Self {
        let state =
            State { current: None, epoch: 0, runs: HashMap::new(), retry, retired: None, notice: None };
        let presence = watch::Sender::new(Presence::Waiting);
        Self { name, log, clock, changed, presence, state: Mutex::new(state) }
    }

    /// Opens a session in place of the one that was open: its number, the frames to send, and its end.
    pub(super) fn open(&self) -> (u64, mpsc::Receiver<String>, Arc<EndSignal>) {
        let (out, frames) = mpsc::channel(SESSION_QUEUE);
        let end = Arc::new(EndSignal::default());
        let mut state = self.lock();
        if let Some(before) = state.current.take() {
            before.end.set(SessionEnd::Replaced);
        }
        state.epoch += 1;
        state.runs.clear();
        match state.retired {
            Some(reason) => end.set(reason),
            None => state.current = Some(Outbound { out, end: end.clone() }),
        }
        let epoch = state.epoch;
        self.presence.send_replace(Presence::Here { since: self.clock.now() });
        drop(state);
        self.note("its program connected");
        self.changed.notify_one();
        (epoch, frames, end)
    }

    /// A session has ended; a later one is not affected.
    pub(super) fn close(&self, epoch: u64) {
        let mut state = self.lock();
        if state.epoch != epoch {
            return;
        }
        state.current = None;
        state.runs.clear();
        self.presence.send_replace(Presence::Away { since: self.clock.now() });
        drop(state);
        self.note("the connection of its program ended");
        self.changed.notify_one();
    }

    pub(super) fn retire(&self, reason: SessionEnd) {
        let mut state = self.lock();
        state.retired.get_or_insert(reason);
        if let Some(current) = &state.current {
            current.end.set(reason);
        }
        drop(state);
        // Runs that wait for the program look again.
        self.presence.send_modify(|_| {});
    }

    pub(super) fn presence(&self) -> Presence {
        *self.presence.borrow()
    }

    pub(super) const fn name(&self) -> &AgentName {
        &self.name
    }

    pub(super) fn retry(&self) -> u32 {
        self.lock().retry
    }

    pub(super) fn set_retry(&self, retry: u32) {
        self.lock().retry = retry;
    }

    pub(super) fn notice(&self) -> Option<String> {
        self.lock().notice.clone()
    }

    pub(super) fn set_notice(&self, notice: Option<String>) {
        self.lock().notice = notice;
    }

    pub(super) fn retired(&self) -> Option<SessionEnd> {
        self.lock().retired
    }

    pub(super) fn note(&self, text: &str) {
        self.log.push(LogSource::Site, text);
    }

    /// Waits until no program is connected.
    pub(super) async fn left(&self) {
        let mut presence = self.presence.subscribe();
        let _ = presence.wait_for(|presence| !matches!(presence, Presence::Here { .. })).await;
    }

    /// Waits until a program is connected, or none ever will be.
    pub(super) async fn here(&self) {
        let mut presence = self.presence.subscribe();
        let here =
            |presence: &Presence| matches!(presence, Presence::Here { .. }) || self.retired().is_some();
        let _ = presence.wait_for(here).await;
    }

    /// Begins a run over the current session; `None` when there is none.
    pub(super) fn begin(self: &Arc<Self>, task: TaskId, frame: String) -> Option<ActiveRun> {
        let (inbox, events) = mpsc::channel(STEP_QUEUE);
        let mut state = self.lock();
        let epoch = state.epoch;
        if state.current.as_ref()?.out.try_send(frame).is_err() {
            self.cut(&mut state);
            return None;
        }
        state.runs.insert(task, Run { epoch, inbox });
        Some(ActiveRun { sessions: self.clone(), task, epoch, inbox: events, done: false })
    }

    /// Where a run of this session takes its events.
    pub(super) fn inbox(&self, epoch: u64, task: TaskId) -> Option<mpsc::Sender<RunEvent>> {
        let state = self.lock();
        state.runs.get(&task).filter(|run| run.epoch == epoch).map(|run| run.inbox.clone())
    }

    /// The run is over; a program that did not end it itself gets a cancel.
    fn finish(&self, task: TaskId, epoch: u64, done: bool) {
        let mut state = self.lock();
        if state.epoch != epoch {
            return;
        }
        state.runs.remove(&task);
        let Some(current) = state.current.as_ref().filter(|_| !done) else { return };
        let cancel = FromSite::Cancel { task }.write().expect("a cancel can be written");
        if current.out.try_send(cancel).is_err() {
            self.cut(&mut state);
        }
    }

    /// Ends a session whose program does not read; it no longer counts, however long its end takes.
    fn cut(&self, state: &mut State) {
        if let Some(current) = state.current.take() {
            current.end.set(SessionEnd::Overflow);
        }
        state.epoch += 1;
        state.runs.clear();
        self.presence.send_replace(Presence::Away { since: self.clock.now() });
        self.note("its program does not read what the site sends; its connection was ended");
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ActiveRun {
    /// The next event of the run; `None` when its session is lost. Cancellation safe.
    pub(super) async fn next(&mut self) -> Option<RunEvent> {
        self.inbox.recv().await
    }

    /// The program has ended the run, so there is nothing to stop.
    pub(super) fn done(mut self) {
        self.done = true;
    }
}

impl Drop for ActiveRun {
    fn drop(&mut self) {
        self.sessions.finish(self.task, self.epoch, self.done);
    }
}
