//! The handle for agents from elsewhere: registered, proven, kept, handed on.
//!
//! Promises: an entry that a caller may not see does not exist for it; only its owner and the people who run
//! the site change it.

use std::sync::Arc;

use agentsite_protocol::listing::Listing;
use agentsite_protocol::{AgentName, Caller, CardSignature, Money, Timestamp, Visibility};
use agentsite_store::{ListingFilter, Page, Registration};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::broadcast;
use url::Url;

use super::MAX_PAGE;
use super::far::Far;
use crate::SiteError;
use crate::hub::Hub;
use crate::registry::{self, Imported, Registry};

/// An entry of the hub as its owner sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HubEntry {
    /// What everybody sees.
    #[serde(flatten)]
    pub listing: Listing,
    /// What its owner must do to prove to be the owner; only the owner and admins see
    /// it.
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

/// The agents from elsewhere that are registered with a site.
#[derive(Debug, Clone)]
pub struct HubRegistry {
    pub(super) registry: Arc<Registry>,
    pub(super) hub: Arc<Hub>,
    pub(super) far: Arc<Far>,
}

impl HubRegistry {
    /// Registers the agent or tool server at an address.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for strangers and for names of others, [`SiteError::TooManyListings`],
    /// [`SiteError::Unreachable`], [`SiteError::BadListing`].
    pub async fn register(
        &self,
        caller: &Caller,
        url: &str,
        visibility: Visibility,
    ) -> Result<HubEntry, SiteError> {
        let entry =
            self.registry.register(caller, &address(url)?, visibility, &self.hub.names_to_protect()).await?;
        self.far.close(&entry.listing.id).await;
        Ok(shown(caller, entry))
    }

    /// Registers an agent by its document, which lies nowhere else.
    ///
    /// # Errors
    /// As [`Self::register`].
    pub async fn post(
        &self,
        caller: &Caller,
        document: &[u8],
        visibility: Visibility,
    ) -> Result<HubEntry, SiteError> {
        let entry = self.registry.post(caller, document, visibility, &self.hub.names_to_protect()).await?;
        self.far.close(&entry.listing.id).await;
        Ok(shown(caller, entry))
    }

    /// One registered entry.
    ///
    /// # Errors
    /// [`SiteError::NoSuchListing`], also when it is not for this caller.
    pub async fn entry(&self, caller: &Caller, id: &str) -> Result<HubEntry, SiteError> {
        Ok(shown(caller, self.registry.entry_for(caller, id).await?))
    }

    /// Takes the answer to an entry's challenge; without one it is looked for on the entry's domain.
    ///
    /// # Errors
    /// [`SiteError::BadListing`] says what does not hold.
    pub async fn prove(
        &self,
        caller: &Caller,
        id: &str,
        answer: Option<&CardSignature>,
    ) -> Result<HubEntry, SiteError> {
        Ok(shown(caller, self.registry.prove(caller, id, answer).await?))
    }

    /// Looks at an entry now.
    ///
    /// # Errors
    /// [`SiteError::NoSuchListing`], [`SiteError::Forbidden`].
    pub async fn refresh(&self, caller: &Caller, id: &str) -> Result<HubEntry, SiteError> {
        Ok(shown(caller, self.registry.refresh(caller, id).await?))
    }

    /// Changes what an owner may say about an entry.
    ///
    /// # Errors
    /// [`SiteError::NoSuchListing`], [`SiteError::Forbidden`].
    pub async fn update(&self, caller: &Caller, id: &str, edit: HubEdit) -> Result<HubEntry, SiteError> {
        let change = move |entry: &mut Registration, _| {
            let listing = &mut entry.listing;
            listing.visibility = edit.visibility.unwrap_or(listing.visibility);
            let region = edit.region.as_ref().map(|region| region.chars().take(64).collect::<String>());
            listing.region =
                region.map_or(listing.region.take(), |region| Some(region).filter(|one| !one.is_empty()));
            listing.price = edit.price.or(listing.price);
            format!("changed {}", listing.id)
        };
        let entry = self.registry.edit(caller, id, change).await?;
        self.far.close(id).await;
        Ok(shown(caller, entry))
    }

    /// Takes an entry out for a while.
    ///
    /// # Errors
    /// [`SiteError::NoSuchListing`], [`SiteError::Forbidden`].
    pub async fn suspend(&self, caller: &Caller, id: &str) -> Result<HubEntry, SiteError> {
        let entry = self.registry.suspend(caller, id).await?;
        self.far.close(id).await;
        Ok(shown(caller, entry))
    }

    /// Brings an entry back.
    ///
    /// # Errors
    /// [`SiteError::NoSuchListing`], [`SiteError::Forbidden`].
    pub async fn resume(&self, caller: &Caller, id: &str) -> Result<HubEntry, SiteError> {
        Ok(shown(caller, self.registry.resume(caller, id).await?))
    }

    /// Removes an entry for good.
    ///
    /// # Errors
    /// [`SiteError::NoSuchListing`], [`SiteError::Forbidden`].
    pub async fn remove(&self, caller: &Caller, id: &str) -> Result<(), SiteError> {
        self.registry.remove(caller, id).await?;
        self.far.close(id).await;
        Ok(())
    }

    /// Takes lines of JSON in one commit: cards, entries of catalogues, server files, lines of an export.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for strangers; [`SiteError::BadListing`] for too many lines. Single bad lines
    /// are told in the answer.
    pub async fn import(&self, caller: &Caller, lines: &[u8]) -> Result<Imported, SiteError> {
        self.registry.import_lines(caller, lines).await
    }

    /// Takes what is at an address: a catalogue, a page of another registry, or one agent. The answer names
    /// where it goes on.
    ///
    /// # Errors
    /// As [`Self::register`].
    pub async fn import_from(&self, caller: &Caller, url: &str) -> Result<Imported, SiteError> {
        self.registry.import_from(caller, &address(url)?, &self.hub.names_to_protect()).await
    }

    /// Entries from elsewhere that this caller may see, by id, after the id `after`. A caller sees its own
    /// whatever their standing.
    ///
    /// # Errors
    /// [`SiteError::Store`].
    pub async fn page(
        &self,
        caller: &Caller,
        filter: ListingFilter,
        after: Option<String>,
        limit: usize,
    ) -> Result<Page<Listing, String>, SiteError> {
        self.registry.page(caller, filter, after, limit.clamp(1, MAX_PAGE)).await
    }

    /// The same in the form in which others keep them.
    ///
    /// # Errors
    /// [`SiteError::Store`].
    pub async fn export(
        &self,
        caller: &Caller,
        format: HubFormat,
        after: Option<String>,
        limit: usize,
    ) -> Result<Page<Value, String>, SiteError> {
        let page = self.page(caller, ListingFilter::default(), after, limit).await?;
        let written = |listing: &Listing| match format {
            HubFormat::Listings => serde_json::to_value(listing).ok(),
            HubFormat::Catalog => Some(registry::catalogue_entry(listing)),
            HubFormat::Servers => registry::server_file(listing),
        };
        Ok(Page { items: page.items.iter().filter_map(written).collect(), next: page.next })
    }

    /// Ids of entries that have changed or gone, from now on, after their commit. A listener that lags has
    /// missed some and reads everything again with [`Self::page`].
    #[must_use]
    pub fn changes(&self) -> broadcast::Receiver<String> {
        self.registry.changes()
    }

    /// Opens an entry, so that it is called like an agent of this site; gives the name by which it is called.
    ///
    /// # Errors
    /// [`SiteError::NoSuchListing`] when it is not for this caller; [`SiteError::BadListing`] when it cannot
    /// be called or no more may be open.
    pub async fn open(&self, caller: &Caller, id: &str) -> Result<AgentName, SiteError> {
        self.far.open(caller, id).await
    }
}

fn address(url: &str) -> Result<Url, SiteError> {
    let wrong = |why: String| SiteError::BadListing(format!("this is no address: {why}"));
    let url = Url::parse(url.trim()).map_err(|error| wrong(error.to_string()))?;
    if matches!(url.scheme(), "http" | "https") && url.has_host() {
        Ok(url)
    } else {
        Err(wrong("write https://…".into()))
    }
}

fn shown(caller: &Caller, entry: Registration) -> HubEntry {
    let own = caller.is_admin() || caller.owner().as_str() == entry.listing.owner;
    let challenge = entry.challenge.filter(|_| own).map(|word| {
        let at =
            entry.endpoint.as_deref().or(entry.listing.url.as_deref()).and_then(|at| Url::parse(at).ok());
        let serve_at = at.and_then(|at| at.join(&format!("{}/{word}", registry::CHALLENGE_PATH)).ok());
        Challenge { word, serve_at: serve_at.map(String::from) }
    });
    HubEntry {
        challenge,
        next_look: entry.due.filter(|_| own),
        failures: entry.failures,
        key: entry.key,
        listing: entry.listing,
    }
}
