//! Usage: what a task has consumed.
//!
//! Promises: sums never overflow. It does not decide about budgets; the runner that spends does.

use serde::{Deserialize, Serialize};

/// Tokens, turns and calls that were used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Tokens the model read.
    pub input_tokens: u64,
    /// Tokens the model wrote.
    pub output_tokens: u64,
    /// Requests sent to the model.
    pub turns: u64,
    /// Calls of tools and other agents.
    pub calls: u64,
}

impl Usage {
    /// All tokens, read and written.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Adds what was used further.
    pub const fn add(&mut self, more: Self) {
        self.input_tokens = self.input_tokens.saturating_add(more.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(more.output_tokens);
        self.turns = self.turns.saturating_add(more.turns);
        self.calls = self.calls.saturating_add(more.calls);
    }

    /// Whether nothing was used.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
