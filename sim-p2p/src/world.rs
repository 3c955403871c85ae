//! World: sites that start one after the other, know a few seeds, and find the rest.
//!
//! Promises: each site has an address of the open internet in a subnet of its own, and the settings that the
//! product has without a configuration. Which sites a scenario picks is determined by the seed.

use std::future::Future;
use std::net::Ipv4Addr;
use std::time::Duration;

use agentsite_mesh::SiteId;
use agentsite_mesh::story::SeededRng;
use agentsite_mesh_p2p::{P2pLimits, P2pSettings};
use tokio::time::{Instant, sleep};

use crate::network::Network;
use crate::site::{Order, SimSite, WorldClock};

/// Sites that all others know at the start.
const SEEDS: usize = 3;
/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// The port that every site listens on.
const PORT: u16 = 4101;

/// What a world is made of.
#[derive(Debug, Clone)]
pub struct Setting {
    /// What keys, latencies and choices are determined by.
    pub seed: u64,
    /// How many sites there are.
    pub nodes: usize,
    /// What each takes from others.
    pub limits: P2pLimits,
}

impl Setting {
    /// So many sites with the limits of the product.
    #[must_use]
    pub fn of(seed: u64, nodes: usize) -> Self {
        Self { seed, nodes, limits: P2pLimits::default() }
    }
}

/// Runs a scenario in virtual time: the clock jumps to the next moment whenever nothing is left to do.
///
/// # Panics
/// When the runtime cannot be built.
pub fn run<T>(scenario: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build();
    runtime.expect("a runtime without sockets can be built").block_on(scenario)
}

/// Sites on a network in memory.
#[derive(Debug)]
pub struct World {
    /// The network.
    pub network: Network,
    /// The sites, by their numbers.
    pub sites: Vec<SimSite>,
    /// What it is made of.
    pub setting: Setting,
    clock: WorldClock,
    dice: SeededRng,
    holes: Vec<usize>,
}

/// The address of the site with this number.
fn ip_of(number: usize) -> Ipv4Addr {
    let [.., high, low] = (number + 1).to_be_bytes();
    Ipv4Addr::new(31, high, low, 7)
}

impl World {
    /// A world without sites.
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        let (network, dice) = (Network::new(setting.seed), SeededRng::new(setting.seed));
        let clock = WorldClock(Instant::now());
        Self { network, sites: Vec::new(), setting, clock, dice, holes: Vec::new() }
    }

    /// Starts one more site.
    pub async fn add(&mut self) -> usize {
        let number = self.sites.len();
        let seeds = (0..SEEDS.min(number)).map(|seed| format!("/ip4/{}/tcp/{PORT}", ip_of(seed))).collect();
        let settings = P2pSettings {
            listen: vec![format!("/ip4/{}/tcp/{PORT}", ip_of(number))],
            seeds,
            limits: self.setting.limits.clone(),
            ..P2pSettings::default()
        };
        let site = SimSite::start(&self.network, self.key(number), ip_of(number), settings, self.clock);
        self.sites.push(site.await);
        number
    }

    /// The number that the key of a site is made of.
    fn key(&self, number: usize) -> u64 {
        (self.setting.seed << 20) + number as u64
    }

    /// Starts all sites, so long apart; each publishes an agent named after it when `publishes` says so.
    pub async fn start(&mut self, apart: Duration, publishes: impl Fn(usize) -> bool) {
        while self.sites.len() < self.setting.nodes {
            let number = self.add().await;
            if publishes(number) {
                self.sites[number].order(Order::Publish(vec![agent(number)])).await;
            }
            sleep(apart).await;
        }
    }

    /// A number below this one.
    pub fn below(&self, count: usize) -> usize {
        usize::try_from(self.dice.next() % count.max(1) as u64).unwrap_or(0)
    }

    /// Makes black holes of so many sites, none of them a seed.
    pub fn swallow(&mut self, count: usize) {
        while self.holes.len() < count {
            let number = SEEDS + self.below(self.sites.len() - SEEDS);
            if !self.holes.contains(&number) {
                self.network.swallow(self.sites[number].ip);
                self.holes.push(number);
            }
        }
    }

    /// The sites that are not black holes.
    #[must_use]
    pub fn alive(&self) -> Vec<usize> {
        (0..self.sites.len()).filter(|number| !self.holes.contains(number)).collect()
    }

    /// Two different sites of those that are not black holes.
    #[must_use]
    pub fn pair(&self) -> (usize, usize) {
        let alive = self.alive();
        let one = self.below(alive.len());
        let other = (one + 1 + self.below(alive.len() - 1)) % alive.len();
        (alive[one], alive[other])
    }

    /// The identity of a site.
    #[must_use]
    pub fn id(&self, number: usize) -> SiteId {
        self.sites[number].site.id
    }

    /// Looks a site up from another one that has no connection with it.
    ///
    /// # Errors
    /// What the overlay says.
    pub async fn look_up(&self, from: usize, to: usize) -> Result<Duration, agentsite_mesh::OverlayError> {
        use agentsite_mesh::Overlay as _;
        let caller = &self.sites[from];
        caller.overlay.disconnect(self.id(to), None).await;
        let is_connected = async || caller.overlay.peers().await.iter().any(|peer| peer.site == self.id(to));
        while is_connected().await {
            sleep(LOOK).await;
        }
        caller.reach(self.id(to), self.key(to)).await
    }

    /// Waits until something is true, at most so long; how long it took.
    pub async fn until(
        &self,
        most: Duration,
        mut is_true: impl AsyncFnMut(&Self) -> bool,
    ) -> Option<Duration> {
        let begun = Instant::now();
        while begun.elapsed() < most {
            if is_true(self).await {
                return Some(begun.elapsed());
            }
            sleep(LOOK).await;
        }
        None
    }
}

/// The name of the agent that a site publishes at its start.
pub(crate) fn agent(number: usize) -> String {
    format!("agent-{number}")
}
