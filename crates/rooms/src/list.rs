//! Listing conversations, and searching them.
//!
//! Promises: a page costs a fixed number of reads, however many rows it has. With a text, each row says where
//! the words stand. It does not rank: pinned ones come first, then the last changed.

use std::collections::HashMap;

use agentsite_protocol::{Caller, Message, Task, TaskId};
use agentsite_store::{ConversationCursor, ConversationMatch, ConversationQuery, Page, Spot};

use crate::error::ConversationError;
use crate::handle::{Conversations, MAX_PAGE, refuse_anonymous};
use crate::passage::passage;
use crate::turns::{EVENTS_AT_ONCE, replayed};
use crate::view::{ConversationView, Passage};

/// Longest text that is searched for, in bytes; people type a few words.
pub const MAX_SEARCH: usize = 512;

impl Conversations {
    /// The conversations of this caller: pinned ones first, then the last changed first; with a text those in
    /// which it stands.
    ///
    /// # Errors
    /// [`ConversationError::Invalid`] when the text is too long; [`ConversationError::Store`].
    pub async fn list(
        &self,
        caller: &Caller,
        text: Option<String>,
        after: Option<ConversationCursor>,
        limit: usize,
    ) -> Result<Page<ConversationView, ConversationCursor>, ConversationError> {
        refuse_anonymous(caller)?;
        let text = text.filter(|text| !text.trim().is_empty());
        if text.as_ref().is_some_and(|text| text.len() > MAX_SEARCH) {
            let what = format!("what is searched for has at most {MAX_SEARCH} bytes; leave some words out");
            return Err(ConversationError::Invalid(what));
        }
        let query = ConversationQuery { owner: caller.owner().clone(), text: text.clone() };
        let page = self.0.store.conversations(query, after, limit.clamp(1, MAX_PAGE)).await?;
        let turns = page.items.iter().filter_map(|found| turn_of(found.spot.as_ref()?)).collect();
        let mut tasks = self.tasks_of(turns).await?;
        let mut items = Vec::with_capacity(page.items.len());
        for ConversationMatch { conversation, spot } in page.items {
            let mut view = ConversationView::from(conversation);
            if let (Some(spot), Some(text)) = (spot, &text) {
                let task = turn_of(&spot).and_then(|turn| tasks.remove(&turn));
                view.passage = Some(passage_at(&spot, &view.title, task.as_ref(), text));
            }
            items.push(view);
        }
        Ok(Page { items, next: page.next })
    }

    /// Tasks as the store has them, by id; those that are not there are left out.
    async fn tasks_of(&self, ids: Vec<TaskId>) -> Result<HashMap<TaskId, Task>, ConversationError> {
        let (mut left, mut tasks) = (ids, HashMap::new());
        while !left.is_empty() {
            let read = self.0.store.histories(left.clone(), EVENTS_AT_ONCE, 0).await?;
            left.drain(..read.len().clamp(1, left.len()));
            for history in read {
                tasks.extend(replayed(&history)?.map(|task| (history.id, task)));
            }
        }
        Ok(tasks)
    }
}

/// The turn in which words stand; none for a title.
const fn turn_of(spot: &Spot) -> Option<TaskId> {
    match spot {
        Spot::Title => None,
        Spot::Question(turn) | Spot::Answer(turn) => Some(*turn),
    }
}

/// The words that were searched for, with what stands around them.
fn passage_at(spot: &Spot, title: &str, task: Option<&Task>, wanted: &str) -> Passage {
    let question = |task: &Task| task.history.first().map(Message::plain_text).unwrap_or_default();
    let (of, words) = match spot {
        Spot::Title => return Passage { of: "title", turn: None, text: title.to_owned() },
        Spot::Question(_) => ("question", task.map(question)),
        Spot::Answer(_) => ("answer", task.map(Task::answer)),
    };
    Passage { of, turn: turn_of(spot), text: passage(&words.unwrap_or_default(), wanted) }
}
