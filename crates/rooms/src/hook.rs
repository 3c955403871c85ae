//! How tasks take part in conversations: a turn is written with the first events of its task, the words of
//! the answer with the last ones, and followers hear of both.
//!
//! Promises: followers hear only what was committed. Tasks that are no turns cost one look at a field.

use agentsite_store::{Conversation, ConversationChange, INDEXED_BYTES, Turn};
use agentsite_tasks::{Contribution, Origin, TaskHook, TaskMoment};

use crate::decide::start;
use crate::feed::{ConversationFeed, FeedChange};

/// A turn that is added with the first events of its task.
#[derive(Debug)]
pub(crate) struct NewTurn {
    /// The conversation with the turn in it.
    pub(crate) conversation: Conversation,
    /// The turn.
    pub(crate) turn: Turn,
    /// What is said, for the search.
    pub(crate) words: String,
}

impl TaskHook for NewTurn {
    fn contribute(&self, _: &TaskMoment<'_>, contribution: &mut Contribution) {
        contribution.add(ConversationChange::Said {
            conversation: Box::new(self.conversation.clone()),
            turn: Box::new(self.turn.clone()),
            words: start(&self.words, INDEXED_BYTES).to_owned(),
        });
    }
}

impl TaskHook for ConversationFeed {
    fn contribute(&self, moment: &TaskMoment<'_>, contribution: &mut Contribution) {
        let Origin::Conversation(_) = moment.origin() else { return };
        if moment.ends() {
            let head = &moment.task.head;
            let words = start(&moment.task.answer(), INDEXED_BYTES).to_owned();
            let ended = ConversationChange::Ended { task: head.id, words, at: head.updated_at };
            contribution.add(ended);
        }
    }

    fn committed(&self, moment: &TaskMoment<'_>) {
        let Origin::Conversation(id) = moment.origin() else { return };
        if moment.changes_state() {
            let head = &moment.task.head;
            self.publish(&head.owner, id, FeedChange::Turn(head.id, head.state));
        }
    }
}
