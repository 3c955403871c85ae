//! Chance that can be repeated: a small generator that begins with a seed.
//!
//! Promises: the same seed gives the same rolls. It is good enough for choosing moments and no more.

use std::hash::{BuildHasher, RandomState};

/// Rolls that follow from a seed.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice that roll as this seed says.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from 0 up to, not including, `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.roll() % end as u64).unwrap()
    }

    /// True once in so many rolls.
    pub(crate) fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    /// Further dice that roll on their own.
    pub(crate) fn split(&mut self) -> Self {
        Self(self.roll())
    }

    /// SplitMix64: a counter, well mixed.
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// A seed that no earlier run had.
pub(crate) fn fresh_seed() -> u64 {
    RandomState::new().hash_one("crash") >> 16
}
