//! The site as the mesh sees it: the agents that it lists, and the key that it signs with.
//!
//! Promises: what is hidden is not shown, and no card tells more than the public one does. Whether others
//! learn of an agent is decided in `peers`.

use std::sync::Arc;

use agentsite_egress::Egress;
use agentsite_peers::{
    LocalSite, OfferedAgent, PROTOCOL_MODEL, Peers, PeersParts, SiteAbout, VectorCodes, VectorText,
};
use agentsite_protocol::{AgentName, Caller, Ids, Pseudonym, SigningKey};
use agentsite_registry::Registry;
use agentsite_search::{Embedders, Entry, whole_vectors};
use agentsite_store::{SharedStore, StoreError};
use futures::future::BoxFuture;
use tokio::sync::watch;

use super::registry::SiteRegistry;
use crate::identity::Identity;
use crate::local_agents::LocalAgents;
use crate::{SiteError, SiteSettings};

/// The site as the mesh sees it.
#[derive(Debug)]
pub(super) struct MeshSite {
    local: Arc<LocalAgents>,
    identity: Arc<Identity>,
    settings: Arc<SiteSettings>,
    pseudonyms: PseudonymKey,
}

/// What pseudonyms are made with. It is not shown.
pub(super) struct PseudonymKey(pub(super) [u8; 32]);

impl std::fmt::Debug for PseudonymKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("PseudonymKey(…)")
    }
}

impl MeshSite {
    pub(super) const fn new(
        local: Arc<LocalAgents>,
        identity: Arc<Identity>,
        settings: Arc<SiteSettings>,
        pseudonyms: PseudonymKey,
    ) -> Self {
        Self { local, identity, settings, pseudonyms }
    }

    /// The place of this site in the mesh.
    pub(super) async fn peers(
        self,
        store: &SharedStore,
        ids: &Ids,
        registry: &Arc<Registry>,
        egress: &Egress,
        is_shared: bool,
    ) -> Result<Peers, StoreError> {
        let mesh = self.settings.mesh.clone();
        let about = SiteAbout { title: self.settings.site.name.clone(), url: mesh.public_url };
        Peers::open(PeersParts {
            settings: mesh.settings,
            network_key: mesh.network_key,
            about,
            transport: mesh.transport,
            store: store.clone(),
            ids: ids.clone(),
            registry: registry.clone(),
            local: Arc::new(self),
            egress: egress.clone(),
            is_shared,
        })
        .await
    }
}

impl LocalSite for MeshSite {
    fn agents(&self) -> Vec<OfferedAgent> {
        let base = self.settings.mesh.public_url.as_deref().unwrap_or_default();
        let all = self.local.all();
        let shown = all.iter().filter(|entry| !entry.hidden);
        let offered = shown.map(|entry| OfferedAgent {
            name: entry.manifest.name.clone(),
            visibility: entry.manifest.visibility,
            card: entry.card(base, &self.settings),
        });
        offered.collect()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.local.version.subscribe()
    }

    fn names_like(&self, shapes: &[String]) -> Vec<AgentName> {
        self.local.names_like(shapes)
    }

    fn open_to(&self, did: &str) -> Vec<AgentName> {
        let all = self.local.all();
        let named = all.iter().filter(|entry| entry.manifest.callers.iter().any(|caller| caller == did));
        named.map(|entry| entry.manifest.name.clone()).collect()
    }

    fn pseudonym(&self, user: &str, did: &str) -> Pseudonym {
        Pseudonym::of(&self.pseudonyms.0, user, did)
    }

    fn key(&self) -> SigningKey {
        self.identity.mesh_key()
    }

    fn encode(&self, texts: Vec<VectorText>) -> BoxFuture<'static, Option<Vec<VectorCodes>>> {
        let embedders = self.settings.search.embedders.clone();
        Box::pin(async move { encoded(&embedders, texts).await })
    }
}

/// The vectors of texts by the model of the protocol; none when the site searches with another one.
pub(super) async fn encoded(embedders: &Embedders, texts: Vec<VectorText>) -> Option<Vec<VectorCodes>> {
    let embedder = embedders.full.as_ref().filter(|full| full.model().as_str() == PROTOCOL_MODEL)?;
    let entry = |text: VectorText| Entry { name: text.title, text: text.text, ..Entry::default() };
    let vectors = whole_vectors(embedder, texts.into_iter().map(entry).collect()).await;
    let vectors = vectors.inspect_err(|error| tracing::debug!(%error, "Vectors were not made."));
    let codes = |codes: Option<Vec<i8>>| VectorCodes::from_codes(codes?.into()).ok();
    vectors.ok()?.into_iter().map(codes).collect()
}

/// The agents of other sites, by the name and the site that people write.
#[derive(Debug, Clone)]
pub struct PeerAgents {
    pub(super) registry: SiteRegistry,
    pub(super) peers: Peers,
}

impl PeerAgents {
    /// Opens an agent of another site in the mesh, so that it is called like one of this site; `site` is a
    /// DID or its beginning, a domain or a title. Gives the name by which it is called.
    ///
    /// # Errors
    /// [`SiteError::NotFound`] when no site is meant, or the site tells of no such agent; as
    /// [`SiteRegistry::open`].
    pub async fn open(&self, caller: &Caller, agent: &AgentName, site: &str) -> Result<AgentName, SiteError> {
        let id = self.peers.agent(agent, site).await?;
        match self.registry.open(caller, &id).await {
            Err(SiteError::NoSuchListing(_)) => Err(SiteError::NotFound(format!(
                "the site `{site}` tells of no agent `{agent}`; `agentsite find` shows what others offer"
            ))),
            opened => opened,
        }
    }
}
