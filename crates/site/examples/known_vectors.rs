//! Writes the vectors of the texts that a fresh site puts into its index, so that it starts without the
//! encoder's weights.
//!
//!     cargo run -p agentsite-site --example known_vectors -- FILE [--check]
//!
//! Promises: a site with the built-in agents is started in memory, and exactly the texts that it would encode
//! are written with their vectors. With `--check` nothing is written, and the exit code says whether FILE is
//! up to date.
#![expect(clippy::print_stdout, reason = "a command line tool talks on its standard streams")]

use std::error::Error;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentsite_client::mcp::InMemory;
use agentsite_egress::{Circuits, Egress};
use agentsite_host::builtin::demo_manifests;
use agentsite_host::{Confinement, Environment, Workshop};
use agentsite_library::demo_library;
use agentsite_search::{EmbedError, Embedder, Embedders, Hashed, MiniLm, ModelId, Vector};
use agentsite_site::{Site, SiteSettings, SystemClock, SystemRng, World};
use agentsite_store::MemStore;
use futures::future::BoxFuture;

/// Numbers of the vectors that are thrown away.
const PLACES: usize = 8;

/// How often is looked whether the index is complete.
const LOOK: Duration = Duration::from_millis(10);

/// An embedder that notes every text it is given.
#[derive(Debug)]
struct Recording {
    inner: Hashed,
    // A std lock: held to add a few texts, never across an await.
    texts: Mutex<Vec<String>>,
}

impl Embedder for Recording {
    fn model(&self) -> &ModelId {
        self.inner.model()
    }

    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vector>, EmbedError>> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(texts);
        self.inner.embed(texts)
    }
}

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let path = words.next().ok_or("name the file")?;
    let check = words.next().is_some_and(|word| word == "--check");
    let file = MiniLm::load().known_file(texts_of_a_fresh_site().await?);
    if std::fs::read(&path).is_ok_and(|present| present == file) {
        println!("unchanged {path}");
    } else if check {
        println!(
            "{path}:1: is not what the built-in agents say now (run `cargo xtask generate` and commit the result)"
        );
        return Ok(ExitCode::FAILURE);
    } else {
        std::fs::write(&path, file)?;
        println!("wrote     {path}");
    }
    Ok(ExitCode::SUCCESS)
}

/// The texts that a site with the built-in agents encodes before anybody asks it something.
async fn texts_of_a_fresh_site() -> Result<Vec<String>, Box<dyn Error>> {
    let recording = Arc::new(Recording { inner: Hashed::new(PLACES), texts: Mutex::default() });
    let mut settings = SiteSettings::default();
    settings.search.embedders = Embedders { fast: recording.clone(), full: None };
    let world = World { clock: Arc::new(SystemClock), rng: Arc::new(SystemRng) };
    let workshop = Workshop {
        credentials: Arc::new(InMemory::default()),
        confinement: Confinement::none(),
        ids: world.ids(),
        egress: Egress::default(),
        circuits: Circuits::new(world.rng.clone()),
        models: Default::default(),
        environment: Environment::default(),
    };
    let store = Arc::new(MemStore::new());
    let site = Site::open(settings, world, store, workshop).await?;
    for manifest in demo_manifests().into_iter().chain([demo_library()]) {
        site.agents().install(manifest, None).await?;
    }
    site.start().await?;
    while !site.workers().list().iter().any(|worker| worker.name == "search" && worker.last_run_at.is_some())
    {
        tokio::time::sleep(LOOK).await;
    }
    site.stop().await;
    let texts = std::mem::take(&mut *recording.texts.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(texts)
}
