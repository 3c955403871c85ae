//! The section `[cluster]` of the configuration.
//!
//! Promises: plain data with a schema; unknown keys are errors; every key has a default. It reads no file and
//! has no meaning for a site whose store belongs to one process.

use agentsite_protocol::Period;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How this process takes part in serving the site, when several processes share one PostgreSQL database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ClusterSection {
    /// Name of this process in status and logs. Without it, the name of the machine.
    pub name: Option<String>,
    /// How long a process counts as living without a sign of life; its tasks are then taken up by the others.
    pub lease: Period,
    /// Connections to the database that read; in addition a process has one that writes, one that listens and
    /// one that renews its membership.
    pub connections: usize,
}

impl Default for ClusterSection {
    fn default() -> Self {
        // Five renewals within the lease: a busy machine does not cost a process its membership, and its
        // tasks continue elsewhere within three seconds when it dies.
        Self { name: None, lease: Period::seconds(2), connections: 4 }
    }
}
