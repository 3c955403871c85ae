//! How the agents of a site are used: calls, failures, time and tokens of each of the last
//! days.
//!
//! Promises: callers learn of their own tasks, admins of everybody's; tokens belong to
//! the agent and are told to the latter only. The work is bounded: beyond a number of tasks the report says
//! that it was cut. Days are those of UTC. It writes nothing and needs no table of its own.

use std::collections::BTreeMap;

use agentsite_protocol::{AgentName, Caller, TaskHead, TaskState, Timestamp, Usage};
use agentsite_store::TaskFilter;
use serde::Serialize;

use super::MAX_PAGE;
use super::agents::Agents;
use crate::SiteError;

/// Most days of a report; as many as a month has, and more than tasks are kept for by most sites.
const MAX_DAYS: u32 = 31;

/// Most tasks that a report looks at: a second of reading at worst.
const MAX_LOOKED: usize = 20_000;

const DAY: i64 = 86_400_000;

/// How an agent was used.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageReport {
    /// Every day up to today, also those on which nothing happened.
    pub days: Vec<UsageDay>,
    /// All of them together.
    pub total: UsageFigures,
    /// Whether there were more tasks than were looked at.
    pub cut: bool,
}

/// One day.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageDay {
    /// As `2026-11-16`, in UTC.
    pub day: String,
    /// What happened.
    #[serde(flatten)]
    pub figures: UsageFigures,
}

/// What happened in a time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageFigures {
    /// Tasks that were opened.
    pub calls: u64,
    /// How many of them failed or were declined.
    pub failures: u64,
    /// Time from opening to end that half of the ended ones took at most, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<u64>,
    /// The same for 99 of 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<u64>,
    /// Tokens that models read for it; only admins see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens that models wrote for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
}

impl Agents {
    /// How an agent was used on the last `days` days, today among them.
    ///
    /// # Errors
    /// [`SiteError::NoSuchAgent`], also when it is not for this caller; [`SiteError::Store`].
    pub async fn usage(
        &self,
        caller: &Caller,
        name: &AgentName,
        days: u32,
    ) -> Result<UsageReport, SiteError> {
        self.local.visible(caller, name)?;
        let today = self.ids.clock().now().day();
        let first = today - i64::from(days.clamp(1, MAX_DAYS)) + 1;
        let (heads, cut) = self.tasks_since(caller, name, Timestamp::from_millis(first * DAY)).await?;
        let mut tokens = BTreeMap::new();
        if caller.is_admin() {
            for day in first..=today {
                tokens.insert(day, self.store.usage(name, day).await?);
            }
        }
        Ok(report(&heads, first..=today, &tokens, cut))
    }

    /// The tasks of an agent that changed since a moment, and whether there are more.
    async fn tasks_since(
        &self,
        caller: &Caller,
        name: &AgentName,
        since: Timestamp,
    ) -> Result<(Vec<TaskHead>, bool), SiteError> {
        let filter =
            TaskFilter { agent: Some(name.clone()), updated_since: Some(since), ..TaskFilter::default() };
        let (mut heads, mut after) = (Vec::new(), None);
        loop {
            let page = self.tasks.list(caller, filter.clone(), after, MAX_PAGE).await?;
            heads.extend(page.items);
            match page.next {
                Some(_) if heads.len() >= MAX_LOOKED => return Ok((heads, true)),
                Some(next) => after = Some(next),
                None => return Ok((heads, false)),
            }
        }
    }
}

/// Sums tasks up by the day on which they were opened.
fn report(
    heads: &[TaskHead],
    days: std::ops::RangeInclusive<i64>,
    tokens: &BTreeMap<i64, Usage>,
    cut: bool,
) -> UsageReport {
    let mut by_day: BTreeMap<i64, Vec<&TaskHead>> = BTreeMap::new();
    for head in heads.iter().filter(|head| days.contains(&head.created_at.day())) {
        by_day.entry(head.created_at.day()).or_default().push(head);
    }
    let all: Vec<&TaskHead> = by_day.values().flatten().copied().collect();
    let told = days.map(|day| UsageDay {
        day: Timestamp::from_millis(day * DAY).to_string().chars().take(10).collect(),
        figures: figures(by_day.get(&day).map_or(&[], Vec::as_slice), tokens.get(&day).copied()),
    });
    let used = tokens.values().copied().reduce(|mut sum, more| {
        sum.add(more);
        sum
    });
    UsageReport { days: told.collect(), total: figures(&all, used), cut }
}

fn figures(heads: &[&TaskHead], used: Option<Usage>) -> UsageFigures {
    let bad = |head: &&&TaskHead| matches!(head.state, TaskState::Failed | TaskState::Rejected);
    let ended = heads.iter().filter(|head| head.state.is_terminal());
    let mut times: Vec<u64> = ended
        .map(|head| {
            head.updated_at.as_millis().saturating_sub(head.created_at.as_millis()).max(0).unsigned_abs()
        })
        .collect();
    times.sort_unstable();
    UsageFigures {
        calls: heads.len() as u64,
        failures: heads.iter().filter(bad).count() as u64,
        p50_ms: rank(&times, 50),
        p99_ms: rank(&times, 99),
        input_tokens: used.map(|used| used.input_tokens),
        output_tokens: used.map(|used| used.output_tokens),
    }
}

/// The value at this percentile by nearest rank; none of nothing.
fn rank(sorted: &[u64], percent: usize) -> Option<u64> {
    let at = (sorted.len() * percent).div_ceil(100).checked_sub(1)?;
    sorted.get(at).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!((rank(&hundred, 50), rank(&hundred, 99)), (Some(50), Some(99)));
        assert_eq!((rank(&[7], 50), rank(&[7], 99), rank(&[], 50)), (Some(7), Some(7), None));
    }
}
