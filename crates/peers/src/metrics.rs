//! Figures about the mesh for `/metrics`.
//!
//! Promises: counting costs a few atomic operations; names and units follow Prometheus' conventions.

use agentsite_mesh::catalogue::Offence;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Direction {
    direction: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct What {
    what: &'static str,
}

/// Figures about the mesh. Clones count into the same figures.
#[derive(Debug, Clone, Default)]
pub(crate) struct MeshMetrics {
    peers: Gauge,
    records: Gauge,
    published: Gauge,
    listed: Gauge,
    messages: Family<Direction, Counter>,
    links: Family<Direction, Counter>,
    offences: Family<What, Counter>,
    sessions: Counter,
    commits: Counter,
}

impl MeshMetrics {
    /// Adds all figures to a registry.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let gauges: [(&str, &str, &Gauge); 4] = [
            ("agentsite_mesh_peers", "Sites that are connected", &self.peers),
            ("agentsite_mesh_records", "Records that are held, of this site and of others", &self.records),
            ("agentsite_mesh_published", "Agents of this site that others learn of", &self.published),
            ("agentsite_mesh_listed", "Agents of other sites that are listed", &self.listed),
        ];
        for (name, help, gauge) in gauges {
            registry.register(name, help, gauge.clone());
        }
        registry.register("agentsite_mesh_messages", "Messages with other sites", self.messages.clone());
        registry.register("agentsite_mesh_links", "Streams with calls between sites", self.links.clone());
        let help = "What sites did that honest ones do not: unreadable, forged, work, flood, refused";
        registry.register("agentsite_mesh_offences", help, self.offences.clone());
        registry.register(
            "agentsite_mesh_sessions",
            "Comparisons of records that were completed",
            self.sessions.clone(),
        );
        registry.register(
            "agentsite_mesh_commits",
            "Commits of records of other sites",
            self.commits.clone(),
        );
    }

    pub(crate) fn connected(&self, peers: usize) {
        self.peers.set(i64::try_from(peers).unwrap_or(i64::MAX));
    }

    pub(crate) fn holds(&self, records: usize, published: usize, listed: usize) {
        self.records.set(i64::try_from(records).unwrap_or(i64::MAX));
        self.published.set(i64::try_from(published).unwrap_or(i64::MAX));
        self.listed.set(i64::try_from(listed).unwrap_or(i64::MAX));
    }

    /// How many records are held, agents published, and foreign agents listed.
    pub(crate) fn held(&self) -> (i64, i64, i64) {
        (self.records.get(), self.published.get(), self.listed.get())
    }

    pub(crate) fn received(&self) {
        self.messages.get_or_create(&Direction { direction: "in" }).inc();
    }

    pub(crate) fn sent(&self) {
        self.messages.get_or_create(&Direction { direction: "out" }).inc();
    }

    pub(crate) fn link_opened(&self) {
        self.links.get_or_create(&Direction { direction: "out" }).inc();
    }

    pub(crate) fn link_accepted(&self) {
        self.links.get_or_create(&Direction { direction: "in" }).inc();
    }

    /// A stream that was not taken in time.
    pub(crate) fn link_refused(&self) {
        self.offences.get_or_create(&What { what: "refused" }).inc();
    }

    pub(crate) fn offended(&self, offence: Offence) {
        let what = match offence {
            Offence::Unreadable => "unreadable",
            Offence::Forged => "forged",
            Offence::TooLittleWork => "work",
            Offence::Flood => "flood",
            Offence::Leaked => "leaked",
            Offence::WrongVector => "vectors",
        };
        self.offences.get_or_create(&What { what }).inc();
    }

    pub(crate) fn synced(&self) {
        self.sessions.inc();
    }

    pub(crate) fn committed(&self) {
        self.commits.inc();
    }
}
