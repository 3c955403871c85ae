//! World: a mesh of sites that know some of each other, and the questions that scenarios ask of it.
//!
//! Promises: the seed of its setting determines everything that happens in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use agentsite_mesh::catalogue::{Identity, Input};
use agentsite_mesh::story::{STORY_WORK, Site, profile};
use agentsite_mesh::{Catalogue, Limits, RecordKey, SiteId};

use super::{CatalogueNode, Command, Hostile, MeshNode, Tally};
use crate::network::{LinkConditions, Network};
use crate::node::NodeId;
use crate::simulation::Simulation;

/// What a world is made of.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// What the run is determined by.
    pub seed: u64,
    /// How many honest nodes there are.
    pub nodes: usize,
    /// How many hostile nodes there are; their numbers follow.
    pub hostile: usize,
    /// With how many others each node is connected, about.
    pub degree: usize,
    /// How links treat messages.
    pub link: LinkConditions,
    /// What each node keeps.
    pub limits: Limits,
    /// The work of honest identities, in bits.
    pub work: u32,
    /// Whether messages travel as bytes.
    pub as_bytes: bool,
    /// Whether all invariants are checked after every step, and not only the limits.
    pub audits: bool,
}

impl Setting {
    /// A world of honest nodes on the usual links.
    #[must_use]
    pub fn of(seed: u64, nodes: usize) -> Self {
        Self {
            seed,
            nodes,
            hostile: 0,
            degree: 8,
            link: LinkConditions::default(),
            limits: Limits { work_bits: STORY_WORK, ..Limits::default() },
            work: STORY_WORK,
            as_bytes: false,
            audits: false,
        }
    }
}

/// A mesh of sites.
#[derive(Debug)]
pub struct World {
    /// The simulation itself.
    pub simulation: Simulation<MeshNode>,
    sites: Vec<Site>,
}

impl World {
    /// Makes the nodes and connects the honest ones: a ring, and random edges. Runs until they have met.
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        let mut world = Self::unconnected(setting);
        let count = setting.nodes;
        for place in 0..count {
            world.simulation.connect(NodeId(place), NodeId((place + 1) % count));
        }
        for place in 0..count * setting.degree.saturating_sub(2) / 2 {
            let other = world.simulation.dice().below(count);
            world.simulation.connect(NodeId(place % count), NodeId(other));
        }
        world.simulation.run_for(Duration::from_secs(5));
        world
    }

    /// Makes the nodes, without connections.
    #[must_use]
    pub fn unconnected(setting: Setting) -> Self {
        let count = setting.nodes + setting.hostile;
        let sites: Vec<Site> =
            (0..count).map(|number| Site::with_work(number as u64, setting.work)).collect();
        let directory: Arc<Vec<SiteId>> = Arc::new(sites.iter().map(|site| site.id).collect());
        let numbers: Arc<BTreeMap<SiteId, NodeId>> =
            Arc::new(directory.iter().enumerate().map(|(place, site)| (*site, NodeId(place))).collect());
        let mut simulation = Simulation::new(setting.seed, Network::of(setting.link));
        for (place, site) in sites.iter().enumerate() {
            simulation.add(if place < setting.nodes {
                MeshNode::Honest(Box::new(honest(site, setting, &directory, &numbers)))
            } else {
                MeshNode::Hostile(Hostile::default())
            });
        }
        Self { simulation, sites }
    }

    /// A site of this world.
    #[must_use]
    pub fn site(&self, node: NodeId) -> &Site {
        &self.sites[node.0]
    }

    /// An honest node that runs; none when it is hostile or stopped.
    #[must_use]
    pub fn honest(&self, id: NodeId) -> Option<&CatalogueNode> {
        self.honest_nodes().find(|(node, _)| *node == id).map(|(_, node)| node)
    }

    /// All honest nodes that run.
    pub fn honest_nodes(&self) -> impl Iterator<Item = (NodeId, &CatalogueNode)> {
        self.simulation.running().filter_map(|(id, node)| match node {
            MeshNode::Honest(node) => Some((id, &**node)),
            MeshNode::Hostile(_) => None,
        })
    }

    /// Lets something happen to the catalogue of a node.
    pub fn apply(&mut self, node: NodeId, input: Input) {
        self.simulation.command(node, Command::Apply(input));
    }

    /// Lets a node publish an agent.
    ///
    /// # Panics
    /// When the name is none of an agent.
    pub fn publish(&mut self, node: NodeId, name: &str, description: &str) {
        let profile = profile(name, description);
        self.apply(node, Input::Publish { name: name.parse().expect("an agent's name"), profile });
    }

    /// Lets a node take an agent back.
    ///
    /// # Panics
    /// When the name is none of an agent.
    pub fn unpublish(&mut self, node: NodeId, name: &str) {
        self.apply(node, Input::Unpublish { name: name.parse().expect("an agent's name") });
    }

    /// The share of the other honest nodes that find an agent.
    ///
    /// # Panics
    /// When the name is none of an agent.
    #[must_use]
    pub fn share_that_finds(&self, owner: NodeId, name: &str) -> f64 {
        let key = RecordKey::agent(self.sites[owner.0].id, name.parse().expect("an agent's name"));
        let others = self.honest_nodes().filter(|(id, _)| *id != owner);
        let (found, all) = others.fold((0_u32, 0_u32), |(found, all), (_, node)| {
            (found + u32::from(node.catalogue().lists(&key)), all + 1)
        });
        f64::from(found) / f64::from(all.max(1))
    }

    /// How long it takes until so large a share of nodes finds an agent; none when it takes over a minute.
    pub fn time_to_find(&mut self, owner: NodeId, name: &str, share: f64) -> Option<Duration> {
        self.look(|world| world.share_that_finds(owner, name) >= share)
    }

    /// How long it takes until so large a share of nodes does not find an agent; none when over a minute.
    pub fn time_to_lose(&mut self, owner: NodeId, name: &str, share: f64) -> Option<Duration> {
        self.look(|world| world.share_that_finds(owner, name) <= 1.0 - share)
    }

    fn look(&mut self, is_true: impl Fn(&Self) -> bool) -> Option<Duration> {
        let begun = self.simulation.now();
        for _ in 0..3_000 {
            if is_true(self) {
                return Some(self.simulation.now() - begun);
            }
            self.simulation.run_for(Duration::from_millis(20));
        }
        None
    }

    /// How many different copies of the catalogue there are.
    #[must_use]
    pub fn copies(&self) -> usize {
        self.honest_nodes().map(|(_, node)| node.catalogue().fingerprint()).collect::<BTreeSet<_>>().len()
    }

    /// How long it takes until all copies are equal; none when it takes longer than `most`.
    pub fn time_to_agree(&mut self, most: Duration) -> Option<Duration> {
        let begun = self.simulation.now();
        while self.copies() > 1 {
            if self.simulation.now() - begun > most {
                return None;
            }
            self.simulation.run_for(Duration::from_millis(100));
        }
        Some(self.simulation.now() - begun)
    }

    /// What all honest nodes did and saw.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.honest_nodes().map(|(_, node)| node.tally()).fold(Tally::default(), |sum, one| Tally {
            sessions: sum.sessions + one.sessions,
            offences: sum.offences + one.offences,
            bans: sum.bans + one.bans,
            proofs: sum.proofs + one.proofs,
        })
    }

    /// Checks all invariants of all nodes.
    ///
    /// # Panics
    /// When one is broken; names the seed.
    pub fn audit(&self) {
        for (id, node) in self.honest_nodes() {
            if let Err(broken) = node.catalogue().audit() {
                panic!("{:?}, node {}: {broken}", self.simulation, id.0);
            }
        }
    }

    /// Sets the clock of a node, which must not have started to talk.
    ///
    /// # Panics
    /// When the node is not an honest one that runs.
    pub fn set_clock(&mut self, id: NodeId, ahead: i64) {
        let Some(MeshNode::Honest(mut node)) = self.simulation.stop(id) else { panic!("an honest node") };
        node.clock_ahead = ahead * 1_000;
        self.simulation.restart(id, MeshNode::Honest(node));
    }

    /// Takes from a node everything that it knows, its disk included; its connections stay.
    ///
    /// # Panics
    /// When the node is not an honest one that runs.
    pub fn forget(&mut self, id: NodeId) {
        let Some(MeshNode::Honest(mut node)) = self.simulation.stop(id) else { panic!("an honest node") };
        node.disk.clear();
        let now = self.simulation.now();
        self.restart(id, MeshNode::Honest(node), now);
    }

    /// Lets a stopped node start again with what was on its disk.
    ///
    /// # Panics
    /// When the node is not an honest one.
    pub fn restart(&mut self, id: NodeId, node: MeshNode, stopped_at: Duration) {
        let MeshNode::Honest(node) = node else { panic!("an honest node") };
        let node = node.restarted(self.simulation.now(), stopped_at, self.simulation.dice());
        self.simulation.restart(id, MeshNode::Honest(Box::new(node)));
    }
}

fn honest(
    site: &Site,
    setting: Setting,
    directory: &Arc<Vec<SiteId>>,
    numbers: &Arc<BTreeMap<SiteId, NodeId>>,
) -> CatalogueNode {
    let identity = Identity::new(site.key.clone(), site.work.nonce).expect("the key is Ed25519");
    CatalogueNode {
        catalogue: Catalogue::new(identity, setting.limits),
        site: site.clone(),
        limits: setting.limits,
        directory: directory.clone(),
        numbers: numbers.clone(),
        neighbours: BTreeSet::new(),
        outgoing: Vec::new(),
        push_at: None,
        wake: None,
        clock_ahead: 0,
        disk: BTreeMap::new(),
        as_bytes: setting.as_bytes,
        audits: setting.audits,
        tally: Tally::default(),
    }
}
