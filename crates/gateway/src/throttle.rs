//! How often each caller may come: one bucket for each caller, by a rate and a burst.
//!
//! Promises: in the long run a caller never gets more than the rate, in all processes of the site together;
//! at once it gets the burst, and where several processes serve the site at most twice the burst in all of
//! them. Memory is bounded, whatever number of callers come. A request costs no look into the database. The
//! decision is a pure function of times ([`Pace::admit`]), known as the generic cell rate algorithm.
//!
//! It does not limit agents: their queues do. Why it divides: docs/decisions/0039-limits-of-a-site.md.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_protocol::{Caller, Principal};
use tokio::time::Instant;

use crate::failure::{Failure, Fault};
use crate::settings::{Rate, Rates};
use crate::shares::part_of;

/// Most callers whose buckets are remembered; a bucket is about 100 bytes. Full buckets are forgotten first,
/// at no loss.
const MAX_BUCKETS: usize = 10_000;

/// Requests between two looks at the number of buckets, so that most requests do not count them.
const LOOK_EVERY: usize = 1_024;

/// Tables that the buckets are spread over, so that two requests rarely want the same lock.
const TABLES: usize = 16;

/// A rate in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Pace {
    /// Between two requests in the long run.
    interval: u64,
    burst: usize,
}

impl Pace {
    /// None when there is no limit.
    fn of(rate: Rate) -> Option<Self> {
        let interval = 1_000_000_000_u64.checked_div(rate.per_second.into())?.max(1);
        let burst = if rate.burst == 0 { rate.per_second } else { rate.burst };
        Some(Self { interval, burst: burst as usize })
    }

    /// Takes one request from a bucket that is full again at `full_at`, in one of `parts` processes: gives
    /// when it is full after that, or how long to wait.
    fn admit(&self, full_at: u64, now: u64, parts: usize) -> Result<u64, Duration> {
        let cost = self.interval.saturating_mul(parts as u64);
        let room = cost.saturating_mul(part_of(self.burst, parts).max(1) as u64);
        let owed = full_at.saturating_sub(now).saturating_add(cost);
        match owed.checked_sub(room) {
            None | Some(0) => Ok(now.saturating_add(owed)),
            Some(wait) => Err(Duration::from_nanos(wait)),
        }
    }
}

/// The buckets of one kind of caller: when each is full again, in nanoseconds since the start.
#[derive(Debug)]
struct Buckets {
    pace: Pace,
    began: Instant,
    // Std locks: held for a look-up, never across an await.
    tables: [Mutex<HashMap<Principal, u64>>; TABLES],
    hasher: RandomState,
    looks: AtomicUsize,
    crowded: AtomicBool,
    crowd: Principal,
}

impl Buckets {
    fn new(rate: Rate) -> Option<Self> {
        Some(Self {
            pace: Pace::of(rate)?,
            began: Instant::now(),
            tables: Default::default(),
            hasher: RandomState::new(),
            looks: AtomicUsize::new(0),
            crowded: AtomicBool::new(false),
            crowd: "key:crowd".parse().expect("it is the written form of a key"),
        })
    }

    /// Takes one from the caller's bucket, or says how long to wait. While more callers come than can be
    /// remembered, all share one bucket.
    fn take(&self, owner: &Principal, parts: usize) -> Result<(), Duration> {
        let now = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if self.looks.fetch_add(1, Ordering::Relaxed).is_multiple_of(LOOK_EVERY) {
            self.look(now);
        }
        let key = if self.crowded.load(Ordering::Relaxed) { &self.crowd } else { owner };
        let place = usize::try_from(self.hasher.hash_one(key) % TABLES as u64).unwrap_or_default();
        let mut table = lock(&self.tables[place]);
        match table.get_mut(key) {
            Some(full_at) => *full_at = self.pace.admit(*full_at, now, parts)?,
            None => {
                let full_at = self.pace.admit(now, now, parts)?;
                table.insert(key.clone(), full_at);
            }
        }
        Ok(())
    }

    fn look(&self, now: u64) {
        if self.len() > MAX_BUCKETS {
            for table in &self.tables {
                let mut table = lock(table);
                table.retain(|_, full_at| *full_at > now);
                table.shrink_to_fit();
            }
        }
        self.crowded.store(self.len() > MAX_BUCKETS, Ordering::Relaxed);
    }

    fn len(&self) -> usize {
        self.tables.iter().map(|table| lock(table).len()).sum()
    }
}

fn lock(table: &Mutex<HashMap<Principal, u64>>) -> MutexGuard<'_, HashMap<Principal, u64>> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often each caller may come.
#[derive(Debug)]
pub(crate) struct Throttle {
    key: Option<Buckets>,
    anonymous: Option<Buckets>,
    admin: Option<Buckets>,
    /// How many processes serve the site.
    processes: Arc<AtomicUsize>,
}

impl Throttle {
    pub(crate) fn new(rates: &Rates, processes: Arc<AtomicUsize>) -> Self {
        Self {
            key: Buckets::new(rates.key),
            anonymous: Buckets::new(rates.anonymous),
            admin: Buckets::new(rates.admin),
            processes,
        }
    }

    /// Lets a caller in, or says when to come back.
    pub(crate) fn admit(&self, caller: &Caller) -> Result<(), Failure> {
        let buckets = if caller.is_anonymous() {
            &self.anonymous
        } else if caller.is_admin() {
            &self.admin
        } else {
            &self.key
        };
        let Some(buckets) = buckets else { return Ok(()) };
        let parts = self.processes.load(Ordering::Relaxed).max(1);
        buckets.take(&caller.owner().counted(), parts).map_err(|wait| {
            let sentence =
                "you ask more often than this site allows; wait as Retry-After says, or ask for another key";
            Failure::new(Fault::TooMany, sentence).retry_after(wait)
        })
    }
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::Scope;
    use proptest::prelude::*;

    use super::*;

    fn alone() -> Arc<AtomicUsize> {
        Arc::new(AtomicUsize::new(1))
    }

    #[test]
    fn each_caller_has_a_bucket_of_its_own() {
        let rates = Rates { anonymous: Rate { per_second: 1, burst: 2 }, ..Rates::default() };
        let throttle = Throttle::new(&rates, alone());
        let caller = |last: u8| Caller::anonymous([192, 0, 2, last].into());
        assert!(throttle.admit(&caller(1)).is_ok());
        assert!(throttle.admit(&caller(1)).is_ok());
        assert_eq!(throttle.admit(&caller(1)).unwrap_err().fault, Fault::TooMany);
        assert!(throttle.admit(&caller(2)).is_ok());
    }

    #[test]
    fn admins_are_not_counted() {
        let throttle = Throttle::new(&Rates::default(), alone());
        let admin = Caller::key(&"k".parse().unwrap(), [Scope::Admin]);
        let key = Caller::key(&"k2".parse().unwrap(), [Scope::Call]);
        for _ in 0..1_000 {
            assert!(throttle.admit(&Caller::admin()).is_ok());
            assert!(throttle.admit(&admin).is_ok());
        }
        let admitted = (0..1_000).filter(|_| throttle.admit(&key).is_ok()).count();
        assert!((100..200).contains(&admitted), "{admitted}");
    }

    #[test]
    fn a_crowd_of_addresses_does_not_grow_memory() {
        let buckets = Buckets::new(Rate { per_second: 1, burst: 1 }).unwrap();
        for number in 0..60_000_u32 {
            let caller = Caller::anonymous(std::net::Ipv4Addr::from(number).into());
            let _ = buckets.take(caller.owner(), 1);
        }
        assert!(buckets.len() <= MAX_BUCKETS + LOOK_EVERY + 1, "{}", buckets.len());
    }

    #[test]
    fn a_burst_of_one_process_is_the_whole_and_its_rate_follows() {
        let pace = Pace::of(Rate { per_second: 10, burst: 3 }).unwrap();
        let (mut full_at, mut admitted) = (0, 0);
        while let Ok(next) = pace.admit(full_at, 0, 1) {
            (full_at, admitted) = (next, admitted + 1);
        }
        assert_eq!(admitted, 3);
        assert_eq!(pace.admit(full_at, 0, 1), Err(Duration::from_millis(100)));
        assert!(pace.admit(full_at, 100_000_000, 1).is_ok());
        assert!(Pace::of(Rate::UNLIMITED).is_none());
    }

    proptest! {
        /// Whatever the processes are asked and however many there are, a caller gets in any time no more
        /// than the rate allows, and twice the burst; one for each process when the burst is smaller.
        #[test]
        fn the_rate_of_a_site_holds_in_all_processes_together(
            (per_second, burst, parts) in (1..200_u32, 1..50_u32, 1..8_usize),
            asked in prop::collection::vec((0..50_000_000_u64, 0..8_usize), 1..2_000),
        ) {
            let pace = Pace::of(Rate { per_second, burst }).unwrap();
            let mut processes = vec![0_u64; parts];
            let (mut now, mut admitted) = (0_u64, 0_u64);
            for (after, at) in asked {
                now += after;
                let full_at = &mut processes[at % parts];
                if let Ok(next) = pace.admit(*full_at, now, parts) {
                    *full_at = next;
                    admitted += 1;
                }
                let bursts = if parts == 1 { u64::from(burst) } else { u64::from(burst) * 2 + parts as u64 };
                let most = now / pace.interval + bursts;
                prop_assert!(admitted <= most, "{admitted} of {most} after {now} ns");
            }
        }
    }
}
