//! Notice: what a tool server tells beside its answers: how far a call is, a line of its log, that something
//! changed.
//!
//! Promises: a notice is worth telling but never worth waiting for; whoever passes it on may drop it. It does
//! not say whom it is for.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something told on the way to a result.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// How far it is.
    Progress {
        /// Grows with every notice.
        progress: f64,
        /// What it will be at the end, where known.
        total: Option<f64>,
        /// In words.
        message: Option<String>,
    },
    /// A line of a log.
    Log {
        /// How much it matters.
        level: LogLevel,
        /// Which part says it.
        logger: Option<String>,
        /// What it says.
        data: Value,
    },
    /// The rest takes long: a client that can come back for the result need not hold its connection.
    Detach,
}

/// How much a line of a log matters, as in syslog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words of RFC 5424 say it")]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// Something that changed at a tool server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Its tools.
    Tools,
    /// Its resources or templates.
    Resources,
    /// Its prompts.
    Prompts,
    /// What stands in this resource.
    Resource(String),
}
