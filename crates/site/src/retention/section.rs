//! The section `[retention]` of the configuration.
//!
//! Promises: plain data with a schema; unknown keys are errors; every key has a default. It reads no file.

use agentsite_protocol::{ByteSize, Period};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long finished work is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RetentionSection {
    /// Finished tasks that are kept at most; the oldest go first.
    pub tasks: usize,
    /// Age at which a finished task goes.
    pub age: Period,
    /// Age at which a line of the journal goes.
    pub journal_age: Period,
    /// Size of the journal above which its oldest lines go.
    pub journal_size: ByteSize,
    /// Age at which a finished task of a caller without a key goes. When such callers have used three
    /// quarters of storage.anonymous, their oldest finished tasks go from the age of ten minutes on.
    pub anonymous_age: Period,
}

impl Default for RetentionSection {
    fn default() -> Self {
        Self {
            tasks: 100_000,
            age: Period::seconds(30 * 86_400),
            journal_age: Period::seconds(90 * 86_400),
            // Ten million lines or so: years of a small site, weeks of a flood.
            journal_size: ByteSize(1 << 30),
            anonymous_age: Period::seconds(86_400),
        }
    }
}
