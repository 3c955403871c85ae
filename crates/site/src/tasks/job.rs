//! From a task to the Job that a runner gets.
//!
//! Promises: a runner sees the caller's last words, what was said before in the task, and as much of the earlier conversation as it
//! asked for; never another owner's, and nothing that was said to an earlier holder of the agent's name. The earlier conversation is what the message refers to, when it refers to tasks, and else the
//! tasks of its context. It does not judge what is worth remembering.

use agentsite_host::{Aside, Job, RuntimeKind};
use agentsite_protocol::{Message, MessageId, Part, Role, Task, TaskId, Timestamp, Usage};
use agentsite_store::TaskFilter;
use tokio_util::sync::CancellationToken;

use super::Desk;
use crate::SiteError;
use crate::conversations::REMEMBERED;
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
                (self.conversation(entry, task).await?, self.used_today(entry).await?)
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

    /// What was said in earlier tasks of the conversation, oldest first, at most as many messages as the agent remembers.
    async fn conversation(&self, entry: &Entry, task: &Task) -> Result<Vec<Message>, SiteError> {
        let most = entry.runner.memory();
        if most == 0 {
            return Ok(Vec::new());
        }
        let referred = task.history.first().map(|first| first.references(REMEMBERED)).unwrap_or_default();
        if !referred.is_empty() {
            if self.names_other_holder(entry, &referred).await? {
                return Ok(Vec::new());
            }
            return self.referred(task, &referred, most).await;
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
            if !entry.holds(&earlier) {
                continue;
            }
            let answer = earlier.answer();
            said.extend(earlier.history);
            if !answer.is_empty() {
                said.push(Message::text(self.ids.message(), Role::Agent, answer));
            }
        }
        let from = said.len().saturating_sub(most);
        Ok(said.split_off(from))
    }

    /// Whether one of these tasks was opened with an earlier holder of the agent's name. The caller then talked with somebody else, and nothing
    /// of that conversation is for the one who has the name now.
    async fn names_other_holder(&self, entry: &Entry, tasks: &[TaskId]) -> Result<bool, SiteError> {
        for id in tasks {
            let opened = self.opened(*id).await?;
            let same_name = |task: &Task| task.head.agent == entry.manifest.name;
            if opened.is_some_and(|task| same_name(&task) && !entry.holds(&task)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What was said in the tasks that the message refers to, in that order, at most the last `most` messages. A task of another owner counts
    /// as none. Words of other agents name who said them; the agent's own are its own.
    async fn referred(&self, task: &Task, to: &[TaskId], most: usize) -> Result<Vec<Message>, SiteError> {
        let message = task.history.first().map(|first| &first.message_id);
        let mut newest_first = Vec::new();
        for id in to.iter().rev().filter(|id| **id != task.head.id) {
            if newest_first.len() >= most {
                break;
            }
            let live = self.live(*id).and_then(|live| live.log.task());
            let earlier = if live.is_some() { live } else { self.replay(*id).await? };
            let Some(earlier) = earlier.filter(|earlier| earlier.head.owner.is(&task.head.owner)) else {
                continue;
            };
            // A message to several agents at once is said once.
            let same = earlier.history.first().map(|first| &first.message_id) == message;
            let own = earlier.head.agent == task.head.agent;
            let said = recalled(earlier, own, || self.ids.message());
            newest_first.extend(said.into_iter().skip(usize::from(same)).rev());
        }
        newest_first.truncate(most);
        newest_first.reverse();
        Ok(newest_first)
    }
}

/// What was said in an earlier task, as far as it is settled, oldest first.
fn recalled(earlier: Task, own: bool, id: impl Fn() -> MessageId) -> Vec<Message> {
    let (name, ended) = (earlier.head.agent.clone(), earlier.head.state.is_terminal());
    let answer = Some(earlier.answer()).filter(|answer| ended && !answer.is_empty());
    let answer = answer.map(|answer| Message::text(id(), Role::Agent, answer));
    let mark = |mut message: Message| {
        if !own && message.role == Role::Agent {
            // Not in the role of the one who reads it: a model would take the words for its own.
            message.role = Role::User;
            message.parts.insert(0, Part::text(format!("[{name} answered]")));
        }
        message
    };
    let mut history = earlier.history;
    if !own {
        // Of what another agent said on the way only what it asked back matters: what the caller then answered.
        let roles: Vec<Role> = history.iter().map(|message| message.role).collect();
        let mut at = 0;
        history.retain(|message| {
            at += 1;
            message.role == Role::User || roles.get(at) == Some(&Role::User)
        });
    }
    history.into_iter().chain(answer).map(mark).collect()
}

/// When a run that begins now must be done: within the agent's time limit, and before the task that it is part of.
pub(super) fn run_deadline(entry: &Entry, task: &Task, now: Timestamp) -> Timestamp {
    let own = now.plus(entry.manifest.limits.timeout.0);
    task.deadline.map_or(own, |inherited| inherited.min(own))
}
