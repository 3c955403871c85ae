//! Prints what it costs to connect one program more, as the number of connected agents grows.
//!
//!     cargo run -p agentsite-site --example one_agent_more
//!
//! Promises: the site and its store are in memory, so that what is measured is the work of the site and not
//! the disk. It checks nothing: times differ from machine to machine.
#![expect(clippy::print_stdout, reason = "a command line tool talks on its standard streams")]

use std::error::Error;
use std::sync::Arc;

use agentsite_client::mcp::InMemory;
use agentsite_egress::{Circuits, Egress};
use agentsite_host::{Confinement, Environment, Workshop};
use agentsite_protocol::Caller;
use agentsite_protocol::agent_session::Introduction;
use agentsite_site::{Site, SiteSettings, World};
use agentsite_store::MemStore;
use tokio::time::Instant;

/// How many agents are connected in all: as many as a site takes by default.
const MOST: usize = 10_000;

/// After how many a line is printed.
const STEP: usize = 1_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (site, caller) = (empty_site().await?, Caller::admin());
    let mut connected = Vec::new();
    while connected.len() < MOST {
        let begun = Instant::now();
        for _ in 0..STEP {
            let name = format!("program-{}", connected.len()).parse()?;
            let said = Introduction::new(name, "Does something.");
            connected.push(site.connected().connect(&caller, said).await?);
        }
        let each = begun.elapsed() / u32::try_from(STEP)?;
        println!("{} agents are connected; each of the last {STEP} took {each:?}", connected.len());
    }
    Ok(())
}

async fn empty_site() -> Result<Site, Box<dyn Error>> {
    let world = World::system();
    let workshop = Workshop {
        credentials: Arc::new(InMemory::default()),
        confinement: Confinement::none(),
        ids: world.ids(),
        egress: Egress::default(),
        circuits: Circuits::new(world.rng.clone()),
        models: Default::default(),
        environment: Environment::default(),
    };
    let (settings, store) = (SiteSettings::default(), Arc::new(MemStore::default()));
    Ok(Site::open(settings, world, store, workshop).await?)
}
