//! The database fails over to a standby that was in step, under the same address.
//!
//! Promises that are tested: nothing that was acknowledged is lost or doubled, and the site continues;
//! while the standby is not promoted writes wait or are refused for the moment; a standby given as the
//! store is refused at the start with what to do. The address is moved as a virtual address is:
//! connections to the old server end, new ones reach the other.

use std::path::PathBuf;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::watch;

use super::server::Server;
use super::{journal_is_whole, process, started};
use crate::crash::agents;
use crate::crash::audit::Audit;
use crate::crash::dice::{Dice, fresh_seed};
use crate::crash::load::Load;
use crate::site::TestSite;

/// Clients that send at the same time.
const CLIENTS: usize = 6;

/// Acknowledgements before and after the failover.
const ACKNOWLEDGED: usize = 60;

/// An address that leads to one server at a time.
struct Address {
    port: u16,
    target: watch::Sender<PathBuf>,
    task: tokio::task::JoinHandle<()>,
}

impl Address {
    async fn of(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let target = watch::Sender::new(server.socket());
        let seen = target.subscribe();
        let task = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut target = seen.clone();
                tokio::spawn(async move {
                    let socket = target.borrow_and_update().clone();
                    // A server that is gone breaks the connection of the client, too.
                    let Ok(mut server) = UnixStream::connect(socket).await else { return };
                    tokio::select! {
                        _ = copy_bidirectional(&mut client, &mut server) => {}
                        _ = target.changed() => {}
                    }
                });
            }
        });
        Self { port, target, task }
    }

    fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    fn lead_to(&self, server: &Server) {
        self.target.send_replace(server.socket());
    }
}

impl Drop for Address {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failover_to_a_standby_loses_and_doubles_nothing() {
    let mut primary = Server::start();
    let standby = primary.standby();
    let address = Address::of(&primary).await;
    let mark = format!("failover-{}", std::process::id());
    let member = |name: &str| {
        let site = process(&primary, name).without("AGENTSITE_STORE");
        started(agents(site.variable("AGENTSITE_STORE", &address.url()), &mark))
    };
    let (one, two) = (member("one"), member("two"));
    refused_as_a_store(&primary, &standby);

    let mut loads = [&one, &two].map(|site| {
        let load = Load::begin_balanced(&mut Dice::new(fresh_seed()), CLIENTS / 2, &site.http);
        load.open(&site.url);
        load
    });
    for load in &loads {
        load.wait_for(ACKNOWLEDGED).await;
    }
    tokio::task::block_in_place(|| primary.kill());
    // The address may move before the standby is promoted.
    address.lead_to(&standby);
    tokio::task::block_in_place(|| standby.promote());
    for load in &loads {
        load.wait_for(ACKNOWLEDGED).await;
    }
    let mut acknowledged = Vec::new();
    for load in &mut loads {
        load.finish().await;
        println!("{}, longest pause {:.1} s", load.counts(), load.longest_pause().as_secs_f64());
        acknowledged.extend(load.acknowledged());
    }
    let mut audit = Audit::default();
    audit.look_at_what_is_new(&two, &acknowledged).await;
    audit.look_at_everything(&two, &acknowledged).await;
    println!("{}", audit.counts());
    audit.verdict();
    journal_is_whole(&one);
}

/// A standby that is given as the store is named as one.
fn refused_as_a_store(primary: &Server, standby: &Server) {
    let site: TestSite = process(primary, "three").without("AGENTSITE_STORE");
    let site = site.variable("AGENTSITE_STORE", &standby.url());
    let tried = site.serve_command().output().unwrap();
    let said = String::from_utf8_lossy(&tried.stderr);
    assert!(!tried.status.success() && said.contains("read-only"), "{said}");
    assert!(said.contains("name the primary"), "it says what to do: {said}");
}
