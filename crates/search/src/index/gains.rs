//! Gains: what a term is worth to an entry by its frequency there and the length of the entry (BM25).
//!
//! Promises: numbers depend on the living entries alone, so they do not change when something dead is cleared
//! away. It does not know terms.

use super::segment::Segment;

/// Lengths and counts up to here are looked up.
const SHORT: u16 = 256;
const SELDOM: u8 = 8;

/// How fast more of the same term stops counting.
const SATURATION: f32 = 1.2;
/// How far long entries are held back.
const LENGTH_SHARE: f32 = 0.75;

/// The value of a term of weight 1 for an entry: it grows with the frequency and falls with the length of the
/// entry.
#[derive(Debug)]
pub(super) struct Gains {
    mean: f32,
    /// For terms that occur once, by length, because most do.
    once: Vec<f32>,
    /// The gain of a higher frequency, by count and length.
    more: Vec<f32>,
}

impl Gains {
    /// Those of the living entries of some segments.
    pub(super) fn of(segments: &[Segment]) -> Self {
        let length: u64 = segments.iter().map(|segment| segment.state.length).sum();
        let count: usize = segments.iter().map(|segment| segment.state.count).sum();
        let mean = (length as f32 / count.max(1) as f32).max(1.0);
        let once = (0..SHORT).map(|length| Self::formula(1.0, f32::from(length) / mean)).collect();
        let mut gains = Self { mean, once, more: Vec::new() };
        let more = (2..SELDOM).flat_map(|count| (0..SHORT).map(move |length| (count, length)));
        gains.more = more.map(|(count, length)| gains.gain(count, length) - gains.once(length)).collect();
        gains
    }

    /// What it is worth to an entry of this length that has it once.
    #[inline]
    pub(super) fn once(&self, length: u16) -> f32 {
        self.once.get(usize::from(length)).copied().unwrap_or_else(|| self.gain(1, length))
    }

    /// What it is worth beyond that to an entry of this length that has it so often, which is more than once.
    #[inline]
    pub(super) fn more(&self, count: u8, length: u16) -> f32 {
        if length < SHORT && (2..SELDOM).contains(&count) {
            return self.more[usize::from(count - 2) * usize::from(SHORT) + usize::from(length)];
        }
        self.gain(count, length) - self.once(length)
    }

    /// What it is worth to an entry of this length that has it so often.
    #[inline]
    pub(super) fn gain(&self, count: u8, length: u16) -> f32 {
        Self::formula(f32::from(count), f32::from(length) / self.mean)
    }

    /// The most that [`Self::more`] gives for this count to an entry of this length or longer. Unlike the
    /// whole gain it is not highest for the shortest entry: standing there once has given that one nearly
    /// everything.
    pub(super) fn most_more(&self, count: u8, shortest: u16) -> f32 {
        let count = f32::from(count);
        // Of `count / (count + held) - 1 / (1 + held)`, the highest point.
        let held = Self::held(f32::from(shortest) / self.mean).max(count.sqrt());
        Self::saturated(count, held) - Self::saturated(1.0, held)
    }

    fn formula(count: f32, share: f32) -> f32 {
        Self::saturated(count, Self::held(share))
    }

    fn held(share: f32) -> f32 {
        SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * share)
    }

    fn saturated(count: f32, held: f32) -> f32 {
        count * (SATURATION + 1.0) / (count + held)
    }
}
