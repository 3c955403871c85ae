//! RoomFeed: which rooms have new events, for those who wait in this process.
//!
//! Promises: bounded; a follower that was too slow reads its room again. It carries no events: they are read
//! from the log.

use agentsite_protocol::RoomId;
use tokio::sync::broadcast;

/// Wake-ups that are kept for a slow follower; one that misses some reads once.
const CAPACITY: usize = 1_024;

/// Which rooms have new events.
#[derive(Debug, Clone)]
pub(crate) struct RoomFeed(broadcast::Sender<Option<RoomId>>);

impl Default for RoomFeed {
    fn default() -> Self {
        Self(broadcast::Sender::new(CAPACITY))
    }
}

impl RoomFeed {
    /// Wakes the followers of a room.
    pub(crate) fn publish(&self, room: RoomId) {
        let _ = self.0.send(Some(room));
    }

    /// Wakes all followers: something was missed.
    pub(crate) fn publish_missed(&self) {
        let _ = self.0.send(None);
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Option<RoomId>> {
        self.0.subscribe()
    }
}
