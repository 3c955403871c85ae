//! Changing a conversation, and deleting it.
//!
//! Promises: a change that was decided on an older reading is decided again, unless it insists on its
//! revision. What is deleted is gone when the verb answers; what still runs for it is cancelled. It does not
//! change what was said.

use agentsite_protocol::{Caller, ConversationId, TaskId};
use agentsite_store::{Change, Conversation, ConversationChange, StoreError};

use crate::error::ConversationError;
use crate::feed::FeedChange;
use crate::handle::{Conversations, TRIES};
use crate::view::ConversationView;
use crate::{decide, kinds};

/// What is to be changed; what is left out stays.
#[derive(Debug, Clone, Default)]
pub struct ConversationEdit {
    /// What it is called from now on.
    pub title: Option<String>,
    /// Whether it stands before the others.
    pub pinned: Option<bool>,
    /// The branch that is shown: the one that goes through this turn.
    pub head: Option<TaskId>,
    /// The revision that the change was decided on; the change is refused when there is a newer one.
    pub revision: Option<u64>,
}

impl Conversations {
    /// Renames a conversation, pins it, or chooses the branch that is shown.
    ///
    /// # Errors
    /// [`ConversationError::NoSuchConversation`], also when it belongs to another owner;
    /// [`ConversationError::NoSuchTurn`]; [`ConversationError::Changed`] when the edit names a revision and
    /// there is a newer one; [`ConversationError::Invalid`].
    pub async fn edit(
        &self,
        caller: &Caller,
        id: ConversationId,
        edit: ConversationEdit,
    ) -> Result<ConversationView, ConversationError> {
        let title = edit.title.as_deref().map(decide::title).transpose()?;
        let edited = edited(&edit);
        for _ in 0..TRIES {
            let mut kept = self.own(caller, id).await?;
            check_revision(edit.revision, &kept)?;
            if let Some(title) = &title {
                (kept.title, kept.named) = (title.clone(), true);
            }
            kept.pinned = edit.pinned.unwrap_or(kept.pinned);
            if let Some(turn) = edit.head {
                self.turn_in(id, turn).await?;
                kept.head = self.0.store.leaf(turn).await?;
            }
            kept.revision += 1;
            let line = self.line_about(&kept, kinds::EDITED, edited.clone());
            match self.put(kept.clone(), line).await {
                Err(error) if error.is_conflict() => {}
                done => return done.map(|()| kept.into()),
            }
        }
        Err(ConversationError::Changed)
    }

    /// Removes a conversation with everything that was said in it; what still runs for it is cancelled.
    ///
    /// # Errors
    /// [`ConversationError::NoSuchConversation`], also when it belongs to another owner;
    /// [`ConversationError::Changed`] when a revision is named and there is a newer one.
    pub async fn delete(
        &self,
        caller: &Caller,
        id: ConversationId,
        revision: Option<u64>,
    ) -> Result<(), ConversationError> {
        for _ in 0..TRIES {
            let kept = self.own(caller, id).await?;
            check_revision(revision, &kept)?;
            let running = self.running_in(id).await?;
            let gone = ConversationChange::Remove { id, owner: kept.owner.clone(), revision: kept.revision };
            let line = self.line_about(&kept, kinds::REMOVED, "removed a conversation".into());
            match self.0.store.commit(Change::new(line).edit(gone)).await {
                Err(StoreError::Moved(_)) => continue,
                done => done?,
            }
            self.0.feed.publish(&kept.owner, id, FeedChange::Removed);
            for task in running {
                // One that ended by itself meanwhile needs no more.
                let _ = self.0.tasks.cancel(caller, task).await;
            }
            return Ok(self.0.site.expire().await?);
        }
        Err(ConversationError::Changed)
    }

    /// The tasks of a conversation that have not ended.
    async fn running_in(&self, id: ConversationId) -> Result<Vec<TaskId>, ConversationError> {
        let mut running = Vec::new();
        for head in self.0.store.open_tasks().await? {
            if self.0.store.turn(head.id).await?.is_some_and(|turn| turn.conversation == id) {
                running.push(head.id);
            }
        }
        Ok(running)
    }
}

/// What an edit does, for the journal.
fn edited(edit: &ConversationEdit) -> String {
    let parts = [
        edit.title.is_some().then_some("renamed a conversation"),
        edit.pinned.map(|pinned| if pinned { "pinned a conversation" } else { "unpinned a conversation" }),
        edit.head.is_some().then_some("chose a branch of a conversation"),
    ];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "changed nothing of a conversation".into() } else { parts.join(", ") }
}

/// Refuses a change that was decided on an older reading.
fn check_revision(revision: Option<u64>, kept: &Conversation) -> Result<(), ConversationError> {
    if revision.is_none_or(|revision| revision == kept.revision) {
        return Ok(());
    }
    Err(ConversationError::Changed)
}
