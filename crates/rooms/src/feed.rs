//! Feed: the changes of conversations, for their followers.
//!
//! Promises: nothing here waits; a subscriber that is too slow learns that it missed something, and reads
//! again. It keeps nothing: what happened before a subscription is read from the store.

use agentsite_protocol::{ConversationId, Principal, TaskId, TaskState};
use serde::Serialize;
use tokio::sync::broadcast;

use crate::view::ConversationView;

/// Changes that a subscriber may lag behind; people's conversations change a few times in a second.
const QUEUE: usize = 256;

/// What has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FeedChange {
    /// Title, pin, or the branch that is shown.
    Changed,
    /// A turn was added or stands elsewhere.
    Turn(TaskId, TaskState),
    /// The conversation is gone.
    Removed,
}

/// One change of one conversation.
#[derive(Debug, Clone)]
pub(crate) struct FeedEvent {
    pub(crate) owner: Principal,
    pub(crate) conversation: ConversationId,
    pub(crate) change: FeedChange,
}

/// What subscribers receive.
#[derive(Debug, Clone)]
pub(crate) enum FeedMessage {
    /// A change.
    Event(FeedEvent),
    /// Something changed, and it is not known what: read again.
    Missed,
}

/// The changes of a site's conversations, for their followers. It is a hook of tasks: register it with them,
/// so that answers are indexed and followers hear of turns.
#[derive(Debug)]
pub struct ConversationFeed(broadcast::Sender<FeedMessage>);

impl Default for ConversationFeed {
    fn default() -> Self {
        Self(broadcast::Sender::new(QUEUE))
    }
}

impl ConversationFeed {
    /// Sends a change to all subscribers.
    pub(crate) fn publish(&self, owner: &Principal, conversation: ConversationId, change: FeedChange) {
        let _ = self.0.send(FeedMessage::Event(FeedEvent { owner: owner.clone(), conversation, change }));
    }

    /// Makes all subscribers read again.
    pub(crate) fn publish_missed(&self) {
        let _ = self.0.send(FeedMessage::Missed);
    }

    /// Whether there are no subscribers, so that nothing needs to be looked up for them.
    pub(crate) fn is_idle(&self) -> bool {
        self.0.receiver_count() == 0
    }

    /// Receives everything from now on.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<FeedMessage> {
        self.0.subscribe()
    }
}

/// What a follower of conversations gets.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationEvent {
    /// `changed`: read it again; `turn`: a turn was added or stands elsewhere; `removed`: it is gone.
    pub kind: &'static str,
    /// Which conversation; none when the follower missed something and must read the list again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<ConversationId>,
    /// How it is now; none when it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationView>,
    /// Which turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<TaskId>,
    /// Where the task of the turn stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
}
