//! From a task to the Job that a runner gets.
//!
//! Promises: a runner sees the caller's last words, what was said before in the task, and as much of the earlier conversation as it
//! asked for; never another owner's.

use agentsite_host::{Aside, Job, RuntimeKind};
use agentsite_protocol::{Message, Role, Task, Timestamp, Usage};
use agentsite_store::TaskFilter;
use tokio_util::sync::CancellationToken;

use super::Desk;
use crate::SiteError;
use crate::hub::Entry;

/// Earlier tasks of a conversation that are looked at for its memory; with two messages or more in each this is more than any
/// model is shown.
const MEMORY_TASKS: usize = 50;

impl Desk {
    /// What the runner of `entry` gets to work on `task`.
    pub(super) async fn job(
        &self,
        entry: &Entry,
        task: &Task,
        depth: u32,
        cancel: CancellationToken,
    ) -> Result<Job, SiteError> {
        let mut history = task.history.clone();
        let last = history.iter().rposition(|message| message.role == Role::User).unwrap_or(0);
        let message = history.remove(last);
        let (conversation, used_today) =
            if entry.manifest.runtime.kind() == RuntimeKind::Llm || entry.runner.memory() > 0 {
                (self.conversation(task, entry.runner.memory()).await?, self.used_today(entry).await?)
            } else {
                (Vec::new(), Usage::default())
            };
        Ok(Job {
            task: task.head.id,
            context: task.head.context.clone(),
            agent: task.head.agent.clone(),
            owner: task.head.owner.clone(),
            message,
            history,
            conversation,
            memo: task.memo.clone(),
            attempt: task.attempt,
            deadline: Some(run_deadline(entry, task, self.ids.clock().now())),
            depth,
            aside: Aside::default(),
            used: task.usage,
            used_today,
            cancel,
            ids: self.ids.clone(),
            calls: self.calls(),
        })
    }

    async fn used_today(&self, entry: &Entry) -> Result<Usage, SiteError> {
        let day = self.ids.clock().now().day();
        if let Some(sum) = entry.use_today(day, Usage::default()) {
            return Ok(sum);
        }
        let stored = self.store.usage(&entry.manifest.name, day).await?;
        entry.know_today(day, stored);
        Ok(stored)
    }

    /// What was said in earlier tasks of the conversation, oldest first, at most `most` messages.
    async fn conversation(&self, task: &Task, most: usize) -> Result<Vec<Message>, SiteError> {
        if most == 0 {
            return Ok(Vec::new());
        }
        let filter = TaskFilter {
            owner: Some(task.head.owner.clone()),
            agent: Some(task.head.agent.clone()),
            context: Some(task.head.context.clone()),
            ..TaskFilter::default()
        };
        let mut earlier = self.store.tasks(filter, None, MEMORY_TASKS).await?.items;
        earlier.retain(|head| head.id != task.head.id && head.state.is_terminal());
        earlier.sort_by_key(|head| head.id);
        let mut said = Vec::new();
        for head in earlier {
            let Some(earlier) = self.replay(head.id).await? else { continue };
            let answer = earlier.answer();
            said.extend(earlier.history);
            if !answer.is_empty() {
                said.push(Message::text(self.ids.message(), Role::Agent, answer));
            }
        }
        let from = said.len().saturating_sub(most);
        Ok(said.split_off(from))
    }
}

/// When a run that begins now must be done: within the agent's time limit, and before the task that it is part of.
pub(super) fn run_deadline(entry: &Entry, task: &Task, now: Timestamp) -> Timestamp {
    let own = now.plus(entry.manifest.limits.timeout.0);
    task.deadline.map_or(own, |inherited| inherited.min(own))
}
