//! Place: where an agent's connections and its runs meet.
//!
//! Promises: at most one connection counts at a time; a run belongs to the connection over which it was begun
//! and ends with it. Locks are held for a look-up, never across an await.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::link::{Ending, FromSite, Progress};
use agentsite_protocol::{AgentName, Clock, TaskId, Timestamp};
use tokio::sync::{Notify, mpsc, watch};

use super::LINK_QUEUE;
use super::link::{End, Link, LinkEnd};
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

/// What a run hears of its program.
#[derive(Debug)]
pub(super) enum Heard {
    Progress(Box<Progress>),
    Ended(Ending),
    Nonsense(String),
}

/// Where an agent's connections and its runs meet.
#[derive(Debug)]
pub(super) struct Place {
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
    line: Option<Line>,
    /// Counts connections, so that what belongs to an earlier one is recognised.
    epoch: u64,
    runs: HashMap<TaskId, Run>,
    retry: u32,
    retired: Option<LinkEnd>,
    notice: Option<String>,
}

/// The way to a connection.
#[derive(Debug)]
struct Line {
    out: mpsc::Sender<String>,
    end: Arc<End>,
}

#[derive(Debug)]
struct Run {
    epoch: u64,
    inbox: mpsc::Sender<Heard>,
}

/// A run that was begun over a connection. Dropping it before [`Self::done`] tells the program to stop.
#[derive(Debug)]
pub(super) struct Seat {
    place: Arc<Place>,
    task: TaskId,
    epoch: u64,
    inbox: mpsc::Receiver<Heard>,
    done: bool,
}

impl Place {
    pub(super) fn new(
        name: AgentName,
        retry: u32,
        log: AgentLog,
        clock: Arc<dyn Clock>,
        changed: Arc<Notify>,
    ) -> Self {
        let state = State { line: None, epoch: 0, runs: HashMap::new(), retry, retired: None, notice: None };
        let presence = watch::Sender::new(Presence::Waiting);
        Self { name, log, clock, changed, presence, state: Mutex::new(state) }
    }

    pub(super) fn attach(self: &Arc<Self>) -> Link {
        let (out, frames) = mpsc::channel(LINK_QUEUE);
        let end = Arc::new(End::default());
        let mut state = self.lock();
        if let Some(before) = state.line.take() {
            before.end.set(LinkEnd::Replaced);
        }
        state.epoch += 1;
        state.runs.clear();
        match state.retired {
            Some(reason) => end.set(reason),
            None => state.line = Some(Line { out, end: end.clone() }),
        }
        let link = Link { place: self.clone(), epoch: state.epoch, frames, end };
        self.presence.send_replace(Presence::Here { since: self.clock.now() });
        drop(state);
        self.note("its program connected");
        self.changed.notify_one();
        link
    }

    /// A connection has ended; a later one is not touched by that.
    pub(super) fn leave(&self, epoch: u64) {
        let mut state = self.lock();
        if state.epoch != epoch {
            return;
        }
        state.line = None;
        state.runs.clear();
        self.presence.send_replace(Presence::Away { since: self.clock.now() });
        drop(state);
        self.note("the connection of its program ended");
        self.changed.notify_one();
    }

    pub(super) fn retire(&self, reason: LinkEnd) {
        let mut state = self.lock();
        state.retired.get_or_insert(reason);
        if let Some(line) = &state.line {
            line.end.set(reason);
        }
        drop(state);
        // Whoever waits for the program looks again.
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

    pub(super) fn retired(&self) -> Option<LinkEnd> {
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

    /// Begins a run over the present connection; `None` when there is none.
    pub(super) fn begin(self: &Arc<Self>, task: TaskId, frame: String) -> Option<Seat> {
        let (inbox, heard) = mpsc::channel(STEP_QUEUE);
        let mut state = self.lock();
        let epoch = state.epoch;
        if state.line.as_ref()?.out.try_send(frame).is_err() {
            self.cut(&mut state);
            return None;
        }
        state.runs.insert(task, Run { epoch, inbox });
        Some(Seat { place: self.clone(), task, epoch, inbox: heard, done: false })
    }

    /// Where a run of this connection listens.
    pub(super) fn inbox(&self, epoch: u64, task: TaskId) -> Option<mpsc::Sender<Heard>> {
        let state = self.lock();
        state.runs.get(&task).filter(|run| run.epoch == epoch).map(|run| run.inbox.clone())
    }

    /// The run is over; a program that does not know it yet is told.
    fn finish(&self, task: TaskId, epoch: u64, done: bool) {
        let mut state = self.lock();
        if state.epoch != epoch {
            return;
        }
        state.runs.remove(&task);
        let Some(line) = state.line.as_ref().filter(|_| !done) else { return };
        let cancel = FromSite::Cancel { task }.write().expect("a cancel can be written");
        if line.out.try_send(cancel).is_err() {
            self.cut(&mut state);
        }
    }

    /// Ends a connection that is not read from; it counts no more from now on, however long its end takes.
    fn cut(&self, state: &mut State) {
        if let Some(line) = state.line.take() {
            line.end.set(LinkEnd::Overflow);
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

impl Seat {
    /// What the program says next; `None` when its connection is lost. Cancellation safe.
    pub(super) async fn hear(&mut self) -> Option<Heard> {
        self.inbox.recv().await
    }

    /// The program has ended the run, so there is nothing to stop.
    pub(super) fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.place.finish(self.task, self.epoch, self.done);
    }
}
