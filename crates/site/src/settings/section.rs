//! The section `[site]` of the configuration.
//!
//! Promises: plain data with a schema; unknown keys are errors; every key has a default. It reads no file and
//! does not check the values: the binary does, so that an error names the place in the file.

use agentsite_protocol::{AgentName, Period};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the site introduces itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SiteSection {
    /// Name on the site's card.
    pub name: String,
    /// What the site is for, in a sentence.
    pub description: String,
    /// Agent that answers for the site itself, at `/a2a` and on its card, in place of the concierge, which
    /// finds the right agent.
    #[schemars(with = "Option<String>")]
    pub default_agent: Option<AgentName>,
    /// Whether cards carry the fields that readers of A2A 0.3 look for, in addition to those of 1.0.
    pub hybrid_cards: bool,
    /// Search addresses of other registries (ARD, like `https://finder.example/search`). A search asks the
    /// first eight of them too, unless it says otherwise, so they learn what is looked for; callers are
    /// referred to all of them.
    pub upstreams: Vec<String>,
    /// How long a stop waits for work that is under way.
    pub drain: Period,
}

impl Default for SiteSection {
    fn default() -> Self {
        Self {
            name: "agentsite".into(),
            description: "A site of agents".into(),
            default_agent: None,
            hybrid_cards: true,
            upstreams: Vec::new(),
            drain: Period::seconds(10),
        }
    }
}
