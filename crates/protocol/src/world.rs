//! Time and chance as arguments: the seams through which the world enters a decision.
//!
//! Promises: nothing below the binary reads the clock or a random source of its own; both come in through
//! these traits, so that a test can replay any run. The system's own clock and generator live in `site`.

use std::sync::Arc;
use std::time::Duration;

use crate::{ContextId, ConversationId, MessageId, TaskId, Timestamp};

/// Tells the time.
pub trait Clock: Send + Sync + std::fmt::Debug + 'static {
    /// The present moment.
    fn now(&self) -> Timestamp;

    /// Time that has passed since an arbitrary moment, whatever anybody sets the clock to. A clock that
    /// nobody sets counts by itself.
    fn elapsed(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.now().as_millis()).unwrap_or(0))
    }

    /// The time that has certainly come: what is removed because of its age is removed by it. A clock that
    /// nobody sets is always right.
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

/// Makes ids that sort by the time they were made (UUID version 7), so that the store appends rather than
/// scatters.
#[derive(Clone, Debug)]
pub struct Ids {
    clock: Arc<dyn Clock>,
    rng: Arc<dyn Rng>,
}

impl Ids {
    /// Joins a clock and a generator.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, rng: Arc<dyn Rng>) -> Self {
        Self { clock, rng }
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
        let millis = u64::try_from(self.clock.now().as_millis()).unwrap_or(0);
        let random = self.rng.bytes16();
        let mut tail = [0; 10];
        tail.copy_from_slice(&random[..10]);
        uuid::Builder::from_unix_timestamp_millis(millis, &tail).into_uuid()
    }
}
