//! Peers: the handle of a site on its place in the mesh.
//!
//! Promises: cheap to clone; works in every process of a site, whichever of them runs the mesh. A site that
//! is not in the mesh answers every verb with how to join. The verbs of admins are in `verbs`.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use agentsite_egress::{Egress, Links};
use agentsite_mesh::{SiteId, VectorCodes};
use agentsite_protocol::{Caller, Ids, Principal, Pseudonym, SiteToken};
use agentsite_registry::Registry;
use agentsite_store::{SharedStore, StoreError};
use arc_swap::ArcSwapOption;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::cell_search::{CellFindings, CellSearch};
use crate::error::PeersError;
use crate::guard::ReplayGuard;
use crate::known::KnownPeers;
use crate::links::SiteLinks;
use crate::local::LocalSite;
use crate::metrics::MeshMetrics;
use crate::network::NetworkSecret;
use crate::reach::SiteReach;
use crate::settings::MeshSettings;
use crate::shared::{PeerStream, Shared, SiteAbout};
use crate::transport::Transport;

/// Streams of other sites that wait for the gateway; it takes them at once, unless it is overloaded.
const WAITING_STREAMS: usize = 64;

/// Searches over cells that wait for the session; further ones are answered from what this site keeps.
const WAITING_SEARCHES: usize = 64;

/// How long a search may take: two steps with one replacement of a server each.
const SEARCH_WITHIN: Duration = Duration::from_secs(5);

/// What the mesh of a site is made of.
#[derive(Debug)]
pub struct PeersParts {
    /// What the operator set.
    pub settings: MeshSettings,
    /// The secret of the network that the operator set.
    pub network_key: Option<NetworkSecret>,
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
        let (searches, asked) = mpsc::channel(WAITING_SEARCHES);
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
            reach: SiteReach::default(),
            restart: Notify::new(),
            running: ArcSwapOption::empty(),
            guard,
            searches,
            asked: tokio::sync::Mutex::new(asked),
            parted: AtomicBool::new(false),
            calls: OnceLock::new(),
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

    /// Whether agents of the mesh are in cells that this site does not keep, and this process can ask.
    #[must_use]
    pub fn is_parted(&self) -> bool {
        self.0.is_parted()
    }

    /// Searches the cells that other sites keep; none when there is one cell, when the mesh does not run in
    /// this process, or when it took too long.
    pub async fn search_cells(&self, vector: VectorCodes, limit: usize) -> Option<CellFindings> {
        if !self.is_parted() {
            return None;
        }
        let (answer, found) = oneshot::channel();
        self.0.searches.try_send(CellSearch { vector, limit, answer }).ok()?;
        tokio::time::timeout(SEARCH_WITHIN, found).await.ok()?.ok()
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
    /// [`PeersError::Off`], [`PeersError::Token`], [`PeersError::Banned`], [`PeersError::Store`].
    pub async fn caller_by_token(&self, token: &str) -> Result<Caller, PeersError> {
        let shared = &self.0;
        shared.check_enabled()?;
        let now = shared.ids.clock().now();
        let own = shared.local.key().public().did_key();
        let proven = SiteToken::prove(token, &own, now)?;
        shared.admit_token(&proven, now).await?;
        self.caller(&proven.site, proven.user)
    }

    /// The site at the other end of a stream, which the transport has proven, as a caller; or the user whom
    /// the token of the request names.
    ///
    /// # Errors
    /// [`PeersError::Banned`].
    pub fn caller_on_stream(&self, did: &str, token: Option<&str>) -> Result<Caller, PeersError> {
        self.caller(did, token.and_then(|token| SiteToken::user_named_by(did, token)))
    }

    fn caller(&self, did: &str, user: Option<Pseudonym>) -> Result<Caller, PeersError> {
        let unknown = |_| PeersError::Bad(format!("`{did}` is not the DID of a site"));
        let site: SiteId = did.parse().map_err(unknown)?;
        self.0.check_not_banned(&site)?;
        let owner = user.map_or_else(|| Principal::peer(did), |user| Principal::peer_user(did, &user));
        let owner = owner.map_err(|error| PeersError::Bad(error.to_string()))?;
        Ok(Caller::peer(owner, self.0.known.get(&site).added, self.0.local.open_to(did)))
    }
}
