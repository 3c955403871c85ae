//! Cells: a mesh that is too large for each of its sites is searched by all.
//!
//! Told with cells of fifty vectors on a network in memory, where every site is in a network of its own.

use agentsite_mesh::SiteId;
use agentsite_mesh::cells::{Budget, CellSettings};

use super::*;
use crate::CellFindings;

const SITES: u64 = 8;
const AGENTS: usize = 38;
const TOPICS: usize = 12;
const PAGE: usize = 5;

/// How many cells a site keeps, of some 20.
const CELLS: u64 = 8;

/// Cells of fifty vectors, of which a site keeps so many.
fn small_cells(cells: u64) -> MeshSettings {
    let budget = Budget { memory: cells * 50 * 640, kilobits: 1_000_000 };
    let limits = CellSettings { split_at: 50, replicas: 3, budget, ..CellSettings::default() };
    MeshSettings { cells: true, cell_limits: Some(limits), ..MeshSettings::default() }
}

/// The description of an agent: its skill has the same text, after its name.
fn description(site: SiteId, number: usize) -> String {
    format!("topic{} work {number} of {site}", number % TOPICS)
}

fn text(site: SiteId, number: usize) -> VectorText {
    VectorText { title: format!("agent-{number}"), text: description(site, number) }
}

async fn planet(world: &World, sites: u64, settings: &MeshSettings) -> Vec<Node> {
    world.transport.open.give_addresses();
    let mut nodes: Vec<Node> = Vec::new();
    for number in 1..=sites {
        let node = world.site_with(number, settings.clone()).await;
        *node.agents.encoder.lock().unwrap() = StoryEncoder::Topics;
        nodes.iter().for_each(|other| world.transport.open.connect(node.id, other.id));
        nodes.push(node);
    }
    for node in &nodes {
        for number in 0..AGENTS {
            node.agents.put(&format!("agent-{number}"), Visibility::Public, &description(node.id, number));
        }
    }
    nodes
}

async fn search(node: &Node, text: &VectorText, limit: usize) -> CellFindings {
    node.peers.search_cells(topic_codes(text), limit).await.expect("it can be asked")
}

/// The names of the agents that an exact search finds.
fn exact(nodes: &[Node], asked: &VectorText) -> Vec<(String, String)> {
    let asked = topic_codes(asked);
    let all = nodes.iter().flat_map(|node| (0..AGENTS).map(move |number| (node.id, number)));
    let mut ranked: Vec<(f64, String, String)> = all
        .map(|(site, number)| {
            let (name, own) = (format!("agent-{number}"), text(site, number));
            let skill = VectorText { title: String::new(), text: format!("{name}. {}", own.text) };
            let near = topic_codes(&own).nearness(&asked).max(topic_codes(&skill).nearness(&asked));
            (near, site.to_string(), name)
        })
        .collect();
    ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
    ranked.into_iter().take(PAGE).map(|(_, site, name)| (site, name)).collect()
}

/// How many of these were found.
fn overlap(found: &CellFindings, exact: &[(String, String)]) -> usize {
    let found = found.agents.iter().map(|one| (one.site.clone(), one.name.to_string()));
    found.filter(|one| exact.contains(one)).count()
}

#[tokio::test(start_paused = true)]
async fn a_mesh_of_one_cell_is_kept_by_everybody_and_nobody_is_asked() {
    let world = World::new();
    let cells = MeshSettings { cells: true, ..MeshSettings::default() };
    let nodes = planet(&world, 3, &cells).await;
    for node in &nodes {
        until("everything is listed", || async { node.listed().await.len() == 2 * AGENTS }).await;
        assert!(!node.peers.is_parted());
        assert!(node.peers.search_cells(topic_codes(&text(node.id, 1)), 10).await.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn three_hundred_agents_are_parted_into_cells_and_found_from_everywhere() {
    let world = World::new();
    let nodes = planet(&world, SITES, &small_cells(CELLS)).await;
    until("every site has split", || async { nodes.iter().all(|node| node.peers.is_parted()) }).await;
    // Splits of splits follow each other, copies are compared every 30 s.
    // tidy: waits because the time is virtual
    tokio::time::sleep(Duration::from_secs(5 * 60)).await;
    let mut kept = Vec::new();
    for node in &nodes {
        kept.push(node.listed().await.len());
    }
    let all = AGENTS * (nodes.len() - 1);
    assert!(kept.iter().sum::<usize>() < all * nodes.len() * 3 / 4, "a site keeps a part: {kept:?} of {all}");
    let (mut asked, mut shared, mut first) = (0, 0, 0);
    for (at, node) in nodes.iter().enumerate() {
        for (of, owner) in nodes.iter().enumerate() {
            let number = (at * 7 + of * 11) % AGENTS;
            let (name, text) = (format!("agent-{number}"), text(owner.id, number));
            let found = search(node, &text, PAGE).await;
            let best = found.agents.first();
            first += usize::from(
                best.is_some_and(|best| best.site == owner.id.to_string() && best.name.as_str() == name),
            );
            assert!(found.coverage.cells > 1 && found.coverage.local <= 8, "{:?}", found.coverage);
            asked += found.coverage.asked;
            shared += overlap(&found, &exact(&nodes, &text));
        }
    }
    // The keys of the sites are random, and with them which cells there are and which are asked.
    let pairs = nodes.len() * nodes.len();
    assert!(first * 20 >= pairs * 19, "{first} of {pairs} agents were found first");
    let wanted = pairs * PAGE;
    assert!(shared * 20 >= wanted * 19, "{shared} of the {wanted} true best were found");
    assert!(asked > 0, "kept: {kept:?}");
}

#[tokio::test(start_paused = true)]
async fn agents_that_went_are_not_found_and_a_site_that_returns_has_its_cells() {
    let world = World::new();
    let mut nodes = planet(&world, SITES, &small_cells(CELLS)).await;
    until("every site has split", || async { nodes.iter().all(|node| node.peers.is_parted()) }).await;
    // tidy: waits because the time is virtual
    tokio::time::sleep(Duration::from_secs(3 * 60)).await;
    let finds = async |node: &Node, site: SiteId, number: usize| {
        let found = search(node, &text(site, number), PAGE).await;
        let name = format!("agent-{number}");
        found.agents.iter().any(|one| one.site == site.to_string() && one.name.as_str() == name)
    };
    let (gone, dead) = (nodes[1].id, nodes[2].id);
    assert!(finds(&nodes[0], gone, 3).await && finds(&nodes[0], dead, 5).await);
    nodes[1].agents.remove("agent-3");
    nodes.iter().for_each(|node| world.transport.open.cut(node.id, dead));
    until("the agent is not found", || async { !finds(&nodes[0], gone, 3).await }).await;
    // tidy: waits because the time is virtual
    tokio::time::sleep(agentsite_mesh::limits::LEASE_LIFETIME + agentsite_mesh::limits::CLOCK_SLACK).await;
    for node in [&nodes[0], &nodes[4]] {
        assert!(!finds(node, dead, 5).await, "the lease of its site has ended");
        assert!(finds(node, gone, 4).await);
    }
    let before = nodes[7].listed().await.len();
    let last = nodes.pop().unwrap();
    last.peers.0.running().unwrap().overlay.stop().await;
    last.lifetime.halt(Duration::from_millis(1)).await;
    let last = Node::start(&world, SITES, small_cells(CELLS), last.store.reopen()).await;
    assert!(last.peers.is_parted(), "what it knew of splits was kept");
    let after = last.listed().await.len();
    assert!(after * 10 >= before * 9, "{after} of {before} are there without asking anybody");
}
