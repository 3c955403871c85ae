//! From a task to the Job that a runner gets.
//!
//! Promises: a runner sees the caller's last words, what was said before in the task, and as much of the
//! earlier conversation as it asked for; never another owner's, and nothing that was said to an earlier
//! holder of the agent's name. The earlier conversation is what the message refers to, when it refers to
//! tasks, and else the tasks of its context. It does not judge what is worth remembering; what other
//! capabilities add to a job comes from their hooks.

use agentsite_host::{Ephemeral, Job, RuntimeKind};
use agentsite_protocol::{Message, MessageId, Part, Role, Task, TaskId, Timestamp, Usage};
use agentsite_store::TaskFilter;
use tokio_util::sync::CancellationToken;

use crate::agent::TaskAgent;
use crate::error::TaskError;
use crate::replay::{opened, replay};
use crate::supervisor::TaskSupervisor;

/// Earlier tasks of a conversation that are looked at for its memory; with two messages or more in each this
/// is more than any model is shown.
const MEMORY_TASKS: usize = 50;

/// Earlier tasks that a message may refer to for the agent's memory; more than any model is shown.
pub const REMEMBERED: usize = 64;

impl TaskSupervisor {
    /// What the runner of `entry` gets to work on `task`.
    pub(crate) async fn job(
        &self,
        agent: &TaskAgent,
        task: &Task,
        depth: u32,
        cancel: CancellationToken,
    ) -> Result<Job, TaskError> {
        let mut history = task.history.clone();
        let last = history.iter().rposition(|message| message.role == Role::User).unwrap_or(0);
        let message = history.remove(last);
        let mut job = Job {
            task: task.head.id,
            context: task.head.context.clone(),
            agent: task.head.agent.clone(),
            owner: task.head.owner.clone(),
            message,
            history,
            conversation: Vec::new(),
            memo: task.memo.clone(),
            attempt: task.attempt,
            retries: task.retries,
            deadline: Some(run_deadline(agent, task, self.ids.clock().now())),
            depth,
            ephemeral: Ephemeral::default(),
            used: task.usage,
            used_today: Usage::default(),
            cancel,
            ids: self.ids.clone(),
            calls: self.calls(),
        };
        if agent.manifest.runtime.kind() == RuntimeKind::Llm || agent.runner.memory() > 0 {
            job.conversation = self.conversation(agent, task).await?;
            self.hooks.prepare(&mut job).await?;
        }
        Ok(job)
    }

    /// What was said in earlier tasks of the conversation, oldest first, at most as many messages as the
    /// agent remembers.
    async fn conversation(&self, agent: &TaskAgent, task: &Task) -> Result<Vec<Message>, TaskError> {
        let most = agent.runner.memory();
        if most == 0 {
            return Ok(Vec::new());
        }
        let referred = task.history.first().map(|first| first.references(REMEMBERED)).unwrap_or_default();
        if !referred.is_empty() {
            if self.names_other_holder(agent, &referred).await? {
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
            let Some(earlier) = replay(&self.store, head.id).await? else { continue };
            if !agent.holds(&earlier) {
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

    /// Whether one of these tasks was opened with an earlier holder of the agent's name. The caller then
    /// talked with another agent, and nothing of that conversation is for the one who has the name now.
    async fn names_other_holder(&self, agent: &TaskAgent, tasks: &[TaskId]) -> Result<bool, TaskError> {
        for id in tasks {
            let opened = opened(&self.store, *id).await?;
            let same_name = |task: &Task| task.head.agent == agent.manifest.name;
            if opened.is_some_and(|task| same_name(&task) && !agent.holds(&task)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What was said in the tasks that the message refers to, in that order, at most the last `most`
    /// messages. A task of another owner counts as none. Words of other agents name who said them; the
    /// agent's own are its own.
    async fn referred(&self, task: &Task, to: &[TaskId], most: usize) -> Result<Vec<Message>, TaskError> {
        let message = task.history.first().map(|first| &first.message_id);
        let mut newest_first = Vec::new();
        for id in to.iter().rev().filter(|id| **id != task.head.id) {
            if newest_first.len() >= most {
                break;
            }
            let earlier = self.current(*id).await?;
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
        // Of what another agent said on the way only what it asked back matters: what the caller then
        // answered.
        let roles: Vec<Role> = history.iter().map(|message| message.role).collect();
        let mut at = 0;
        history.retain(|message| {
            at += 1;
            message.role == Role::User || roles.get(at) == Some(&Role::User)
        });
    }
    history.into_iter().chain(answer).map(mark).collect()
}

/// When a run that begins now must be done: within the agent's time limit, and before the task that it is
/// part of.
pub(crate) fn run_deadline(agent: &TaskAgent, task: &Task, now: Timestamp) -> Timestamp {
    let own = now.plus(agent.manifest.limits.timeout.0);
    task.deadline.map_or(own, |inherited| inherited.min(own))
}
