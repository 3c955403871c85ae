//! CellWorld: sites with cells, made-up agents, and the questions that scenarios ask of them.
//!
//! Promises: the seed of its setting determines everything. What a search should have found is computed from
//! all agents, without cells.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use agentsite_mesh::cells::{
    CellEntry, CellInput, CellSettings, Cells, Codebook, Coverage, EntryKey, KnownSite, KnownSites, Subnet,
    halve,
};
use agentsite_mesh::{CellId, PROTOCOL_MODEL, SiteId, SplitProfile, VectorCodes};

use super::agents::{Agents, entry};
use super::{AGE, CellNode, Supports};
use crate::network::{LinkConditions, Network};
use crate::node::NodeId;
use crate::simulation::Simulation;

/// How many servers support a split in a world that begins with cells.
const SUPPORTERS: usize = 4;

/// The entries of each cell, with the bits of their vectors that are in it.
type Shelves = BTreeMap<CellId, Vec<(Arc<CellEntry>, u32)>>;

/// What a world is made of.
#[derive(Debug, Clone, Copy)]
pub struct CellSetting {
    /// What the run is determined by.
    pub seed: u64,
    /// How many sites there are.
    pub nodes: usize,
    /// One site in so many serves cells; the others only publish and search.
    pub server_every: usize,
    /// One server in so many leaves agents out; 0 for none.
    pub omits_every: usize,
    /// How cells are made and kept.
    pub cells: CellSettings,
    /// How links treat messages.
    pub link: LinkConditions,
}

/// How good the answers of some searches were, on average.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Quality {
    /// The share of the true ten best that was found.
    pub recall: f64,
    /// The nearness of what was found, as a share of that of the true best.
    pub score_ratio: f64,
    /// The share of answers that have the skill that was asked for.
    pub right_skill: f64,
    /// The same share of the true ten best: what an exact search reaches with these vectors.
    pub right_skill_exact: f64,
    /// Cells asked, of other sites.
    pub asked: f64,
    /// Cells of which no server answered, as a share of those asked.
    pub unanswered: f64,
    /// Median and 99th percentile of the time of a search, in virtual milliseconds.
    pub time: (f64, f64),
    /// Bytes that one search causes.
    pub bytes: f64,
    /// The share of answers that honest sites published.
    pub honest: f64,
}

/// Sites with cells.
#[derive(Debug)]
pub struct CellWorld {
    /// The simulation itself.
    pub simulation: Simulation<CellNode>,
    /// The agents that can be published.
    pub agents: Agents,
    setting: CellSetting,
    sites: Arc<Vec<SiteId>>,
    known: Arc<KnownSites>,
    /// Every agent that is published, in its latest version.
    published: BTreeMap<u64, Arc<CellEntry>>,
    next_search: u64,
}

/// The site with this number.
fn site(number: usize) -> SiteId {
    let mut bytes = [0x51; 32];
    bytes[..8].copy_from_slice(&(number as u64).to_be_bytes());
    SiteId::from_bytes(bytes)
}

/// What is known of the sites: each has a network of its own, and 1,000 more share four.
fn known_sites(setting: &CellSetting, sybils: usize) -> KnownSites {
    let honest = (0..setting.nodes).map(|number| {
        let [.., a, b, c] = (number as u64).to_be_bytes();
        let subnet = Some(Subnet::of(IpAddr::from([10 + a, b, c, 1])));
        KnownSite { site: site(number), subnet, serves: number.is_multiple_of(setting.server_every) }
    });
    let sybils = (0..sybils).map(|number| {
        let subnet = Some(Subnet::of(IpAddr::from([192, 0, u8::try_from(number % 4).unwrap_or(0), 1])));
        KnownSite { site: site(setting.nodes + number), subnet, serves: false }
    });
    KnownSites::new(honest.chain(sybils))
}

impl CellWorld {
    /// Sites that know each other and have published nothing. `sybils` more identities are known that share
    /// four networks.
    #[must_use]
    pub fn new(setting: CellSetting, agents: Agents, sybils: usize) -> Self {
        let sites: Arc<Vec<SiteId>> = Arc::new((0..setting.nodes).map(site).collect());
        let numbers: Arc<BTreeMap<SiteId, NodeId>> =
            Arc::new(sites.iter().enumerate().map(|(place, site)| (*site, NodeId(place))).collect());
        let known = Arc::new(known_sites(&setting, sybils));
        let mut simulation = Simulation::new(setting.seed, Network::of(setting.link));
        simulation.reaches_all = true;
        for (place, own) in sites.iter().enumerate() {
            let serves = place.is_multiple_of(setting.server_every);
            let mut cells = setting.cells;
            cells.budget.memory *= u64::from(serves);
            let server = place / setting.server_every;
            simulation.add(CellNode {
                cells: Cells::new(*own, cells),
                directory: sites.clone(),
                numbers: numbers.clone(),
                supports: Supports::new(),
                exchange_at: None,
                wake: None,
                omits: serves && setting.omits_every > 0 && server.is_multiple_of(setting.omits_every),
                found: BTreeMap::new(),
                omissions: Vec::new(),
                search_bytes: 0,
            });
        }
        let mut world =
            Self { simulation, agents, setting, sites, known, published: BTreeMap::new(), next_search: 0 };
        for place in 0..setting.nodes {
            let known = world.known.clone();
            world.simulation.command(NodeId(place), CellInput::Known(known));
        }
        world.simulation.run_for(Duration::from_secs(1));
        world
    }

    /// Lets the owners of these agents publish them, spread over this time.
    pub fn publish(&mut self, numbers: std::ops::Range<u64>, over: Duration) {
        let count = u32::try_from(numbers.end - numbers.start).unwrap_or(1).max(1);
        for number in numbers {
            let owner = self.owner(number);
            // A site that is away publishes nothing.
            if !self.simulation.is_running(owner) {
                continue;
            }
            let seq = self.published.get(&number).map_or(1, |entry| entry.seq + 1);
            let entry = self.agents.entry(self.sites[owner.0], number, seq, AGE + self.simulation.now());
            self.published.insert(number, entry.clone());
            self.simulation.command(owner, CellInput::Own(entry));
            self.simulation.run_for(over / count);
        }
    }

    /// Lets the owner of an agent remove it.
    pub fn unpublish(&mut self, number: u64) {
        let Some(old) = self.published.remove(&number) else { return };
        let name = format!("agent-{number}");
        let tombstone = entry(old.key.site, &name, old.seq + 1, AGE + self.simulation.now(), Vec::new());
        self.simulation.command(self.owner(number), CellInput::Own(Arc::new(tombstone)));
    }

    /// The site of an agent.
    #[must_use]
    pub fn owner(&self, number: u64) -> NodeId {
        NodeId(usize::try_from(number).unwrap_or(0) % self.setting.nodes)
    }

    /// The network of sites as they know each other.
    #[must_use]
    pub const fn known(&self) -> &Arc<KnownSites> {
        &self.known
    }

    /// How many different codebooks there are.
    #[must_use]
    pub fn codebooks(&self) -> usize {
        let digest = |node: &CellNode| {
            let splits = node.cells().codebook().splits().iter();
            splits.map(|(cell, split)| (*cell, split.digest(*cell))).collect::<Vec<_>>()
        };
        self.simulation.running().map(|(_, node)| digest(node)).collect::<BTreeSet<_>>().len()
    }

    /// The codebook of the first node that runs.
    ///
    /// # Panics
    /// When no node runs.
    #[must_use]
    pub fn codebook(&self) -> &Codebook {
        self.simulation.running().next().expect("a node runs").1.cells().codebook()
    }

    /// Fewest and most copies of a cell, and the most vectors in one.
    #[must_use]
    pub fn copies(&self) -> (usize, usize, usize) {
        let mut copies: BTreeMap<CellId, usize> =
            self.codebook().leaves().iter().map(|leaf| (leaf.cell, 0)).collect();
        let mut most = 0;
        for (_, node) in self.simulation.running() {
            for (cell, _, vectors) in node.cells().kept() {
                *copies.entry(cell).or_default() += 1;
                most = most.max(vectors);
            }
        }
        let least = copies.values().min().copied().unwrap_or(0);
        (least, copies.values().max().copied().unwrap_or(0), most)
    }

    /// Cells whose copies on their nearest servers are not all equal.
    #[must_use]
    pub fn differing_cells(&self) -> usize {
        let mut digests: BTreeMap<CellId, BTreeSet<[u8; 16]>> = BTreeMap::new();
        for (_, node) in self.simulation.running() {
            for (cell, ..) in node.cells().kept() {
                digests.entry(cell).or_default().extend(node.cells().fingerprint(cell));
            }
        }
        digests.values().filter(|copies| copies.len() > 1).count()
    }

    /// Versions that are missing on a server that keeps their cell: lost updates.
    #[must_use]
    pub fn lost_updates(&self) -> usize {
        self.missing(0..u64::MAX)
    }

    /// The same for these agents only.
    #[must_use]
    pub fn missing(&self, numbers: std::ops::Range<u64>) -> usize {
        let codebook = self.codebook();
        let mut keepers: BTreeMap<CellId, Vec<&Cells>> = BTreeMap::new();
        for (_, node) in self.simulation.running() {
            node.cells().kept().for_each(|(cell, ..)| keepers.entry(cell).or_default().push(node.cells()));
        }
        let holds = |entry: &CellEntry, cell: CellId| {
            let newest =
                |cells: &&&Cells| cells.get(cell, entry.hash).is_none_or(|held| held.seq < entry.seq);
            keepers.get(&cell).map_or(1, |keepers| keepers.iter().filter(newest).count())
        };
        let lost = |entry: &Arc<CellEntry>| {
            codebook.place(&entry.vectors).into_iter().map(|(cell, _)| holds(entry, cell)).sum::<usize>()
        };
        self.published.range(numbers).map(|(_, entry)| lost(entry)).sum()
    }

    /// Lets nodes search, one after the other, and compares the answers with the truth.
    ///
    /// # Panics
    /// When a search does not end within half a minute: names the seed.
    pub fn ask(&mut self, questions: std::ops::Range<usize>, effort: usize) -> Quality {
        let (mut sum, mut times) = (Quality::default(), Vec::new());
        let count = questions.len().max(1) as f64;
        for question in questions {
            let vector = self.agents.question(question);
            let truth = self.truth(&vector);
            let (hits, coverage, time, bytes) = self.search(&vector, effort);
            let found: BTreeSet<EntryKey> = hits.iter().map(|(entry, _)| entry.hash).collect();
            let nearness = |list: &[(Arc<CellEntry>, f64)]| list.iter().map(|(_, near)| near).sum::<f64>();
            let skill = question % self.agents.questions();
            let is_right = |entry: &CellEntry| {
                let number = entry
                    .key
                    .to_string()
                    .split('@')
                    .next()
                    .and_then(|name| name.strip_prefix("agent-")?.parse().ok());
                number.is_some_and(|number| self.agents.skills(number).contains(&skill))
            };
            let share = |count: usize| count as f64 / hits.len().max(1) as f64;
            sum.recall += truth.iter().filter(|(entry, _)| found.contains(&entry.hash)).count() as f64
                / truth.len().max(1) as f64;
            sum.score_ratio += nearness(&hits) / nearness(&truth).max(f64::MIN_POSITIVE);
            sum.right_skill += share(hits.iter().filter(|(entry, _)| is_right(entry)).count());
            let right = truth.iter().filter(|(entry, _)| is_right(entry)).count();
            sum.right_skill_exact += right as f64 / truth.len().max(1) as f64;
            sum.honest +=
                share(hits.iter().filter(|(entry, _)| self.sites.contains(&entry.key.site)).count());
            sum.asked += coverage.asked as f64;
            sum.unanswered += (coverage.asked - coverage.answered) as f64 / coverage.asked.max(1) as f64;
            sum.bytes += bytes;
            times.push(time.as_secs_f64() * 1_000.0);
        }
        times.sort_by(f64::total_cmp);
        let time =
            |share: f64| times.get(((times.len() - 1) as f64 * share) as usize).copied().unwrap_or(0.0);
        Quality {
            recall: sum.recall / count,
            score_ratio: sum.score_ratio / count,
            right_skill: sum.right_skill / count,
            right_skill_exact: sum.right_skill_exact / count,
            asked: sum.asked / count,
            unanswered: sum.unanswered / count,
            time: (time(0.5), time(0.99)),
            bytes: sum.bytes / count,
            honest: sum.honest / count,
        }
    }

    /// One search of a random node that runs.
    fn search(
        &mut self,
        vector: &VectorCodes,
        effort: usize,
    ) -> (Vec<(Arc<CellEntry>, f64)>, Coverage, Duration, f64) {
        let running: Vec<NodeId> = self.simulation.running().map(|(id, _)| id).collect();
        let from = self.simulation.dice().pick(&running, 1)[0];
        let number = self.next_search;
        self.next_search += 1;
        let (begun, before) = (self.simulation.now(), self.search_bytes());
        let input = CellInput::Search { search: number, vector: vector.clone(), limit: 10, effort };
        self.simulation.command(from, input);
        let (interval, most) = (Duration::from_millis(20), Duration::from_secs(30));
        let ended = self
            .simulation
            .run_to(interval, most, |simulation| simulation.node(from).found(number).is_some());
        assert!(ended.is_some(), "{:?}: search {number} of node {} did not end", self.simulation, from.0);
        let bytes = (self.search_bytes() - before) as f64;
        let (hits, coverage, at) = self.simulation.node(from).found(number).cloned().expect("it has ended");
        let hits = hits.into_iter().map(|hit| (hit.entry, hit.nearness)).collect();
        (hits, coverage, at - begun, bytes)
    }

    fn search_bytes(&self) -> u64 {
        self.simulation.running().map(|(_, node)| node.search_bytes()).sum()
    }

    /// The true best ten agents.
    fn truth(&self, vector: &VectorCodes) -> Vec<(Arc<CellEntry>, f64)> {
        let mut best: Vec<(Arc<CellEntry>, f64)> = Vec::new();
        for entry in self.published.values() {
            let near = entry.nearness(vector);
            if best.len() < 10 || best.last().is_some_and(|last| near > last.1) {
                let place = best.partition_point(|other| other.1 >= near);
                best.insert(place, (entry.clone(), near));
                best.truncate(10);
            }
        }
        best
    }

    /// Begins with so many agents that are published, split into cells as they would be, without the time
    /// that it takes to spread them.
    pub fn populate(&mut self, count: u64) {
        for number in 0..count {
            let owner = self.owner(number);
            self.published.insert(number, self.agents.entry(self.sites[owner.0], number, 1, Duration::ZERO));
        }
        let (codebook, shelves) = self.grow();
        let supports: Vec<(SiteId, CellId, Arc<SplitProfile>)> = codebook
            .splits()
            .iter()
            .flat_map(|(cell, split)| {
                let near = self.known.nearest(*cell, SUPPORTERS);
                near.into_iter().map(|server| (server.site, *cell, split.clone()))
            })
            .collect();
        let mut own: Vec<Vec<Arc<CellEntry>>> = vec![Vec::new(); self.setting.nodes];
        for (number, entry) in &self.published {
            own[self.owner(*number).0].push(entry.clone());
        }
        for (place, own) in own.into_iter().enumerate() {
            let (known, supports) = (self.known.clone(), supports.clone());
            self.simulation.command(NodeId(place), CellInput::Restored { known, supports, own });
            self.simulation.run_for(Duration::ZERO);
        }
        let kept: Vec<(NodeId, CellId)> = self
            .simulation
            .running()
            .flat_map(|(id, node)| node.cells().kept().map(move |(cell, ..)| (id, cell)).collect::<Vec<_>>())
            .collect();
        for (id, cell) in kept {
            let entries = shelves.get(&cell).cloned().unwrap_or_default();
            self.simulation.command(id, CellInput::Copied { cell, entries });
            self.simulation.run_for(Duration::ZERO);
        }
    }

    /// Splits cells until none is too full.
    fn grow(&self) -> (Codebook, Shelves) {
        let mut codebook = Codebook::default();
        loop {
            let mut shelves = Shelves::new();
            for entry in self.published.values() {
                for (cell, parts) in codebook.place(&entry.vectors) {
                    shelves.entry(cell).or_default().push((entry.clone(), parts));
                }
            }
            let mut splits = codebook.splits().clone();
            for (cell, entries) in &mut shelves {
                entries.sort_by_key(|(entry, _)| entry.hash);
                let vectors: Vec<&VectorCodes> = entries
                    .iter()
                    .flat_map(|(entry, parts)| {
                        let own = entry.vectors.iter().enumerate();
                        own.filter(move |(part, _)| parts >> part & 1 == 1).map(|(_, vector)| vector)
                    })
                    .collect();
                if vectors.len() > self.setting.cells.split_at
                    && let Some(centres) = halve(&vectors)
                    && let Ok(split) = SplitProfile::new(PROTOCOL_MODEL, centres)
                {
                    splits.insert(*cell, Arc::new(split));
                }
            }
            if splits.len() == codebook.splits().len() {
                return (codebook, shelves);
            }
            codebook = Codebook::of(splits);
        }
    }

    /// Lets identities that share four networks publish agents that match these questions exactly: honest
    /// nodes send them on, so the cells take them.
    pub fn flood_with_sybils(&mut self, sybils: usize, questions: std::ops::Range<usize>) {
        let codebook = self.codebook().clone();
        for number in 0..sybils {
            let vector = self.agents.question(questions.start + number % questions.len().max(1));
            let made = entry(site(self.setting.nodes + number), "spam", 1, Duration::ZERO, vec![vector]);
            let made = Arc::new(made);
            for (cell, _) in codebook.place(&made.vectors) {
                for server in self.known.nearest(cell, self.setting.cells.replicas) {
                    let place = self.sites.iter().position(|site| *site == server.site).unwrap_or(0);
                    self.simulation.command(NodeId(place), CellInput::Listed(made.clone()));
                }
            }
            self.simulation.run_for(Duration::from_millis(1));
        }
    }
}
