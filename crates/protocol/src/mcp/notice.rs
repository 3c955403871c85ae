//! Notice: what a tool server sends besides its answers: progress of a call, a log line, a change.
//!
//! Promises: a notice is best effort: senders never wait for it and every hop may drop it. It does not name
//! its receiver.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message on the way to a result.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// How far it is.
    Progress {
        /// Grows with every notice.
        progress: f64,
        /// What it will be at the end, where known.
        total: Option<f64>,
        /// As text.
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
#[expect(missing_docs, reason = "the names of RFC 5424 are self-explanatory")]
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
    /// The content of this resource changed.
    Resource(String),
}
