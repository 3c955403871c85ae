//! The verbs of a site about where tasks lead: the tasks that one started, and one that asks the same again.
//!
//! Promises: a foreign task answers like none. A graph is bounded in depth and number and says when it was
//! cut. Asking again makes a new task and leaves the old one as it is; in a conversation it is a branch. It
//! decides nothing about how agents call each other.

use agentsite_protocol::{Caller, Task, TaskHead, TaskId};
use agentsite_store::TaskFilter;

use super::Site;
use crate::tasks::TaskRequest;
use crate::{Placing, SiteError, Submission, Utterance};

/// How deep a graph goes: as deep as agents may call each other.
const MAX_DEPTH: usize = 16;

/// Most tasks of a graph; more nobody reads.
const MAX_TASKS: usize = 500;

/// A task and those that were started in its course.
#[derive(Debug, Clone)]
pub struct TaskGraph {
    /// The task itself first, then those that it started, and so on; each names its parent.
    pub tasks: Vec<TaskHead>,
    /// Whether there are more than told.
    pub cut: bool,
}

impl Site {
    /// A task and what it started, the nearest first.
    ///
    /// # Errors
    /// [`SiteError::NoSuchTask`], also when it is somebody else's.
    pub async fn task_graph(&self, caller: &Caller, id: TaskId) -> Result<TaskGraph, SiteError> {
        let root = self.task(caller, id).await?.head;
        let owner = Some(root.owner.clone());
        let mut graph = TaskGraph { tasks: vec![root], cut: false };
        let mut level = 0..1;
        for depth in 0.. {
            let parents: Vec<TaskId> = graph.tasks[level.clone()].iter().map(|head| head.id).collect();
            for parent in parents {
                let room = MAX_TASKS - graph.tasks.len();
                let filter =
                    TaskFilter { owner: owner.clone(), parent: Some(parent), ..TaskFilter::default() };
                let mut page = self.0.store.tasks(filter, None, room.max(1)).await?;
                graph.cut |= page.next.is_some() || (room == 0 && !page.items.is_empty());
                if depth >= MAX_DEPTH || room == 0 {
                    graph.cut |= !page.items.is_empty();
                    continue;
                }
                page.items.sort_by_key(|head| head.id);
                graph.tasks.append(&mut page.items);
            }
            level = level.end..graph.tasks.len();
            if level.is_empty() {
                break;
            }
        }
        Ok(graph)
    }

    /// Asks the agent of an ended task the same again: a new task, in a conversation a turn beside the old
    /// one.
    ///
    /// # Errors
    /// [`SiteError::NoSuchTask`], also when it is somebody else's; [`SiteError::TaskBusy`] while it has not
    /// ended; whatever the agent refuses.
    pub async fn retry_task(&self, caller: &Caller, id: TaskId) -> Result<Task, SiteError> {
        let task = self.task(caller, id).await?;
        if task.head.owner != *caller.owner() {
            let why = "only the one who asked may ask again; send the message yourself";
            return Err(SiteError::Forbidden(why.into()));
        }
        if !task.head.state.is_terminal() {
            return Err(SiteError::TaskBusy(task.head.state));
        }
        self.0.hub.visible(caller, &task.head.agent)?.check_holds(&task)?;
        if let Some(conversation) = task.conversation {
            let again = Utterance { placing: Placing::Instead(id), ..Utterance::default() };
            let turn = self.0.conversations.say(caller, conversation, again).await?;
            return self.task(caller, turn.id).await;
        }
        let first = task.history.into_iter().next();
        let mut message = first.ok_or_else(|| SiteError::NoSuchTask(id.to_string()))?;
        (message.message_id, message.task_id) = (self.ids().message(), None);
        let (entry, request) = self.0.intake.accept(caller, &task.head.agent, Submission::from(message))?;
        let request = TaskRequest { ttl: request.ttl.or(task.ttl), ..request };
        let mut watch = Box::pin(self.0.tasks.send(caller, entry.agent.clone(), request)).await?;
        Ok(watch.snapshot())
    }
}
