//! What an agent writes besides its answers: stderr of a command, output of a supervised server, notes of its
//! runner.
//!
//! Promises: bounded in lines and in line length; reading never blocks writing for long. It is kept in memory
//! only.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::{Clock, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lines kept per agent; a screenful is 50, a stack trace 100.
const LINES: usize = 500;

/// Longest line kept; longer ones are cut, because a log is for people.
const LINE_LENGTH: usize = 2_000;

/// The source of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum LogSource {
    /// The agent's standard output.
    Out,
    /// The agent's standard error.
    Err,
    /// The site's own note about the agent.
    Site,
}

/// One line of an agent's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct LogLine {
    /// When it was written.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub at: Timestamp,
    /// Its source.
    pub source: LogSource,
    /// The line.
    pub text: String,
}

/// The log of one agent, shared between its runner and its readers.
#[derive(Debug, Clone)]
pub struct AgentLog {
    clock: Arc<dyn Clock>,
    // A std lock: held for a push or a copy of 500 lines, never across an await.
    lines: Arc<Mutex<VecDeque<LogLine>>>,
}

impl AgentLog {
    /// An empty log.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, lines: Arc::default() }
    }

    /// The time by the clock that dates its lines.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Adds a line, dropping the oldest when the log is full.
    pub fn push(&self, source: LogSource, text: &str) {
        let text = text.trim_end().chars().take(LINE_LENGTH).collect();
        let line = LogLine { at: self.clock.now(), source, text };
        let mut lines = self.lock();
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// The last `most` lines, oldest first.
    #[must_use]
    pub fn tail(&self, most: usize) -> Vec<LogLine> {
        let lines = self.lock();
        lines.iter().skip(lines.len().saturating_sub(most)).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<LogLine>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
