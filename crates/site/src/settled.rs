//! Settled time: by which things are removed, so that a clock that jumps ahead and back removes nothing.
//!
//! Promises: settled time never runs faster than the machine's monotonic clock, to a millisecond, and never
//! goes back. A wall clock that is ahead of it, because it was set or because the site was stopped, is
//! believed after it has held for [`BELIEVED_AFTER`] of running time, over restarts; one that goes back
//! before that is forgotten. So what has expired is removed at its time or later, never earlier. The decision
//! is pure; the clock around it is thin. It does not decide who may do what: an expired key is refused by the
//! wall clock at once, and only its removal waits.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentsite_protocol::{Clock, Timestamp};
use agentsite_store::{SettingChange, SharedStore};
use serde::{Deserialize, Serialize};

use crate::SiteError;

/// The setting that carries it over a restart.
const SETTING: &str = "settled-time";

/// Running time for which a wall clock that is ahead must hold: longer than it takes people to notice a clock
/// that is a year off.
const BELIEVED_AFTER: Duration = Duration::from_secs(24 * 3600);

/// How far the clock may be set back without being a new one: time servers correct by less.
const SLIGHTLY_BACK: Duration = Duration::from_secs(60);

/// By how much two clocks that run alike differ because both are read in whole milliseconds.
const ROUNDING: Duration = Duration::from_millis(1);

/// How far time has settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Settled {
    /// The time that has certainly come.
    now: Timestamp,
    /// The wall clock when it was last read.
    wall: Timestamp,
    /// How long the wall clock has been ahead, in milliseconds of running time.
    held: u64,
}

impl Settled {
    /// A site without a past believes its clock.
    const fn new(wall: Timestamp) -> Self {
        Self { now: wall, wall, held: 0 }
    }

    /// What is settled when the wall clock shows `wall` and `passed` has passed since the last look.
    fn look(self, wall: Timestamp, passed: Duration) -> Self {
        let reached = self.now.plus(passed);
        if wall <= reached.plus(ROUNDING) {
            return Self { now: self.now.max(wall), wall, held: 0 };
        }
        let went_back = wall.plus(SLIGHTLY_BACK) < self.wall;
        let held = if went_back { Duration::ZERO } else { Duration::from_millis(self.held) + passed };
        if held >= BELIEVED_AFTER {
            return Self { now: wall, wall, held: 0 };
        }
        Self { now: reached, wall, held: u64::try_from(held.as_millis()).unwrap_or(u64::MAX) }
    }
}

/// A clock that also knows the settled time.
#[derive(Debug)]
pub(crate) struct SettledClock {
    wall: Arc<dyn Clock>,
    // A std lock: held for one addition, never across an await.
    state: Mutex<(Settled, Duration)>,
}

impl SettledClock {
    /// Takes up where an earlier process ended.
    pub(crate) async fn open(wall: Arc<dyn Clock>, store: &SharedStore) -> Result<Arc<Self>, SiteError> {
        let kept = store.setting(SETTING).await?.and_then(|text| serde_json::from_str(&text).ok());
        let state = kept.unwrap_or_else(|| Settled::new(wall.now()));
        let passed = wall.elapsed();
        Ok(Arc::new(Self { wall, state: Mutex::new((state, passed)) }))
    }

    /// What the next process takes up.
    pub(crate) fn setting(&self) -> SettingChange {
        let state = self.look();
        let value = serde_json::to_string(&state).expect("numbers are always written");
        SettingChange { name: SETTING.into(), value: Some(value), owner: None }
    }

    fn look(&self) -> Settled {
        let (wall, elapsed) = (self.wall.now(), self.wall.elapsed());
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = elapsed.saturating_sub(state.1);
        // Whole milliseconds, the unit of time stamps: what is left of one counts at the next look, however
        // often that is.
        let passed = Duration::from_millis(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX));
        *state = (state.0.look(wall, passed), state.1 + passed);
        state.0
    }
}

impl Clock for SettledClock {
    fn now(&self) -> Timestamp {
        self.wall.now()
    }

    fn elapsed(&self) -> Duration {
        self.wall.elapsed()
    }

    fn settled(&self) -> Timestamp {
        self.look().now
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);
    const YEAR: Duration = Duration::from_secs(365 * 86_400);

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_clock_that_runs_evenly_is_believed_at_once() {
        let mut settled = Settled::new(at(0));
        for minute in 1..=100 {
            settled = settled.look(at(minute * 60_000), MINUTE);
            assert_eq!(settled.now, at(minute * 60_000));
        }
    }

    #[test]
    fn a_jump_of_a_year_and_back_moves_nothing_but_what_has_passed() {
        let mut settled = Settled::new(at(0));
        settled = settled.look(at(0).plus(YEAR), Duration::ZERO);
        assert_eq!(settled.now, at(0));
        for minute in 1..1_000 {
            settled = settled.look(at(minute * 60_000).plus(YEAR), MINUTE);
            assert_eq!(settled.now, at(minute * 60_000));
        }
        settled = settled.look(at(1_000 * 60_000), MINUTE);
        assert_eq!(settled, Settled { now: at(1_000 * 60_000), wall: at(1_000 * 60_000), held: 0 });
    }

    #[test]
    fn a_site_that_was_stopped_for_months_settles_after_a_day_of_running_even_in_parts() {
        let mut settled = Settled::new(at(0));
        let away = 60 * 86_400_000;
        let mut wall = away;
        settled = settled.look(at(wall), Duration::ZERO);
        for _session in 0..3 {
            for _ in 0..8 * 60 {
                wall += 60_000;
                settled = settled.look(at(wall), MINUTE);
            }
            // Stopped over night.
            wall += 16 * 3_600_000;
            settled = settled.look(at(wall), Duration::ZERO);
        }
        assert!(settled.now >= at(away), "{settled:?}");
    }

    #[derive(Debug)]
    struct Even(Mutex<Duration>);

    impl Clock for Even {
        fn now(&self) -> Timestamp {
            // The wall clock was between two milliseconds when the monotonic one began.
            at(1_000).plus(*self.0.lock().unwrap() + Duration::from_micros(700))
        }

        fn elapsed(&self) -> Duration {
            *self.0.lock().unwrap()
        }
    }

    #[test]
    fn a_clock_that_is_read_many_times_in_a_millisecond_does_not_fall_behind() {
        let wall = Arc::new(Even(Mutex::default()));
        let clock = SettledClock {
            state: Mutex::new((Settled::new(wall.now()), Duration::ZERO)),
            wall: wall.clone(),
        };
        for _ in 0..10_000 {
            *wall.0.lock().unwrap() += Duration::from_micros(130);
            assert_eq!(clock.settled(), wall.now());
        }
    }

    proptest! {
        #[test]
        fn settled_time_never_goes_back_and_never_runs_ahead_of_the_wall_clock_or_of_what_passed(
            looks in proptest::collection::vec((-1_000_000_000_i64..1_000_000_000, 0_u64..100_000), 1..60)
        ) {
            let mut settled = Settled::new(at(0));
            let (mut total, mut looked) = (Duration::ZERO, 0);
            for (wall, passed) in looks {
                let passed = Duration::from_millis(passed);
                total += passed;
                let next = settled.look(at(wall), passed);
                prop_assert!(next.now >= settled.now);
                looked += 1;
                prop_assert!(next.now <= at(0).plus(total + ROUNDING * looked));
                settled = next;
            }
        }
    }
}
