//! The handle for agents from elsewhere: registered, proven, kept, handed on.
//!
//! Promises: an entry that a caller may not see does not exist for it; only its owner and the people who run
//! the site change it.

use std::sync::Arc;

use agentsite_protocol::listing::{Listing, ListingId};
use agentsite_protocol::{AgentName, Caller, CardSignature, Visibility};
use agentsite_registry::{EntryWatch, HubEdit, HubEntry, HubFormat, ImportReport, Registry};
use agentsite_store::{ListingFilter, Page};
use serde_json::Value;

use super::MAX_PAGE;
use super::remote::RemoteAgents;
use crate::SiteError;
use crate::local_agents::LocalAgents;

/// The agents from elsewhere that are registered with a site.
#[derive(Debug, Clone)]
pub struct SiteRegistry {
    pub(super) registry: Arc<Registry>,
    pub(super) local: Arc<LocalAgents>,
    pub(super) remote: Arc<RemoteAgents>,
}

impl SiteRegistry {
    /// Registers the agent or tool server at an address.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for strangers and for names of others, [`SiteError::QuotaExceeded`],
    /// [`SiteError::Unreachable`], [`SiteError::BadListing`].
    pub async fn register(
        &self,
        caller: &Caller,
        url: &str,
        visibility: Visibility,
    ) -> Result<HubEntry, SiteError> {
        let entry =
            self.registry.register(caller, url, visibility, &|shapes| self.local.names_like(shapes)).await?;
        self.remote.close(&entry.listing.id).await;
        Ok(entry)
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
        let entry =
            self.registry.post(caller, document, visibility, &|shapes| self.local.names_like(shapes)).await?;
        self.remote.close(&entry.listing.id).await;
        Ok(entry)
    }

    /// One registered entry.
    ///
    /// # Errors
    /// [`SiteError::NoSuchListing`], also when it is not for this caller.
    pub async fn entry(&self, caller: &Caller, id: &ListingId) -> Result<HubEntry, SiteError> {
        Ok(self.registry.entry(caller, id).await?)
    }

    /// Takes the answer to an entry's challenge; without one it is looked for on the entry's domain.
    ///
    /// # Errors
    /// [`SiteError::BadListing`] says what does not hold.
    pub async fn prove(
        &self,
        caller: &Caller,
        id: &ListingId,
        answer: Option<&CardSignature>,
    ) -> Result<HubEntry, SiteError> {
        Ok(self.registry.prove(caller, id, answer).await?)
    }

    /// Looks at an entry now.
    ///
    /// # Errors
    /// [`SiteError::NoSuchListing`], [`SiteError::Forbidden`].
    pub async fn refresh(&self, caller: &Caller, id: &ListingId) -> Result<HubEntry, SiteError> {
        Ok(self.registry.refresh(caller, id).await?)
    }

    /// Changes what an owner may say about an entry.
    ///
    /// # Errors
    /// [`SiteError::NoSuchListing`], [`SiteError::Forbidden`].
    pub async fn update(
        &self,
        caller: &Caller,
        id: &ListingId,
        edit: HubEdit,
    ) -> Result<HubEntry, SiteError> {
        let entry = self.registry.update(caller, id, edit).await?;
        self.remote.close(id).await;
        Ok(entry)
    }

    /// Takes an entry out for a while.
    ///
    /// # Errors
    /// [`SiteError::NoSuchListing`], [`SiteError::Forbidden`].
    pub async fn suspend(&self, caller: &Caller, id: &ListingId) -> Result<HubEntry, SiteError> {
        let entry = self.registry.suspend(caller, id).await?;
        self.remote.close(id).await;
        Ok(entry)
    }

    /// Brings an entry back.
    ///
    /// # Errors
    /// [`SiteError::NoSuchListing`], [`SiteError::Forbidden`].
    pub async fn resume(&self, caller: &Caller, id: &ListingId) -> Result<HubEntry, SiteError> {
        Ok(self.registry.resume(caller, id).await?)
    }

    /// Removes an entry for good.
    ///
    /// # Errors
    /// [`SiteError::NoSuchListing`], [`SiteError::Forbidden`].
    pub async fn remove(&self, caller: &Caller, id: &ListingId) -> Result<(), SiteError> {
        self.registry.remove(caller, id).await?;
        self.remote.close(id).await;
        Ok(())
    }

    /// Takes lines of JSON in one commit: cards, entries of catalogues, server files, lines of an export.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for strangers; [`SiteError::BadListing`] for too many lines. Single bad lines
    /// are told in the answer.
    pub async fn import(&self, caller: &Caller, lines: &[u8]) -> Result<ImportReport, SiteError> {
        Ok(self.registry.import_lines(caller, lines).await?)
    }

    /// Takes what is at an address: a catalogue, a page of another registry, or one agent. The answer names
    /// where it goes on.
    ///
    /// # Errors
    /// As [`Self::register`].
    pub async fn import_from(&self, caller: &Caller, url: &str) -> Result<ImportReport, SiteError> {
        Ok(self.registry.import_from(caller, url, &|shapes| self.local.names_like(shapes)).await?)
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
        Ok(self.registry.page(caller, filter, after, limit.clamp(1, MAX_PAGE)).await?)
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
        Ok(self.registry.export(caller, format, after, limit.clamp(1, MAX_PAGE)).await?)
    }

    /// A watch of the entries that change or go from now on, after their commit, through whichever handle of
    /// the store.
    #[must_use]
    pub fn watch(&self) -> EntryWatch {
        self.registry.watch()
    }

    /// Opens an entry, so that it is called like an agent of this site; gives the name by which it is called.
    ///
    /// # Errors
    /// [`SiteError::NoSuchListing`] when it is not for this caller; [`SiteError::BadListing`] when it cannot
    /// be called or no more may be open.
    pub async fn open(&self, caller: &Caller, id: &ListingId) -> Result<AgentName, SiteError> {
        self.remote.open(caller, id).await
    }
}
