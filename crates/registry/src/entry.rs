//! Entry: what callers see of an entry and may change about it, and who sees which entries.
//!
//! Promises: pure; the challenge and the time of the next look are shown to the owner and to admins only. It
//! does not read or write entries.

use agentsite_protocol::listing::{Listing, Standing};
use agentsite_protocol::{Caller, Money, Timestamp, Visibility};
use agentsite_store::Registration;
use serde::{Deserialize, Serialize};
use url::Url;

/// Where the answer to a challenge is looked for.
pub(crate) const CHALLENGE_PATH: &str = "/.well-known/agentsite-challenge";

/// Longest region that an owner names, in letters.
const MAX_REGION: usize = 64;

/// An entry of the hub as its owner sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HubEntry {
    /// What every caller sees.
    #[serde(flatten)]
    pub listing: Listing,
    /// What its owner must do to prove to be the owner; only the owner and admins see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<Challenge>,
    /// When it is looked at next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_look: Option<Timestamp>,
    /// Looks in a row that found nothing.
    #[serde(default)]
    pub failures: u32,
    /// The key that signed its document, as a `did:key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// How an owner proves to be one: signs the word with the card's key, or serves it as text at the address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Challenge {
    /// The word.
    pub word: String,
    /// Where it may be served, if the entry names an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serve_at: Option<String>,
}

/// What an owner changes about an entry; what is absent stays.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HubEdit {
    /// Who may find it.
    pub visibility: Option<Visibility>,
    /// Where it runs.
    pub region: Option<String>,
    /// What a call costs; a bare number is credits.
    pub price: Option<Money>,
}

/// In which form entries are handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HubFormat {
    /// As this program writes them.
    #[default]
    Listings,
    /// As entries of an `ai-catalog.json`.
    Catalog,
    /// Tool servers as files of the MCP registry; other entries are left out.
    Servers,
}

impl HubEntry {
    /// An entry as this caller sees it.
    pub(crate) fn shown(caller: &Caller, entry: Registration) -> Self {
        let own = caller.is_admin() || *caller.owner() == entry.listing.owner;
        let challenge = entry.challenge.filter(|_| own).map(|word| {
            let at =
                entry.endpoint.as_deref().or(entry.listing.url.as_deref()).and_then(|at| Url::parse(at).ok());
            let serve_at = at.and_then(|at| at.join(&format!("{CHALLENGE_PATH}/{word}")).ok());
            Challenge { word, serve_at: serve_at.map(String::from) }
        });
        Self {
            challenge,
            next_look: entry.due.filter(|_| own),
            failures: entry.failures,
            key: entry.key,
            listing: entry.listing,
        }
    }
}

impl HubEdit {
    /// Makes the change.
    pub(crate) fn apply(&self, listing: &mut Listing) {
        listing.visibility = self.visibility.unwrap_or(listing.visibility);
        let region = self.region.as_ref().map(|region| region.chars().take(MAX_REGION).collect::<String>());
        listing.region =
            region.map_or(listing.region.take(), |region| Some(region).filter(|one| !one.is_empty()));
        listing.price = self.price.or(listing.price);
    }
}

/// Whether this caller may see an entry.
#[must_use]
pub fn sees(caller: &Caller, listing: &Listing) -> bool {
    caller.is_admin()
        || *caller.owner() == listing.owner
        || (listing.standing == Standing::Active && listing.visibility >= least_seen(caller))
}

/// The narrowest visibility that this caller sees. Other sites see public entries only: what somebody showed
/// to this site alone is not theirs to see.
pub(crate) fn least_seen(caller: &Caller) -> Visibility {
    if caller.is_peer() {
        return Visibility::Public;
    }
    let anything = "agents-of-others".parse().expect("this is a name");
    [Visibility::Private, Visibility::Peers]
        .into_iter()
        .find(|visibility| caller.may_call(&anything, *visibility))
        .unwrap_or(Visibility::Public)
}
