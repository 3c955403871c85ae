//! What the handle, the node and the links of a site share.
//!
//! Promises: one value for each process; it says whether the mesh runs here, and hands streams of other sites
//! to the gateway. It decides nothing about records.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use agentsite_egress::Egress;
use agentsite_mesh::{LinkStream, Overlay, SiteId};
use agentsite_protocol::Ids;
use agentsite_registry::Registry;
use agentsite_store::{SharedStore, StoreError};
use agentsite_tasks::ProcessCalls;
use arc_swap::ArcSwapOption;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, mpsc};
use tokio_util::compat::FuturesAsyncReadCompatExt as _;

use crate::cell_search::CellSearch;
use crate::error::PeersError;
use crate::guard::ReplayGuard;
use crate::known::KnownPeers;
use crate::local::LocalSite;
use crate::metrics::MeshMetrics;
use crate::network::{JoinedNetwork, NETWORK, NETWORK_KEY, NetworkSecret};
use crate::reach::SiteReach;
use crate::settings::MeshSettings;
use crate::transport::Transport;

/// What a site says of itself.
#[derive(Debug, Clone, Default)]
pub struct SiteAbout {
    /// Its name for people.
    pub title: String,
    /// Its address on the web, if others reach it there.
    pub url: Option<String>,
}

/// A stream of another site that calls agents of this one.
pub struct PeerStream {
    /// The DID of that site, proven by the transport.
    pub site: String,
    /// The stream.
    pub stream: Box<dyn Duplex>,
}

impl std::fmt::Debug for PeerStream {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "PeerStream({})", self.site)
    }
}

/// A stream of bytes in both directions.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// The mesh while it runs in this process.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) overlay: Arc<dyn Overlay>,
    pub(crate) site: SiteId,
    /// Its network.
    pub(crate) network: JoinedNetwork,
}

/// What the handle and the node share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: MeshSettings,
    pub(crate) network_key: Option<NetworkSecret>,
    pub(crate) about: SiteAbout,
    pub(crate) transport: Option<Arc<dyn Transport>>,
    pub(crate) store: SharedStore,
    pub(crate) ids: Ids,
    pub(crate) registry: Arc<Registry>,
    pub(crate) local: Arc<dyn LocalSite>,
    pub(crate) egress: Egress,
    pub(crate) is_shared: bool,
    pub(crate) known: KnownPeers,
    pub(crate) metrics: MeshMetrics,
    /// Which other sites answer.
    pub(crate) reach: SiteReach,
    /// Rung when the node must begin again, with another network.
    pub(crate) restart: Notify,
    pub(crate) running: ArcSwapOption<Running>,
    // A std lock: held for a look-up and an insert, never across an await.
    pub(crate) guard: Mutex<ReplayGuard>,
    /// Searches over cells, on their way to the session.
    pub(crate) searches: mpsc::Sender<CellSearch>,
    pub(crate) asked: tokio::sync::Mutex<mpsc::Receiver<CellSearch>>,
    /// Whether agents are in cells that this site does not keep; false where the mesh does not run.
    pub(crate) parted: AtomicBool,
    /// The calls between the processes of the site, where several serve it.
    pub(crate) calls: OnceLock<ProcessCalls>,
    pub(crate) streams: mpsc::Sender<PeerStream>,
    pub(crate) arrived: tokio::sync::Mutex<mpsc::Receiver<PeerStream>>,
}

impl Shared {
    pub(crate) fn check_enabled(&self) -> Result<(), PeersError> {
        if self.settings.enabled { Ok(()) } else { Err(PeersError::Off) }
    }

    pub(crate) fn check_not_banned(&self, site: &SiteId) -> Result<(), PeersError> {
        let is_banned = self.known.get(site).is_banned(self.ids.clock().now());
        if is_banned { Err(PeersError::Banned(site.to_string())) } else { Ok(()) }
    }

    /// The network of the site: the one that the operator set, else the one that was joined by an invite,
    /// else the public one.
    pub(crate) async fn network(&self) -> Result<JoinedNetwork, PeersError> {
        if let Some(set) = self.set_network() {
            return Ok(set);
        }
        let joined = NETWORK.get(&self.store, NETWORK_KEY).await?;
        Ok(joined.map(|joined| joined.value).unwrap_or_default())
    }

    /// Begins anew when another process of the site has joined another network.
    pub(crate) async fn follow_network(&self) -> Result<(), StoreError> {
        let joined = NETWORK.get(&self.store, NETWORK_KEY).await?;
        let wanted = self.set_network().or(joined.map(|joined| joined.value)).unwrap_or_default();
        if self.running().is_ok_and(|running| running.network != wanted) {
            self.restart.notify_one();
        }
        Ok(())
    }

    /// The network that the operator set, if one was.
    pub(crate) fn set_network(&self) -> Option<JoinedNetwork> {
        let (name, key) = (self.settings.network.clone(), self.network_key.clone());
        (name.is_some() || key.is_some()).then_some(JoinedNetwork { name, key })
    }

    /// The mesh, if it runs in this process.
    pub(crate) fn running(&self) -> Result<Arc<Running>, PeersError> {
        self.check_enabled()?;
        self.running.load_full().ok_or_else(|| {
            let why = if self.is_shared {
                "another process of this site runs it; ask there, or wait until it has moved here"
            } else {
                "it has not started; see `agentsite status`"
            };
            PeersError::NotHere(why.into())
        })
    }

    pub(crate) fn is_parted(&self) -> bool {
        self.parted.load(Ordering::Relaxed)
    }

    pub(crate) fn set_parted(&self, is_parted: bool) {
        self.parted.store(is_parted, Ordering::Relaxed);
    }

    pub(crate) fn set_running(&self, running: Option<Running>) {
        if running.is_none() {
            self.set_parted(false);
        }
        self.running.store(running.map(Arc::new));
    }

    /// Hands a stream of another site to the gateway; one for which there is no space is dropped.
    pub(crate) fn hand_over(&self, site: SiteId, stream: Box<dyn LinkStream>) {
        let stream = PeerStream { site: site.to_string(), stream: Box::new(stream.compat()) };
        match self.streams.try_send(stream) {
            Ok(()) => self.metrics.link_accepted(),
            Err(_) => self.metrics.link_refused(),
        }
    }
}
