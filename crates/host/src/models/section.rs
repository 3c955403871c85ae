//! A section `[models.NAME]` of the configuration.
//!
//! Promises: plain data with a schema; unknown keys are errors. The section names where a key is stored, and
//! the binary reads it from there.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ModelApi;

/// One model server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelSection {
    /// The wire form of the server.
    pub api: ModelApi,
    /// Where the server is, such as `http://127.0.0.1:11434/v1`. The maker's own address when left out.
    pub base_url: Option<String>,
    /// Name of the environment variable that holds the key.
    pub key_env: Option<String>,
    /// File that holds the key.
    pub key_file: Option<PathBuf>,
    /// Model for agents that name none.
    pub default_model: Option<String>,
}
