//! Rest: how long a registry that failed is left alone, so that a dead one does not hold up every search.
//!
//! Promises: pure; time is handed in. The rest doubles with each failure in a row up to [`LONGEST`], and one
//! answer ends it. It knows no addresses.

use std::time::Duration;

use agentsite_protocol::Timestamp;

/// The first rest: a restart takes no longer, and meanwhile nobody waits.
const FIRST: Duration = Duration::from_secs(5);

/// The longest rest: one that is back is found within five minutes.
const LONGEST: Duration = Duration::from_secs(300);

/// What is known of one registry.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rest {
    failures: u32,
    until: Option<Timestamp>,
}

impl Rest {
    /// How long it is still left alone.
    pub(super) fn left(&self, now: Timestamp) -> Option<Duration> {
        self.until.map(|until| until.since(now)).filter(|left| !left.is_zero())
    }

    /// It failed; gives how long it is left alone. Failures of questions that were under way together count
    /// once.
    pub(super) fn failed(&mut self, now: Timestamp) -> Duration {
        if let Some(left) = self.left(now) {
            return left;
        }
        let doubled = 1_u32.checked_shl(self.failures).and_then(|times| FIRST.checked_mul(times));
        let rest = doubled.unwrap_or(LONGEST).min(LONGEST);
        (self.failures, self.until) = (self.failures.saturating_add(1), Some(now.plus(rest)));
        rest
    }

    /// It answered.
    pub(super) fn answered(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_doubles_up_to_five_minutes_and_ends_with_an_answer() {
        let mut rest = Rest::default();
        let mut now = Timestamp::from_millis(0);
        assert_eq!(rest.left(now), None);
        let mut rests = Vec::new();
        for _ in 0..9 {
            let failed = rest.failed(now);
            rests.push(failed.as_secs());
            assert_eq!(rest.failed(now), failed, "a failure at the same time says nothing new");
            now = now.plus(failed);
            assert_eq!(rest.left(now), None);
        }
        assert_eq!(rests, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
        rest.failures = u32::MAX;
        assert_eq!(rest.failed(now), LONGEST);
        rest.answered();
        assert_eq!(rest.failed(now), FIRST);
    }
}
