//! The scenario: a network starts, is idle, is looked things up in, changes, takes a late site in, and loses
//! 30 % of its sites to silence.
//!
//! Promises: every figure is of virtual time and of bytes on the simulated wire, handshakes and encryption
//! included; memory is that of the process. It judges nothing: tests and the page of results do.

use std::time::{Duration, Instant as WallInstant};

use agentsite_mesh::OverlayError;
use agentsite_mesh::story::at;
use tokio::time::{Instant, sleep};

use crate::site::Order;
use crate::world::{Setting, World, agent};

/// Sites that publish from the start; later all do.
const PUBLISHERS: usize = 20;
/// How far apart sites start.
const APART: Duration = Duration::from_millis(100);
/// How long the network runs before it is measured.
const SETTLE: Duration = Duration::from_secs(180);
/// How long idle traffic is counted: two renewals of a lease.
const IDLE: Duration = Duration::from_secs(600);
/// How long a change is given to reach all.
const SPREAD: Duration = Duration::from_secs(5);
/// Changes of each kind.
const ROUNDS: usize = 10;
/// Agents in the batch whose bytes are compared with those of a single one.
const BATCH: usize = 32;
/// Look-ups that are made at the same time.
const AT_ONCE: usize = 5;
/// After this time without an answer a connection with a black hole has ended.
const NOTICED: Duration = Duration::from_secs(90);

/// Median, 99th percentile and greatest of some times, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// The median.
    pub median: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The greatest.
    pub most: u64,
}

impl Times {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        let at = |share: f64| {
            let place = (times.len() as f64 * share).ceil() as usize;
            times.get(place.saturating_sub(1)).map_or(0, |time| time.as_millis() as u64)
        };
        Self { median: at(0.5), p99: at(0.99), most: at(1.0) }
    }
}

/// Look-ups of sites.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LookUps {
    /// How many there were.
    pub count: usize,
    /// How many reached the site.
    pub hits: usize,
    /// How long those took.
    pub times: Times,
    /// Why the first that failed did.
    pub failure: Option<String>,
}

/// How a change spreads: until 99 % of the sites know, and until all do, for each round.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spread {
    /// Until 99 % know.
    pub most_sites: Times,
    /// Until all know.
    pub all_sites: Times,
    /// Sites that did not know in time, in all rounds.
    pub missed: usize,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figures {
    /// From the start of a site to the end of its first session.
    pub bootstrap: Times,
    /// Fewest, mean and most connected sites.
    pub peers: (usize, f64, usize),
    /// Mean of neighbours in gossip.
    pub neighbours: f64,
    /// Mean of sites in the routing table.
    pub routes: f64,
    /// Bytes of memory per site, those of its half of each connection.
    pub memory: u64,
    /// Bytes that a site sends each second while nothing happens, with [`PUBLISHERS`] sites that publish.
    pub idle: f64,
    /// The same when all sites publish.
    pub idle_all: f64,
    /// Agents that a site did not find, of all pairs.
    pub not_found: usize,
    /// Look-ups of sites.
    pub look_ups: LookUps,
    /// New agents.
    pub publish: Spread,
    /// Agents that were taken back.
    pub unpublish: Spread,
    /// Bytes received per site and change, as a multiple of the record: one agent, and a batch.
    pub amplification: (f64, f64),
    /// How long a late site took until it found every agent; its next regular session would be half a minute
    /// later.
    pub late: Option<u64>,
    /// Look-ups by the late site.
    pub late_look_ups: LookUps,
    /// Look-ups right after 30 % of the sites became black holes, and when that was noticed.
    pub holed_look_ups: (LookUps, LookUps),
    /// New agents right after, and when it was noticed.
    pub holed_publish: (Spread, Spread),
    /// Agents of sites that are there which a site did not find at the end, of all pairs.
    pub holed_not_found: usize,
    /// Virtual seconds, and those on the wall.
    pub seconds: (f64, f64),
}

/// Runs the whole scenario; `look_ups` is how many look-ups each part makes.
///
/// # Panics
/// When sites do not find each other at all.
pub async fn measure(setting: Setting, look_ups: usize) -> Figures {
    let (wall, begun, before) = (WallInstant::now(), Instant::now(), resident());
    let (nodes, seed) = (setting.nodes, setting.seed);
    let mut world = World::new(setting);
    let mut figures = Figures::default();
    world.start(APART, |number| number < PUBLISHERS).await;
    let is_complete =
        async |world: &World| world.sites.iter().all(|site| site.listed() + 1 >= PUBLISHERS.min(nodes));
    let complete = world.until(SETTLE, is_complete).await;
    assert!(complete.is_some(), "seed {seed}, {nodes} sites: not all agents are found in time");
    let first = world.sites.iter().filter_map(|site| Some(site.first_session()?.0 - site.started));
    figures.bootstrap = Times::of(first.collect());
    sleep(SETTLE).await;
    connections(&world, &mut figures).await;
    figures.memory = resident().saturating_sub(before) / nodes as u64;
    figures.idle = idle(&world).await;
    for number in PUBLISHERS..nodes {
        world.sites[number].order(Order::Publish(vec![agent(number)])).await;
        sleep(APART).await;
    }
    sleep(SPREAD).await;
    figures.idle_all = idle(&world).await;
    figures.not_found = not_found(&world);
    figures.look_ups = look_up(&world, look_ups).await;
    (figures.publish, figures.unpublish) = changes(&world).await;
    figures.amplification = (
        amplification(&world, "one", 1, figures.idle_all).await,
        amplification(&world, "batch", BATCH, figures.idle_all).await,
    );
    join_late(&mut world, &mut figures).await;
    world.swallow(nodes * 3 / 10);
    figures.holed_publish.0 = changes(&world).await.0;
    figures.holed_look_ups.0 = look_up(&world, look_ups).await;
    sleep(NOTICED).await;
    figures.holed_publish.1 = changes(&world).await.0;
    figures.holed_look_ups.1 = look_up(&world, look_ups).await;
    figures.holed_not_found = not_found(&world);
    figures.seconds = (begun.elapsed().as_secs_f64(), wall.elapsed().as_secs_f64());
    figures
}

/// Mean of connected sites and bytes of memory per site, after all have found each other.
pub async fn measure_memory(setting: Setting) -> (f64, u64) {
    let (before, nodes, mut figures) = (resident(), setting.nodes, Figures::default());
    let mut world = World::new(setting);
    world.start(APART, |_| true).await;
    sleep(SETTLE).await;
    connections(&world, &mut figures).await;
    (figures.peers.1, resident().saturating_sub(before) / nodes as u64)
}

async fn connections(world: &World, figures: &mut Figures) {
    let (mut peers, mut neighbours, mut routes) = (Vec::new(), 0, 0);
    for site in &world.sites {
        let status = site.overlay.status().await;
        peers.push(status.peers);
        neighbours += status.neighbours;
        routes += status.routes;
    }
    let mean = |sum: usize| sum as f64 / peers.len() as f64;
    figures.peers = (
        peers.iter().min().copied().unwrap_or(0),
        mean(peers.iter().sum()),
        peers.iter().max().copied().unwrap_or(0),
    );
    (figures.neighbours, figures.routes) = (mean(neighbours), mean(routes));
}

/// Bytes that a site sends each second.
async fn idle(world: &World) -> f64 {
    let before = world.network.carried();
    sleep(IDLE).await;
    (world.network.carried() - before) as f64 / IDLE.as_secs_f64() / world.sites.len() as f64
}

/// Agents that are published at sites that are there and that a site does not find, of all pairs.
fn not_found(world: &World) -> usize {
    let alive: Vec<usize> =
        world.alive().into_iter().filter(|number| *number < world.setting.nodes).collect();
    let misses = |one: &usize| {
        let other = |other: &&usize| {
            *other != one && world.sites[*one].finds(world.id(**other), &agent(**other)).is_none()
        };
        alive.iter().filter(other).count()
    };
    alive.iter().map(misses).sum()
}

/// Look-ups between random pairs, several at a time, none of which share a site: a look-up begins by ending
/// the connection of its pair.
async fn look_up(world: &World, count: usize) -> LookUps {
    let mut results = Vec::new();
    while results.len() < count {
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        while pairs.len() < AT_ONCE.min(count - results.len()) {
            let (from, to) = world.pair();
            if !pairs.iter().any(|(a, b)| [*a, *b].contains(&from) || [*a, *b].contains(&to)) {
                pairs.push((from, to));
            }
        }
        results.extend(
            futures::future::join_all(pairs.iter().map(|(from, to)| world.look_up(*from, *to))).await,
        );
    }
    tally(results)
}

fn tally(results: Vec<Result<Duration, OverlayError>>) -> LookUps {
    let count = results.len();
    let failure = results.iter().find_map(|result| result.as_ref().err().map(ToString::to_string));
    let times: Vec<Duration> = results.into_iter().flatten().collect();
    LookUps { count, hits: times.len(), times: Times::of(times), failure }
}

/// Some sites publish an agent each and take it back.
async fn changes(world: &World) -> (Spread, Spread) {
    let (mut came, mut went) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let (owner, _) = world.pair();
        let (name, others) = (format!("change-{round}"), others(world, owner));
        let begun = Instant::now();
        world.sites[owner].order(Order::Publish(vec![name.clone()])).await;
        sleep(SPREAD).await;
        came.push(since(begun, others.iter().map(|other| world.sites[*other].finds(world.id(owner), &name))));
        let begun = Instant::now();
        world.sites[owner].order(Order::Unpublish(name.clone())).await;
        sleep(SPREAD).await;
        went.push(since(begun, others.iter().map(|other| world.sites[*other].lost(world.id(owner), &name))));
    }
    (spread(&came), spread(&went))
}

fn others(world: &World, owner: usize) -> Vec<usize> {
    world.alive().into_iter().filter(|number| *number != owner).collect()
}

/// How long after the beginning each happened; none for what did not.
fn since(begun: Instant, moments: impl Iterator<Item = Option<Instant>>) -> Vec<Option<Duration>> {
    let mut times: Vec<Option<Duration>> =
        moments.map(|moment| moment.filter(|moment| *moment >= begun).map(|moment| moment - begun)).collect();
    // What did not happen comes last.
    times.sort_by_key(|time| time.unwrap_or(Duration::MAX));
    times
}

fn spread(rounds: &[Vec<Option<Duration>>]) -> Spread {
    let at = |share: f64| {
        let time = |times: &Vec<Option<Duration>>| {
            let place = (times.len() as f64 * share).ceil() as usize;
            times.get(place.saturating_sub(1)).copied().flatten().unwrap_or(SPREAD)
        };
        Times::of(rounds.iter().map(time).collect())
    };
    let missed = rounds.iter().flatten().filter(|time| time.is_none()).count();
    Spread { most_sites: at(0.99), all_sites: at(1.0), missed }
}

/// Bytes that a site receives for each byte of records that another one publishes at once: the median of some
/// rounds, because a refresh of the DHT falls into one now and then.
async fn amplification(world: &World, name: &str, count: usize, idle: f64) -> f64 {
    let (sites, mut shares) = (world.sites.len() as f64, Vec::new());
    for round in 0..ROUNDS {
        let (owner, _) = world.pair();
        let names: Vec<String> = (0..count).map(|number| format!("{name}-{round}-{number}")).collect();
        let signed = |name: &String| {
            let seq = 1_700_000_000_000;
            world.sites[owner].site.agent(name, seq, at(0), crate::site::DESCRIPTION).bytes().len()
        };
        let (payload, before) = (names.iter().map(signed).sum::<usize>(), world.network.carried());
        world.sites[owner].order(Order::Publish(names)).await;
        sleep(SPREAD).await;
        let background = idle * sites * SPREAD.as_secs_f64();
        let sent = (world.network.carried() - before) as f64 - background;
        shares.push(sent / payload as f64 / (sites - 1.0));
    }
    shares.sort_by(f64::total_cmp);
    shares[shares.len() / 2]
}

async fn join_late(world: &mut World, figures: &mut Figures) {
    let expected = world.sites.iter().map(crate::site::SimSite::listed).max().unwrap_or(0);
    let number = world.add().await;
    let is_complete = async |world: &World| world.sites[number].listed() >= expected;
    figures.late = world.until(SETTLE, is_complete).await.map(|took| took.as_millis() as u64);
    let mut results = Vec::new();
    for _ in 0..number.min(50) {
        results.push(world.look_up(number, world.below(number)).await);
    }
    figures.late_look_ups = tally(results);
}

/// Bytes of memory that this process has; 0 where the system does not tell.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) << 10
}
