//! The section `[hub]` of the configuration: what an operator can set about the registry.
//!
//! Promises: plain data with a schema; unknown keys are errors; every value has a default that is fit for one
//! person's machine. The words above each key are what users read. It reads no file and no variable: the
//! binary does.

use agentsite_protocol::Period;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How agents from elsewhere are registered and kept fresh.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "HubSection")]
pub struct HubSettings {
    /// Most entries that one key may register; the people who run the site have no limit.
    pub quota: usize,
    /// How long an entry stands without answering. It is looked at three times within that.
    pub lease: Period,
    /// Longest that one look at an entry may take.
    pub timeout: Period,
}

impl Default for HubSettings {
    fn default() -> Self {
        // A hundred agents are a large team's; a day outlasts a night's outage.
        Self { quota: 100, lease: Period::seconds(86_400), timeout: Period::seconds(10) }
    }
}
