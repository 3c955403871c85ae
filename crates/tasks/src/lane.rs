//! Lane: how many tasks of one agent run at once and how many may wait.
//!
//! Promises: never more than `concurrency` at work and never more than `queue` waiting; a refusal says when
//! to try again. Those that wait are served in order. Where several processes serve the site, each has a
//! share of the concurrency; a share that becomes smaller takes effect as running work ends.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_host::Limits;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Shortest and longest advice on when to try again.
const RETRY_AFTER: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// The lane of one agent.
#[derive(Debug)]
pub(crate) struct Lane {
    slots: Arc<Semaphore>,
    concurrency: usize,
    /// How many of them this process may use; all of them unless others have the agent, too.
    // A std lock: held for a few additions, never across an await.
    share: Mutex<Share>,
    queue: usize,
    waiting: AtomicUsize,
    /// Smoothed time of a run in milliseconds, for the advice only.
    pace: AtomicU64,
}

/// How many slots a process may use, and how many of those in use it must not use again.
#[derive(Debug)]
struct Share {
    slots: usize,
    owed: usize,
}

/// The right to run; given back when dropped.
#[derive(Debug)]
pub struct Slot {
    lane: Arc<Lane>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut share = self.lane.share();
        if share.owed > 0 {
            share.owed -= 1;
            self.permit.take().into_iter().for_each(OwnedSemaphorePermit::forget);
        }
    }
}

/// A position in the queue; given up when dropped.
#[derive(Debug)]
pub(crate) struct QueueTicket {
    lane: Arc<Lane>,
}

/// Either the right to run at once, or a position in the queue.
#[derive(Debug)]
pub(crate) enum Admission {
    Now(Slot),
    Later(QueueTicket),
}

impl Lane {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(limits.concurrency.min(Semaphore::MAX_PERMITS))),
            concurrency: limits.concurrency,
            share: Mutex::new(Share { slots: limits.concurrency.min(Semaphore::MAX_PERMITS), owed: 0 }),
            queue: limits.queue,
            waiting: AtomicUsize::new(0),
            pace: AtomicU64::new(0),
        }
    }

    /// Lets a task in, or says when to try again. `forced` tasks (left over from before a restart) are never
    /// turned away.
    pub(crate) fn admit(self: &Arc<Self>, forced: bool) -> Result<Admission, Duration> {
        if let Ok(permit) = self.slots.clone().try_acquire_owned() {
            return Ok(Admission::Now(Slot { lane: self.clone(), permit: Some(permit) }));
        }
        let ahead = self.waiting.fetch_add(1, Ordering::Relaxed);
        let ticket = QueueTicket { lane: self.clone() };
        if ahead >= self.queue && !forced {
            return Err(self.retry_after());
        }
        Ok(Admission::Later(ticket))
    }

    /// Uses this share of the concurrency from now on: `parts` processes have the agent, and this one is
    /// number `rank` among them, from 0.
    pub(crate) fn set_share(&self, parts: usize, rank: usize) {
        let all = self.concurrency.min(Semaphore::MAX_PERMITS);
        let parts = parts.max(1);
        let slots = all / parts + usize::from(rank < all % parts);
        let mut share = self.share();
        if slots > share.slots {
            let more = slots - share.slots;
            let paid = more.min(share.owed);
            share.owed -= paid;
            self.slots.add_permits(more - paid);
        } else {
            let fewer = share.slots - slots;
            share.owed += fewer - self.slots.forget_permits(fewer);
        }
        share.slots = slots;
    }

    /// Whether this process may run the agent at all.
    pub(crate) fn has_share(&self) -> bool {
        self.share().slots > 0
    }

    pub(crate) fn running(&self) -> usize {
        let share = self.share();
        (share.slots + share.owed).saturating_sub(self.slots.available_permits())
    }

    fn share(&self) -> MutexGuard<'_, Share> {
        self.share.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Learns how long a run took.
    pub(crate) fn took(&self, time: Duration) {
        let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let before = self.pace.load(Ordering::Relaxed);
        self.pace.store(before / 8 * 7 + time / 8, Ordering::Relaxed);
    }

    fn retry_after(&self) -> Duration {
        let queue = self.waiting() as u64 / self.concurrency.max(1) as u64;
        let wait = Duration::from_millis(self.pace.load(Ordering::Relaxed).saturating_mul(queue));
        wait.clamp(RETRY_AFTER.0, RETRY_AFTER.1)
    }
}

impl Admission {
    /// Waits for the right to run.
    pub(crate) async fn slot(self) -> Slot {
        match self {
            Self::Now(slot) => slot,
            Self::Later(ticket) => ticket.slot().await,
        }
    }
}

impl QueueTicket {
    /// Waits for the turn.
    pub(crate) async fn slot(&self) -> Slot {
        let permit = self.lane.slots.clone().acquire_owned().await;
        let permit = permit.expect("the semaphore of a lane is never closed");
        Slot { lane: self.lane.clone(), permit: Some(permit) }
    }
}

impl Drop for QueueTicket {
    fn drop(&mut self) {
        self.lane.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(concurrency: usize, queue: usize) -> Arc<Lane> {
        Arc::new(Lane::new(&Limits { concurrency, queue, ..Limits::default() }))
    }

    #[test]
    fn a_full_queue_is_refused_with_a_time() {
        let lane = lane(1, 1);
        let running = lane.admit(false).unwrap();
        assert!(matches!(running, Admission::Now(_)));
        let waiting = lane.admit(false).unwrap();
        assert!(matches!(waiting, Admission::Later(_)));
        assert_eq!(lane.admit(false).unwrap_err(), RETRY_AFTER.0);
        assert_eq!((lane.running(), lane.waiting()), (1, 1));
        assert!(lane.admit(true).is_ok(), "work from before a restart is never turned away");
        drop(waiting);
        assert!(lane.admit(false).is_ok());
    }

    #[tokio::test]
    async fn who_waits_runs_when_a_slot_is_free() {
        let lane = lane(1, 5);
        let Admission::Now(slot) = lane.admit(false).unwrap() else { panic!("free") };
        let Admission::Later(place) = lane.admit(false).unwrap() else { panic!("taken") };
        let turn = tokio::spawn(async move { place.slot().await });
        drop(slot);
        let _slot = turn.await.unwrap();
        assert_eq!((lane.running(), lane.waiting()), (1, 0));
    }

    #[tokio::test]
    async fn shares_of_several_processes_add_up_and_a_smaller_one_takes_effect_as_work_ends() {
        for (concurrency, parts) in [(10, 3), (1, 3), (3, 3), (2, 5)] {
            let lanes: Vec<_> = (0..parts).map(|_| lane(concurrency, 100)).collect();
            lanes.iter().enumerate().for_each(|(rank, lane)| lane.set_share(parts, rank));
            let free: usize = lanes.iter().map(|lane| lane.slots.available_permits()).sum();
            assert_eq!(free, concurrency);
        }
        let lane = lane(4, 100);
        let mut running: Vec<_> = (0..4).map(|_| lane.admit(false).unwrap()).collect();
        lane.set_share(4, 3);
        assert_eq!((lane.running(), lane.has_share()), (4, true), "what runs is not ended");
        running.truncate(1);
        assert_eq!((lane.running(), lane.slots.available_permits()), (1, 0));
        drop(running);
        assert_eq!((lane.running(), lane.slots.available_permits()), (0, 1));
        lane.set_share(1, 0);
        assert_eq!(lane.slots.available_permits(), 4);
        lane.set_share(5, 4);
        assert!(!lane.has_share());
    }

    #[test]
    fn the_advice_grows_with_the_queue() {
        let lane = lane(1, 100);
        for _ in 0..50 {
            lane.took(Duration::from_secs(4));
        }
        let _held: Vec<_> = (0..5).map(|_| lane.admit(false).unwrap()).collect();
        let advice = lane.retry_after();
        assert!(advice > Duration::from_secs(8) && advice <= RETRY_AFTER.1, "{advice:?}");
    }
}
