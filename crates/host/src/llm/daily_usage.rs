//! The DailyUsage: what all runs of one agent have spent today, tasks at work included.
//!
//! Promises: a turn is reserved before it is sent, so that many tasks at once cannot pass a daily limit
//! together; what was reserved and not used is given back, even when a run is dropped. A new day (UTC) begins
//! at zero. It decides nothing itself (see `budget`) and keeps nothing on disk: the site does, and hands it
//! in with each job.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::{Timestamp, Usage};

use super::budget::{BudgetExceeded, Spend, allowance, check};
use crate::Budget;

/// What one agent has spent today.
#[derive(Debug, Clone)]
pub(super) struct DailyUsage {
    budget: Budget,
    // A std lock: held for a few additions, never across an await.
    today: Arc<Mutex<Today>>,
}

#[derive(Debug, Default)]
struct Today {
    day: i64,
    spent: Usage,
    reserved: u64,
}

impl Today {
    /// What was spent and what is set aside.
    fn all(&self) -> Usage {
        let mut all = self.spent;
        all.add(Usage { output_tokens: self.reserved, ..Usage::default() });
        all
    }
}

/// Tokens set aside for a turn; they are given back when this is dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    daily_usage: DailyUsage,
    day: i64,
    tokens: u64,
    /// Most tokens that the turn may write.
    pub(super) max_tokens: u32,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut today = self.daily_usage.lock();
        if today.day == self.day {
            today.reserved = today.reserved.saturating_sub(self.tokens);
        }
    }
}

impl DailyUsage {
    /// A daily_usage with nothing in it.
    pub(super) fn new(budget: Budget) -> Self {
        Self { budget, today: Arc::default() }
    }

    /// Most tokens of one task; zero means no limit.
    pub(super) const fn tokens_per_task(&self) -> u64 {
        self.budget.tokens_per_task
    }

    /// Takes over what the site knows to be spent today.
    pub(super) fn learn(&self, now: Timestamp, known: Usage) {
        let mut today = self.on(now);
        let spent = &mut today.spent;
        spent.input_tokens = spent.input_tokens.max(known.input_tokens);
        spent.output_tokens = spent.output_tokens.max(known.output_tokens);
        spent.turns = spent.turns.max(known.turns);
        spent.calls = spent.calls.max(known.calls);
    }

    /// Reserves tokens for a turn that reads about `reads` and wants to write `wanted`.
    pub(super) fn reserve(
        &self,
        now: Timestamp,
        task: &Usage,
        reads: u64,
        wanted: u32,
    ) -> Result<Reservation, BudgetExceeded> {
        let mut today = self.on(now);
        let all = today.all();
        check(&self.budget, task, &all, Spend::Turn { reads })?;
        let max_tokens = allowance(&self.budget, task, &all, reads, wanted);
        let tokens = reads.saturating_add(max_tokens.into());
        today.reserved = today.reserved.saturating_add(tokens);
        Ok(Reservation { daily_usage: self.clone(), day: today.day, tokens, max_tokens })
    }

    /// How many of `wanted` tokens remain in addition to `fixed` ones that are needed anyway.
    pub(super) fn tokens_left(&self, now: Timestamp, task: &Usage, fixed: u64, wanted: u32) -> u32 {
        let all = self.on(now).all();
        allowance(&self.budget, task, &all, fixed, wanted)
    }

    /// Books one call, if the budget allows it.
    pub(super) fn call(&self, now: Timestamp, task: &Usage) -> Result<(), BudgetExceeded> {
        let mut today = self.on(now);
        check(&self.budget, task, &today.spent, Spend::Call)?;
        today.spent.add(Usage { calls: 1, ..Usage::default() });
        Ok(())
    }

    /// Books what a turn has used.
    pub(super) fn book(&self, now: Timestamp, used: Usage) {
        self.on(now).spent.add(used);
    }

    /// The book of the day, a new one when the day is new.
    fn on(&self, now: Timestamp) -> MutexGuard<'_, Today> {
        let mut today = self.lock();
        if today.day != now.day() {
            *today = Today { day: now.day(), ..Today::default() };
        }
        today
    }

    fn lock(&self) -> MutexGuard<'_, Today> {
        self.today.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(12 * 3_600_000);
    const TOMORROW: Timestamp = Timestamp::from_millis(36 * 3_600_000);

    fn daily_usage(tokens_per_day: u64) -> DailyUsage {
        DailyUsage::new(Budget { tokens_per_day, tokens_per_task: 0, calls_per_day: 2, ..Budget::default() })
    }

    fn tokens(input_tokens: u64) -> Usage {
        Usage { input_tokens, ..Usage::default() }
    }

    #[test]
    fn turns_at_work_count_before_they_are_done() {
        let daily_usage = daily_usage(1_000);
        let first = daily_usage.reserve(NOON, &Usage::default(), 400, 500).unwrap();
        let second = daily_usage.reserve(NOON, &Usage::default(), 50, 500).unwrap();
        assert_eq!((first.max_tokens, second.max_tokens), (500, 50));
        assert!(daily_usage.reserve(NOON, &Usage::default(), 0, 500).is_err());
        drop(first);
        assert_eq!(daily_usage.reserve(NOON, &Usage::default(), 400, 500).unwrap().max_tokens, 500);
    }

    #[test]
    fn what_the_site_knows_is_not_counted_twice() {
        let daily_usage = daily_usage(1_000);
        daily_usage.book(NOON, tokens(600));
        daily_usage.learn(NOON, tokens(600));
        assert_eq!(daily_usage.reserve(NOON, &Usage::default(), 0, 900).unwrap().max_tokens, 400);
        daily_usage.learn(NOON, tokens(1_000));
        assert_eq!(daily_usage.reserve(NOON, &Usage::default(), 0, 900).unwrap_err().used, 1_000);
    }

    #[test]
    fn a_new_day_begins_at_zero() {
        let daily_usage = daily_usage(1_000);
        daily_usage.book(NOON, tokens(1_000));
        let yesterday = daily_usage.reserve(TOMORROW, &Usage::default(), 0, 900).unwrap();
        assert_eq!(yesterday.max_tokens, 900);
        daily_usage.call(TOMORROW, &Usage::default()).unwrap();
        daily_usage.call(TOMORROW, &Usage::default()).unwrap();
        assert!(daily_usage.call(TOMORROW, &Usage::default()).is_err());
    }
}
