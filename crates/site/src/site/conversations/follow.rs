//! Following conversations: what changed, for every browser that has them open.
//!
//! Promises: a follower sees its owner's conversations alone; one who was too slow is told how things stand instead of what was missed.
//! It does not keep events: a follower that comes back begins with how things stand.

use agentsite_protocol::{Caller, ConversationId};
use agentsite_store::Conversation;
use tokio::sync::broadcast::error::RecvError;

use super::super::Site;
use crate::conversations::{ConversationEvent, Told};

/// Follows conversations.
#[derive(Debug)]
pub struct ConversationWatch {
    pub(super) site: Site,
    pub(super) caller: Caller,
    /// Only this one.
    pub(super) id: Option<ConversationId>,
    pub(super) news: tokio::sync::broadcast::Receiver<crate::conversations::News>,
    pub(super) first: Option<ConversationEvent>,
    pub(super) ended: bool,
}

impl ConversationWatch {
    /// What changed next; waits for it. `None` after the conversation that is followed was removed. Cancellation safe: a change that was not
    /// returned is followed by how the conversation stands then.
    pub async fn next(&mut self) -> Option<ConversationEvent> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        while !self.ended {
            let news = match self.news.recv().await {
                Ok(news) => news,
                Err(RecvError::Closed) => return None,
                Err(RecvError::Lagged(_)) => return Some(self.missed().await),
            };
            let wanted = self.id.is_none_or(|id| id == news.conversation);
            if !wanted || news.owner != *self.caller.owner() {
                continue;
            }
            let kept = self.site.own(&self.caller, news.conversation).await.ok();
            let told = if kept.is_some() { news.told } else { Told::Removed };
            self.ended = kept.is_none() && self.id.is_some();
            return Some(event(news.conversation, told, kept));
        }
        None
    }

    /// What one is told who was too slow.
    async fn missed(&mut self) -> ConversationEvent {
        let Some(id) = self.id else {
            return ConversationEvent {
                kind: "changed",
                id: None,
                conversation: None,
                turn: None,
                state: None,
            };
        };
        let kept = self.site.own(&self.caller, id).await.ok();
        self.ended = kept.is_none();
        let told = if kept.is_some() { Told::Changed } else { Told::Removed };
        event(id, told, kept)
    }
}

/// What a follower is told.
pub(super) fn event(id: ConversationId, told: Told, kept: Option<Conversation>) -> ConversationEvent {
    let (kind, turn, state) = match told {
        Told::Changed => ("changed", None, None),
        Told::Turn(turn, state) => ("turn", Some(turn), Some(state.word())),
        Told::Removed => ("removed", None, None),
    };
    ConversationEvent { kind, id: Some(id), conversation: kept.map(Into::into), turn, state }
}
