//! What an operator can set about a site.
//!
//! Promises: every value has a default that is fit for one person's machine. Reading files and variables is
//! the binary's matter.

use std::path::PathBuf;
use std::sync::Arc;

use agentsite_protocol::{AgentName, ByteSize, Period};
use agentsite_registry::HubSettings;
use agentsite_search::{Embedders, FinderSettings, Hashed};

use crate::TokenIssuer;

/// Places of the vectors of a site that was given no model: enough that the words of a small site or folder
/// rarely fall together.
const PLACES: usize = 2_048;

/// What an operator can set about a site.
#[derive(Debug, Clone)]
pub struct SiteSettings {
    /// Name on the site's card.
    pub name: String,
    /// Description on the site's card.
    pub description: String,
    /// The agent that answers for the site itself in place of the concierge.
    pub default_agent: Option<AgentName>,
    /// Whether cards carry beside the words of A2A 1.0 those that readers of 0.3 look for.
    pub hybrid_cards: bool,
    /// How long finished work is kept.
    pub retention: Retention,
    /// Largest message that is taken.
    pub max_message: ByteSize,
    /// Most agents whose programs connect to the site, at once.
    pub max_connected: usize,
    /// How long a stop waits for running work.
    pub drain: Period,
    /// Whether and how receivers are told about tasks.
    pub push: PushSettings,
    /// How agents from elsewhere are registered and kept fresh.
    pub hub: HubSettings,
    /// The authorization server whose tokens are taken, beside the site's own keys.
    pub issuer: Option<TokenIssuer>,
    /// Where the index of the agents lies and what makes its vectors.
    pub search: FinderSettings,
    /// Where libraries keep the indexes of their documents; in memory alone without it.
    pub libraries: Option<PathBuf>,
    /// Search addresses of other registries, which a search may ask too and to which callers are referred who
    /// look for more than is here.
    pub upstreams: Vec<String>,
}

impl Default for SiteSettings {
    fn default() -> Self {
        Self {
            name: "agentsite".into(),
            description: "A site of agents. Say what you need; it finds the agent that can do it.".into(),
            default_agent: None,
            hybrid_cards: true,
            retention: Retention::default(),
            max_message: ByteSize(1 << 20),
            max_connected: 10_000,
            drain: Period::seconds(10),
            push: PushSettings::default(),
            hub: HubSettings::default(),
            issuer: None,
            search: FinderSettings {
                folder: None,
                embedders: Embedders { fast: Arc::new(Hashed::new(PLACES)), full: None },
            },
            libraries: None,
            upstreams: Vec::new(),
        }
    }
}

/// Whether and how receivers are told about tasks.
#[derive(Debug, Clone)]
pub struct PushSettings {
    /// Whether anybody is told.
    pub enabled: bool,
    /// How long a delivery is tried before it is given up.
    pub deadline: Period,
    /// How long a receiver may take to answer.
    pub timeout: Period,
}

impl Default for PushSettings {
    fn default() -> Self {
        // A day outlasts a night's outage; the specification recommends 10 to 30 seconds for an answer.
        Self { enabled: true, deadline: Period::seconds(86_400), timeout: Period::seconds(10) }
    }
}

/// How long finished work is kept.
#[derive(Debug, Clone)]
pub struct Retention {
    /// Most finished tasks; the oldest go first.
    pub keep_tasks: usize,
    /// Longest age of a finished task.
    pub max_age: Period,
    /// Longest age of a line of the journal.
    pub journal_age: Period,
    /// Largest size of the journal; the oldest lines go first.
    pub journal_size: ByteSize,
    /// Longest age of a finished task of a caller without a key.
    pub anonymous_age: Period,
    /// Bytes of callers without a key above which their oldest finished tasks go early.
    pub anonymous_full: u64,
    /// How often is looked.
    pub every: Period,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            keep_tasks: 100_000,
            max_age: Period::seconds(30 * 86_400),
            journal_age: Period::seconds(90 * 86_400),
            // Ten million lines or so: years of a small site, weeks of a flood.
            journal_size: ByteSize(1 << 30),
            anonymous_age: Period::seconds(86_400),
            anonymous_full: u64::MAX,
            every: Period::seconds(60),
        }
    }
}
