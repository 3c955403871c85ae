//! What admins do with peers: add, ban, allow, invite, join; and which agent of which site is meant.
//!
//! Promises: every verb checks the caller; each change has its journal line. A peer that is added by the
//! address of its site is known by the DID that the site publishes there, and only that DID is connected.

use std::time::Duration;

use agentsite_egress::Egress;
use agentsite_mesh::SiteId;
use agentsite_protocol::listing::ListingId;
use agentsite_protocol::{AgentName, Caller, JournalLine};
use agentsite_registry::peer_entry_id;
use agentsite_store::Change;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::error::PeersError;
use crate::handle::Peers;
use crate::invite::Invite;
use crate::network::{JoinedNetwork, NETWORK, NETWORK_KEY, NetworkSecret};
use crate::status::{self, MeshView};
use crate::{kinds, sites};

/// Where a site tells who it is in the mesh.
const WELL_KNOWN: &str = "/.well-known/agentsite.json";

/// How long the ban of an admin holds: permanently, in practice.
const PERMANENTLY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// Longest time for the document of a site.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

/// Largest such document; it has some hundred bytes.
const MAX_DOCUMENT: usize = 64 << 10;

/// Who a site is in the mesh, as everybody may know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SiteDocument {
    /// Its DID.
    pub did: String,
    /// Its name for people.
    #[serde(default)]
    pub title: String,
    /// Its address on the web.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its addresses in the mesh.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// Its network; the public one when none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
}

fn admin_only(caller: &Caller) -> Result<(), PeersError> {
    if caller.is_admin() { Ok(()) } else { Err(PeersError::Forbidden) }
}

impl Peers {
    /// How the site fares in the mesh.
    ///
    /// # Errors
    /// [`PeersError::Forbidden`] for all but admins.
    pub async fn view(&self, caller: &Caller) -> Result<MeshView, PeersError> {
        admin_only(caller)?;
        status::view(&self.0).await
    }

    /// Who this site is in the mesh, for everybody; none while no process of it runs the mesh.
    pub async fn document(&self) -> Option<SiteDocument> {
        let addresses = self.addresses().await.ok()?;
        let about = &self.0.about;
        Some(SiteDocument {
            did: self.0.local.key().public().did_key(),
            title: about.title.clone(),
            url: about.url.clone(),
            addresses,
            network: self.0.network().await.ok()?.name,
        })
    }

    /// The addresses of this site in the mesh: as this process knows them, or as the one that runs the mesh
    /// last said.
    async fn addresses(&self) -> Result<Vec<String>, PeersError> {
        match self.0.running() {
            Ok(running) => Ok(running.overlay.addresses().await),
            Err(not_here) => {
                let view = status::view(&self.0).await?;
                if view.running { Ok(view.addresses) } else { Err(not_here) }
            }
        }
    }

    /// Adds a site as a peer, by an address in the mesh or by the address of its site on the web; gives its
    /// DID.
    ///
    /// # Errors
    /// [`PeersError::Forbidden`] for all but admins, [`PeersError::Overlay`] when it does not answer.
    pub async fn add(&self, caller: &Caller, target: &str) -> Result<String, PeersError> {
        admin_only(caller)?;
        self.0.check_enabled()?;
        let target = target.trim();
        if target.starts_with("http://") || target.starts_with("https://") {
            // An admin named this very address.
            let url = Url::parse(target).map_err(|error| PeersError::Bad(format!("{target}: {error}")))?;
            let document = fetch_document(&self.0.egress.trusting(&url), target).await?;
            let bad = |_| PeersError::Bad(format!("{target} names `{}`, which is not a site", document.did));
            let site = document.did.parse().map_err(bad)?;
            return self.keep(caller, site, &document.addresses).await;
        }
        let site = self.0.dial(target).await?;
        self.keep(caller, site, &[target.to_owned()]).await
    }

    async fn keep(&self, caller: &Caller, site: SiteId, addresses: &[String]) -> Result<String, PeersError> {
        let own = self.0.local.key().public().did_key();
        if site.to_string() == own {
            return Err(PeersError::Bad("this is the site itself".into()));
        }
        if addresses.is_empty() {
            return Err(PeersError::Bad(format!("{site} does not say where it is reached in the mesh")));
        }
        let line = (
            kinds::PEER_ADDED,
            self.0.ids.clock().now(),
            caller.owner().as_str(),
            format!("added {site} as a peer"),
        );
        let change = |known: &mut crate::known::KnownPeer| {
            (known.added, known.banned_until) = (true, None);
            known.reached_at(addresses);
        };
        self.0.known.update(&site, line, change).await?;
        Ok(site.to_string())
    }

    /// Bans a site: its connections end, its agents are withdrawn, its calls are refused.
    ///
    /// # Errors
    /// [`PeersError::Forbidden`] for all but admins, [`PeersError::NotFound`].
    pub async fn ban(&self, caller: &Caller, word: &str) -> Result<String, PeersError> {
        admin_only(caller)?;
        let site = self.site(word).await?;
        let now = self.0.ids.clock().now();
        let line = (kinds::PEER_BANNED, now, caller.owner().as_str(), format!("banned {site}"));
        self.0
            .known
            .update(&site, line, |known| {
                (known.banned_until, known.added) = (Some(now.plus(PERMANENTLY)), false);
            })
            .await?;
        Ok(site.to_string())
    }

    /// Lifts a ban; the site is not a peer by that.
    ///
    /// # Errors
    /// [`PeersError::Forbidden`] for all but admins, [`PeersError::NotFound`].
    pub async fn allow(&self, caller: &Caller, word: &str) -> Result<String, PeersError> {
        admin_only(caller)?;
        let site = self.site(word).await?;
        let line = (
            kinds::PEER_ALLOWED,
            self.0.ids.clock().now(),
            caller.owner().as_str(),
            format!("allowed {site} again"),
        );
        self.0.known.update(&site, line, |known| known.banned_until = None).await?;
        Ok(site.to_string())
    }

    /// Removes a peer that was added: it is not dialed any more and has no more access than other sites.
    ///
    /// # Errors
    /// [`PeersError::Forbidden`] for all but admins, [`PeersError::NotFound`].
    pub async fn remove(&self, caller: &Caller, word: &str) -> Result<String, PeersError> {
        admin_only(caller)?;
        let site = self.site(word).await?;
        let line = (
            kinds::PEER_ALLOWED,
            self.0.ids.clock().now(),
            caller.owner().as_str(),
            format!("removed the peer {site}"),
        );
        self.0
            .known
            .update(&site, line, |known| {
                known.added = false;
                known.addresses.clear();
            })
            .await?;
        Ok(site.to_string())
    }

    /// An invite by which another site joins the network of this one. It names every address of this site,
    /// also in the local network and on this machine: an admin chooses who gets it.
    ///
    /// # Errors
    /// [`PeersError::Forbidden`] for all but admins, [`PeersError::NotHere`].
    pub async fn invite(&self, caller: &Caller) -> Result<Invite, PeersError> {
        admin_only(caller)?;
        let addresses = match self.0.running() {
            Ok(running) => running.overlay.invite_addresses().await,
            // Addresses of private networks are known to the process that runs the mesh alone.
            Err(_) => self.addresses().await?,
        };
        if addresses.is_empty() {
            let why = "this site has no address that others could dial; set [mesh] listen or external";
            return Err(PeersError::Bad(why.into()));
        }
        let JoinedNetwork { name, key } = self.0.network().await?;
        let secret = key.map(|key| key.reveal().to_owned());
        let own = SiteId::of(&self.0.local.key().public());
        let own =
            own.map_err(|error| PeersError::Bad(format!("the key of the site cannot be used: {error}")))?;
        Ok(Invite::new(&own, &self.0.about.title, addresses, (name, secret)))
    }

    /// Joins the network of an invite, and adds the site that sent it as a peer; gives its DID.
    ///
    /// # Errors
    /// [`PeersError::Forbidden`] for all but admins, [`PeersError::Bad`] when the operator set another
    /// network.
    pub async fn join(&self, caller: &Caller, link: &str) -> Result<String, PeersError> {
        admin_only(caller)?;
        self.0.check_enabled()?;
        let invite = Invite::read(link).map_err(|error| PeersError::Bad(error.to_string()))?;
        let site: SiteId =
            invite.site.parse().map_err(|_| PeersError::Bad("the invite names no site".into()))?;
        let key = invite.key.as_deref().map(NetworkSecret::new);
        let wanted = JoinedNetwork { name: invite.network.clone(), key };
        match self.0.set_network() {
            Some(set) if set != wanted => {
                return Err(PeersError::Bad(
                    "this site is in the network that [mesh] network and network_key_file name; remove both keys to join another"
                        .into(),
                ));
            }
            Some(_) => {}
            None => self.take_network(caller, &wanted).await?,
        }
        self.keep(caller, site, &invite.addresses).await
    }

    /// Keeps the network, and begins anew with it when it is another one.
    async fn take_network(&self, caller: &Caller, wanted: &JoinedNetwork) -> Result<(), PeersError> {
        let known = NETWORK.get(&self.0.store, NETWORK_KEY).await?;
        let revision = known.as_ref().map_or(0, |known| known.revision);
        if known.map(|known| known.value).unwrap_or_default() == *wanted {
            return Ok(());
        }
        let text = format!("joined the network {}", wanted.name.as_deref().unwrap_or("of everybody"));
        let line =
            JournalLine::new(kinds::MESH_JOINED, self.0.ids.clock().now(), caller.owner().as_str(), text);
        let put = NETWORK.put(NETWORK_KEY, None, revision, wanted)?;
        self.0.store.commit(Change::new(line).edit(put)).await?;
        self.0.restart.notify_one();
        Ok(())
    }

    /// The site that a word means: a DID or its beginning, a domain, a title.
    ///
    /// # Errors
    /// [`PeersError::NotFound`]; [`PeersError::Bad`] when several fit.
    pub async fn site(&self, word: &str) -> Result<SiteId, PeersError> {
        if let Ok(site) = word.parse() {
            return Ok(site);
        }
        sites::meant(&sites::all(&self.0.store).await?, word)
    }

    /// Whether an entry of the registry is an agent that another site told of.
    #[must_use]
    pub fn is_entry(id: &ListingId) -> bool {
        format!("did:key:{}", id.publisher()).parse::<SiteId>().is_ok()
    }

    /// By what an agent of a site is named everywhere.
    ///
    /// # Errors
    /// As [`Self::site`].
    pub async fn agent(&self, name: &AgentName, site: &str) -> Result<ListingId, PeersError> {
        Ok(peer_entry_id(&self.site(site).await?.to_string(), name))
    }
}

/// Reads who a site on the web is in the mesh.
pub(crate) async fn fetch_document(egress: &Egress, url: &str) -> Result<SiteDocument, PeersError> {
    let bad = |why: String| PeersError::Bad(format!("{url}: {why}"));
    let base = Url::parse(url).map_err(|error| bad(error.to_string()))?;
    let address = base.join(WELL_KNOWN).map_err(|error| bad(error.to_string()))?;
    let request = egress.get(address.clone()).timeout(FETCH_TIMEOUT).limit(MAX_DOCUMENT);
    let answer = request.send().await.map_err(|error| bad(error.to_string()))?;
    if !answer.status().is_success() {
        return Err(bad(format!("{} at {address}: it is not a site in the mesh", answer.status())));
    }
    let bytes = answer.bytes().await.map_err(|error| bad(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| bad(format!("{address} cannot be read: {error}")))
}
