//! Status: how a site fares in the mesh, for admins.
//!
//! Promises: the process that runs the mesh says what is; where several processes serve a site it keeps that
//! in the store, so that the others can tell, too, some seconds old.

use std::collections::BTreeMap;

use agentsite_mesh::{PeerStatus, SiteId};
use agentsite_protocol::{Principal, Timestamp};
use agentsite_store::{Change, Collection, ListingFilter, StoreError, Unjournaled};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::PeersError;
use crate::known::KnownPeer;
use crate::shared::{Running, Shared};
use crate::sites::{self, SiteEntry};

/// Where the status is kept for other processes; one record.
pub(crate) const STATUS: Collection<MeshView> = Collection::new("mesh_status");

/// The key of that record.
const KEY: &str = "node";

/// What a site loses of its score while its vectors are not used: more than gossip can earn.
const DISTRUST_COST: f64 = 100.0;

/// How a site fares in the mesh.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MeshView {
    /// Whether the site takes part in the mesh.
    pub enabled: bool,
    /// Whether it runs at present.
    pub running: bool,
    /// The DID under which it is known there.
    pub site: String,
    /// The network; the public one when none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Whether the network is private.
    pub private: bool,
    /// Under which addresses others reach it.
    pub addresses: Vec<String>,
    /// Agents of this site that others learn of.
    pub published: i64,
    /// Agents of other sites that are listed here.
    pub listed: i64,
    /// Records that are held.
    pub records: i64,
    /// The peers: connected, added or banned.
    pub peers: Vec<PeerView>,
    /// When this was so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub at: Option<Timestamp>,
}

/// A site that is connected, was added or is banned.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PeerView {
    /// Its DID.
    pub site: String,
    /// What it calls itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Its address on the web.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Whether it is connected.
    pub connected: bool,
    /// Where: the address of the connection, or the one that is dialed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub address: String,
    /// Whether a relay carries the connection.
    pub relayed: bool,
    /// Milliseconds of a round trip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// How well it behaves in gossip; below zero is bad.
    pub score: f64,
    /// Agents of it that are listed here.
    pub agents: u64,
    /// Bytes that came from it.
    pub bytes_in: u64,
    /// Bytes that went to it.
    pub bytes_out: u64,
    /// Whether it answers this site in one way or another; none while that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<bool>,
    /// When there was last contact with it, unless it is connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub seen_at: Option<Timestamp>,
    /// Since when it is connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub since: Option<Timestamp>,
    /// Whether an admin added it.
    pub added: bool,
    /// Until when it is banned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub banned_until: Option<Timestamp>,
}

/// How the site fares: as this process knows it, or as the one that runs the mesh last said.
pub(crate) async fn view(shared: &Shared) -> Result<MeshView, PeersError> {
    if let Ok(running) = shared.running() {
        return current(shared, &running).await;
    }
    let kept = if shared.settings.enabled && shared.is_shared {
        STATUS.get(&shared.store, KEY).await?.map(|kept| kept.value)
    } else {
        None
    };
    let site = shared.local.key().public().did_key();
    Ok(kept.unwrap_or_else(|| MeshView { enabled: shared.settings.enabled, site, ..MeshView::default() }))
}

/// Keeps the status for other processes.
pub(crate) async fn keep(shared: &Shared) -> Result<(), PeersError> {
    let running = shared.running()?;
    let view = current(shared, &running).await?;
    let revision = STATUS.get(&shared.store, KEY).await?.map_or(0, |kept| kept.revision);
    let put = STATUS.put(KEY, None, revision, &view)?;
    match shared.store.commit(Change::unjournaled(Unjournaled::PeerRecords).edit(put)).await {
        // Another process keeps its own: this one has lost the lease and will notice.
        Err(StoreError::Moved(_)) => Ok(()),
        done => Ok(done?),
    }
}

async fn current(shared: &Shared, running: &Running) -> Result<MeshView, PeersError> {
    let (records, published, listed) = shared.metrics.held();
    let connected = running.overlay.peers().await;
    let told = sites::all(&shared.store).await?;
    let mut peers: BTreeMap<SiteId, PeerView> = BTreeMap::new();
    for (site, known) in shared.known.all().iter() {
        peers.insert(*site, known_peer(&known.value));
    }
    for status in connected {
        let view = peers.entry(status.site).or_default();
        fill(view, &status);
    }
    let now = shared.ids.clock().now();
    for (site, view) in &mut peers {
        if shared.known.get(site).is_distrusted(now) {
            view.score -= DISTRUST_COST;
        }
        view.site = site.to_string();
        let (live, seen_at) = shared.reach.of(site);
        (view.live, view.seen_at) = (live, seen_at.filter(|_| !view.connected));
        if let Some(SiteEntry { title, url, .. }) = told.get(site) {
            (view.title, view.url) = (title.clone(), url.clone());
        }
        let owner = Principal::peer(&view.site).ok();
        let filter = ListingFilter { owner, ..ListingFilter::default() };
        view.agents = shared.store.count_listings(filter).await?;
    }
    Ok(MeshView {
        enabled: true,
        running: true,
        site: running.site.to_string(),
        network: running.network.name.clone(),
        private: running.network.key.is_some(),
        // Admins see this: also those of the local network.
        addresses: running.overlay.invite_addresses().await,
        published,
        listed,
        records,
        peers: peers.into_values().collect(),
        at: Some(shared.ids.clock().now()),
    })
}

fn known_peer(known: &KnownPeer) -> PeerView {
    PeerView {
        address: known.addresses.first().cloned().unwrap_or_default(),
        added: known.added,
        banned_until: known.banned_until,
        ..PeerView::default()
    }
}

fn fill(view: &mut PeerView, status: &PeerStatus) {
    view.connected = true;
    view.address.clone_from(&status.address);
    view.relayed = status.is_relayed;
    view.latency_ms = status.latency.map(|latency| latency.as_secs_f64() * 1_000.0);
    view.score = status.score;
    (view.bytes_in, view.bytes_out) = status.bytes;
    view.since = Some(status.since);
}
