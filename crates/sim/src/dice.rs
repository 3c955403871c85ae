//! Randomness with a seed (SplitMix64): good enough to spread, and the same in every run.
//!
//! Promises: one seed gives one sequence, on every machine.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agentsite_protocol::Rng;

/// A sequence of random numbers that its seed determines.
#[derive(Debug)]
pub struct Dice(AtomicU64);

impl Dice {
    /// Begins a sequence.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// The next number.
    pub fn roll(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which must not be 0.
    pub fn below(&self, end: usize) -> usize {
        usize::try_from(self.roll() % end as u64).expect("below a number of this machine")
    }

    /// True with this probability.
    pub fn chance(&self, probability: f64) -> bool {
        // 53 bits are what a double holds.
        ((self.roll() >> 11) as f64) < probability * (1_u64 << 53) as f64
    }

    /// A duration of a range, the end included.
    pub fn between(&self, least: Duration, most: Duration) -> Duration {
        let span = u64::try_from(most.saturating_sub(least).as_micros()).unwrap_or(u64::MAX - 1);
        least + Duration::from_micros(self.roll() % (span + 1))
    }

    /// Some different elements of a list, in random order; all of them when it has no more.
    pub fn pick<T: Copy>(&self, list: &[T], count: usize) -> Vec<T> {
        let mut list = list.to_vec();
        let count = count.min(list.len());
        for place in 0..count {
            let other = place + self.below(list.len() - place);
            list.swap(place, other);
        }
        list.truncate(count);
        list
    }
}

impl Rng for Dice {
    fn fill(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            chunk.copy_from_slice(&self.roll().to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_sequence() {
        assert_eq!(sequence(7), sequence(7));
        assert_ne!(sequence(7), sequence(8));
    }

    fn sequence(seed: u64) -> Vec<u64> {
        let dice = Dice::new(seed);
        (0..100).map(|_| dice.roll()).collect()
    }

    #[test]
    fn chances_durations_and_picks_keep_their_bounds() {
        let dice = Dice::new(1);
        let hits = (0..10_000).filter(|_| dice.chance(0.3)).count();
        assert!((2_700..3_300).contains(&hits), "{hits}");
        assert!(!dice.chance(0.0) && dice.chance(1.0));
        let (least, most) = (Duration::from_millis(10), Duration::from_millis(20));
        assert!((0..1_000).all(|_| (least..=most).contains(&dice.between(least, most))));
        let mut picked = dice.pick(&[1, 2, 3, 4, 5], 9);
        picked.sort_unstable();
        assert_eq!(picked, [1, 2, 3, 4, 5]);
        assert_eq!(dice.pick(&[1, 2, 3], 2).len(), 2);
    }
}
