//! Whether an agent may spend more: the decision, and nothing else.
//!
//! Promises: pure; zero means no limit; what is allowed never passes a limit by more than the estimate of
//! what a turn reads was wrong. A refusal names the limit, its value, what was used and where to change it.
//!
//! It does not count (see `daily_usage`) and does not measure time: `limits.timeout` is the site's.

use agentsite_protocol::{AgentName, Usage};

use crate::Budget;

/// What is about to be spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spend {
    /// One request to the model that reads about so many tokens.
    Turn {
        /// About how many tokens the model will read.
        reads: u64,
    },
    /// One call of a tool or another agent.
    Call,
}

/// The exceeded limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Tokens of one task.
    TokensPerTask,
    /// Tokens of one day.
    TokensPerDay,
    /// Requests to the model in one task.
    TurnsPerTask,
    /// Calls in one task.
    CallsPerTask,
    /// Calls in one day.
    CallsPerDay,
}

impl Limit {
    /// The key that sets it, in the table `[budget]`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::TokensPerTask => "tokens_per_task",
            Self::TokensPerDay => "tokens_per_day",
            Self::TurnsPerTask => "turns_per_task",
            Self::CallsPerTask => "calls_per_task",
            Self::CallsPerDay => "calls_per_day",
        }
    }

    const fn is_daily(self) -> bool {
        matches!(self, Self::TokensPerDay | Self::CallsPerDay)
    }
}

/// A limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetExceeded {
    /// Which one.
    pub limit: Limit,
    /// What it allows.
    pub value: u64,
    /// What was used of it.
    pub used: u64,
    /// What the next step would have added at least.
    pub next: u64,
}

impl BudgetExceeded {
    /// The refusal as text for the caller and the owner of `agent`.
    #[must_use]
    pub fn sentence(&self, agent: &AgentName) -> String {
        let Self { limit, value, used, next } = *self;
        let key = limit.key();
        let today = if limit.is_daily() { " today" } else { "" };
        let state = if used >= value {
            format!("reached ({used} used{today})")
        } else {
            format!("does not suffice ({used} used{today}, the next step needs more than {next})")
        };
        let wait = if limit.is_daily() { "wait until midnight UTC, or " } else { "" };
        format!("{key} = {value} {state}; {wait}raise [budget] {key} in agents/{agent}/agent.toml")
    }
}

/// Whether the budget allows the next step.
///
/// # Errors
/// [`BudgetExceeded`] names the first exceeded limit.
pub fn check(budget: &Budget, task: &Usage, today: &Usage, about_to: Spend) -> Result<(), BudgetExceeded> {
    match about_to {
        Spend::Turn { reads } => {
            check_limit(Limit::TurnsPerTask, budget.turns_per_task, task.turns, 0)?;
            check_limit(Limit::TokensPerTask, budget.tokens_per_task, task.tokens(), reads)?;
            check_limit(Limit::TokensPerDay, budget.tokens_per_day, today.tokens(), reads)
        }
        Spend::Call => {
            check_limit(Limit::CallsPerTask, budget.calls_per_task, task.calls, 0)?;
            check_limit(Limit::CallsPerDay, budget.calls_per_day, today.calls, 0)
        }
    }
}

/// How many tokens a turn may write that reads about `reads`: at most `wanted`, and no more than the budget
/// has left.
#[must_use]
pub fn allowance(budget: &Budget, task: &Usage, today: &Usage, reads: u64, wanted: u32) -> u32 {
    let left = |value: u64, used: u64| if value == 0 { u64::MAX } else { value.saturating_sub(used) };
    let task_left = left(budget.tokens_per_task, task.tokens());
    let left = task_left.min(left(budget.tokens_per_day, today.tokens())).saturating_sub(reads);
    wanted.min(u32::try_from(left).unwrap_or(u32::MAX))
}

/// Whether something more than `next` still fits under the limit.
fn check_limit(limit: Limit, value: u64, used: u64, next: u64) -> Result<(), BudgetExceeded> {
    if value == 0 || used.saturating_add(next) < value {
        return Ok(());
    }
    Err(BudgetExceeded { limit, value, used, next })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn budget() -> impl Strategy<Value = Budget> {
        (0..2_000_u64, 0..5_000_u64, 0..9_u64, 0..9_u64, 0..20_u64).prop_map(
            |(tokens_per_task, tokens_per_day, turns_per_task, calls_per_task, calls_per_day)| Budget {
                tokens_per_task,
                tokens_per_day,
                turns_per_task,
                calls_per_task,
                calls_per_day,
            },
        )
    }

    /// What one run does: turns that read and write, and calls.
    fn steps() -> impl Strategy<Value = Vec<(bool, u64, u32)>> {
        proptest::collection::vec((any::<bool>(), 0..300_u64, 1..400_u32), 0..60)
    }

    fn within(value: u64, used: u64) -> bool {
        value == 0 || used <= value
    }

    proptest! {
        #[test]
        fn no_run_passes_a_limit(budget in budget(), steps in steps(), earlier in 0..1_000_u64) {
            let mut task = Usage::default();
            let mut today = Usage { input_tokens: earlier.min(budget.tokens_per_day), ..Usage::default() };
            for (is_turn, reads, wanted) in steps {
                let about_to = if is_turn { Spend::Turn { reads } } else { Spend::Call };
                if check(&budget, &task, &today, about_to).is_err() {
                    continue;
                }
                let spent = if is_turn {
                    let writes = allowance(&budget, &task, &today, reads, wanted);
                    prop_assert!(writes >= 1 && writes <= wanted);
                    Usage { input_tokens: reads, output_tokens: writes.into(), turns: 1, calls: 0 }
                } else {
                    Usage { calls: 1, ..Usage::default() }
                };
                task.add(spent);
                today.add(spent);
            }
            prop_assert!(within(budget.tokens_per_task, task.tokens()));
            prop_assert!(within(budget.tokens_per_day, today.tokens()));
            prop_assert!(within(budget.turns_per_task, task.turns));
            prop_assert!(within(budget.calls_per_task, task.calls));
            prop_assert!(within(budget.calls_per_day, today.calls));
        }

        #[test]
        fn zero_means_no_limit(tokens in any::<u64>(), turns in any::<u64>(), reads in any::<u64>()) {
            let open = Budget {
                tokens_per_task: 0, tokens_per_day: 0, turns_per_task: 0, calls_per_task: 0, calls_per_day: 0,
            };
            let used = Usage { input_tokens: tokens, output_tokens: tokens, turns, calls: turns };
            prop_assert_eq!(check(&open, &used, &used, Spend::Turn { reads }), Ok(()));
            prop_assert_eq!(check(&open, &used, &used, Spend::Call), Ok(()));
        }

        #[test]
        fn a_refusal_stays_one_when_more_was_used(budget in budget(), tokens in 0..3_000_u64, more in 0..100_u64) {
            let used = Usage { input_tokens: tokens, ..Usage::default() };
            let later = Usage { input_tokens: tokens + more, turns: 1, ..Usage::default() };
            let turn = Spend::Turn { reads: 10 };
            if check(&budget, &used, &used, turn).is_err() {
                prop_assert!(check(&budget, &later, &later, turn).is_err());
            }
        }
    }

    #[test]
    fn a_refusal_names_the_limit_its_value_and_the_place_to_change_it() {
        let budget = Budget { tokens_per_task: 1_000, ..Budget::default() };
        let used = Usage { input_tokens: 1_000, output_tokens: 12, turns: 2, calls: 0 };
        let refused = check(&budget, &used, &Usage::default(), Spend::Turn { reads: 5 }).unwrap_err();
        let agent = "poet".parse().unwrap();
        assert_eq!(
            refused.sentence(&agent),
            "tokens_per_task = 1000 reached (1012 used); raise [budget] tokens_per_task in agents/poet/agent.toml"
        );
    }

    #[test]
    fn a_daily_refusal_says_that_waiting_helps() {
        let budget = Budget { calls_per_day: 3, ..Budget::default() };
        let today = Usage { calls: 3, ..Usage::default() };
        let refused = check(&budget, &Usage::default(), &today, Spend::Call).unwrap_err();
        let sentence = refused.sentence(&"poet".parse().unwrap());
        assert!(
            sentence.starts_with("calls_per_day = 3 reached (3 used today); wait until midnight UTC"),
            "{sentence}"
        );
    }

    #[test]
    fn a_turn_that_would_read_more_than_is_left_is_refused_before_it_is_sent() {
        let budget = Budget { tokens_per_task: 1_000, ..Budget::default() };
        let used = Usage { input_tokens: 900, ..Usage::default() };
        let refused = check(&budget, &used, &used, Spend::Turn { reads: 200 }).unwrap_err();
        let sentence = refused.sentence(&"poet".parse().unwrap());
        assert!(
            sentence.contains("does not suffice (900 used, the next step needs more than 200)"),
            "{sentence}"
        );
    }
}
