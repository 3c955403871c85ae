//! Tasks listed with what was asked, and looked for by it.
//!
//! Promises: only a caller who may list tasks sees what was asked in them. A search looks at a bounded
//! number of tasks and then gives what it has with a cursor to go on from, so that no request reads
//! everything. It looks at the first message only: answers are the conversations' matter.

use agentsite_protocol::{Caller, TaskEventKind, TaskHead, TaskId};
use agentsite_store::{Page, TaskCursor, TaskFilter};

use crate::error::TaskError;
use crate::handle::{MAX_PAGE, Tasks};

/// Letters that are told of what was asked: a line on a wide screen.
const MAX_ASKED: usize = 160;

/// Most tasks that one search looks at; each costs a read of its first event.
const MAX_LOOKED: usize = 1_000;

/// A task of a list with the first words of what was asked.
#[derive(Debug, Clone)]
pub struct AskedTask {
    /// The task.
    pub head: TaskHead,
    /// What was asked, on one line and cut.
    pub asked: String,
}

impl Tasks {
    /// Tasks like [`Self::list`], each with what was asked; with `text`, only those whose question, agent or
    /// id has it. A page may have fewer rows than asked for, or none, and still a next one.
    ///
    /// # Errors
    /// [`TaskError::Store`].
    pub async fn asked(
        &self,
        caller: &Caller,
        filter: TaskFilter,
        text: &str,
        mut after: Option<TaskCursor>,
        limit: usize,
    ) -> Result<Page<AskedTask, TaskCursor>, TaskError> {
        let (limit, wanted) = (limit.clamp(1, MAX_PAGE), text.trim().to_lowercase());
        let (mut items, mut looked) = (Vec::new(), 0);
        loop {
            let page = self.list(caller, filter.clone(), after, limit).await?;
            for head in page.items {
                (looked, after) = (looked + 1, Some(TaskCursor { updated_at: head.updated_at, id: head.id }));
                let question = self.question(head.id).await?;
                if fits(&head, &question, &wanted) {
                    let line = question.split_whitespace().collect::<Vec<_>>().join(" ");
                    items.push(AskedTask { head, asked: line.chars().take(MAX_ASKED).collect() });
                }
                if items.len() == limit || looked == MAX_LOOKED {
                    return Ok(Page { items, next: after });
                }
            }
            if page.next.is_none() {
                return Ok(Page { items, next: None });
            }
        }
    }

    /// What was asked at the beginning of a task.
    async fn question(&self, id: TaskId) -> Result<String, TaskError> {
        let first = self.0.store.events(id, 0, 1).await?.into_iter().next();
        Ok(match first.map(|event| event.kind) {
            Some(TaskEventKind::Opened(opening)) => opening.message.plain_text(),
            _ => String::new(),
        })
    }
}

fn fits(head: &TaskHead, question: &str, wanted: &str) -> bool {
    wanted.is_empty()
        || question.to_lowercase().contains(wanted)
        || head.agent.as_str().contains(wanted)
        || head.id.to_string().contains(wanted)
}
