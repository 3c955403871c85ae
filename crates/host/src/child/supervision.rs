//! Supervision: when an agent counts as lost, and how long to wait before it is tried again.
//!
//! Promises: pure; time is handed in. One slow answer does not count as a loss, three missed ones do. Tries
//! come slower and slower, and after a minute of health the next one comes at once again.

use std::time::Duration;

/// Wait before the first new try: long enough for a port to be free, short enough to go unnoticed.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// Longest wait between tries: a server that cannot start should not keep a core busy.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Health of this length is believed.
const HEALTHY_FOR: Duration = Duration::from_secs(60);

/// Probes that may be missed in a row before the agent counts as lost.
const MISSED_PROBES: u32 = 3;

/// Decides about one agent.
#[derive(Debug)]
pub(crate) struct Supervision {
    missed: u32,
    wait: Duration,
    healthy_since: Option<Duration>,
}

impl Default for Supervision {
    fn default() -> Self {
        Self { missed: 0, wait: FIRST_WAIT, healthy_since: None }
    }
}

impl Supervision {
    /// The agent answered.
    pub(crate) fn answered(&mut self, now: Duration) {
        self.missed = 0;
        self.healthy_since.get_or_insert(now);
    }

    /// The agent did not answer a probe; tells whether it is lost now.
    pub(crate) fn missed(&mut self) -> bool {
        self.missed += 1;
        self.healthy_since.is_none() || self.missed >= MISSED_PROBES
    }

    /// The agent is lost; gives the wait before the next try.
    pub(crate) fn lost(&mut self, now: Duration) -> Duration {
        let healthy = self.healthy_since.take().map_or(Duration::ZERO, |since| now.saturating_sub(since));
        self.missed = 0;
        let wait = if healthy >= HEALTHY_FOR { FIRST_WAIT } else { self.wait };
        self.wait = (wait * 2).min(LONGEST_WAIT);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn tries_come_slower_and_slower_up_to_half_a_minute() {
        let mut supervision = Supervision::default();
        let waits: Vec<u128> = (0..9).map(|_| supervision.lost(at(1)).as_millis()).collect();
        assert_eq!(waits, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    }

    #[test]
    fn a_minute_of_health_makes_the_next_try_quick() {
        let mut supervision = Supervision::default();
        supervision.lost(at(0));
        supervision.lost(at(1));
        supervision.answered(at(10));
        assert_eq!(supervision.lost(at(69)).as_millis(), 2_000, "59 s are not enough");
        supervision.answered(at(100));
        supervision.answered(at(130));
        assert_eq!(supervision.lost(at(160)).as_millis(), 500);
    }

    #[test]
    fn three_missed_probes_in_a_row_are_a_loss() {
        let mut supervision = Supervision::default();
        supervision.answered(at(0));
        assert!(!supervision.missed() && !supervision.missed());
        supervision.answered(at(20));
        assert!(!supervision.missed() && !supervision.missed() && supervision.missed());
    }

    #[test]
    fn an_agent_that_never_answered_is_lost_at_once() {
        assert!(Supervision::default().missed());
    }
}
