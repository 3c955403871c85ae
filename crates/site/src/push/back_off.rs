//! Back-off: how long to wait before the next try.
//!
//! Promises: pure; full jitter (any wait up to a ceiling that doubles with each try), so that receivers which
//! were down together are not all told at once when they come back. A receiver's own wish is a lower bound.

use std::time::Duration;

/// The ceiling of the first wait: long enough for a restart of a small service, short enough to go unnoticed.
const FIRST: Duration = Duration::from_millis(500);

/// The highest ceiling: a receiver that comes back gets its deliveries within five minutes.
const HIGHEST: Duration = Duration::from_secs(300);

/// The wait after so many failed tries (0 for the first), by a random number.
pub(super) fn back_off(tries: u32, random: u64, wish: Option<Duration>) -> Duration {
    let ceiling = ceiling(tries).as_millis() as u64;
    // The remainder favours low numbers by less than one in 10^13.
    let wait = Duration::from_millis(random % (ceiling + 1));
    wait.max(wish.unwrap_or_default())
}

fn ceiling(tries: u32) -> Duration {
    let doubled = 1_u32.checked_shl(tries).and_then(|times| FIRST.checked_mul(times));
    doubled.unwrap_or(HIGHEST).min(HIGHEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_ceiling_doubles_up_to_five_minutes() {
        let seconds: Vec<f64> = (0..12).map(|tries| ceiling(tries).as_secs_f64()).collect();
        assert_eq!(seconds, [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 300.0, 300.0]);
        assert_eq!(ceiling(u32::MAX), HIGHEST);
    }

    proptest! {
        #[test]
        fn no_wait_is_above_its_ceiling_nor_below_the_wish(tries: u32, random: u64, wish in 0..4_000_u64) {
            let wish = Duration::from_secs(wish);
            let free = back_off(tries, random, None);
            prop_assert!(free <= ceiling(tries) && free <= HIGHEST);
            prop_assert_eq!(back_off(tries, random, Some(wish)), free.max(wish));
            prop_assert_eq!(back_off(tries, random, None), free, "the same number gives the same wait");
        }

        #[test]
        fn every_wait_up_to_the_ceiling_occurs(tries in 0..10_u32, part in 0.0..=1.0_f64) {
            let wanted = (ceiling(tries).as_millis() as f64 * part) as u64;
            prop_assert_eq!(back_off(tries, wanted, None), Duration::from_millis(wanted));
        }
    }
}
