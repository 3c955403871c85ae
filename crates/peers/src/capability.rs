//! The mesh as the value by which a site knows this capability.
//!
//! Promises: every kind of journal line and every collection of this crate is declared here once.

use agentsite_mesh::SiteId;
use agentsite_tasks::{Capability, CheckReport, CheckVerdict, RecordChanges, WorkerScope};

use crate::handle::Peers;
use crate::kept::{RECORDS, STATE};
use crate::kinds;
use crate::known::PEERS;
use crate::network::{NETWORK, NETWORK_KEY};
use crate::node;
use crate::sites::SITES;
use crate::status::STATUS;
use crate::tokens::TOKENS;

/// What is checked, as the doctor names it.
const CHECK: &str = "mesh";

impl Peers {
    /// What the mesh contributes to a site.
    #[must_use]
    pub fn capability(&self) -> Capability {
        let (shared, known, checked, metrics) =
            (self.0.clone(), self.0.clone(), self.clone(), self.0.metrics.clone());
        Capability::new("mesh")
            .kinds(kinds::ALL)
            .collections(
                const {
                    &[
                        RECORDS.name(),
                        STATE.name(),
                        SITES.name(),
                        PEERS.name(),
                        NETWORK.name(),
                        STATUS.name(),
                        TOKENS.name(),
                    ]
                },
            )
            .metrics(move |registry| metrics.register(registry))
            .check(move || {
                let peers = checked.clone();
                async move { peers.check().await }
            })
            .follow(move |changes| {
                let shared = known.clone();
                async move {
                    if may_be_network(&changes) {
                        shared.follow_network().await?;
                    }
                    if may_be_peers(&changes) { shared.known.read_again().await } else { Ok(()) }
                }
            })
            .worker(
                "mesh",
                "Tells other sites of the public agents of this one, and lists theirs.",
                WorkerScope::Site,
                move |worker, stop| node::run(shared.clone(), worker, stop),
            )
    }

    async fn check(&self) -> CheckReport {
        let report = |verdict, words: String| CheckReport { name: CHECK, verdict, words };
        if !self.is_enabled() {
            return report(CheckVerdict::Ok, "this site is not in the mesh ([mesh] enabled = false)".into());
        }
        match crate::status::view(&self.0).await {
            Ok(view) if !view.running => {
                report(CheckVerdict::Fail, "the mesh does not run; `agentsite status` says why".into())
            }
            Ok(view) => {
                let connected = view.peers.iter().filter(|peer| peer.connected).count();
                let words = format!(
                    "{connected} sites connected, {} agents of others listed, {} of this site published",
                    view.listed, view.published
                );
                if connected == 0 {
                    let more = "; add one with `agentsite peer add`, or join by an invite";
                    return report(CheckVerdict::Warn, format!("{words}{more}"));
                }
                report(CheckVerdict::Ok, words)
            }
            Err(error) => report(CheckVerdict::Fail, error.to_string()),
        }
    }
}

/// Whether peers may be among the records that were touched: they are kept by DID alone, and records, of
/// which a large network changes many per second, by DID and subject.
fn may_be_peers(changes: &RecordChanges) -> bool {
    match changes {
        RecordChanges::All => true,
        RecordChanges::Keys(keys) => keys.iter().any(|key| key.parse::<SiteId>().is_ok()),
    }
}

/// Whether the network that was joined may be among them.
fn may_be_network(changes: &RecordChanges) -> bool {
    match changes {
        RecordChanges::All => true,
        RecordChanges::Keys(keys) => keys.iter().any(|key| key == NETWORK_KEY),
    }
}
