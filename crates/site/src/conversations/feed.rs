//! Feed: who is told that a conversation has changed.
//!
//! Promises: nothing here waits; a listener that is too slow is told that it missed something, and reads again. Listeners hear only what was
//! committed. It keeps nothing: what happened while nobody listened is read from the store.

use agentsite_protocol::{ConversationId, Owner, TaskId, TaskState};
use serde::Serialize;
use tokio::sync::broadcast;

use super::ConversationView;

/// Changes that a listener may lag behind; people's conversations change a few times in a second.
const QUEUE: usize = 256;

/// What has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// Title, pin, or the branch that is shown.
    Changed,
    /// A turn was added or stands elsewhere.
    Turn(TaskId, TaskState),
    /// The conversation is gone.
    Removed,
}

/// One change of one conversation.
#[derive(Debug, Clone)]
pub(crate) struct News {
    pub(crate) owner: Owner,
    pub(crate) conversation: ConversationId,
    pub(crate) told: Told,
}

/// The listeners of a site.
#[derive(Debug)]
pub(crate) struct Feed(broadcast::Sender<News>);

impl Default for Feed {
    fn default() -> Self {
        Self(broadcast::Sender::new(QUEUE))
    }
}

impl Feed {
    /// Tells whoever listens.
    pub(crate) fn tell(&self, owner: &Owner, conversation: ConversationId, told: Told) {
        let _ = self.0.send(News { owner: owner.clone(), conversation, told });
    }

    /// Hears everything from now on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<News> {
        self.0.subscribe()
    }
}

/// What a follower of conversations is told.
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
