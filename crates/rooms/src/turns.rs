//! Reading turns: the path that is shown, and each turn with its task as it is now.
//!
//! Promises: a page costs three reads, however many turns it has; a page of very long answers is read in
//! several parts, so that memory stays bounded. A turn of another conversation answers like none.

use agentsite_protocol::{Caller, ConversationId, Task, TaskId};
use agentsite_store::{StoreError, TaskHistory, Turn, TurnPosition};

use crate::error::ConversationError;
use crate::handle::{Conversations, MAX_PAGE};
use crate::view::{STARTED, TurnView};

/// Events that are read at once for a page of turns: those of fifty long answers. A page of longer ones is
/// read in several parts, so that memory stays bounded.
pub(crate) const EVENTS_AT_ONCE: usize = 20_000;

/// A page of the path of a conversation.
#[derive(Debug, Clone)]
pub struct TurnPage {
    /// The turns, oldest first.
    pub turns: Vec<TurnView>,
    /// The oldest turn of the page, when there are more before it.
    pub before: Option<TaskId>,
}

impl Conversations {
    /// A page of the path that is shown, oldest first: the last turns, or those before `before`.
    ///
    /// # Errors
    /// [`ConversationError::NoSuchConversation`], also when it belongs to another owner;
    /// [`ConversationError::NoSuchTurn`].
    pub async fn turns(
        &self,
        caller: &Caller,
        id: ConversationId,
        before: Option<TaskId>,
        limit: usize,
    ) -> Result<TurnPage, ConversationError> {
        let kept = self.own(caller, id).await?;
        let from = match before {
            Some(before) => self.turn_in(id, before).await?.parent,
            None => kept.head,
        };
        let Some(from) = from else { return Ok(TurnPage { turns: Vec::new(), before: None }) };
        let path = self.path_in(id, from, limit.clamp(1, MAX_PAGE)).await?;
        let before = path.last().filter(|place| place.turn.parent.is_some()).map(|place| place.turn.task);
        let turns = self.turn_views(path.into_iter().rev().collect()).await?;
        Ok(TurnPage { turns, before })
    }

    /// A turn of this conversation.
    pub(crate) async fn turn_in(&self, id: ConversationId, task: TaskId) -> Result<Turn, ConversationError> {
        let turn = self.0.store.turn(task).await?;
        turn.filter(|turn| turn.conversation == id).ok_or_else(|| no_turn(task))
    }

    /// The path to a turn of this conversation, the nearest first; never empty.
    pub(crate) async fn path_in(
        &self,
        id: ConversationId,
        from: TaskId,
        limit: usize,
    ) -> Result<Vec<TurnPosition>, ConversationError> {
        let path = self.0.store.path(from, limit).await?;
        let right = path.first().is_some_and(|place| place.turn.conversation == id);
        if right { Ok(path) } else { Err(no_turn(from)) }
    }

    /// A turn with its task as it is now.
    pub(crate) async fn turn_view(&self, place: TurnPosition) -> Result<TurnView, ConversationError> {
        Ok(self.turn_views(vec![place]).await?.remove(0))
    }

    /// Turns with their tasks as they are now, in order. The store is read once for many of them.
    async fn turn_views(&self, places: Vec<TurnPosition>) -> Result<Vec<TurnView>, ConversationError> {
        let mut left: Vec<TaskId> = places.iter().map(|place| place.turn.task).collect();
        let mut places = places.into_iter();
        let mut views = Vec::with_capacity(places.len());
        while !left.is_empty() {
            let read = self.0.store.histories(left.clone(), EVENTS_AT_ONCE, STARTED).await?;
            left.drain(..read.len().clamp(1, left.len()));
            for (history, place) in read.into_iter().zip(places.by_ref()) {
                let task = match self.0.tasks.control().live(history.id) {
                    Some(task) => Some(task),
                    None => replayed(&history)?,
                };
                let mut started = history.started;
                started.sort_by_key(|head| head.id);
                views.push(TurnView::new(place, task.as_ref(), started));
            }
        }
        Ok(views)
    }
}

/// The task of a history; none when it is not there.
pub(crate) fn replayed(history: &TaskHistory) -> Result<Option<Task>, ConversationError> {
    let damaged = |error| StoreError::Corrupt(format!("task {}: {error}", history.id));
    Ok(Task::replay(&history.events).map_err(damaged)?)
}

pub(crate) fn no_turn(task: TaskId) -> ConversationError {
    ConversationError::NoSuchTurn(task.to_string())
}
