//! The twin of the page about the mesh: the state of this site in it, its peers, and what they learn of its
//! agents.
//!
//! Promises: admins only, as the site itself decides; what other sites say of themselves stays on its line.
//! It changes nothing: it names the operations that do.

use agentsite_protocol::{Caller, Visibility};
use agentsite_site::{MeshView, PeerView, SiteError};

use super::line;
use crate::failure::Failure;
use crate::front::Front;

/// The operations behind the page.
const OPERATIONS: &str = "`GET /api/mesh`, `GET /api/mesh/sites`, `POST /api/mesh/peers` with `{\"target\": ADDRESS}`, \
     `POST /api/mesh/peers/DID/ban`, `POST /api/mesh/peers/DID/allow`, `DELETE /api/mesh/peers/DID`, `POST /api/mesh/invite`, \
     `POST /api/mesh/join` with `{\"link\": INVITE}`";

/// Most sites of the list; the API has more.
const MAX_SITES: usize = 100;

/// The network of this site.
pub(super) async fn page(front: &Front, caller: &Caller, base: &str) -> Result<String, Failure> {
    let peers = front.site.peers();
    let view = peers.view(caller).await.map_err(SiteError::from)?;
    let mut text = format!("# Network\n\nAPI, below {base}: {OPERATIONS}\n\n");
    if view.enabled {
        text.push_str(&state(&view));
        text.push_str(&table(&view));
        let sites = peers.sites(caller).await.map_err(SiteError::from)?;
        text.push_str("\n## Sites that announced themselves\n\n");
        for site in sites.iter().take(MAX_SITES) {
            let url = site.url.as_deref().unwrap_or("no web address");
            text.push_str(&format!(
                "- {} ({}), {}, announced {}\n",
                line(&site.title),
                site.site,
                line(url),
                site.issued_at
            ));
        }
        if sites.len() > MAX_SITES {
            text.push_str(&format!("- and {} more\n", sites.len() - MAX_SITES));
        }
    } else {
        text.push_str(
            "This site is not in the mesh: it announces nothing, and it does not look for agents of other sites. To join, set \
             `enabled = true` in the section `[mesh]` of the configuration (`GET /api/config`, `POST /api/config`) and restart the site. \
             Its title, its addresses and its public agents are then announced to other sites.\n",
        );
    }
    text.push_str("\n## What other sites learn\n\n| agent | visibility | other sites |\n|---|---|---|\n");
    let mesh = &front.site.settings().mesh.settings;
    for agent in front.site.agents().list(caller) {
        let learnt = match agent.visibility {
            Visibility::Public if !mesh.exposes(&agent.name) => {
                "not announced: [mesh] expose or agents leave it out"
            }
            Visibility::Public if view.enabled => "announced to every site of the network, and callable",
            Visibility::Public => "not announced now; announced when the site joins the mesh",
            Visibility::Peers => "not announced; sites that were added may call it",
            Visibility::Private => "not announced, not callable",
        };
        text.push_str(&format!(
            "| {} | {} | {learnt} |\n",
            agent.name,
            super::agents::seen(agent.visibility)
        ));
    }
    Ok(text)
}

fn state(view: &MeshView) -> String {
    let network = match (&view.network, view.private) {
        (Some(name), true) => format!("{} (private)", line(name)),
        (None, true) => "private".to_owned(),
        (Some(name), false) => line(name),
        (None, false) => "public".to_owned(),
    };
    format!(
        "- running: {}\n- DID: {}\n- network: {network}\n- addresses: {}\n- announced agents: {}\n- agents of other sites: {}\n- records: {}\n\n",
        if view.running { "yes" } else { "not in this process, or starting" },
        view.site,
        if view.addresses.is_empty() { "none".to_owned() } else { line(&view.addresses.join(", ")) },
        view.published,
        view.listed,
        view.records
    )
}

fn table(view: &MeshView) -> String {
    let mut text = String::from(
        "## Peers\n\n| site | DID | state | address | latency | score | agents | bytes in | bytes out | since |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for peer in &view.peers {
        let latency = peer.latency_ms.map(|latency| format!("{latency:.1} ms")).unwrap_or_default();
        let since = peer.since.map(|since| since.to_string()).unwrap_or_default();
        text.push_str(&format!(
            "| {} | {} | {} | {} | {latency} | {:.1} | {} | {} | {} | {since} |\n",
            line(&peer.title),
            peer.site,
            standing(peer, view),
            line(&peer.address),
            peer.score,
            peer.agents,
            peer.bytes_in,
            peer.bytes_out,
        ));
    }
    text
}

/// The connection of a peer in a word; a ban counts more than a connection that is about to end.
fn standing(peer: &PeerView, view: &MeshView) -> &'static str {
    match peer {
        PeerView { banned_until: Some(until), .. } if view.at.is_none_or(|now| now < *until) => "banned",
        PeerView { connected: true, relayed: true, .. } => "relayed",
        PeerView { connected: true, .. } => "direct",
        _ => "gone",
    }
}
