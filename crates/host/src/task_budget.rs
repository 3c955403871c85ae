//! TaskBudget: what one message may spend, over everything that it causes.
//!
//! Promises: it travels with a run to every agent and every model that the run asks, so that tokens spent by
//! a called agent, or by a tool that asks the site's model, count against each agent on the way up as its own
//! would. A turn is reserved in all of them before it is sent, so that concurrent calls cannot exceed a limit
//! together. It lives in memory: a run that is tried again after a restart begins with what its own task has
//! used.
//!
//! It knows nothing of days (see `llm/daily_usage`), and of no limit but `tokens_per_task`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::AgentName;

/// What one message may spend, over everything that it causes; nothing limits it by default. Clones share the
/// count.
#[derive(Debug, Clone, Default)]
pub struct TaskBudget(Option<Arc<Node>>);

/// The limit of one agent on the way.
#[derive(Debug)]
struct Node {
    agent: AgentName,
    /// Most tokens; zero means no limit.
    tokens: u64,
    // A std lock: held for a few additions, never across an await.
    count: Mutex<Count>,
    above: TaskBudget,
}

#[derive(Debug, Default)]
struct Count {
    spent: u64,
    reserved: u64,
}

/// The limit of an agent that one message has reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "tokens_per_task = {value} of `{agent}` does not suffice for everything that its message causes ({used} used, the next step needs more than {next}); raise [budget] tokens_per_task in agents/{agent}/agent.toml"
)]
pub(crate) struct Exhausted {
    /// Whose limit.
    pub(crate) agent: AgentName,
    /// What it allows.
    pub(crate) value: u64,
    /// What was used of it.
    pub(crate) used: u64,
    /// What the next step would have read.
    pub(crate) next: u64,
}

/// Tokens that are set aside for one turn; given back when this is dropped.
#[derive(Debug)]
pub(crate) struct BudgetShare {
    budget: TaskBudget,
    tokens: u64,
    /// Most tokens that the turn may write.
    pub(crate) max_tokens: u32,
}

impl Drop for BudgetShare {
    fn drop(&mut self) {
        for node in self.budget.nodes() {
            let mut count = node.count();
            count.reserved = count.reserved.saturating_sub(self.tokens);
        }
    }
}

impl Node {
    fn count(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskBudget {
    /// The budget of a run of `agent` within this one: at most `tokens`, of which `used` are gone already.
    #[must_use]
    pub fn below(&self, agent: &AgentName, tokens: u64, used: u64) -> Self {
        let count = Mutex::new(Count { spent: used, reserved: 0 });
        Self(Some(Arc::new(Node { agent: agent.clone(), tokens, count, above: self.clone() })))
    }

    /// Reserves tokens for a turn that reads about `reads` and wants to write `wanted`.
    ///
    /// # Errors
    /// [`Exhausted`] names the nearest agent whose limit is reached.
    pub(crate) fn reserve(&self, reads: u64, wanted: u32) -> Result<BudgetShare, Exhausted> {
        let mut max_tokens = wanted;
        for node in self.nodes().filter(|node| node.tokens > 0) {
            let count = node.count();
            let used = count.spent.saturating_add(count.reserved);
            let left = node.tokens.saturating_sub(used).saturating_sub(reads);
            if left == 0 {
                return Err(Exhausted { agent: node.agent.clone(), value: node.tokens, used, next: reads });
            }
            max_tokens = max_tokens.min(u32::try_from(left).unwrap_or(u32::MAX));
        }
        let tokens = reads.saturating_add(max_tokens.into());
        for node in self.nodes() {
            let mut count = node.count();
            count.reserved = count.reserved.saturating_add(tokens);
        }
        Ok(BudgetShare { budget: self.clone(), tokens, max_tokens })
    }

    /// Books what a turn has used.
    pub(crate) fn book(&self, tokens: u64) {
        for node in self.nodes() {
            let mut count = node.count();
            count.spent = count.spent.saturating_add(tokens);
        }
    }

    /// From the agent that runs up to the one that got the first message.
    fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        std::iter::successors(self.0.as_ref(), |node| node.above.0.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> AgentName {
        name.parse().unwrap()
    }

    #[test]
    fn what_a_called_agent_spends_counts_for_everybody_above_it() {
        let planner = TaskBudget::default().below(&name("planner"), 1_000, 100);
        let writer = planner.below(&name("writer"), 5_000, 0);
        assert_eq!(writer.reserve(200, 2_000).unwrap().max_tokens, 700);
        writer.book(850);
        let over = writer.reserve(100, 10).unwrap_err();
        assert_eq!((over.agent, over.value, over.used), (name("planner"), 1_000, 950));
        assert!(planner.reserve(100, 10).is_err());
    }

    #[test]
    fn turns_side_by_side_cannot_pass_the_limit_together() {
        let planner = TaskBudget::default().below(&name("planner"), 1_000, 0);
        let (one, two) = (planner.below(&name("a"), 0, 0), planner.below(&name("b"), 0, 0));
        let first = one.reserve(100, 800).unwrap();
        assert_eq!(two.reserve(50, 800).unwrap().max_tokens, 50);
        drop(first);
        assert_eq!(two.reserve(50, 800).unwrap().max_tokens, 800);
    }

    #[test]
    fn without_a_limit_everything_is_allowed() {
        assert_eq!(TaskBudget::default().reserve(u64::MAX, 7).unwrap().max_tokens, 7);
        let open = TaskBudget::default().below(&name("a"), 0, u64::MAX);
        assert_eq!(open.reserve(9, 7).unwrap().max_tokens, 7);
    }
}
