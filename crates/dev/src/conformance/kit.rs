//! The key `conformance` of the configuration.
//!
//! Promises: plain data with a schema. What it turns on, the binary decides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which compatibility kit a site is run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Kit {
    /// None: the site is for use.
    #[default]
    #[serde(rename = "none")]
    None,
    /// That of A2A 1.0, whose schema of cards refuses members of 0.3.
    #[serde(rename = "1.0")]
    Newer,
    /// That of A2A 0.3, which looks for them.
    #[serde(rename = "0.3")]
    Older,
}
