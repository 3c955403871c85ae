//! What it costs to list the agents of a large mesh: entries of other sites written to a file of SQLite, in
//! the portions of the product, and found to be there already after a restart.
//!
//!     cargo run -p agentsite-peers --example listing_cost -- 65536
//!
//! Signatures are not part of it; `catalogue_cost` of `mesh` measures those.

#![expect(clippy::print_stdout, reason = "an example prints what it measured")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use agentsite_egress::{Answered, Fetched};
use agentsite_mesh::story::{SeededRng, Site};
use agentsite_protocol::listing::ListingId;
use agentsite_protocol::{Clock, Ids, Skill, Timestamp};
use agentsite_registry::{HubSettings, Looked, Names, PeerAgent, Registry, Scout, ToolServer};
use agentsite_store::{Change, SharedStore, SqliteStore, StoreKey, StoreMetrics, Unjournaled};
use url::Url;

/// Entries in one commit, as in the product.
const PORTION: usize = 512;

/// Agents of one site.
const OF_SITE: usize = 16;

#[derive(Debug)]
struct StillClock;

impl Clock for StillClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_790_000_000_000)
    }
}

#[derive(Debug)]
struct BlindScout;

impl Scout for BlindScout {
    fn fetch(&self, _: Url, _: Option<String>, _: usize, _: Duration) -> Looked<'_, Fetched> {
        Box::pin(std::future::ready(Err(String::new())))
    }

    fn ask(&self, _: Url, _: Vec<u8>, _: usize, _: Duration) -> Looked<'_, Answered> {
        Box::pin(std::future::ready(Err(String::new())))
    }

    fn probe(&self, _: Url, _: Duration) -> Looked<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn meet(&self, _: Url, _: Duration) -> Looked<'_, ToolServer> {
        Box::pin(std::future::ready(Err(String::new())))
    }
}

fn agents(count: usize) -> Vec<PeerAgent> {
    let now = StillClock.now();
    let of = |number: usize| {
        let site = Site::new(1 + (number / OF_SITE) as u64).id;
        let name = format!("agent-{number}");
        PeerAgent {
            site: site.to_string(),
            name: name.parse().expect("a name"),
            visibility: agentsite_protocol::Visibility::Public,
            title: name.clone(),
            description: format!("Does the work with number {number}, in two sentences. It is one of many."),
            version: "1.0.0".into(),
            skills: vec![Skill { id: name.clone(), name, ..Skill::default() }],
            url: None,
            endpoint: format!("http://{}/a2a/agent-{number}", agentsite_peers::link_host(&site)),
            input_modes: vec!["text/plain".into()],
            output_modes: vec!["text/plain".into()],
            issued_at: now,
            expires_at: now.plus(Duration::from_secs(172_800)),
            ignores_vectors: false,
            reached: None,
        }
    };
    (0..count).map(of).collect()
}

async fn list(registry: &Registry, store: &SharedStore, agents: &[PeerAgent]) -> (Duration, Duration, usize) {
    let (begun, mut longest, mut written) = (Instant::now(), Duration::ZERO, 0);
    for portion in agents.chunks(PORTION) {
        let one = Instant::now();
        let gone: &[ListingId] = &[];
        let changes = registry.peer_changes(portion, gone, &|_| Vec::new()).await.expect("the store answers");
        written += changes.len();
        if !changes.is_empty() {
            let change = Change::unjournaled(Unjournaled::PeerRecords).edits(changes);
            store.commit(change).await.expect("the store takes it");
        }
        longest = longest.max(one.elapsed());
    }
    (begun.elapsed(), longest, written)
}

#[tokio::main]
async fn main() {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(65_536);
    let folder = std::env::temp_dir().join(format!("listing-cost-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let key = StoreKey::new([7; 32]);
    let store = SqliteStore::open(&folder.join("site.db"), &key, StoreMetrics::default()).expect("a store");
    let store: SharedStore = Arc::new(store);
    let ids = Ids::new(Arc::new(StillClock), Arc::new(SeededRng::new(1)));
    let names = Arc::new(Names::open(store.clone(), ids.clone(), Duration::ZERO).await.expect("names"));
    let registry = Registry::new(HubSettings::default(), store.clone(), ids, Arc::new(BlindScout), names);
    let agents = agents(count);
    for what in ["first", "after a restart"] {
        let (took, longest, written) = list(&registry, &store, &agents).await;
        println!(
            "{what}: {count} entries in {:.1} s, {:.0} per second, longest portion {} ms, {written} written",
            took.as_secs_f64(),
            count as f64 / took.as_secs_f64(),
            longest.as_millis()
        );
    }
    let _ = std::fs::remove_dir_all(folder);
}
