//! Facts about sites in the mesh, told as stories on a network in memory, in virtual time.
//!
//! What the stories share is here: a clock that follows the timer of the test, a site that is a list of
//! agents, and a way to wait for something without a fixed time.

mod calls;
mod cells;
mod exposure;
mod listing;
mod membership;
mod vectors;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentsite_egress::{Answered, Egress, Fetched};
use agentsite_mesh::overlay::OverlayEvents;
use agentsite_mesh::story::Site as Keys;
use agentsite_mesh::{
    MemoryNetwork, Overlay, OverlayError, PROTOCOL_DIMENSIONS, SiteId, VectorCodes, VectorText,
};
use agentsite_protocol::listing::Listing;
use agentsite_protocol::{AgentName, Caller, Clock, Ids, Pseudonym, Rng, SigningKey, Timestamp, Visibility};
use agentsite_registry::{HubSettings, Looked, Names, Registry, Scout, ToolServer};
use agentsite_store::{ListingFilter, MemStore, SharedStore};
use agentsite_tasks::{Lifetime, Processes, Workers};
use async_trait::async_trait;
use futures::future::BoxFuture;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tokio::time::Instant;
use url::Url;

use crate::{LocalSite, MeshSettings, OfferedAgent, OverlayPlan, Peers, PeersParts, SiteAbout, Transport};

/// How long a story waits for something, in virtual time: three comparisons of records.
const PATIENCE: Duration = Duration::from_secs(120);

/// A clock that follows the timer of the test.
#[derive(Debug)]
struct StoryClock(Instant);

impl Clock for StoryClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000).plus(self.0.elapsed())
    }
}

#[derive(Debug, Default)]
struct StoryRng(AtomicU64);

impl Rng for StoryRng {
    fn fill(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            let word = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
            chunk.copy_from_slice(&word.wrapping_mul(0xbf58_476d_1ce4_e5b9).to_le_bytes()[..chunk.len()]);
        }
    }
}

/// Nothing is looked at in these stories.
#[derive(Debug)]
struct BlindScout;

impl Scout for BlindScout {
    fn fetch(&self, _: Url, _: Option<String>, _: usize, _: Duration) -> Looked<'_, Fetched> {
        Box::pin(std::future::ready(Err("nothing is fetched here".into())))
    }

    fn ask(&self, _: Url, _: Vec<u8>, _: usize, _: Duration) -> Looked<'_, Answered> {
        Box::pin(std::future::ready(Err("nothing is asked here".into())))
    }

    fn probe(&self, _: Url, _: Duration) -> Looked<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn meet(&self, _: Url, _: Duration) -> Looked<'_, ToolServer> {
        Box::pin(std::future::ready(Err("nobody is met here".into())))
    }
}

/// Overlays of a network in memory; two networks with different secrets are two.
#[derive(Debug, Clone)]
struct StoryTransport {
    open: MemoryNetwork,
    private: MemoryNetwork,
}

#[async_trait]
impl Transport for StoryTransport {
    async fn start(&self, plan: OverlayPlan) -> Result<(Arc<dyn Overlay>, OverlayEvents), OverlayError> {
        let site = SiteId::of(&plan.key.public()).expect("an Ed25519 key");
        let network = if plan.network_key.is_some() { &self.private } else { &self.open };
        let (overlay, events) = network.join(site);
        Ok((overlay, events))
    }
}

/// A site that is a list of agents.
#[derive(Debug)]
struct StoryAgents {
    agents: Mutex<Vec<OfferedAgent>>,
    open_to: Mutex<Vec<(String, AgentName)>>,
    key: Mutex<SigningKey>,
    encoder: Mutex<StoryEncoder>,
    changes: watch::Sender<u64>,
}

/// How a site of a story encodes texts.
#[derive(Debug, Clone, Copy, Default)]
enum StoryEncoder {
    /// It has no model.
    #[default]
    None,
    /// It takes so long.
    Takes(Duration),
    /// It gives the vectors of other texts.
    Lies,
    /// Texts with the same topic are near each other.
    Topics,
}

impl StoryAgents {
    fn put(&self, name: &str, visibility: Visibility, description: &str) {
        let mut agents = self.agents.lock().unwrap();
        agents.retain(|agent| agent.name.as_str() != name);
        let card = agentsite_mesh::story::card(name, description);
        agents.push(OfferedAgent { name: name.parse().unwrap(), visibility, card });
        drop(agents);
        self.changes.send_modify(|count| *count += 1);
    }

    fn remove(&self, name: &str) {
        self.agents.lock().unwrap().retain(|agent| agent.name.as_str() != name);
        self.changes.send_modify(|count| *count += 1);
    }
}

impl LocalSite for StoryAgents {
    fn agents(&self) -> Vec<OfferedAgent> {
        self.agents.lock().unwrap().clone()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn names_like(&self, _: &[String]) -> Vec<AgentName> {
        Vec::new()
    }

    fn open_to(&self, did: &str) -> Vec<AgentName> {
        let open = self.open_to.lock().unwrap();
        open.iter().filter(|(one, _)| one == did).map(|(_, name)| name.clone()).collect()
    }

    fn pseudonym(&self, user: &str, did: &str) -> Pseudonym {
        Pseudonym::of(&[1; 32], user, did)
    }

    fn key(&self) -> SigningKey {
        self.key.lock().unwrap().clone()
    }

    fn encode(&self, texts: Vec<VectorText>) -> BoxFuture<'static, Option<Vec<VectorCodes>>> {
        let encoder = *self.encoder.lock().unwrap();
        Box::pin(async move {
            match encoder {
                StoryEncoder::None => return None,
                // tidy: waits because the time is virtual
                StoryEncoder::Takes(time) => tokio::time::sleep(time).await,
                StoryEncoder::Topics => return Some(texts.iter().map(topic_codes).collect()),
                StoryEncoder::Lies => return Some(texts.iter().map(|text| codes(text, "lie")).collect()),
            }
            Some(texts.iter().map(|text| codes(text, "")).collect())
        })
    }
}

/// The vector of a text in these stories.
fn codes(text: &VectorText, salt: &str) -> VectorCodes {
    let digest = |number: usize| Sha256::digest(format!("{salt}{}|{}|{number}", text.title, text.text));
    let numbers = (0..PROTOCOL_DIMENSIONS / 32).flat_map(digest);
    VectorCodes::from_codes(numbers.map(|byte| byte.cast_signed().max(-127)).collect()).unwrap()
}

/// The vector of a text that is near those of other texts with the same topic.
fn topic_codes(text: &VectorText) -> VectorCodes {
    let topic = text.text.split(' ').find(|word| word.starts_with("topic")).unwrap_or_default();
    let topic = codes(&VectorText { title: String::new(), text: topic.into() }, "topic");
    let own = codes(text, "");
    let numbers = topic.codes().iter().zip(own.codes());
    VectorCodes::from_codes(numbers.map(|(topic, own)| topic / 2 + own / 4).collect()).unwrap()
}

/// What all sites of a story share.
struct World {
    transport: StoryTransport,
    clock: Arc<StoryClock>,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(StoryClock(Instant::now()));
        let network = || MemoryNetwork::new(clock.clone());
        Self { transport: StoryTransport { open: network(), private: network() }, clock }
    }

    async fn site(&self, number: u64) -> Node {
        self.site_with(number, MeshSettings::default()).await
    }

    async fn site_with(&self, number: u64, settings: MeshSettings) -> Node {
        Node::start(self, number, settings, MemStore::new()).await
    }
}

/// A site of a story, in the mesh.
struct Node {
    peers: Peers,
    agents: Arc<StoryAgents>,
    store: MemStore,
    id: SiteId,
    egress: Egress,
    lifetime: Lifetime,
}

impl Node {
    async fn start(world: &World, number: u64, settings: MeshSettings, store: MemStore) -> Self {
        Self::start_with(world, number, settings, None, store).await
    }

    async fn start_private(world: &World, number: u64, settings: MeshSettings, key: &str) -> Self {
        Self::start_with(world, number, settings, Some(crate::NetworkSecret::new(key)), MemStore::new()).await
    }

    async fn start_with(
        world: &World,
        number: u64,
        settings: MeshSettings,
        network_key: Option<crate::NetworkSecret>,
        store: MemStore,
    ) -> Self {
        let keys = Keys::new(number);
        let rng = Arc::new(StoryRng(AtomicU64::new(number << 32)));
        let ids = Ids::new(world.clock.clone(), rng);
        let shared: SharedStore = Arc::new(store.clone());
        let names = Arc::new(Names::open(shared.clone(), ids.clone(), PATIENCE).await.unwrap());
        let scout = Arc::new(BlindScout);
        let registry = Registry::new(HubSettings::default(), shared.clone(), ids.clone(), scout, names);
        let agents = Arc::new(StoryAgents {
            agents: Mutex::default(),
            open_to: Mutex::default(),
            key: Mutex::new(keys.key.clone()),
            encoder: Mutex::default(),
            changes: watch::Sender::new(0),
        });
        let egress = Egress::default();
        let parts = PeersParts {
            settings: MeshSettings { enabled: true, ..settings },
            network_key,
            about: SiteAbout { title: format!("Site {number}"), url: None },
            transport: Some(Arc::new(world.transport.clone())),
            store: shared.clone(),
            ids,
            registry,
            local: agents.clone(),
            egress: egress.clone(),
            is_shared: false,
        };
        let peers = Peers::open(parts).await.unwrap();
        let lifetime = Lifetime::default();
        let workers = Workers::new(world.clock.clone());
        peers.capability().start_workers(&workers, &lifetime, &Processes::alone(shared));
        let node = Self { peers, agents, store, id: keys.id, egress, lifetime };
        until("the mesh runs", || async { node.view().await.running }).await;
        node
    }

    async fn view(&self) -> crate::MeshView {
        self.peers.view(&Caller::admin()).await.unwrap()
    }

    fn address(&self) -> String {
        MemoryNetwork::address(self.id)
    }

    async fn add(&self, other: &Self) {
        self.peers.add(&Caller::admin(), &other.address()).await.unwrap();
    }

    /// The agents of other sites that are listed here, by name.
    async fn listed(&self) -> Vec<Listing> {
        let shared: SharedStore = Arc::new(self.store.clone());
        let page = shared.listings(ListingFilter::default(), None, 500).await.unwrap();
        page.items.into_iter().map(|entry| entry.listing).collect()
    }

    async fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.listed().await.into_iter().map(|one| one.name).collect();
        names.sort_unstable();
        names
    }

    /// Waits until exactly these agents of other sites are listed.
    async fn lists(&self, names: &[&str]) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let what = format!("{} lists {names:?}", self.id);
        until(&what, || async { self.names().await == names }).await;
    }

    /// Ends in order.
    async fn stop(&self) {
        self.lifetime.drain(PATIENCE).await;
    }

    /// The process dies; what was synced is there again.
    async fn crash(self, world: &World, number: u64) -> Self {
        let overlay = self.peers.0.running().unwrap().overlay.clone();
        overlay.stop().await;
        self.lifetime.halt(Duration::from_millis(1)).await;
        let store = self.store.reopen();
        Self::start(world, number, MeshSettings::default(), store).await
    }
}

/// Waits until something is so.
///
/// # Panics
/// When it does not become so in time.
async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let patience = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < patience, "in vain: {what}");
        // tidy: waits because the time is virtual
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
