//! The system's own clock and random source.
//!
//! Promises: the only place below the binary that reads either; everything else takes a Clock and an Rng.

use std::sync::Arc;

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
}

/// The random source of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRng;

impl Rng for SystemRng {
    #[expect(clippy::disallowed_methods, reason = "this is the seam through which chance enters")]
    fn fill(&self, buffer: &mut [u8]) {
        getrandom::fill(buffer).expect("the operating system gives random bytes");
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
