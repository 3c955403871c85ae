//! What tests of this crate share: a clock that stands still, and chance that is the same in each run.
//!
//! The stories about registered agents lie in the site, where an agent of its own can be taken for one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentsite_protocol::{Clock, Ids, Rng, Timestamp};

#[derive(Debug)]
struct StillClock;

impl Clock for StillClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000)
    }
}

#[derive(Debug, Default)]
struct CountingRng(AtomicU64);

impl Rng for CountingRng {
    fn fill(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            let word = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
            chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
        }
    }
}

/// Ids of a site in a test.
pub(crate) fn ids() -> Ids {
    Ids::new(Arc::new(StillClock), Arc::new(CountingRng::default()))
}
