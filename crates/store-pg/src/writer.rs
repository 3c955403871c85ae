//! The one writer of a process: takes whatever is queued, commits it in one transaction, then answers.
//!
//! Promises: changes take effect in the order in which they were queued. A group is never held back to grow.
//! A conflict with another process and a lost connection are tried again, a bounded number of times and for a
//! bounded time; a commit whose outcome is unknown is asked for by the number of its transaction, so that no
//! change is lost or made twice (see `outcome`). When one change of a group makes the server fail, the
//! changes are made one by one, so that it does not take the others with it.

pub(crate) mod outcome;

use std::sync::Arc;
use std::time::{Duration, Instant};

use agentsite_store::engine::{Vault, WriterMetrics};
use agentsite_store::{ProcessId, StorageLimits, StoreError, StoreMetrics};
use tokio::sync::{Mutex, Notify, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_postgres::Error;

use crate::batch::{Asked, Batch, READ_STATEMENTS, WRITE_STATEMENTS};
use crate::ends::Ends;
use crate::fault::{is_conflict, is_lost, told};
use crate::head::{self, Appended, Head, Trace};
use crate::processes::writer_name;
use crate::readers::closed;
use crate::ready::Ready;
use crate::session::Session;
use crate::settings::Target;
use crate::tls::Tls;

/// Changes that may wait: four full groups, so that the server always has work and a slow one is felt early.
const QUEUE: usize = 1_024;

/// Kilobytes of changes that may wait or be written at once (32 MiB).
const QUEUE_KIB: u32 = 32 << 10;

/// Most changes in one commit: beyond this the cost per change no longer falls.
const GROUP: usize = 256;

/// Most bytes in one commit, so that a few large changes do not make all others wait.
const GROUP_BYTES: usize = 1 << 20;

/// How often a group is tried again after a conflict with another process: each conflict means that another
/// one made progress.
const CONFLICTS: usize = 20;

/// How long a group is tried again while the server cannot be reached: a restart or a failover of PostgreSQL
/// takes some seconds.
const PATIENCE: Duration = Duration::from_secs(15);

/// The first pause before a new attempt, and the longest.
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);

/// How the server plans the writer's statements: each finds rows by their keys, whatever the statistics of a
/// young table say, and is planned once.
const PLANS: &str = "SET enable_seqscan TO off; SET enable_bitmapscan TO off; SET enable_hashjoin TO off;
    SET enable_mergejoin TO off; SET plan_cache_mode TO force_generic_plan";

/// One thing in the queue.
enum Job {
    Change(Entry),
    Close(oneshot::Sender<()>),
}

/// A change in the queue.
struct Entry {
    ready: Box<Ready>,
    by: Option<ProcessId>,
    answer: oneshot::Sender<Result<(), StoreError>>,
    /// Its share of the queue's memory.
    _permit: OwnedSemaphorePermit,
}

/// The handle of the writer's task. Dropping it lets the task write what is queued and end.
#[derive(Debug)]
pub(crate) struct Writer {
    jobs: mpsc::Sender<Job>,
    permits: Arc<Semaphore>,
    metrics: StoreMetrics,
    /// Joined on close.
    task: Mutex<Option<JoinHandle<()>>>,
}

/// What the writer works with.
pub(crate) struct Ground {
    pub(crate) session: Session,
    pub(crate) target: Target,
    pub(crate) tls: Tls,
    pub(crate) vault: Arc<Vault>,
    pub(crate) limits: StorageLimits,
    pub(crate) ends: Arc<Ends>,
    /// Woken after each commit.
    pub(crate) committed: Arc<Notify>,
}

impl Writer {
    pub(crate) fn start(ground: Ground, metrics: StoreMetrics) -> Self {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let Ground { session, target, tls, vault, limits, ends, committed } = ground;
        let session = Some(session);
        let metered = metrics.clone();
        let work = Work {
            session,
            target,
            tls,
            vault,
            limits,
            ends,
            committed,
            queue,
            metrics: metered,
            prepared: false,
            named: None,
        };
        let task = Mutex::new(Some(tokio::spawn(work.run())));
        Self { jobs, permits: Arc::new(Semaphore::new(QUEUE_KIB as usize)), metrics, task }
    }

    /// Queues a change; waits while the queue is full, by number or by size.
    pub(crate) async fn change(
        &self,
        ready: Box<Ready>,
        by: Option<ProcessId>,
    ) -> Result<oneshot::Receiver<Result<(), StoreError>>, StoreError> {
        let kib = u32::try_from(ready.cost / 1_024 + 1).unwrap_or(QUEUE_KIB).min(QUEUE_KIB);
        let permit = self.permits.clone().acquire_many_owned(kib).await.map_err(|_| closed())?;
        let (answer, answered) = oneshot::channel();
        let place = self.jobs.reserve().await.map_err(|_| closed())?;
        self.metrics.note_queued();
        place.send(Job::Change(Entry { ready, by, answer, _permit: permit }));
        Ok(answered)
    }

    /// Writes what is queued and ends.
    pub(crate) async fn close(&self) {
        let (answer, answered) = oneshot::channel();
        if self.jobs.send(Job::Close(answer)).await.is_ok() {
            // An error means that the task has ended, which is what was asked for.
            let _ = answered.await;
        }
        if let Some(task) = self.task.lock().await.take() {
            let _ = task.await;
        }
    }

    /// Groups of changes that are on disk.
    pub(crate) fn commits(&self) -> u64 {
        self.metrics.count_commits()
    }
}

/// What the task owns.
struct Work {
    session: Option<Session>,
    prepared: bool,
    /// The process that the connection is named after.
    named: Option<ProcessId>,
    target: Target,
    tls: Tls,
    vault: Arc<Vault>,
    limits: StorageLimits,
    ends: Arc<Ends>,
    committed: Arc<Notify>,
    queue: mpsc::Receiver<Job>,
    metrics: StoreMetrics,
}

/// Why a group is not committed.
enum Failed {
    /// Nothing of it is kept.
    Server(Error),
    /// The connection was lost while the commit was on its way.
    Unknown { error: Error, commit: Sent, done: Done },
    /// The tables are not what they must be.
    Broken(StoreError),
}

/// A commit that was sent and not answered.
pub(crate) struct Sent {
    pub(crate) transaction: String,
    pub(crate) trace: Trace,
    /// The process of the server that served it.
    pub(crate) pid: i32,
}

/// A group that was decided and written.
struct Done {
    verdicts: Verdicts,
    opening: u64,
    /// The ends of the feeds.
    ends: Vec<u64>,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Server(error)
    }
}

/// What became of each change of a group.
type Verdicts = Vec<Result<(), StoreError>>;

impl Work {
    async fn run(mut self) {
        while let Some(first) = self.queue.recv().await {
            let (group, close) = self.gather(first);
            if !group.is_empty() {
                Box::pin(self.commit(group)).await;
            }
            if let Some(close) = close {
                self.queue.close();
                while let Some(job) = self.queue.recv().await {
                    match job {
                        Job::Change(entry) => drop(entry.answer.send(Err(closed()))),
                        Job::Close(answer) => drop(answer.send(())),
                    }
                }
                drop(self.session.take());
                let _ = close.send(());
                return;
            }
        }
    }

    /// Takes what is queued, up to a group; a wish to close ends the group.
    fn gather(&mut self, first: Job) -> (Vec<Entry>, Option<oneshot::Sender<()>>) {
        let mut group = Vec::with_capacity(GROUP.min(1 + self.queue.len()));
        let (mut bytes, mut next, mut close) = (0, Some(first), None);
        while let Some(job) = next {
            match job {
                Job::Close(answer) => {
                    close = Some(answer);
                    break;
                }
                Job::Change(entry) => {
                    bytes += entry.ready.cost;
                    group.push(entry);
                }
            }
            let more = group.len() < GROUP && bytes < GROUP_BYTES;
            next = if more { self.queue.try_recv().ok() } else { None };
        }
        self.metrics.note_taken(group.len());
        (group, close)
    }

    /// Commits and answers a group.
    async fn commit(&mut self, group: Vec<Entry>) {
        let begun = Instant::now();
        let asked: Vec<Asked<'_>> =
            group.iter().map(|entry| Asked { ready: &entry.ready, by: entry.by }).collect();
        let mut verdicts = self.persist(&asked).await;
        if asked.len() > 1 && matches!(verdicts, Err(StoreError::Engine(_) | StoreError::Corrupt(_))) {
            // One of them made the server fail; the others must not suffer for it.
            let mut single = Vec::with_capacity(asked.len());
            for one in asked.chunks(1) {
                single.push(self.persist(one).await.and_then(|all| all.into_iter().next().unwrap_or(Ok(()))));
            }
            verdicts = Ok(single);
        }
        drop(asked);
        match verdicts {
            Ok(verdicts) => {
                let made = verdicts.iter().filter(|verdict| verdict.is_ok()).count();
                self.metrics.note_committed(made, begun.elapsed());
                for (entry, verdict) in group.into_iter().zip(verdicts) {
                    // A caller that no longer listens has lost nothing.
                    let _ = entry.answer.send(verdict);
                }
            }
            Err(error) => {
                tracing::error!(%error, changes = group.len(), "a commit failed; nothing of it was kept");
                for entry in group {
                    let _ = entry.answer.send(Err(error.clone()));
                }
            }
        }
    }

    /// Commits a group, however often that has to be tried within the bounds.
    async fn persist(&mut self, asked: &[Asked<'_>]) -> Result<Verdicts, StoreError> {
        let (begun, mut conflicts, mut pause) = (Instant::now(), 0, PAUSE);
        loop {
            let error = match self.attempt(asked).await {
                Ok(done) => return Ok(self.publish(done)),
                Err(Failed::Broken(error)) => return Err(error),
                Err(Failed::Server(error)) => error,
                Err(Failed::Unknown { error, commit, done }) => {
                    self.session = None;
                    tracing::warn!(%error, transaction = commit.transaction, "the connection was lost during a commit; its outcome is looked up");
                    let until = begun + PATIENCE;
                    if outcome::is_committed(&self.target, &self.tls, &commit, until).await? {
                        return Ok(self.publish(done));
                    }
                    error
                }
            };
            if is_lost(&error) {
                self.session = None;
                if begun.elapsed() > PATIENCE {
                    return Err(told(&error));
                }
            } else if is_conflict(&error) && conflicts < CONFLICTS {
                conflicts += 1;
                self.roll_back().await;
            } else {
                self.roll_back().await;
                return Err(told(&error));
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST);
        }
    }

    /// Decides and writes a group in one transaction.
    async fn attempt(&mut self, asked: &[Asked<'_>]) -> Result<Done, Failed> {
        self.connect(asked.iter().find_map(|one| one.by)).await?;
        let session = self.session.as_ref().expect("it was just connected");
        let mut batch = Batch::begin(session, &self.vault, self.limits, asked).await?;
        let mut verdicts = Vec::with_capacity(asked.len());
        for one in asked {
            verdicts.push(batch.take(one).await?);
        }
        if verdicts.iter().all(Result::is_err) {
            session.batch("ROLLBACK").await?;
            return Ok(Done { verdicts, opening: 0, ends: Vec::new() });
        }
        batch.flush().await?;
        let Some(mut head) = Head::lock(session).await? else {
            return Err(Failed::Broken(StoreError::Corrupt("the table `head` has no row".into())));
        };
        let Batch { seen, writes, lines, touched, .. } = batch;
        let appended = Appended { lines: &lines, touched, usage: writes.usage };
        head.append(session, &self.vault, appended, &seen.accounts).await?;
        let done = Done { verdicts, opening: head.opening, ends: head.ends() };
        match session.batch("COMMIT").await {
            Ok(()) => Ok(done),
            Err(error) if is_lost(&error) => {
                let (trace, pid) = (head.trace(), session.pid);
                let commit = Sent { transaction: head.transaction, trace, pid };
                Err(Failed::Unknown { error, commit, done })
            }
            Err(error) => Err(Failed::Server(error)),
        }
    }

    /// Lets those who wait know; before the commit is reported, so that a reader of the report finds it in
    /// the feed.
    fn publish(&self, done: Done) -> Verdicts {
        if done.opening != 0 {
            self.ends.move_to(done.opening, &done.ends);
            self.committed.notify_one();
        }
        done.verdicts
    }

    /// Makes sure that there is a connection, and that it has the name of the process that writes.
    async fn connect(&mut self, by: Option<ProcessId>) -> Result<(), Error> {
        if self.session.as_ref().is_none_or(Session::is_closed) {
            self.session = None;
            self.prepared = false;
            self.named = None;
            self.session = Some(Session::open(&self.target, &self.tls, None).await?);
        }
        if let Some(session) = self.session.as_ref().filter(|_| !self.prepared) {
            session.batch(PLANS).await?;
            // Statements are sent together only when they are prepared.
            for sql in READ_STATEMENTS.iter().chain(WRITE_STATEMENTS).chain(head::STATEMENTS) {
                session.statement(sql).await?;
            }
            self.prepared = true;
        }
        if let (Some(session), Some(by)) = (&self.session, by)
            && self.named != Some(by)
        {
            session.batch(&format!("SET application_name TO '{}'", writer_name(by))).await?;
            self.named = Some(by);
        }
        Ok(())
    }

    async fn roll_back(&mut self) {
        if let Some(session) = &self.session
            && session.batch("ROLLBACK").await.is_err()
        {
            self.session = None;
        }
    }
}
