//! Agents that run in another process than this one, and the tasks that must follow them there.
//!
//! Promises: a task that waits or works here for a program that is not here is given to the process where the
//! program is, once that process says so. What has not begun there is not lost, and a run that was begun
//! counts as one more attempt. It does not decide where an agent runs.

use crate::agent::TaskAgent;
use crate::supervisor::TaskSupervisor;

impl TaskSupervisor {
    /// Whether another process runs an agent that this one cannot run: its program or its server is there, or
    /// its concurrency is too small for each process to have a share.
    pub(crate) fn runs_elsewhere(&self, agent: &TaskAgent) -> bool {
        self.is_away(agent) || self.live.shared && !agent.lane.has_share()
    }

    /// Whether the program or the server of an agent is with another process.
    pub(crate) fn is_away(&self, agent: &TaskAgent) -> bool {
        self.live.shared && !agent.runner.is_here() && self.processes.is_elsewhere(&agent.manifest.name)
    }

    /// Gives the tasks of agents that moved to the processes where these are now.
    pub(crate) fn hand_over_moved(&self) {
        let mut elsewhere = self.processes.elsewhere();
        elsewhere.retain(|name| self.agents.find(name).is_some_and(|agent| !agent.runner.is_here()));
        if !elsewhere.is_empty() {
            self.live.hand_over(|agent| elsewhere.contains(agent));
        }
    }
}
