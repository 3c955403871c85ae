//! The system's own clock and random source.
//!
//! Promises: the only place below the binary that reads either; everything else takes a Clock and an Rng.

use std::cell::RefCell;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use agentsite_protocol::{Clock, Ids, Rng, Timestamp};

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the seam through which time enters")]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn elapsed(&self) -> Duration {
        BEGINNING.elapsed()
    }
}

/// From when on the monotonic clock is counted.
static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The random source of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRng;

/// Bytes fetched from the system at once: enough for 64 ids, so that a request rarely pays a system call for
/// its own.
const POOL: usize = 1024;

/// Random bytes of one thread that nobody has used yet. Used ones are overwritten, so that no secret stays
/// behind.
struct Pool {
    bytes: [u8; POOL],
    used: usize,
}

thread_local! {
    static UNUSED: RefCell<Pool> = const { RefCell::new(Pool { bytes: [0; POOL], used: POOL }) };
}

impl Rng for SystemRng {
    fn fill(&self, buffer: &mut [u8]) {
        UNUSED.with_borrow_mut(|pool| buffer.chunks_mut(POOL).for_each(|chunk| pool.give(chunk)));
    }
}

impl Pool {
    #[expect(clippy::disallowed_methods, reason = "this is the seam through which chance enters")]
    fn give(&mut self, wanted: &mut [u8]) {
        if POOL - self.used < wanted.len() {
            getrandom::fill(&mut self.bytes).expect("the operating system gives random bytes");
            self.used = 0;
        }
        let taken = &mut self.bytes[self.used..self.used + wanted.len()];
        wanted.copy_from_slice(taken);
        taken.fill(0);
        self.used += wanted.len();
    }
}

/// Time and chance, as a site takes them.
#[derive(Debug, Clone)]
pub struct World {
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Gives random bytes.
    pub rng: Arc<dyn Rng>,
}

impl World {
    /// The real ones.
    #[must_use]
    pub fn system() -> Self {
        Self { clock: Arc::new(SystemClock), rng: Arc::new(SystemRng) }
    }

    /// A maker of ids from both.
    #[must_use]
    pub fn ids(&self) -> Ids {
        Ids::new(self.clock.clone(), self.rng.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_bytes_are_given_twice() {
        let given: HashSet<[u8; 16]> = (0..1000).map(|_| SystemRng.bytes16()).collect();
        assert_eq!(given.len(), 1000);
        let mut long = [0; 3 * POOL];
        SystemRng.fill(&mut long);
        assert!(long.chunks(16).all(|chunk| chunk.iter().any(|byte| *byte != 0)));
    }
}
