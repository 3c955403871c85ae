//! Following conversations: what changed, for every browser that has them open.
//!
//! Promises: a follower sees its owner's conversations alone; one that was too slow gets the present state
//! instead of what it missed. It does not keep events: a follower that comes back begins with how things
//! stand.

use agentsite_protocol::{Caller, ConversationId};
use agentsite_store::Conversation;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::error::ConversationError;
use crate::feed::{ConversationEvent, FeedChange, FeedMessage};
use crate::handle::{Conversations, refuse_anonymous};

/// Follows conversations.
#[derive(Debug)]
pub struct ConversationWatch {
    conversations: Conversations,
    caller: Caller,
    /// Only this one.
    id: Option<ConversationId>,
    news: Receiver<FeedMessage>,
    first: Option<ConversationEvent>,
    ended: bool,
}

impl Conversations {
    /// Follows one conversation, or all of this caller; the first event tells how it stands.
    ///
    /// # Errors
    /// [`ConversationError::NoSuchConversation`], also when it belongs to another owner.
    pub async fn follow(
        &self,
        caller: &Caller,
        id: Option<ConversationId>,
    ) -> Result<ConversationWatch, ConversationError> {
        refuse_anonymous(caller)?;
        let news = self.0.feed.subscribe();
        let first = match id {
            Some(id) => Some(event(id, FeedChange::Changed, Some(self.own(caller, id).await?))),
            None => None,
        };
        let (conversations, caller) = (self.clone(), caller.clone());
        Ok(ConversationWatch { conversations, caller, id, news, first, ended: false })
    }
}

impl ConversationWatch {
    /// What changed next; waits for it. `None` after the conversation that is followed was removed.
    /// Cancellation safe: a change that was not returned is followed by how the conversation stands then.
    pub async fn next(&mut self) -> Option<ConversationEvent> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        while !self.ended {
            let news = match self.news.recv().await {
                Ok(FeedMessage::Event(news)) => news,
                Ok(FeedMessage::Missed) => return Some(self.missed().await),
                Err(RecvError::Closed) => return None,
                Err(RecvError::Lagged(_)) => return Some(self.missed().await),
            };
            let wanted = self.id.is_none_or(|id| id == news.conversation);
            if !wanted || news.owner != *self.caller.owner() {
                continue;
            }
            let kept = self.conversations.own(&self.caller, news.conversation).await.ok();
            let change = if kept.is_some() { news.change } else { FeedChange::Removed };
            self.ended = kept.is_none() && self.id.is_some();
            return Some(event(news.conversation, change, kept));
        }
        None
    }

    /// What a follower gets that was too slow.
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
        let kept = self.conversations.own(&self.caller, id).await.ok();
        self.ended = kept.is_none();
        let change = if kept.is_some() { FeedChange::Changed } else { FeedChange::Removed };
        event(id, change, kept)
    }
}

/// What a follower gets.
fn event(id: ConversationId, change: FeedChange, kept: Option<Conversation>) -> ConversationEvent {
    let (kind, turn, state) = match change {
        FeedChange::Changed => ("changed", None, None),
        FeedChange::Turn(turn, state) => ("turn", Some(turn), Some(state.word())),
        FeedChange::Removed => ("removed", None, None),
    };
    ConversationEvent { kind, id: Some(id), conversation: kept.map(Into::into), turn, state }
}
