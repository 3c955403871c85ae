//! The one writer: takes whatever is queued, commits it in one transaction, answers after the fsync.
//!
//! Promises: jobs take effect in the order in which they were queued. A group is never held back to grow:
//! what came while the last commit ran is the next group. A refused change leaves nothing and does not touch
//! the others of its group. On a full disk the group is refused and the next one is tried; on any other
//! failure the writer stops for good.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::accounts::Books;
use super::apply;
use super::audit::Audit;
use super::file::{self, Lock, PAGE};
use super::job::Job;
use super::progress::Progress;
use super::ready::Ready;
use super::space::Space;
use crate::feed::Feed;
use crate::{StorageLimits, StorageQuery, StoreError, StoreMetrics};

/// Jobs that may wait: four full groups, so that the disk always has work and a slow disk is felt by askers
/// early.
const QUEUE: usize = 1_024;

/// Kilobytes of changes that may wait or be written at once (32 MiB): large bodies must not fill the memory
/// while the disk is slow.
const QUEUE_KIB: u32 = 32 << 10;

/// Most jobs in one commit: beyond this the cost per change no longer falls.
const GROUP: usize = 256;

/// Most bytes in one commit, so that a few large changes do not make all others wait.
const GROUP_BYTES: usize = 1 << 20;

/// Pages in the log after which it is copied into the file (4 MiB): reading stays fast and a restart short.
const CHECKPOINT: i32 = (4 << 20) / PAGE as i32;

/// Pages in the log (64 MiB) after which the writer waits for readers to let go of it, rather than let it
/// grow.
const LOG_LIMIT: i32 = (64 << 20) / PAGE as i32;

/// How long the writer waits then; readers hold the log for milliseconds, a backup longer, and then the log
/// grows on.
const LOG_WAIT: Duration = Duration::from_millis(100);

/// How often the log is tried to be emptied while readers hold it, [`LOG_WAIT`] each: they hold it for
/// milliseconds.
const EMPTY_TRIES: usize = 20;

/// What the writer works with.
pub(super) struct Ground {
    pub(super) db: Connection,
    pub(super) audit: Audit,
    pub(super) progress: Progress,
    pub(super) lock: Lock,
    pub(super) space: Space,
    pub(super) feed: Arc<Feed>,
}

/// The handle of the writer's thread. Dropping it writes out what is queued and joins the thread.
#[derive(Debug)]
pub(super) struct Writer {
    /// `None` only while the handle is dropped.
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    /// The queue's memory, in kilobytes.
    queue_permits: Arc<Semaphore>,
    why: Arc<OnceLock<String>>,
    metrics: StoreMetrics,
}

impl Writer {
    pub(super) fn start(
        ground: Ground,
        limits: StorageLimits,
        metrics: StoreMetrics,
    ) -> Result<Self, StoreError> {
        let Ground { mut db, audit, progress, lock, space, feed } = ground;
        let (jobs, queue) = mpsc::channel(QUEUE);
        let why = Arc::new(OnceLock::new());
        let log_pages = Arc::new(AtomicI32::new(0));
        let hook = log_pages.clone();
        db.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages: i32| {
            hook.store(pages, Ordering::Relaxed);
            Ok(())
        }))?;
        let recent = apply::count_recent(&db)?;
        let mut books = Books::open(&db, limits)?;
        books.disk = space.disk();
        metrics.holds(&books.view(&StorageQuery::default()));
        let thread = Thread {
            db,
            audit,
            progress,
            feed,
            removed: true,
            queue,
            recent,
            books,
            space,
            log_pages,
            next_checkpoint: CHECKPOINT,
            why: why.clone(),
            metrics: metrics.clone(),
            lock,
        };
        let thread = std::thread::Builder::new().name("store-writer".into()).spawn(move || thread.run());
        let thread =
            thread.map_err(|error| StoreError::Engine(format!("cannot start the writer: {error}")))?;
        let queue_permits = Arc::new(Semaphore::new(QUEUE_KIB as usize));
        Ok(Self { jobs: Some(jobs), thread: Some(thread), queue_permits, why, metrics })
    }

    /// Queues a change; waits while the queue is full, by number or by size.
    pub(super) async fn change(
        &self,
        ready: Box<Ready>,
    ) -> Result<oneshot::Receiver<Result<(), StoreError>>, StoreError> {
        let kib = u32::try_from(ready.cost / 1_024 + 1).unwrap_or(QUEUE_KIB).min(QUEUE_KIB);
        let permit = self.queue_permits.clone().acquire_many_owned(kib).await.map_err(|_| self.stopped())?;
        let (answer, answered) = oneshot::channel();
        self.queue(Job::Change { ready, verdict: Ok(()), answer, _permit: permit }).await?;
        Ok(answered)
    }

    /// Groups of changes that are on disk since the start.
    pub(super) fn commits(&self) -> u64 {
        self.metrics.commits()
    }

    /// Fixes the job's place in the order; waits while the queue is full.
    pub(super) async fn queue(&self, job: Job) -> Result<(), StoreError> {
        let jobs = self.jobs.as_ref().expect("only dropping takes the sender");
        let place = jobs.reserve().await.map_err(|_| self.stopped())?;
        self.metrics.queued();
        place.send(job);
        Ok(())
    }

    pub(super) async fn close(&self) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        if self.queue(Job::Close { answer }).await.is_err() {
            // Closed before, or stopped; nothing is left to write.
            return Ok(());
        }
        answered.await.unwrap_or_else(|_| Err(self.stopped()))
    }

    /// Where the reason for a stop will stand.
    pub(super) fn why(&self) -> Arc<OnceLock<String>> {
        self.why.clone()
    }

    pub(super) fn stopped(&self) -> StoreError {
        stopped(&self.why)
    }
}

/// The answer of a writer that has stopped.
pub(super) fn stopped(why: &OnceLock<String>) -> StoreError {
    StoreError::Stopped(why.get().map_or("its writer is gone", String::as_str).into())
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's writer panicked; what it had acknowledged is on disk");
        }
    }
}

/// Whether there was no space for a commit.
fn is_full(done: &rusqlite::Result<()>) -> bool {
    done.as_ref().is_err_and(|error| error.sqlite_error_code() == Some(ErrorCode::DiskFull))
}

/// What the thread owns.
struct Thread {
    db: Connection,
    audit: Audit,
    progress: Progress,
    feed: Arc<Feed>,
    /// Whether something was removed that may still lie in an index of words or in the log. At the start
    /// nobody knows.
    removed: bool,
    queue: mpsc::Receiver<Job>,
    /// Rows in `sent_recent`.
    recent: usize,
    /// What the accounts hold.
    books: Books,
    /// The disk below the file.
    space: Space,
    /// Pages in the log after the last commit.
    log_pages: Arc<AtomicI32>,
    next_checkpoint: i32,
    why: Arc<OnceLock<String>>,
    metrics: StoreMetrics,
    lock: Lock,
}

impl Thread {
    fn run(mut self) {
        while let Some(first) = self.queue.blocking_recv() {
            let (group, close) = self.gather(first);
            let stop = self.commit(group);
            if let Some(fault) = stop {
                return self.stop(&fault, close);
            }
            if let Some(close) = close {
                return self.finish(Some(close));
            }
            self.checkpoint();
        }
        self.finish(None);
    }

    /// Takes what is queued, up to a group; a wish to close ends the group and is handed back beside it.
    fn gather(&mut self, first: Job) -> (Vec<Job>, Option<Job>) {
        let mut group = Vec::with_capacity(GROUP.min(1 + self.queue.len()));
        let (mut bytes, mut next, mut close) = (0, Some(first), None);
        while let Some(job) = next {
            bytes += job.cost();
            if matches!(job, Job::Close { .. }) {
                close = Some(job);
                break;
            }
            group.push(job);
            let more = group.len() < GROUP && bytes < GROUP_BYTES;
            next = if more { self.queue.try_recv().ok() } else { None };
        }
        self.metrics.taken(group.len() + usize::from(close.is_some()));
        (group, close)
    }

    /// Commits and answers a group; gives the reason to stop, if there is one.
    fn commit(&mut self, mut group: Vec<Job>) -> Option<StoreError> {
        if group.is_empty() {
            return None;
        }
        let begun = Instant::now();
        self.space.look(&self.db);
        self.books.disk = self.space.disk();
        let mut done = self.transact(&mut group);
        if done.is_err() {
            self.roll_back();
        }
        if is_full(&done) {
            done = self.transact_without_growth(&mut group);
        }
        let changes = group.iter().filter(|job| matches!(job, Job::Change { verdict: Ok(()), .. })).count();
        let goes_on = match done.as_ref().map_err(rusqlite::Error::sqlite_error_code) {
            Ok(()) => {
                self.metrics.committed(changes, begun.elapsed());
                self.metrics.holds(&self.books.view(&StorageQuery::default()));
                true
            }
            Err(code) => matches!(code, Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy)),
        };
        let result = done.map_err(StoreError::from);
        match &result {
            Ok(()) => {
                let frames = u64::try_from(self.log_pages.load(Ordering::Relaxed)).unwrap_or(0);
                self.progress.note(&self.audit.vault, frames, self.audit.end());
                // Before the commit is reported, so that a reader of the report finds it in the feed.
                let mut touched = Vec::with_capacity(group.len());
                group.iter().for_each(|job| job.touch(&mut touched));
                self.feed.publish(touched);
                if group.iter().any(|job| matches!(job, Job::EmptyLog { .. })) {
                    self.empty_log();
                }
            }
            Err(error) => {
                tracing::error!(%error, jobs = group.len(), "a commit failed; nothing of it was kept");
            }
        }
        for job in group {
            job.answer(&result);
        }
        if goes_on { None } else { result.err() }
    }

    fn transact(&mut self, group: &mut [Job]) -> rusqlite::Result<()> {
        self.audit.begin();
        self.db.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        for job in group {
            let before = self.db.total_changes();
            if matches!(job, Job::Scrub { .. }) && !self.removed {
                continue;
            }
            job.run(&self.db, &mut self.recent, &mut self.books, &mut self.audit)?;
            self.removed |= matches!(job, Job::Expire { .. }) && self.db.total_changes() > before;
        }
        apply::settle_recent(&self.db, &mut self.recent)?;
        let written = self.books.write(&self.db)?;
        self.audit.write(&self.db)?;
        self.db.prepare_cached("COMMIT")?.execute([])?;
        self.books.keep(written);
        Ok(())
    }

    /// Tries a group again for which there was no space: without the ballast, with an empty log, and without
    /// what would grow.
    fn transact_without_growth(&mut self, group: &mut [Job]) -> rusqlite::Result<()> {
        self.space.fill();
        self.books.disk = self.space.disk();
        if let Err(error) = self.truncate_log() {
            tracing::warn!(%error, "the write-ahead log could not be copied into the database yet");
        }
        let done = self.transact(group);
        if done.is_err() {
            self.roll_back();
        }
        done
    }

    fn roll_back(&mut self) {
        self.books.undo();
        self.audit.undo();
        // After some failures SQLite has rolled back by itself.
        if !self.db.is_autocommit()
            && let Err(error) = self.db.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "a failed commit could not be rolled back");
        }
        if let Ok(recent) = apply::count_recent(&self.db) {
            self.recent = recent;
        }
    }

    /// Copies the log into the file when it has grown enough. Failure is no harm: the log stays and is tried
    /// again later.
    fn checkpoint(&mut self) {
        let pages = self.log_pages.load(Ordering::Relaxed);
        if pages < CHECKPOINT {
            // The log has begun anew since the last look.
            self.next_checkpoint = CHECKPOINT;
        }
        if pages < self.next_checkpoint {
            return;
        }
        self.next_checkpoint = pages.saturating_add(CHECKPOINT);
        let copied = if pages < LOG_LIMIT { self.copy_log("PASSIVE") } else { self.truncate_log() };
        if let Err(error) = copied {
            tracing::warn!(%error, "the write-ahead log could not be copied into the database yet");
        }
    }

    /// Copies the log into the file and cuts it off, if something was removed.
    fn empty_log(&mut self) {
        if !self.removed {
            return;
        }
        for _ in 0..EMPTY_TRIES {
            match self.truncate_log() {
                Ok(()) if file::log_is_empty(self.db.path()) => {
                    self.removed = false;
                    return;
                }
                Ok(()) => {}
                Err(error) => {
                    tracing::warn!(%error, "the write-ahead log could not be emptied yet; what was removed may still lie in it");
                    return;
                }
            }
        }
        tracing::warn!(
            "readers kept the write-ahead log from being emptied; it is tried again with the next removal"
        );
    }

    fn truncate_log(&mut self) -> Result<(), StoreError> {
        self.progress.note_empty(&self.audit.vault, self.audit.end());
        let patience: i64 = self.db.pragma_query_value(None, "busy_timeout", |row| row.get(0))?;
        self.db.busy_timeout(LOG_WAIT)?;
        let copied = self.copy_log("TRUNCATE");
        self.log_pages.store(0, Ordering::Relaxed);
        self.db.busy_timeout(Duration::from_millis(patience.unsigned_abs()))?;
        copied
    }

    fn copy_log(&self, how: &str) -> Result<(), StoreError> {
        Ok(self.db.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(()))?)
    }

    /// Ends in good order: the log is empty, the file is marked clean and free for another process.
    fn finish(mut self, close: Option<Job>) {
        let _ = self.why.set("it was closed".into());
        self.queue.close();
        let mut left = Vec::new();
        while let Some(job) = self.queue.blocking_recv() {
            left.push(job);
        }
        let done = file::mark_clean(&self.db, true).and_then(|()| {
            self.progress.note_empty(&self.audit.vault, self.audit.end());
            self.copy_log("TRUNCATE")
        });
        if let Err(error) = &done {
            tracing::warn!(%error, "the database was not left in good order; it is checked on the next start");
        }
        drop((self.db, self.lock));
        // What was acknowledged is in the log either way, so closing has done its duty.
        if let Some(close) = close {
            close.answer(&Ok(()));
        }
        let refused = Err(stopped(&self.why));
        left.into_iter().for_each(|job| job.answer(&refused));
    }

    /// Ends after a failure: every waiting caller learns why, and nothing touches the file again.
    fn stop(mut self, fault: &StoreError, close: Option<Job>) {
        tracing::error!(error = %fault, "the store has stopped; restart the site");
        let _ = self.why.set(fault.to_string());
        let refused = Err(stopped(&self.why));
        self.queue.close();
        close.into_iter().for_each(|job| job.answer(&refused));
        while let Some(job) = self.queue.blocking_recv() {
            self.metrics.taken(1);
            job.answer(&refused);
        }
    }
}
