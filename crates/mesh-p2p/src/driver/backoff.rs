//! Backoff: when a target may be dialed again.
//!
//! Promises: after each failure a target is left alone twice as long, up to [`LONGEST`]; a foreign peer
//! cannot make this site dial again and again. The number of targets is bounded.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

/// How long a target is left alone after its first failure.
const FIRST: Duration = Duration::from_secs(2);
/// How long a target is left alone at most: a seed that was repaired is found again in this time.
const LONGEST: Duration = Duration::from_secs(300);
/// Most targets that are remembered. When there are more, the one that may be dialed first is forgotten.
const MAX_TARGETS: usize = 1_024;

/// When targets may be dialed again.
#[derive(Debug)]
pub(super) struct Backoff<T>(HashMap<T, (u32, Instant)>);

impl<T> Default for Backoff<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Clone + Eq + Hash> Backoff<T> {
    /// Whether a target may be dialed.
    pub(super) fn may_dial(&self, target: &T, now: Instant) -> bool {
        self.0.get(target).is_none_or(|(_, next)| *next <= now)
    }

    /// A dial failed, or begins: a target that does not answer at all is left alone, too.
    pub(super) fn failed(&mut self, target: T, now: Instant) {
        let failures = self.0.get(&target).map_or(0, |(failures, _)| *failures);
        let pause = FIRST.saturating_mul(1 << failures.min(16)).min(LONGEST);
        self.0.insert(target, (failures.saturating_add(1), now + pause));
        if self.0.len() > MAX_TARGETS {
            let first = self.0.iter().min_by_key(|(_, (_, next))| *next).map(|(target, _)| target.clone());
            first.and_then(|target| self.0.remove(&target));
        }
    }

    /// A dial succeeded.
    pub(super) fn succeeded(&mut self, target: &T) {
        self.0.remove(target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_fails_is_left_alone_longer_each_time() {
        let (mut backoff, start) = (Backoff::default(), Instant::now());
        let (mut now, mut dials) = (start, 0);
        while now < start + Duration::from_secs(3_600) {
            if backoff.may_dial(&"seed", now) {
                dials += 1;
                backoff.failed("seed", now);
            }
            now += Duration::from_secs(1);
        }
        assert!((12..25).contains(&dials), "{dials} dials in an hour");
        backoff.succeeded(&"seed");
        assert!(backoff.may_dial(&"seed", now));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut backoff = Backoff::default();
        (0..5_000).for_each(|target| backoff.failed(target, Instant::now()));
        assert_eq!(backoff.0.len(), MAX_TARGETS);
    }
}
