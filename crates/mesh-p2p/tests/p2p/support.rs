//! Sites for the stories: free ports, a clock, deadlines.
//!
//! Promises: what a story waits for happens within [`PATIENCE`], or the story fails.

use std::sync::Arc;
use std::time::Duration;

use agentsite_mesh::overlay::contract::{Harness, Node};
use agentsite_mesh::story::Site;
use agentsite_mesh::{Overlay as _, OverlayEvents, SiteId};
use agentsite_mesh_p2p::{P2pOverlay, P2pSettings};
use agentsite_protocol::{Clock, Timestamp};
use async_trait::async_trait;

/// Time as it passes for tokio.
#[derive(Debug)]
pub(crate) struct TestClock(tokio::time::Instant);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        agentsite_mesh::story::at(0).plus(self.0.elapsed())
    }
}

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(TestClock(tokio::time::Instant::now()))
}

/// How a site of a story listens.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wire {
    Tcp,
    Quic,
}

impl Wire {
    pub(crate) fn listen(self) -> String {
        match self {
            Self::Tcp => "/ip4/127.0.0.1/tcp/0".into(),
            Self::Quic => "/ip4/127.0.0.1/udp/0/quic-v1".into(),
        }
    }

    fn dead(self) -> String {
        // Port 1 of the loopback interface: nothing listens there.
        match self {
            Self::Tcp => "/ip4/127.0.0.1/tcp/1".into(),
            Self::Quic => "/ip4/127.0.0.1/udp/1/quic-v1".into(),
        }
    }
}

pub(crate) fn settings(wire: Wire) -> P2pSettings {
    P2pSettings { listen: vec![wire.listen()], allow_private_addresses: true, ..P2pSettings::default() }
}

pub(crate) use agentsite_mesh::overlay::contract::PATIENCE;

/// Waits until something is true.
pub(crate) async fn eventually(what: &str, mut is_true: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_true().await {
            // tidy: waits because it asks again until the deadline
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("not in time: {what}"));
}

/// A site of a story with its real overlay.
pub(crate) struct RealNode {
    pub(crate) site: Site,
    pub(crate) overlay: Arc<P2pOverlay>,
    pub(crate) events: OverlayEvents,
    pub(crate) address: String,
}

impl RealNode {
    pub(crate) const fn id(&self) -> SiteId {
        self.site.id
    }

    pub(crate) fn into_node(self) -> Node {
        Node { site: self.site, overlay: self.overlay, events: self.events, address: self.address }
    }
}

pub(crate) async fn start(number: u64, settings: P2pSettings) -> RealNode {
    let site = Site::new(number);
    let (overlay, events) = P2pOverlay::start(settings, &site.key, clock()).await.unwrap();
    let address = overlay.addresses().await.into_iter().next().unwrap_or_default();
    RealNode { site, overlay, events, address }
}

/// Starts real sites for the contract.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Real(pub(crate) Wire);

#[async_trait]
impl Harness for Real {
    async fn start(&self, number: u64) -> Node {
        start(number, settings(self.0)).await.into_node()
    }

    fn dead_address(&self) -> String {
        self.0.dead()
    }

    async fn sleep(&self, duration: Duration) {
        // tidy: waits because it is the timer of the deadlines
        tokio::time::sleep(duration).await;
    }
}
