//! Circuit: when a failing endpoint is paused, and when it is tried again.
//!
//! Promises: pure; time and chance are handed in. Closed until a number of failures come in a row, then open
//! for a rest that doubles with each failed trial up to a minute, then half open: one trial at a time
//! decides. One answer closes it, whatever its content. It is independent of addresses; see `circuits` for
//! the driver and docs/decisions/0009-failover.md for the rules.

use std::time::Duration;

/// Failures in a row that open a circuit: one may be chance, two a restart.
pub(crate) const FAILURES_TO_OPEN: u32 = 3;

/// The first rest: longer than a small server takes to start again would make callers wait for nothing.
pub(crate) const FIRST_REST: Duration = Duration::from_secs(1);

/// The longest rest: an endpoint that is back is found within a minute.
pub(crate) const LONGEST_REST: Duration = Duration::from_secs(60);

/// How long a trial may take before another is allowed: its caller may have gone.
pub(crate) const TRIAL_TIME: Duration = Duration::from_secs(30);

/// What is known of one endpoint. Times are since some beginning that the driver chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Circuit {
    /// It is called; so many calls failed in a row.
    Closed { failures: u32 },
    /// It is paused until then.
    Open { until: Duration, rest: Duration },
    /// One trial call is running; others are refused until it ends.
    HalfOpen { until: Duration, rest: Duration },
}

impl Default for Circuit {
    fn default() -> Self {
        Self::Closed { failures: 0 }
    }
}

/// What a failure did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transition {
    /// Nothing to report.
    None,
    /// The endpoint is paused from now on, for this long.
    Opened(Duration),
    /// The endpoint is back.
    Closed,
}

impl Circuit {
    /// Asks to call the endpoint now; the error is the remaining pause.
    pub(crate) fn enter(&mut self, now: Duration) -> Result<(), Duration> {
        match *self {
            Self::Closed { .. } => Ok(()),
            Self::Open { until, .. } | Self::HalfOpen { until, .. } if now < until => Err(until - now),
            Self::Open { rest, .. } | Self::HalfOpen { rest, .. } => {
                *self = Self::HalfOpen { until: now + TRIAL_TIME, rest };
                Ok(())
            }
        }
    }

    /// The remaining pause of the endpoint, without asking to call it.
    pub(crate) fn resting(&self, now: Duration) -> Option<Duration> {
        match *self {
            Self::Open { until, .. } if now < until => Some(until - now),
            _ => None,
        }
    }

    /// A call was answered.
    pub(crate) fn answered(&mut self) -> Transition {
        let before = std::mem::take(self);
        if matches!(before, Self::Closed { .. }) { Transition::None } else { Transition::Closed }
    }

    /// A call failed. `chance` is between 0 and 1 and keeps callers of the same endpoint from coming back all
    /// at once.
    pub(crate) fn failed(&mut self, now: Duration, chance: f64) -> Transition {
        let rest = match *self {
            Self::Closed { failures } if failures + 1 < FAILURES_TO_OPEN => {
                *self = Self::Closed { failures: failures + 1 };
                return Transition::None;
            }
            Self::Closed { .. } => FIRST_REST,
            // A call from before it was opened; it says nothing new.
            Self::Open { .. } => return Transition::None,
            Self::HalfOpen { rest, .. } => (rest * 2).min(LONGEST_REST),
        };
        let pause = rest.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0);
        *self = Self::Open { until: now + pause, rest };
        Transition::Opened(pause)
    }

    /// A trial was given up by its caller without an answer: the next caller may try.
    pub(crate) fn abandoned(&mut self, now: Duration) {
        if let Self::HalfOpen { rest, .. } = *self {
            *self = Self::Open { until: now, rest };
        }
    }
}

#[cfg(test)]
mod tests;
