//! Cells of a few sites that exchange their messages at once: placement, splits, searches.
//!
//! The network does not delay or lose anything here; the simulator has that.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use super::*;
use crate::record::{RecordId, RecordKey, SplitProfile};
use crate::story::{SeededRng, at};
use crate::vectors::{PROTOCOL_MODEL, VectorCodes};

/// Sites whose messages arrive at once and in order.
struct Town {
    cells: BTreeMap<SiteId, Cells>,
    rng: SeededRng,
    now: i64,
    found: BTreeMap<u64, (Vec<CellHit>, Coverage)>,
    omitted: Vec<SiteId>,
    /// Sites that answer searches with nothing.
    silent: Vec<SiteId>,
}

fn site(number: u16) -> SiteId {
    let mut bytes = [0; 32];
    bytes[..2].copy_from_slice(&number.to_be_bytes());
    SiteId::from_bytes(bytes)
}

fn settings(split_at: usize, cells: usize) -> CellSettings {
    let budget = Budget { memory: (split_at * cells) as u64 * 640, kilobits: u64::MAX >> 24 };
    CellSettings { split_at, replicas: 4, root_is_replicated: false, budget, fills: true }
}

/// An agent whose vector is near one of eight directions.
fn entry(owner: SiteId, number: u32, seq: u64) -> Arc<CellEntry> {
    let rng = SeededRng::new(u64::from(number));
    let noise = || (rng.next() % 1_000) as f32 / 1_000.0 - 0.5;
    let topic = number as usize % 8;
    let values: Vec<f32> =
        (0..64).map(|place| f32::from(u8::from(place / 8 == topic)) + 0.6 * noise()).collect();
    let key = RecordKey::agent(owner, format!("agent-{number}").parse().unwrap());
    Arc::new(CellEntry {
        hash: EntryKey::of(&key),
        key,
        seq,
        id: RecordId::of(&[u64::from(number).to_be_bytes(), seq.to_be_bytes()].concat()),
        issued_at: at(0),
        expires_at: at(86_400),
        vectors: vec![VectorCodes::of(&values).unwrap()],
        size: 1_000,
    })
}

fn tombstone(entry: &CellEntry) -> Arc<CellEntry> {
    let id = RecordId::of(&[entry.id.as_bytes()[0], 1]);
    Arc::new(CellEntry { seq: entry.seq + 1, id, vectors: Vec::new(), ..entry.clone() })
}

impl Town {
    fn new(sites: u16, settings: CellSettings) -> Self {
        let known = Arc::new(KnownSites::new((0..sites).map(|number| {
            let [high, low] = number.to_be_bytes();
            KnownSite {
                site: site(number),
                subnet: Some(Subnet::of(IpAddr::from([10, high, low, 1]))),
                serves: true,
            }
        })));
        let cells = (0..sites).map(|number| (site(number), Cells::new(site(number), settings))).collect();
        let (found, omitted, silent) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut town = Self { cells, rng: SeededRng::new(1), now: 0, found, omitted, silent };
        (0..sites).for_each(|number| town.apply(site(number), CellInput::Known(known.clone())));
        town
    }

    fn apply(&mut self, to: SiteId, input: CellInput) {
        let mut queue = VecDeque::from([(to, input)]);
        while let Some((to, input)) = queue.pop_front() {
            let cells = self.cells.get_mut(&to).unwrap();
            let effects = cells.apply(input, at(self.now), &self.rng);
            cells.audit().unwrap();
            for effect in effects {
                match effect {
                    CellEffect::Send { peer, mut message } => {
                        if let CellMessage::Answer { answer: Some(answer), .. } = &mut message
                            && self.silent.contains(&to)
                        {
                            answer.hits.clear();
                        }
                        queue.push_back((peer, CellInput::Received { peer: to, message }));
                    }
                    CellEffect::Endorse { cell, split } => {
                        let others = self.cells.keys().filter(|site| **site != to);
                        queue.extend(others.map(|other| {
                            (*other, CellInput::Support { signer: to, cell, split: Some(split.clone()) })
                        }));
                    }
                    CellEffect::Found { search, hits, coverage } => {
                        self.found.insert(search, (hits, coverage));
                    }
                    CellEffect::Omitted { peer } => self.omitted.push(peer),
                    CellEffect::Keep(_) | CellEffect::Drop(_) | CellEffect::WakeAt(_) => {}
                }
            }
        }
    }

    fn wait(&mut self, seconds: i64) {
        for _ in 0..seconds {
            self.now += 1;
            let sites: Vec<SiteId> = self.cells.keys().copied().collect();
            sites.into_iter().for_each(|site| self.apply(site, CellInput::Tick));
        }
    }

    /// Publishes agents, spread over all sites.
    fn publish(&mut self, numbers: std::ops::Range<u32>) {
        let sites = u32::try_from(self.cells.len()).unwrap();
        for number in numbers {
            let owner = site(u16::try_from(number % sites).unwrap());
            self.apply(owner, CellInput::Own(entry(owner, number, 1)));
        }
    }

    fn search(&mut self, from: SiteId, vector: &VectorCodes, effort: usize) -> (Vec<CellHit>, Coverage) {
        let input = CellInput::Search { search: 1, vector: vector.clone(), limit: 10, effort };
        self.apply(from, input);
        self.found.remove(&1).expect("a search whose servers all answer ends at once")
    }

    fn codebooks(&self) -> usize {
        let books = self.cells.values().map(|cells| {
            let splits = cells.codebook().splits().iter();
            splits.map(|(cell, split)| split.digest(*cell)).collect::<Vec<_>>()
        });
        books.collect::<std::collections::BTreeSet<_>>().len()
    }
}

/// The true best agents among these.
fn truth(sites: u32, count: u32, vector: &VectorCodes) -> Vec<EntryKey> {
    let owner = |number: u32| site(u16::try_from(number % sites).unwrap());
    let mut all: Vec<Arc<CellEntry>> = (0..count).map(|number| entry(owner(number), number, 1)).collect();
    all.sort_by(|one, other| other.nearness(vector).total_cmp(&one.nearness(vector)));
    all.iter().take(10).map(|entry| entry.hash).collect()
}

#[test]
fn with_one_cell_everybody_keeps_it_and_a_search_is_exact_and_local() {
    let mut town = Town::new(6, settings(1_000, 1));
    town.publish(0..300);
    town.wait(120);
    let vector = entry(site(0), 7_000, 1).vectors[0].clone();
    for number in 0..6 {
        let (hits, coverage) = town.search(site(number), &vector, 32);
        assert_eq!(coverage, Coverage { cells: 1, local: 1, ..Coverage::default() });
        assert_eq!(hits.iter().map(|hit| hit.entry.hash).collect::<Vec<_>>(), truth(6, 300, &vector));
    }
}

#[test]
fn a_full_cell_is_split_and_all_sites_agree_how() {
    let mut town = Town::new(20, settings(200, 8));
    town.publish(0..1_000);
    town.wait(300);
    assert_eq!(town.codebooks(), 1, "one codebook");
    let leaves = town.cells[&site(0)].codebook().leaves().len();
    assert!((8..24).contains(&leaves), "{leaves} cells for 1,000 vectors in two cells of at most 200 each");
    let copies =
        |cell: CellId| town.cells.values().filter_map(|cells| cells.fingerprint(cell)).collect::<Vec<_>>();
    for leaf in town.cells[&site(0)].codebook().leaves() {
        let copies = copies(leaf.cell);
        assert!(copies.len() >= 4, "{} is kept by {}", leaf.cell, copies.len());
        assert!(copies.iter().all(|copy| *copy == copies[0]), "the copies of {} are equal", leaf.cell);
    }
    let vector = entry(site(0), 7_003, 1).vectors[0].clone();
    let (hits, coverage) = town.search(site(3), &vector, 32);
    let truth = truth(20, 1_000, &vector);
    let right = hits.iter().filter(|hit| truth.contains(&hit.entry.hash)).count();
    assert!(right >= 9, "{right} of ten with {coverage:?}");
    assert_eq!(coverage.answered, coverage.asked);
}

#[test]
fn a_removed_agent_is_gone_from_all_of_its_cells() {
    let mut town = Town::new(12, settings(100, 4));
    town.publish(0..400);
    town.wait(240);
    let gone = entry(site(4), 16, 1);
    assert_eq!(gone.key.site, site(4));
    town.apply(site(4), CellInput::Own(tombstone(&gone)));
    town.wait(90);
    let (hits, _) = town.search(site(9), &gone.vectors[0], 32);
    assert!(hits.iter().all(|hit| hit.entry.hash != gone.hash));
    let kept = town.cells.values().flat_map(|cells| {
        cells.kept().filter_map(|(cell, ..)| cells.get(cell, gone.hash)).collect::<Vec<_>>()
    });
    assert!(kept.into_iter().all(|entry| entry.is_removed()), "no old copy comes back");
}

#[test]
fn a_server_that_leaves_agents_out_is_caught_and_asked_last() {
    let mut town = Town::new(24, settings(100, 2));
    town.publish(0..600);
    town.wait(240);
    town.now += 3_600;
    town.silent = (0..4).map(site).collect();
    let vector = entry(site(0), 7_001, 1).vectors[0].clone();
    for _ in 0..30 {
        let (hits, _) = town.search(site(20), &vector, 8);
        assert_eq!(hits.len(), 10, "the other server answers");
    }
    assert!(!town.omitted.is_empty());
    assert!(town.omitted.iter().all(|peer| town.silent.contains(peer)), "honest servers are not blamed");
    let before = town.omitted.len();
    (0..30).for_each(|_| drop(town.search(site(20), &vector, 8)));
    assert_eq!(town.omitted.len(), before, "they are no longer asked while others are there");
}

#[test]
fn a_split_that_few_sites_support_or_that_divides_nothing_does_not_count() {
    let mut town = Town::new(12, settings(400, 1));
    town.publish(0..350);
    town.wait(60);
    let one = entry(site(0), 1, 1).vectors[0].clone();
    let bad = Arc::new(SplitProfile::new(PROTOCOL_MODEL, [one.clone(), one]).unwrap());
    let signers: Vec<SiteId> =
        town.cells[&site(0)].known().nearest(CellId::ROOT, 2).iter().map(|server| server.site).collect();
    for signer in signers {
        for to in (0..12).map(site) {
            let input = CellInput::Support { signer, cell: CellId::ROOT, split: Some(bad.clone()) };
            town.apply(to, input);
        }
    }
    assert!(town.cells.values().all(|cells| cells.codebook().leaves().len() == 1));
}

#[test]
fn a_site_keeps_no_more_than_its_budget() {
    let default = CellSettings::default();
    assert_eq!(default.capacity(), 8);
    let poor = CellSettings { budget: Budget { memory: 256 << 20, kilobits: 80 }, ..default };
    assert_eq!(poor.capacity(), 2);
    let none = CellSettings { budget: Budget { memory: 1 << 20, kilobits: 80 }, ..default };
    assert_eq!(none.capacity(), 0);
    assert_eq!(Cells::new(site(1), none).kept().count(), 0);
}
