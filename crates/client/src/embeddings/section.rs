//! The section `[search.embeddings]` of the configuration.
//!
//! Promises: plain data with a schema; unknown keys are errors. It reads no file and no variable: the binary
//! does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An endpoint of the OpenAI style (`/embeddings`) whose model takes the place of the built-in one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EmbeddingsSection {
    /// Where the endpoint is, such as `http://127.0.0.1:11434/v1`. The built-in model is used when left out.
    pub url: Option<String>,
    /// The requested model.
    pub model: Option<String>,
    /// Name of the environment variable that holds the key.
    pub key_env: Option<String>,
    /// How many values a vector has: wanted of the endpoint, and checked. Found out at the start when left
    /// out.
    pub dimensions: Option<usize>,
}
