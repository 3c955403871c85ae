//! Writing a conversation out, a page of turns at a time.
//!
//! Promises: however long it is, no more than a page of it is in memory. How a turn is written is
//! `conversations::export`'s matter.

use agentsite_protocol::{ConversationId, TaskId};
use agentsite_store::TurnPosition;

use super::Conversations;
use crate::SiteError;
use crate::conversations::export::ExportFormat;

/// Turns of one page of an export.
const EXPORTED: usize = 50;

/// A conversation that is written out.
#[derive(Debug)]
pub struct ConversationExport {
    pub(super) conversations: Conversations,
    pub(super) id: ConversationId,
    pub(super) format: ExportFormat,
    pub(super) beginning: Option<String>,
    /// Turns of the path that are still to be written, the first one last.
    pub(super) left: Vec<TaskId>,
    /// The last turn that was written, when all are.
    pub(super) after: Option<TaskId>,
    pub(super) any: bool,
    pub(super) ended: bool,
}

impl ConversationExport {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// [`SiteError::Store`] when the store cannot be read.
    pub async fn next(&mut self) -> Result<Option<String>, SiteError> {
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

    async fn page(&mut self) -> Result<Vec<TurnPosition>, SiteError> {
        let store = &self.conversations.store;
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
