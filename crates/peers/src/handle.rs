//! Peers: the handle of a site on its place in the mesh.
//!
//! Promises: cheap to clone; works in every process of a site, whichever of them runs the mesh. A site that is
//! not in the mesh answers every verb with how to join. What it shares with the node (`node`) is here; the
//! verbs of admins are in `verbs`.

use std::sync::{Arc, Mutex, PoisonError};

use agentsite_egress::{Egress, Links};
use agentsite_mesh::{LinkStream, Overlay, SiteId};
use agentsite_protocol::{Caller, Ids, Principal, SiteToken};
use agentsite_registry::Registry;
use agentsite_store::{SharedStore, StoreError};
use arc_swap::ArcSwapOption;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, mpsc};
use tokio_util::compat::FuturesAsyncReadCompatExt as _;

use crate::error::PeersError;
use crate::guard::ReplayGuard;
use crate::known::KnownPeers;
use crate::links::SiteLinks;
use crate::local::LocalSite;
use crate::metrics::MeshMetrics;
use crate::settings::MeshSettings;
use crate::transport::Transport;

/// Streams of other sites that wait for the gateway; it takes them at once, unless it is overloaded.
const WAITING_STREAMS: usize = 64;

/// What a site says of itself.
#[derive(Debug, Clone, Default)]
pub struct SiteAbout {
    /// Its name for people.
    pub title: String,
    /// Its address on the web, if others reach it there.
    pub url: Option<String>,
}

/// What the mesh of a site is made of.
#[derive(Debug)]
pub struct PeersParts {
    /// What the operator set.
    pub settings: MeshSettings,
    /// The secret of the network that the operator set.
    pub network_key: Option<String>,
    /// What the site says of itself.
    pub about: SiteAbout,
    /// How its overlay is started; without it the mesh is off.
    pub transport: Option<Arc<dyn Transport>>,
    /// Where everything is kept.
    pub store: SharedStore,
    /// Clock and randomness.
    pub ids: Ids,
    /// Where agents of others are listed.
    pub registry: Arc<Registry>,
    /// The site itself.
    pub local: Arc<dyn LocalSite>,
    /// The way out, on which links are laid.
    pub egress: Egress,
    /// Whether several processes may serve the site.
    pub is_shared: bool,
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
    /// Name and secret of its network.
    pub(crate) network: (Option<String>, Option<String>),
}

/// What the handle and the node share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: MeshSettings,
    pub(crate) network_key: Option<String>,
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
    /// Rung when the node must begin again, with another network.
    pub(crate) restart: Notify,
    running: ArcSwapOption<Running>,
    // A std lock: held for a look-up and an insert, never across an await.
    guard: Mutex<ReplayGuard>,
    streams: mpsc::Sender<PeerStream>,
    arrived: tokio::sync::Mutex<mpsc::Receiver<PeerStream>>,
}

/// The place of a site in the mesh.
#[derive(Debug, Clone)]
pub struct Peers(pub(crate) Arc<Shared>);

impl Peers {
    /// Reads what is known of peers, and lays the links to other sites.
    ///
    /// # Errors
    /// What the store reports.
    pub async fn open(parts: PeersParts) -> Result<Self, StoreError> {
        let known = KnownPeers::open(parts.store.clone()).await?;
        let (streams, arrived) = mpsc::channel(WAITING_STREAMS);
        let guard = Mutex::new(ReplayGuard::new(parts.ids.clock().now()));
        let enabled = parts.settings.enabled && parts.transport.is_some();
        let shared = Arc::new(Shared {
            settings: MeshSettings { enabled, ..parts.settings },
            network_key: parts.network_key,
            about: parts.about,
            transport: parts.transport,
            store: parts.store,
            ids: parts.ids,
            registry: parts.registry,
            local: parts.local,
            egress: parts.egress,
            is_shared: parts.is_shared,
            known,
            metrics: MeshMetrics::default(),
            restart: Notify::new(),
            running: ArcSwapOption::empty(),
            guard,
            streams,
            arrived: tokio::sync::Mutex::new(arrived),
        });
        if enabled {
            let links: Arc<dyn Links> = Arc::new(SiteLinks(Arc::downgrade(&shared)));
            shared.egress.lay_links(links);
        }
        Ok(Self(shared))
    }

    /// Whether this site takes part in the mesh.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.0.settings.enabled
    }

    /// Waits for the next stream of another site. Safe to drop; waits for ever when the mesh is off.
    pub async fn next_stream(&self) -> PeerStream {
        match self.0.arrived.lock().await.recv().await {
            Some(stream) => stream,
            // The sender lives as long as the receiver.
            None => std::future::pending().await,
        }
    }

    /// Whether an admin added the site with this DID as a peer.
    #[must_use]
    pub fn is_added(&self, did: &str) -> bool {
        did.parse().is_ok_and(|site| self.0.known.get(&site).added)
    }

    /// The calling site that a token proves, as a caller. A token counts once.
    ///
    /// # Errors
    /// [`PeersError::Off`], [`PeersError::Token`], [`PeersError::Banned`].
    pub fn caller_by_token(&self, token: &str) -> Result<Caller, PeersError> {
        let shared = &self.0;
        shared.check_enabled()?;
        let now = shared.ids.clock().now();
        let own = shared.local.key().public().did_key();
        let proven = SiteToken::prove(token, &own, now)?;
        shared.guard.lock().unwrap_or_else(PoisonError::into_inner).admit(&proven, now)?;
        self.caller(&proven.site)
    }

    /// The site at the other end of a stream, which the transport has proven, as a caller.
    ///
    /// # Errors
    /// [`PeersError::Banned`].
    pub fn caller(&self, did: &str) -> Result<Caller, PeersError> {
        let unknown = |_| PeersError::Bad(format!("`{did}` is not the DID of a site"));
        let site: SiteId = did.parse().map_err(unknown)?;
        self.0.check_not_banned(&site)?;
        let owner = Principal::peer(did).map_err(|error| PeersError::Bad(error.to_string()))?;
        Ok(Caller::peer(owner, self.0.known.get(&site).added, self.0.local.open_to(did)))
    }
}

impl Shared {
    pub(crate) fn check_enabled(&self) -> Result<(), PeersError> {
        if self.settings.enabled { Ok(()) } else { Err(PeersError::Off) }
    }

    pub(crate) fn check_not_banned(&self, site: &SiteId) -> Result<(), PeersError> {
        let is_banned = self.known.get(site).is_banned(self.ids.clock().now());
        if is_banned { Err(PeersError::Banned(site.to_string())) } else { Ok(()) }
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

    pub(crate) fn set_running(&self, running: Option<Running>) {
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
