//! The hub as the discovery faces read it: every agent that a caller may see, and one of them.
//!
//! Promises: one place where they ask the site for agents; bounded for every caller. It decides nothing about
//! who sees what.

use agentsite_protocol::Caller;
use agentsite_protocol::listing::Listing;
use agentsite_site::Site;

use crate::failure::Failure;

/// Agents that are read at once.
const PAGE: usize = 500;

/// Most agents that a list goes through for one request; beyond that a search is the better way.
const MAX_AGENTS: usize = 20_000;

/// Every agent that this caller may see, by its name everywhere.
pub(crate) async fn all(site: &Site, caller: &Caller, base: &str) -> Result<Vec<Listing>, Failure> {
    let mut all: Vec<Listing> = Vec::new();
    while all.len() < MAX_AGENTS {
        let after = all.last().map(|listing| listing.id.to_string());
        let page = site.search().page(caller, base, after.as_deref(), PAGE).await?;
        let last = page.len() < PAGE;
        all.extend(page);
        if last {
            break;
        }
    }
    Ok(all)
}

/// The agent of this name everywhere, if this caller may see it.
pub(crate) async fn one(
    site: &Site,
    caller: &Caller,
    id: &str,
    base: &str,
) -> Result<Option<Listing>, Failure> {
    // A text that cannot be an id names no agent.
    let Ok(id) = id.parse() else { return Ok(None) };
    Ok(site.search().listing(caller, &id, base).await?)
}
