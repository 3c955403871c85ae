//! The section `[mesh]` of the configuration: whether and how a site takes part in the mesh.
//!
//! Promises: plain data with a schema; unknown keys are errors; a fresh site is not in the mesh. The words
//! above each key are what users read. It reads no file: the binary does.

use std::path::PathBuf;

use agentsite_mesh::Limits;
use agentsite_mesh::cells::{Budget, CellSettings};
use agentsite_protocol::AgentName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether and how the site takes part in the mesh, where sites find each other's agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "MeshSection")]
pub struct MeshSettings {
    /// Whether the site takes part in the mesh. Without it the site says nothing to others and does not
    /// listen to them.
    pub enabled: bool,
    /// Addresses at which other sites reach this one, such as `0.0.0.0:4101` (TCP) or
    /// `/ip4/0.0.0.0/udp/4101/quic-v1`. Port 0 takes a free one. An empty list: this site only connects to
    /// others. When the key is left out and 4101 is in use, one of the next ports is taken.
    pub listen: Vec<String>,
    /// Addresses under which others reach this site, when they differ from `listen`, such as
    /// `/dns4/agents.example.org/tcp/4101`.
    pub external: Vec<String>,
    /// Sites that are asked first, such as `agents.example.org:4101`.
    pub seeds: Vec<String>,
    /// Name of the network; sites of different networks do not connect. Left out: the one that was joined by
    /// an invite, else the public one.
    pub network: Option<String>,
    /// File with the secret of a private network, at least 16 characters; only sites that have it connect.
    pub network_key_file: Option<PathBuf>,
    /// Whether sites in the local network are found by multicast DNS, and find this one. Without effect on a
    /// site that listens on loopback only.
    pub mdns: bool,
    /// Whether addresses of private networks that other sites name are dialed. Seeds, peers that an admin
    /// adds, addresses in an invite, and what multicast DNS finds always are.
    pub allow_private_addresses: bool,
    /// Whether this site relays connections of sites that cannot be reached otherwise.
    pub relay: bool,
    /// Which agents others learn of: `public` (those with visibility = "public") or `none`.
    pub expose: Expose,
    /// Of these agents only; all public ones when the list is empty.
    #[schemars(with = "Vec<String>")]
    pub agents: Vec<AgentName>,
    /// What other sites learn of the caller when this site calls their agents: `site` (only that this site
    /// calls) or `pseudonym` (also a pseudonym of the caller, another one for each receiving site).
    pub caller_identity: CallerIdentity,
    /// Most records of other sites that are kept; one for each agent, and two for each site.
    pub records: usize,
    /// Most records of one other site.
    pub records_per_site: usize,
    /// Whether the mesh is parted into cells when it has more agents than one cell holds, so that each site
    /// keeps a part and asks others for the rest. All sites of a network must agree. Experimental.
    pub cells: bool,
    /// Megabytes of memory for cells: 256 hold three full cells of 50,000 vectors with their records.
    pub memory: u64,
    /// Kilobits per second that keeping cells may use on average.
    pub traffic: u64,
    /// Other limits of cells, for tests.
    #[serde(skip)]
    #[schemars(skip)]
    pub cell_limits: Option<CellSettings>,
}

impl Default for MeshSettings {
    fn default() -> Self {
        let (limits, cells) = (Limits::default(), CellSettings::default());
        Self {
            enabled: false,
            listen: vec!["/ip4/0.0.0.0/tcp/4101".into(), "/ip4/0.0.0.0/udp/4101/quic-v1".into()],
            external: Vec::new(),
            seeds: Vec::new(),
            network: None,
            network_key_file: None,
            mdns: true,
            allow_private_addresses: false,
            relay: false,
            expose: Expose::default(),
            agents: Vec::new(),
            caller_identity: CallerIdentity::default(),
            records: limits.records,
            records_per_site: limits.records_per_site,
            cells: false,
            memory: cells.budget.memory >> 20,
            traffic: cells.budget.kilobits,
            cell_limits: None,
        }
    }
}

impl MeshSettings {
    /// The limits of the catalogue.
    pub(crate) fn limits(&self) -> Limits {
        let default = Limits::default();
        // With cells, as many agents as the cells have vectors.
        let cells = self.cell_settings().map_or(0, |cells| cells.capacity().saturating_mul(cells.split_at));
        let kept = self.records.max(cells);
        let records = u32::try_from(kept).unwrap_or(u32::MAX);
        Limits {
            records: kept,
            records_per_site: self.records_per_site,
            // A new site asks a neighbour for everything at once, perhaps in two sessions, with a frame for
            // each 2,000 records.
            give_burst: default.give_burst.max(records.saturating_mul(3)),
            queries_per_minute: default.queries_per_minute.max(records / 1_000),
            ..default
        }
    }

    /// How cells are made and kept; none when the mesh is not parted.
    pub(crate) fn cell_settings(&self) -> Option<CellSettings> {
        // A vector in a record takes 1 kB besides what the cell keeps of it.
        let memory = (self.memory << 20) / 5 * 2;
        let budget = Budget { memory, kilobits: self.traffic };
        let set = self.cell_limits.unwrap_or(CellSettings { budget, ..CellSettings::default() });
        self.cells.then_some(set)
    }

    /// Whether others may learn of an agent; that it is public is checked elsewhere, too.
    #[must_use]
    pub fn exposes(&self, name: &AgentName) -> bool {
        self.expose == Expose::Public && (self.agents.is_empty() || self.agents.contains(name))
    }
}

/// Which agents others learn of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Expose {
    /// Those that are public.
    #[default]
    Public,
    /// None: the site finds agents of others and shows none.
    None,
}

/// What other sites learn of the caller when this site calls their agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CallerIdentity {
    /// That this site calls, and nothing about who asked it to.
    #[default]
    Site,
    /// Also a pseudonym of the caller, by which one receiving site tells callers apart and two cannot link
    /// them.
    Pseudonym,
}
