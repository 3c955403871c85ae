//! Pace: how fast a program may speak.
//!
//! Promises: so many frames a second in the long run and a burst on top; one that speaks faster is read more
//! slowly, not cut off, so that the network holds it back. Pure: time is an argument.

use std::time::Duration;

use tokio::time::Instant;

/// Frames a second: a model writes a hundred tokens in that time, and an agent works on tens of tasks.
const PER_SECOND: f64 = 2_000.0;

/// Frames at once.
const BURST: f64 = 2_000.0;

/// A bucket of frames that may be read.
#[derive(Debug)]
pub(super) struct Pace {
    left: f64,
    at: Instant,
}

impl Pace {
    pub(super) const fn new(now: Instant) -> Self {
        Self { left: BURST, at: now }
    }

    /// Counts a frame; gives how long to wait before the next one is read.
    pub(super) fn frame(&mut self, now: Instant) -> Option<Duration> {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * PER_SECOND).min(BURST) - 1.0;
        self.at = now;
        (self.left < 0.0).then(|| Duration::from_secs_f64(-self.left / PER_SECOND))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_slowed_to_the_pace() {
        let begun = Instant::now();
        let (mut pace, mut now) = (Pace::new(begun), begun);
        for _ in 0..12_000 {
            if let Some(wait) = pace.frame(now) {
                now += wait;
            }
        }
        let took = (now - begun).as_secs_f64();
        assert!((4.9..5.1).contains(&took), "{took}");
        assert_eq!(pace.frame(now + Duration::from_secs(1)), None);
    }
}
