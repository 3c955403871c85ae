//! Reads of conversations and their turns.
//!
//! Promises: lists are bounded. It does not decide who may read a conversation.

use agentsite_protocol::{ConversationId, Principal, TaskId};

use crate::{
    Conversation, ConversationCursor, ConversationMatch, ConversationQuery, Page, Reply, Turn, TurnPosition,
};

/// What can be read about conversations.
pub trait ConversationReads {
    /// One conversation.
    fn conversation(&self, id: ConversationId) -> Reply<'_, Option<Conversation>>;

    /// Conversations that are wanted: pinned ones first, then the last changed first, with a cursor to the
    /// next page.
    fn conversations(
        &self,
        query: ConversationQuery,
        after: Option<ConversationCursor>,
        limit: usize,
    ) -> Reply<'_, Page<ConversationMatch, ConversationCursor>>;

    /// How many conversations an owner has.
    fn count_conversations(&self, owner: &Principal) -> Reply<'_, u64>;

    /// The turn of a conversation that a task answers.
    fn turn(&self, task: TaskId) -> Reply<'_, Option<Turn>>;

    /// The path to a turn: itself, the one before it, and so on towards the first, at most `limit`.
    fn path(&self, from: TaskId, limit: usize) -> Reply<'_, Vec<TurnPosition>>;

    /// Turns of a conversation on all branches in the order in which they were said, after the turn `after`.
    fn turns(&self, id: ConversationId, after: Option<TaskId>, limit: usize) -> Reply<'_, Vec<Turn>>;

    /// The end of the branch that goes through a turn: where it parts further on, the newest way is taken.
    fn leaf(&self, from: TaskId) -> Reply<'_, Option<TaskId>>;
}
