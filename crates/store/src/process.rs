//! Processes: several programs that share one store and serve one site.
//!
//! Promises: a process has a number that grows with each join and is never used again; it is the fencing
//! number of everything the process writes. A process counts as living from its join until it leaves or
//! another process declares it dead, which is possible once its time has passed by the clock of the store.
//! From then on none of its changes is taken, whatever it still believes.
//!
//! Rules of a change that comes through a handle that has joined:
//! 1. It is refused with [`StoreError::Fenced`](crate::StoreError::Fenced) when the process is not living.
//! 2. A task that another living process holds is not changed: the whole change is refused with
//!    [`StoreError::Held`](crate::StoreError::Held). A repeated message is recognised before that, an old
//!    reading of the task after it.
//! 3. A task that is submitted or working after the change is held by the process, unless the change releases
//!    it; every other task is held by none.
//!
//! A handle that has not joined keeps rule 2, and what it writes is held by none. A store that belongs to one
//! process (a file) knows no processes: its `join` gives none, and it checks none of this.

use std::fmt;

use agentsite_protocol::Timestamp;
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// Longest name and version of a process: a host name, a number and some words.
const MAX_WORDS: usize = 256;

/// Longest report of a process: the names of some thousand agents with a short hash each.
pub(crate) const MAX_REPORT: usize = 256 << 10;

/// Longest name of a lease: a word of a capability and a name of an agent.
const MAX_LEASE: usize = 200;

/// The number of a process, its fencing number: a later join has a larger one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProcessId(u64);

impl ProcessId {
    /// The process with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.0)
    }
}

/// What a process says about itself when it joins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessInfo {
    /// What people call it, such as the host and the number of the process there.
    pub name: String,
    /// The version of the program.
    pub version: String,
}

impl ProcessInfo {
    /// Refuses words that are too long; that is a fault of the caller's code.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if self.name.len() > MAX_WORDS || self.version.len() > MAX_WORDS {
            return Err(StoreError::Engine(format!(
                "the name or version of a process is longer than {MAX_WORDS} bytes"
            )));
        }
        Ok(())
    }
}

/// A living process, as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessView {
    /// Its number.
    pub id: ProcessId,
    /// What it said about itself.
    pub info: ProcessInfo,
    /// What it last reported; empty until it does. The store does not read it.
    pub report: String,
    /// When it joined, by the clock of the store.
    pub joined_at: Timestamp,
    /// When it was last renewed, by the clock of the store.
    pub renewed_at: Timestamp,
    /// From when on it may be declared dead, by the clock of the store.
    pub until: Timestamp,
    /// The leases that it has, by name.
    pub leases: Vec<String>,
    /// How many tasks it holds.
    pub tasks: u64,
}

/// Refuses a report that is too long; that is a fault of the caller's code.
///
/// # Errors
/// [`StoreError::Engine`] with the limit.
pub fn check_report(report: Option<&str>) -> Result<(), StoreError> {
    match report {
        Some(report) if report.len() > MAX_REPORT => {
            Err(StoreError::Engine(format!("the report of a process is longer than {MAX_REPORT} bytes")))
        }
        _ => Ok(()),
    }
}

/// Refuses the name of a lease that is empty or too long; that is a fault of the caller's code.
///
/// # Errors
/// [`StoreError::Engine`] with the limit.
pub fn check_lease(name: &str) -> Result<(), StoreError> {
    if name.is_empty() || name.len() > MAX_LEASE {
        return Err(StoreError::Engine(format!("the name of a lease has 1 to {MAX_LEASE} bytes")));
    }
    Ok(())
}
