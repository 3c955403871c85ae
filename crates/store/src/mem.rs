//! The store in memory: for tests and simulation, with a disk that can be held back, lost or made to fail.
//!
//! Promises: the same answers as every other store. While it is held, changes wait unsynced: nobody reads
//! them, their [`Durable`]s stay pending, and a crash loses them. Clones are one process; other processes on
//! the same content come by [`MemStore::another`]. It deliberately survives no restart and writes no backup.

mod changes;
mod content;
mod conversations;
mod deliveries;
mod journal;
mod keys;
mod listings;
mod members;
mod outbox;
mod processes;
mod records;
mod rooms;
mod storage;
mod tasks;
mod upkeep;

use std::collections::VecDeque;
use std::future::ready;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_protocol::Clock;
use tokio::sync::oneshot;

use crate::feed::Feed;
use crate::{Change, Durable, Entity, ProcessId, Reply, StorageLimits, Store, StoreError};
use content::Content;

/// Most changes that may wait while the store is held; a test that queues more has forgotten to sync.
const MAX_HELD: usize = 65_536;

/// A store in memory; see the module's words. Clones are handles of one process, as two handles of one file
/// would be.
#[derive(Clone)]
pub struct MemStore {
    // A std lock: no holder ever waits or awaits, each verb is one short look into maps.
    inner: Arc<Mutex<Inner>>,
    /// Which opening of the content this handle belongs to; an older one is dead, like a killed process.
    opening: u64,
    handle: Arc<Handle>,
}

/// What the clones of a handle share.
#[derive(Default)]
struct Handle {
    /// Whether it was closed or killed.
    closed: AtomicBool,
    /// The number of the process; 0 until it joins.
    process: AtomicU64,
}

/// The content may be secret and is not shown.
impl std::fmt::Debug for MemStore {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "MemStore({})", self.opening)
    }
}

#[derive(Default)]
struct Inner {
    content: Content,
    waiting: VecDeque<Waiting>,
    held: bool,
    opening: u64,
    fail_next: Option<StoreError>,
    limits: StorageLimits,
    feed: Feed,
    reads: u64,
    changes: u64,
    /// Whether processes join; else it belongs to one, like a file.
    shared: bool,
    /// The time by which leases count, when no test moves it.
    clock: Option<Arc<dyn Clock>>,
    /// How far tests have moved the time.
    passed: Duration,
}

/// A change that is not synced.
struct Waiting {
    change: Change,
    by: Option<ProcessId>,
    from: Arc<Handle>,
    answer: oneshot::Sender<Result<(), StoreError>>,
}

impl Default for MemStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemStore {
    /// Makes an empty store that syncs every change at once.
    #[must_use]
    pub fn new() -> Self {
        Self { inner: Arc::default(), opening: 0, handle: Arc::default() }
    }

    /// Makes an empty store that several processes may share; leases count by [`Self::advance`] alone.
    #[must_use]
    pub fn shared() -> Self {
        let store = Self::new();
        store.lock().shared = true;
        store
    }

    /// Makes an empty store that several processes may share; leases count by this clock.
    #[must_use]
    pub fn shared_by(clock: Arc<dyn Clock>) -> Self {
        let store = Self::shared();
        store.lock().clock = Some(clock);
        store
    }

    /// A handle on the same content for another process; the store is a shared one.
    #[must_use]
    pub fn another(&self) -> Self {
        Self { inner: self.inner.clone(), opening: self.opening, handle: Arc::default() }
    }

    /// Moves the time by which leases count.
    pub fn advance(&self, time: Duration) {
        self.lock().passed += time;
    }

    /// The process dies: this handle and its clones do nothing any more, and what they had not synced is
    /// lost. Other processes go on.
    pub fn kill(&self) {
        let mut inner = self.lock();
        self.handle.closed.store(true, Ordering::Relaxed);
        let (lost, rest) =
            inner.waiting.drain(..).partition(|waiting| Arc::ptr_eq(&waiting.from, &self.handle));
        inner.waiting = rest;
        drop(inner);
        let lost: VecDeque<Waiting> = lost;
        lost.into_iter().for_each(|waiting| drop(waiting.answer.send(Err(crashed()))));
    }

    /// How many reads were answered, so that tests can bound what a verb costs.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.lock().reads
    }

    /// How many changes were taken, for the same reason.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// From now on accounts may hold no more than this.
    pub fn limit(&self, limits: StorageLimits) {
        self.lock().limits = limits;
    }

    /// From now on changes wait unsynced until [`Self::sync`] or [`Self::crash`].
    pub fn hold(&self) {
        self.lock().held = true;
    }

    /// Writes what waits, in order, answers it, and ends the hold.
    pub fn sync(&self) {
        let mut inner = self.lock();
        inner.held = false;
        inner.sync();
    }

    /// Loses everything unsynced: its [`Durable`]s fail with [`StoreError::Stopped`]. The hold ends; the
    /// store continues with what was synced, as after a restart.
    pub fn crash(&self) {
        self.lock().lose();
    }

    /// Loses everything unsynced like [`Self::crash`], stops all handles of today and gives a new one, so
    /// that nothing that survived the "crash" in a test can go on writing. Also opens a closed store again.
    #[must_use]
    pub fn reopen(&self) -> Self {
        let mut inner = self.lock();
        inner.lose();
        inner.opening += 1;
        inner.feed = Feed::default();
        Self { inner: self.inner.clone(), opening: inner.opening, handle: Arc::default() }
    }

    /// Makes the next change fail with this error; it leaves nothing.
    pub fn fail_next(&self, error: StoreError) {
        self.lock().fail_next = Some(error);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self) -> Result<MutexGuard<'_, Inner>, StoreError> {
        let inner = self.lock();
        if self.handle.closed.load(Ordering::Relaxed) || inner.opening != self.opening {
            return Err(StoreError::Stopped("it was closed".into()));
        }
        Ok(inner)
    }

    fn take(&self, change: Change) -> Result<Durable, StoreError> {
        let mut inner = self.live()?;
        inner.changes += 1;
        change.check()?;
        if let Some(error) = inner.fail_next.take() {
            return Ok(Box::pin(ready(Err(error))));
        }
        if !inner.held {
            return Ok(Box::pin(ready(inner.apply(change, self.process()))));
        }
        if inner.waiting.len() >= MAX_HELD {
            return Err(StoreError::Full);
        }
        let (answer, answered) = oneshot::channel();
        let (by, from) = (self.process(), self.handle.clone());
        inner.waiting.push_back(Waiting { change, by, from, answer });
        Ok(Box::pin(async move { answered.await.unwrap_or_else(|_| Err(crashed())) }))
    }

    fn read<T>(&self, look: impl FnOnce(&mut Content) -> T) -> Result<T, StoreError> {
        let mut inner = self.live()?;
        inner.reads += 1;
        Ok(look(&mut inner.content))
    }

    /// The process that this handle is.
    fn process(&self) -> Option<ProcessId> {
        Some(self.handle.process.load(Ordering::Relaxed)).filter(|number| *number > 0).map(ProcessId::new)
    }

    fn become_process(&self, process: ProcessId) {
        self.handle.process.store(process.number(), Ordering::Relaxed);
    }

    fn reply<T: Send + 'static>(&self, look: impl FnOnce(&mut Content) -> T) -> Reply<'_, T> {
        Box::pin(ready(self.read(look)))
    }
}

impl Inner {
    fn apply(&mut self, change: Change, by: Option<ProcessId>) -> Result<(), StoreError> {
        let touched: Vec<Entity> = change.edits.iter().filter_map(Entity::of_edit).collect();
        self.content.apply(change, self.limits, by)?;
        self.feed.publish(touched);
        Ok(())
    }

    fn sync(&mut self) {
        for Waiting { change, by, answer, .. } in std::mem::take(&mut self.waiting) {
            let result = self.apply(change, by);
            // The asker may have dropped its Durable; the change stands all the same.
            let _ = answer.send(result);
        }
    }

    fn lose(&mut self) {
        self.held = false;
        for waiting in self.waiting.drain(..) {
            let _ = waiting.answer.send(Err(crashed()));
        }
    }
}

fn crashed() -> StoreError {
    StoreError::Stopped("it crashed before the change was on disk".into())
}

impl Store for MemStore {
    fn enqueue(&self, change: Change) -> Reply<'_, Durable> {
        // Taken when polled, not when called: only a future that runs fixes a place in the order.
        Box::pin(async move { self.take(change) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::samples::{opening, task_id};
    use crate::contract::{Fresh, alone_suite, contract_suite, shared_suite};
    use crate::{SharedStore, TaskReads as _, Upkeep as _};

    contract_suite!(async || Fresh::of(MemStore::new()));
    alone_suite!(async || Fresh::of(MemStore::new()));

    mod shared {
        use super::*;

        shared_suite!(async || {
            let store = MemStore::shared();
            let (others, clock) = (store.clone(), store.clone());
            Fresh::of(store).sharing(
                Box::new(move || {
                    let other: SharedStore = Arc::new(others.another());
                    Box::pin(ready(other))
                }),
                Box::new(move |time| {
                    clock.advance(time);
                    Box::pin(ready(()))
                }),
            )
        });
    }

    #[tokio::test]
    async fn a_killed_process_loses_its_own_unsynced_changes_only() {
        let one = MemStore::new();
        let two = one.another();
        one.hold();
        let lost = one.enqueue(opening(1)).await.unwrap();
        let kept = two.enqueue(opening(2)).await.unwrap();
        one.kill();
        assert!(matches!(lost.await, Err(StoreError::Stopped(_))));
        assert!(matches!(one.commit(opening(3)).await, Err(StoreError::Stopped(_))));
        two.sync();
        kept.await.unwrap();
        assert!(two.task(task_id(1)).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn held_changes_are_unread_until_they_are_synced() {
        let store = MemStore::new();
        store.hold();
        let durable = store.enqueue(opening(1)).await.unwrap();
        assert!(store.task(task_id(1)).await.unwrap().is_none());
        store.sync();
        durable.await.unwrap();
        assert!(store.task(task_id(1)).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn a_crash_loses_what_was_not_synced_and_nothing_else() {
        let store = MemStore::new();
        store.commit(opening(1)).await.unwrap();
        store.hold();
        let durable = store.enqueue(opening(2)).await.unwrap();
        store.crash();
        assert!(matches!(durable.await, Err(StoreError::Stopped(_))));
        assert!(store.task(task_id(1)).await.unwrap().is_some());
        assert!(store.task(task_id(2)).await.unwrap().is_none());
        store.commit(opening(2)).await.unwrap();
    }

    #[tokio::test]
    async fn a_reopened_store_leaves_older_handles_dead() {
        let old = MemStore::new();
        old.commit(opening(1)).await.unwrap();
        let new = old.reopen();
        assert!(matches!(old.commit(opening(2)).await, Err(StoreError::Stopped(_))));
        assert!(new.task(task_id(1)).await.unwrap().is_some());
        new.close().await.unwrap();
        assert!(new.reopen().task(task_id(1)).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn only_the_next_change_fails_when_told_to() {
        let store = MemStore::new();
        store.fail_next(StoreError::Full);
        assert!(matches!(store.commit(opening(1)).await, Err(StoreError::Full)));
        store.commit(opening(1)).await.unwrap();
    }
}
