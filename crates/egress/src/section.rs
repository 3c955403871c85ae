//! The section `[egress]` of the configuration.
//!
//! Promises: plain data with a schema; unknown keys are errors. It reads no file and does not check the
//! targets: the binary does, so that an error names the place in the file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the site may reach.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EgressSection {
    /// What the site may reach besides the public internet: hosts (`gpu.lan:8000`), addresses or ranges
    /// (`10.0.0.0/8`).
    pub allow: Vec<String>,
}
