//! Where a task led: the tasks that were started in its course.
//!
//! Promises: a task of another owner answers like none. A graph is bounded in depth and number and says when
//! it was cut. It decides nothing about how agents call each other.

use agentsite_protocol::{Caller, TaskHead, TaskId};
use agentsite_store::TaskFilter;

use crate::error::TaskError;
use crate::handle::Tasks;

/// How deep a graph goes: as deep as agents may call each other.
const MAX_DEPTH: usize = 16;

/// Most tasks of a graph; a larger one cannot be read by people.
const MAX_TASKS: usize = 500;

/// A task and those that were started in its course.
#[derive(Debug, Clone)]
pub struct TaskGraph {
    /// The task itself first, then those that it started, and so on; each names its parent.
    pub tasks: Vec<TaskHead>,
    /// Whether there are more than told.
    pub cut: bool,
}

impl Tasks {
    /// A task and what it started, the nearest first.
    ///
    /// # Errors
    /// [`TaskError::NoSuchTask`], also when it belongs to another owner.
    pub async fn graph(&self, caller: &Caller, id: TaskId) -> Result<TaskGraph, TaskError> {
        let root = self.get(caller, id).await?.head;
        let owner = Some(root.owner.clone());
        let mut graph = TaskGraph { tasks: vec![root], cut: false };
        let mut level = 0..1;
        for depth in 0.. {
            let parents: Vec<TaskId> = graph.tasks[level.clone()].iter().map(|head| head.id).collect();
            for parent in parents {
                let space = MAX_TASKS - graph.tasks.len();
                let filter =
                    TaskFilter { owner: owner.clone(), parent: Some(parent), ..TaskFilter::default() };
                let mut page = self.0.store.tasks(filter, None, space.max(1)).await?;
                graph.cut |= page.next.is_some() || (space == 0 && !page.items.is_empty());
                if depth >= MAX_DEPTH || space == 0 {
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
}
