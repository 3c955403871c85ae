//! `/api/mesh`: the place of the site in the mesh, its peers, invites, and agents of other sites by name.
//!
//! Promises: admins only, but for the names of other sites and for opening an agent of one, which every
//! caller with a key may do, as with every entry of the registry. The site judges everything; this file only
//! reads requests and writes answers.

use std::sync::Arc;

use agentsite_protocol::AgentName;
use agentsite_site::{KnownSite, MeshView, PeerView, SiteError};
use axum::extract::{Path, State};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::{Admitted, JsonBody, REST, RestResult};
use crate::document::{json, nothing};
use crate::front::Front;
use crate::route::{Route, Shape};

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        REST.get("/api/mesh", show)
            .admin()
            .operation("getMesh", "How the site fares in the mesh, with its peers")
            .gives(Shape::of::<MeshView>()),
        REST.get("/api/mesh/peers", peers)
            .admin()
            .operation("listPeers", "Sites that are connected, were added or are banned")
            .gives(Shape::of::<PeerList>()),
        REST.post("/api/mesh/peers", add)
            .admin()
            .operation("addPeer", "Add a site as a peer, by its address in the mesh or on the web")
            .takes(Shape::of::<PeerToAdd>())
            .status("201")
            .gives(Shape::of::<NamedSite>()),
        REST.delete("/api/mesh/peers/{site}", remove)
            .admin()
            .operation("removePeer", "Remove a peer that was added"),
        REST.post("/api/mesh/peers/{site}/ban", ban)
            .admin()
            .operation("banPeer", "Ban a site: connections, agents and calls end")
            .gives(Shape::of::<NamedSite>()),
        REST.post("/api/mesh/peers/{site}/allow", allow)
            .admin()
            .operation("allowPeer", "Lift the ban of a site")
            .gives(Shape::of::<NamedSite>()),
        REST.get("/api/mesh/sites", sites)
            .operation("listSites", "Sites that announced themselves in the mesh, the latest first")
            .gives(Shape::of::<SiteList>()),
        REST.post("/api/mesh/invite", invite)
            .admin()
            .operation("invitePeer", "A link by which another site joins the network of this one")
            .gives(Shape::of::<InviteLink>()),
        REST.post("/api/mesh/join", join)
            .admin()
            .operation("joinMesh", "Join the network of an invite")
            .takes(Shape::of::<InviteToJoin>())
            .gives(Shape::of::<NamedSite>()),
        REST.post("/api/mesh/open", open)
            .operation(
                "openPeerAgent",
                "Open an agent of another site, so that it is called through this one",
            )
            .takes(Shape::of::<AgentOfSite>())
            .gives(Shape::of::<OpenAgent>()),
    ]
}

#[derive(Serialize, JsonSchema)]
struct PeerList {
    peers: Vec<PeerView>,
}

#[derive(Serialize, JsonSchema)]
struct SiteList {
    sites: Vec<KnownSite>,
}

/// Where the site is: an address in the mesh, or its URL on the web.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PeerToAdd {
    #[schemars(length(min = 1, max = 512))]
    target: String,
}

/// A site.
#[derive(Serialize, JsonSchema)]
struct NamedSite {
    #[schemars(extend("about" = "The DID of the site"))]
    site: String,
}

/// An invite.
#[derive(Serialize, JsonSchema)]
struct InviteLink {
    #[schemars(extend("about" = "As secret as the key of the network"))]
    link: String,
    private: bool,
}

/// The invite of another site.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InviteToJoin {
    #[schemars(length(min = 1, max = 8192))]
    link: String,
}

/// An agent of another site.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AgentOfSite {
    #[schemars(with = "String")]
    agent: AgentName,
    #[schemars(length(min = 1, max = 512), extend("about" = "A DID or its beginning, a domain or a title"))]
    site: String,
}

#[derive(Serialize, JsonSchema)]
struct OpenAgent {
    #[schemars(with = "String", extend("about" = "By which name it is called here"))]
    agent: AgentName,
}

async fn show(State(front): State<Arc<Front>>, admitted: Admitted) -> RestResult {
    json(StatusCode::OK, &front.site.peers().view(&admitted.caller).await.map_err(SiteError::from)?)
}

async fn peers(State(front): State<Arc<Front>>, admitted: Admitted) -> RestResult {
    let view = front.site.peers().view(&admitted.caller).await.map_err(SiteError::from)?;
    json(StatusCode::OK, &PeerList { peers: view.peers })
}

async fn sites(State(front): State<Arc<Front>>, admitted: Admitted) -> RestResult {
    let sites = front.site.peers().sites(&admitted.caller).await.map_err(SiteError::from)?;
    json(StatusCode::OK, &SiteList { sites })
}

async fn add(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    JsonBody(given): JsonBody<PeerToAdd>,
) -> RestResult {
    let site = front.site.peers().add(&admitted.caller, &given.target).await.map_err(SiteError::from)?;
    json(StatusCode::CREATED, &NamedSite { site })
}

async fn remove(State(front): State<Arc<Front>>, admitted: Admitted, Path(site): Path<String>) -> RestResult {
    front.site.peers().remove(&admitted.caller, &site).await.map_err(SiteError::from)?;
    Ok(nothing())
}

async fn ban(State(front): State<Arc<Front>>, admitted: Admitted, Path(site): Path<String>) -> RestResult {
    let site = front.site.peers().ban(&admitted.caller, &site).await.map_err(SiteError::from)?;
    json(StatusCode::OK, &NamedSite { site })
}

async fn allow(State(front): State<Arc<Front>>, admitted: Admitted, Path(site): Path<String>) -> RestResult {
    let site = front.site.peers().allow(&admitted.caller, &site).await.map_err(SiteError::from)?;
    json(StatusCode::OK, &NamedSite { site })
}

async fn invite(State(front): State<Arc<Front>>, admitted: Admitted) -> RestResult {
    let invite = front.site.peers().invite(&admitted.caller).await.map_err(SiteError::from)?;
    json(StatusCode::OK, &InviteLink { link: invite.link(), private: invite.key.is_some() })
}

async fn join(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    JsonBody(given): JsonBody<InviteToJoin>,
) -> RestResult {
    let site = front.site.peers().join(&admitted.caller, &given.link).await.map_err(SiteError::from)?;
    json(StatusCode::OK, &NamedSite { site })
}

async fn open(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    JsonBody(given): JsonBody<AgentOfSite>,
) -> RestResult {
    let agent = front.site.peer_agents().open(&admitted.caller, &given.agent, &given.site).await?;
    json(StatusCode::OK, &OpenAgent { agent })
}
