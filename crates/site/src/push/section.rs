//! The section `[push]` of the configuration.
//!
//! Promises: plain data with a schema; unknown keys are errors; every key has a default. It reads no file and
//! does not check the times: the binary does, so that an error names the place in the file.

use agentsite_protocol::Period;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How receivers are notified about tasks (push notifications).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PushSection {
    /// Whether callers may name receivers. They must be on the open internet and speak HTTPS, or be named in
    /// egress.allow.
    pub enabled: bool,
    /// How long a delivery is tried before it is given up and kept as a dead letter (`agentsite outbox ls`).
    pub deadline: Period,
    /// Longest that a receiver may take to answer.
    pub timeout: Period,
}

impl Default for PushSection {
    fn default() -> Self {
        // A day outlasts a night's outage; the specification recommends 10 to 30 seconds for an answer.
        Self { enabled: true, deadline: Period::seconds(86_400), timeout: Period::seconds(10) }
    }
}
