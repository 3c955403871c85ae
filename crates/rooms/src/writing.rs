//! Writing a conversation out, a page of turns at a time.
//!
//! Promises: however long it is, no more than a page of it is in memory. How a turn is written is the matter
//! of `export`.

use agentsite_protocol::{Caller, ConversationId, TaskId};
use agentsite_store::TurnPosition;

use crate::error::ConversationError;
use crate::export::ExportFormat;
use crate::handle::{Conversations, MAX_PAGE};

/// Turns of one page of an export.
const EXPORTED: usize = 50;

/// A conversation that is written out.
#[derive(Debug)]
pub struct ConversationExport {
    conversations: Conversations,
    id: ConversationId,
    format: ExportFormat,
    beginning: Option<String>,
    /// Turns of the path that are still to be written, the first one last.
    left: Vec<TaskId>,
    /// The last turn that was written, when all are.
    after: Option<TaskId>,
    any: bool,
    ended: bool,
}

impl Conversations {
    /// Writes a conversation out, piece by piece.
    ///
    /// # Errors
    /// [`ConversationError::NoSuchConversation`], also when it belongs to another owner.
    pub async fn export(
        &self,
        caller: &Caller,
        id: ConversationId,
        format: ExportFormat,
    ) -> Result<ConversationExport, ConversationError> {
        let kept = self.own(caller, id).await?;
        let mut left = Vec::new();
        let mut from = kept.head.filter(|_| format == ExportFormat::Markdown);
        while let Some(at) = from {
            let path = self.0.store.path(at, MAX_PAGE).await?;
            from = path.last().and_then(|place| place.turn.parent);
            left.extend(path.iter().map(|place| place.turn.task));
        }
        let beginning = Some(format.beginning(&kept.into()));
        Ok(ConversationExport {
            conversations: self.clone(),
            id,
            format,
            beginning,
            left,
            after: None,
            any: false,
            ended: false,
        })
    }
}

impl ConversationExport {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// [`ConversationError::Store`] when the store cannot be read.
    pub async fn next(&mut self) -> Result<Option<String>, ConversationError> {
        if let Some(beginning) = self.beginning.take() {
            return Ok(Some(beginning));
        }
        let turns = self.page().await?;
        if turns.is_empty() {
            let end = if self.ended { "" } else { self.format.end() };
            self.ended = true;
            return Ok(Some(end.to_owned()).filter(|end| !end.is_empty()));
        }
        let mut out = String::new();
        for place in turns {
            let view = self.conversations.turn_view(place).await?;
            out.push_str(&self.format.turn(&view, !self.any));
            self.any = true;
        }
        Ok(Some(out))
    }

    async fn page(&mut self) -> Result<Vec<TurnPosition>, ConversationError> {
        let store = &self.conversations.0.store;
        let next: Vec<TaskId> = match self.format {
            ExportFormat::Markdown => {
                let from = self.left.len().saturating_sub(EXPORTED);
                self.left.drain(from..).rev().collect()
            }
            ExportFormat::Json => {
                let turns = store.turns(self.id, self.after, EXPORTED).await?;
                turns.iter().map(|turn| turn.task).collect()
            }
        };
        self.after = next.last().copied().or(self.after);
        let mut page = Vec::with_capacity(next.len());
        for task in next {
            page.extend(store.path(task, 1).await?);
        }
        Ok(page)
    }
}
