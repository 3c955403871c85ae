//! What a room may spend, and what it has spent.
//!
//! Promises: sums saturate; a limit that is not set does not limit. Prices are whole numbers of the smallest
//! unit of the room's asset. It does not meter: the runs of agents report what they used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An amount of each resource of a room; as a limit, an absent one means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RoomBudget {
    /// Tokens of models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Calls of agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Turns of agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Milliseconds from the opening of the room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    /// Money, in the smallest unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<u64>,
}

impl RoomBudget {
    /// Adds what was spent.
    pub fn add(&mut self, more: &Self) {
        let sum = |have: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *have = Some(have.unwrap_or(0).saturating_add(more));
            }
        };
        sum(&mut self.tokens, more.tokens);
        sum(&mut self.calls, more.calls);
        sum(&mut self.turns, more.turns);
        sum(&mut self.wall_ms, more.wall_ms);
        sum(&mut self.amount, more.amount);
    }

    /// Which resource of this limit is used up, by name.
    #[must_use]
    pub fn exceeded_by(&self, spent: &Self) -> Option<&'static str> {
        let reached =
            |limit: Option<u64>, spent: Option<u64>| limit.is_some_and(|most| spent.unwrap_or(0) >= most);
        [
            ("tokens", reached(self.tokens, spent.tokens)),
            ("calls", reached(self.calls, spent.calls)),
            ("turns", reached(self.turns, spent.turns)),
            ("amount", reached(self.amount, spent.amount)),
        ]
        .into_iter()
        .find_map(|(name, reached)| reached.then_some(name))
    }

    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
