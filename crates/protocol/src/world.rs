//! Time and chance as arguments: the seams through which the world enters a decision.
//!
//! Promises: nothing below the binary reads the clock or a random source directly; both come in through these
//! traits, so that a test can replay any run. The system's own clock and generator live in `site`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::{ContextId, ConversationId, MessageId, RoomId, TaskId, Timestamp};

/// Tells the time.
pub trait Clock: Send + Sync + std::fmt::Debug + 'static {
    /// The present moment.
    fn now(&self) -> Timestamp;

    /// Time that has passed since an arbitrary moment, independent of changes to the wall clock. The default
    /// derives it from `now`, which is right for a clock that is never set.
    fn elapsed(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.now().as_millis()).unwrap_or(0))
    }

    /// A lower bound of the current time; removal by age uses it. For a clock that is never set it equals the
    /// current time.
    fn settled(&self) -> Timestamp {
        self.now()
    }
}

/// Gives unpredictable bytes; a seeded one makes a run repeatable.
pub trait Rng: Send + Sync + std::fmt::Debug + 'static {
    /// Fills the buffer.
    fn fill(&self, buffer: &mut [u8]);

    /// Sixteen bytes, enough for an id.
    fn bytes16(&self) -> [u8; 16] {
        let mut buffer = [0; 16];
        self.fill(&mut buffer);
        buffer
    }
}

/// Bits of an id, below its millisecond, that count the ids of that millisecond (`rand_a` of RFC 9562).
const COUNTER_BITS: u32 = 12;

/// How far the ids may run ahead of the clock, as they do when a clock is set back, before they follow it
/// again.
const LEAD: u64 = 10_000;

/// Makes ids that sort in the order in which they were made (UUID version 7 with a counter), so that the
/// store appends rather than scatters, and later ids sort later even within one millisecond. Clones count
/// together. A clock that is set back by more than ten seconds starts a new order.
#[derive(Clone, Debug)]
pub struct Ids {
    clock: Arc<dyn Clock>,
    rng: Arc<dyn Rng>,
    /// Millisecond and counter of the last id.
    last: Arc<AtomicU64>,
}

impl Ids {
    /// Joins a clock and a generator.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, rng: Arc<dyn Rng>) -> Self {
        Self { clock, rng, last: Arc::default() }
    }

    /// The clock these ids are stamped with.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The generator behind these ids.
    #[must_use]
    pub fn rng(&self) -> &Arc<dyn Rng> {
        &self.rng
    }

    /// A new task id.
    #[must_use]
    pub fn task(&self) -> TaskId {
        TaskId::from_uuid(self.uuid())
    }

    /// A new context id.
    #[must_use]
    pub fn context(&self) -> ContextId {
        ContextId::from_uuid(self.uuid())
    }

    /// A new id of a conversation.
    #[must_use]
    pub fn conversation(&self) -> ConversationId {
        ConversationId::from_uuid(self.uuid())
    }

    /// A new id of a room.
    #[must_use]
    pub fn room(&self) -> RoomId {
        RoomId::from_uuid(self.uuid())
    }

    /// A new message id.
    #[must_use]
    pub fn message(&self) -> MessageId {
        MessageId::from_uuid(self.uuid())
    }

    /// A new id of a push config.
    #[must_use]
    pub fn push_config(&self) -> String {
        self.uuid().to_string()
    }

    fn uuid(&self) -> uuid::Uuid {
        let moment = self.moment();
        let mut tail = [0; 10];
        tail.copy_from_slice(&self.rng.bytes16()[..10]);
        // The builder keeps the lowest 12 bits of the first two bytes.
        let counter = u16::try_from(moment & ((1 << COUNTER_BITS) - 1)).unwrap_or(0);
        tail[..2].copy_from_slice(&counter.to_be_bytes());
        uuid::Builder::from_unix_timestamp_millis(moment >> COUNTER_BITS, &tail).into_uuid()
    }

    /// The present millisecond and a counter below it, later than every one before.
    fn moment(&self) -> u64 {
        let now = u64::try_from(self.clock.now().as_millis()).unwrap_or(0) << COUNTER_BITS;
        let next = |last: u64| match last {
            _ if last < now || last - now > LEAD << COUNTER_BITS => now,
            _ => last + 1,
        };
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            let moment = next(last);
            match self.last.compare_exchange_weak(last, moment, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return moment,
                Err(other) => last = other,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Still(AtomicU64);

    impl Clock for Still {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(i64::try_from(self.0.load(Ordering::Relaxed)).unwrap())
        }
    }

    #[derive(Debug)]
    struct Falling(AtomicU64);

    impl Rng for Falling {
        /// Every answer is below the one before, the worst case for an order of ids.
        fn fill(&self, buffer: &mut [u8]) {
            let value = u8::try_from(self.0.fetch_sub(1, Ordering::Relaxed) % 256).unwrap();
            buffer.fill(value);
        }
    }

    fn ids(millis: u64) -> (Ids, Arc<Still>) {
        let clock = Arc::new(Still(AtomicU64::new(millis)));
        (Ids::new(clock.clone(), Arc::new(Falling(AtomicU64::new(u64::MAX)))), clock)
    }

    #[test]
    fn ids_of_one_millisecond_sort_in_the_order_they_were_made() {
        let (ids, _) = ids(1_700_000_000_000);
        let made: Vec<TaskId> = (0..10_000).map(|_| ids.clone().task()).collect();
        assert!(made.is_sorted_by(|one, next| one < next));
        assert!(made.iter().all(|id| id.to_string().as_bytes()[14] == b'7'), "version 7");
    }

    #[test]
    fn a_clock_that_is_set_back_starts_a_new_order_only_when_it_is_far_behind() {
        let (ids, clock) = ids(1_700_000_000_000);
        let first = ids.task();
        clock.0.fetch_sub(5_000, Ordering::Relaxed);
        assert!(first < ids.task(), "five seconds back: still later");
        clock.0.fetch_sub(60_000, Ordering::Relaxed);
        let behind = ids.task();
        assert!(behind < first && behind < ids.task(), "a minute back: by the clock again");
    }
}
