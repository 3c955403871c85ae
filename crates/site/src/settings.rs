//! What an operator can set about a site.
//!
//! Promises: every value has a default that is fit for one person's machine. The sections of the
//! configuration that a site uses are fields here as they are. Reading files and variables is the binary's
//! matter.

mod cluster;
mod section;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentsite_peers::{MeshSettings, NetworkSecret, Transport};
use agentsite_protocol::ByteSize;
use agentsite_registry::HubSettings;
use agentsite_search::{Embedders, FinderSettings, Hashed};

use crate::push::PushSection;
use crate::retention::RetentionSection;
use crate::tokens::TokenIssuer;

pub use cluster::ClusterSection;
pub use section::SiteSection;

/// Places of the vectors of a site that was given no model: enough that the words of a small site or folder
/// rarely fall together.
const PLACES: usize = 2_048;

/// What an operator can set about a site.
#[derive(Debug, Clone)]
pub struct SiteSettings {
    /// How the site introduces itself.
    pub site: SiteSection,
    /// How long finished work is kept.
    pub retention: RetentionSection,
    /// Most that callers without a key may store together, as the store limits it; 0 means no limit.
    pub anonymous_storage: ByteSize,
    /// Largest message that is taken.
    pub max_message: ByteSize,
    /// Most agents whose programs connect to the site, at once.
    pub max_connected: usize,
    /// Whether and how receivers are notified about tasks.
    pub push: PushSection,
    /// How agents from elsewhere are registered and kept fresh.
    pub hub: HubSettings,
    /// The authorization server whose tokens are accepted in addition to the site's own keys.
    pub issuer: Option<TokenIssuer>,
    /// Where the index of the agents lies and what makes its vectors.
    pub search: FinderSettings,
    /// How this process takes part in serving the site, where several of them do.
    pub process: ProcessSettings,
    /// Whether and how the site takes part in the mesh.
    pub mesh: MeshParts,
    /// Where libraries keep the indexes of their documents; in memory alone without it.
    pub libraries: Option<PathBuf>,
}

impl Default for SiteSettings {
    fn default() -> Self {
        Self {
            site: SiteSection {
                description: "A site of agents. Say what you need; it finds the agent that can do it.".into(),
                ..SiteSection::default()
            },
            retention: RetentionSection::default(),
            anonymous_storage: ByteSize(0),
            max_message: ByteSize(1 << 20),
            max_connected: 10_000,
            push: PushSection::default(),
            hub: HubSettings::default(),
            issuer: None,
            search: FinderSettings {
                folder: None,
                embedders: Embedders { fast: Arc::new(Hashed::new(PLACES)), full: None },
            },
            process: ProcessSettings::default(),
            mesh: MeshParts::default(),
            libraries: None,
        }
    }
}

/// What a site needs to take part in the mesh.
#[derive(Debug, Clone, Default)]
pub struct MeshParts {
    /// What the operator set.
    pub settings: MeshSettings,
    /// The secret of the private network that the operator named.
    pub network_key: Option<NetworkSecret>,
    /// Where others reach the site on the web.
    pub public_url: Option<String>,
    /// What connects it with other sites; without it the site is not in the mesh.
    pub transport: Option<Arc<dyn Transport>>,
}

/// How a process takes part in serving a site whose store several processes share.
#[derive(Debug, Clone)]
pub struct ProcessSettings {
    /// What people call it, such as the name of its host and its number there.
    pub name: String,
    /// How long it counts as living without a renewal; its tasks are taken up by others after that.
    pub lease: Duration,
    /// A hash of the settings that all processes should share, to notice when they do not.
    pub settings: String,
}

impl Default for ProcessSettings {
    fn default() -> Self {
        Self { name: "agentsite".into(), lease: ClusterSection::default().lease.0, settings: String::new() }
    }
}
