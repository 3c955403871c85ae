//! Registry: agents from elsewhere that the site knows, each with an owner, a proof and a lease.
//!
//! Promises: only its owner and admins change or remove an entry; an entry counts only when its document came
//! from where it says, or an admin vouches for it; a document signed by another key than before is not taken
//! silently. Everything foreign is cut to bounds. Each change is one commit with its line in the journal, and
//! watchers get it after that.
//!
//! It does not search and does not call agents. Agents that connect to the site are not entries; they share
//! the quota and the warnings about like names with those here.

mod admission;
mod did;
mod digest;
mod draft;
mod export;
mod foreign;
mod identifier;
mod import;
mod interfaces;
mod likeness;
mod listed;
mod peer_entries;
mod proof;
mod shape;
mod upkeep;

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::listing::{Listing, ListingId, Proof, Standing};
use agentsite_protocol::{
    Caller, CardSignature, Ids, JournalKind, JournalLine, JournalSubject, Rng, Timestamp, Visibility,
};
use agentsite_store::{
    Admittance, Change, ListingChange, ListingFilter, Page, Registration, SharedStore, Unjournaled,
};
use serde_json::Value;
use tokio::sync::Notify;
use url::Url;

pub use did::TRUST_MANIFEST;
pub use draft::bounded_introduction;
pub use foreign::ForeignEntry;
pub(crate) use foreign::fuzz_draft;
pub use import::{ImportReport, RefusedEntry};
pub use likeness::OwnNames;
pub use peer_entries::{PeerAgent, peer_entry_id};
pub use shape::shape as name_shape;

use crate::call::EntryAgent;
use crate::entry::{HubEdit, HubEntry, HubFormat, least_seen, sees};
use crate::error::RegistryError;
use crate::kinds;
use crate::names::{NameChange, Names};
use crate::scout::Scout;
use crate::settings::HubSettings;
use crate::watch::EntryWatch;
use draft::{Draft, bad};

/// How often a change is decided anew when another one came between.
const TRIES: usize = 3;

/// Most warnings of an entry.
const MAX_WARNINGS: usize = 8;

/// Begins the warning about another key, by which it is found again.
const OTHER_KEY: &str = "its document is signed by another key than before";

/// Everything about registered agents of one site.
#[derive(Debug)]
pub struct Registry {
    settings: HubSettings,
    store: SharedStore,
    ids: Ids,
    scout: Arc<dyn Scout>,
    /// For whom the identifiers of removed entries are reserved.
    names: Arc<Names>,
    bell: Notify,
    /// Held while entries are added, so that no owner has more than the quota.
    adding: tokio::sync::Mutex<()>,
}

/// A new entry on its way in: the draft, and what was found out about it.
#[derive(Debug, Clone)]
struct Candidate {
    draft: Draft,
    proof: Proof,
    key: Option<String>,
    etag: Option<String>,
    warnings: Vec<String>,
    /// Where its document or it itself is, for its name everywhere.
    at: Option<Url>,
    /// Whether it was contacted just now, and answered.
    contacted: bool,
}

impl Registry {
    /// The registry of a site, as its store has it.
    pub fn new(
        settings: HubSettings,
        store: SharedStore,
        ids: Ids,
        scout: Arc<dyn Scout>,
        names: Arc<Names>,
    ) -> Arc<Self> {
        Arc::new(Self { settings, store, ids, scout, names, bell: Notify::new(), adding: Default::default() })
    }

    /// A watch of the entries that change or go from now on.
    #[must_use]
    pub fn watch(&self) -> EntryWatch {
        EntryWatch::new(self.store.clone())
    }

    /// Entries that this caller may see, by id, after the id `after`. A caller sees its own whatever their
    /// standing.
    ///
    /// # Errors
    /// [`RegistryError::Store`].
    pub async fn page(
        &self,
        caller: &Caller,
        filter: ListingFilter,
        after: Option<String>,
        limit: usize,
    ) -> Result<Page<Listing, String>, RegistryError> {
        let seen_by = (least_seen(caller), caller.owner().clone());
        let seen_by = if caller.is_admin() { filter.seen_by } else { Some(seen_by) };
        let filter = ListingFilter { seen_by, ..filter };
        let page = self.store.listings(filter, after, limit).await?;
        Ok(Page { items: page.items.into_iter().map(|entry| entry.listing).collect(), next: page.next })
    }

    /// The same in the form in which others keep them.
    ///
    /// # Errors
    /// [`RegistryError::Store`].
    pub async fn export(
        &self,
        caller: &Caller,
        format: HubFormat,
        after: Option<String>,
        limit: usize,
    ) -> Result<Page<Value, String>, RegistryError> {
        let page = self.page(caller, ListingFilter::default(), after, limit).await?;
        let written = |listing: &Listing| match format {
            HubFormat::Listings => serde_json::to_value(listing).ok(),
            HubFormat::Catalog => Some(export::catalogue_entry(listing)),
            HubFormat::Servers => export::server_file(listing),
        };
        Ok(Page { items: page.items.iter().filter_map(written).collect(), next: page.next })
    }

    /// Registers the agent or tool server at an address; `own` finds the site's agents by the shapes of their
    /// names.
    ///
    /// # Errors
    /// [`RegistryError::Forbidden`] for callers without a key and for names of others,
    /// [`RegistryError::TooManyListings`], [`RegistryError::Unreachable`], [`RegistryError::BadListing`].
    pub async fn register(
        &self,
        caller: &Caller,
        url: &str,
        visibility: Visibility,
        own: OwnNames<'_>,
    ) -> Result<HubEntry, RegistryError> {
        let entry = self.register_at(caller, &address(url)?, visibility, own).await?;
        Ok(HubEntry::shown(caller, entry))
    }

    async fn register_at(
        &self,
        caller: &Caller,
        url: &Url,
        visibility: Visibility,
        own: OwnNames<'_>,
    ) -> Result<Registration, RegistryError> {
        self.check_may_register(caller).await?;
        let candidate = self.look_at(url).await?;
        self.admit(caller, candidate, visibility, own).await
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
        own: OwnNames<'_>,
    ) -> Result<HubEntry, RegistryError> {
        self.check_may_register(caller).await?;
        let candidate = self.read_posted(document).await?;
        Ok(HubEntry::shown(caller, self.admit(caller, candidate, visibility, own).await?))
    }

    /// One entry, if this caller may see it.
    ///
    /// # Errors
    /// [`RegistryError::NoSuchListing`], also when it is not for this caller.
    pub async fn entry(&self, caller: &Caller, id: &ListingId) -> Result<HubEntry, RegistryError> {
        Ok(HubEntry::shown(caller, self.entry_for(caller, id).await?))
    }

    /// The agent that an entry is called through, if this caller may see it.
    ///
    /// # Errors
    /// [`RegistryError::NoSuchListing`] when it is not for this caller; [`RegistryError::BadListing`] when it
    /// cannot be called.
    pub async fn agent_of(&self, caller: &Caller, id: &ListingId) -> Result<EntryAgent, RegistryError> {
        EntryAgent::of(&self.entry_for(caller, id).await?)
    }

    async fn entry_for(&self, caller: &Caller, id: &ListingId) -> Result<Registration, RegistryError> {
        let found = self.store.listing(id).await?.ok_or_else(|| RegistryError::missing(id))?;
        if sees(caller, &found.listing) { Ok(found) } else { Err(RegistryError::missing(id)) }
    }

    /// Takes the answer to an entry's challenge; without one it is looked for on the entry's domain.
    ///
    /// # Errors
    /// [`RegistryError::BadListing`] says what does not hold.
    pub async fn prove(
        &self,
        caller: &Caller,
        id: &ListingId,
        answer: Option<&CardSignature>,
    ) -> Result<HubEntry, RegistryError> {
        Ok(HubEntry::shown(caller, self.check_proof(caller, id, answer).await?))
    }

    /// Looks at an entry now.
    ///
    /// # Errors
    /// [`RegistryError::NoSuchListing`], [`RegistryError::Forbidden`].
    pub async fn refresh(&self, caller: &Caller, id: &ListingId) -> Result<HubEntry, RegistryError> {
        Ok(HubEntry::shown(caller, self.look_now(caller, id).await?))
    }

    /// Changes what an owner may say about an entry.
    ///
    /// # Errors
    /// [`RegistryError::NoSuchListing`], [`RegistryError::Forbidden`].
    pub async fn update(
        &self,
        caller: &Caller,
        id: &ListingId,
        edit: HubEdit,
    ) -> Result<HubEntry, RegistryError> {
        let change = move |entry: &mut Registration, _| {
            edit.apply(&mut entry.listing);
            format!("changed {}", entry.listing.id)
        };
        Ok(HubEntry::shown(caller, self.edit(caller, id, change).await?))
    }

    /// One entry that this caller may change.
    async fn own_entry(&self, caller: &Caller, id: &ListingId) -> Result<Registration, RegistryError> {
        let found = self.entry_for(caller, id).await?;
        self.check_may_change(caller, &found)?;
        Ok(found)
    }

    /// Changes an entry; `change` gives the line of the journal.
    async fn edit(
        &self,
        caller: &Caller,
        id: &ListingId,
        change: impl Fn(&mut Registration, Timestamp) -> String + Send,
    ) -> Result<Registration, RegistryError> {
        for _ in 0..TRIES {
            let mut entry = self.own_entry(caller, id).await?;
            let now = self.ids.clock().now();
            let text = change(&mut entry, now);
            entry.listing.updated_at = now;
            entry.revision += 1;
            match self.put(caller.owner().as_str(), &entry, text).await {
                Err(error) if error.is_conflict() => {}
                done => return done.map(|()| entry),
            }
        }
        Err(being_changed())
    }

    /// Takes an entry out for a while.
    ///
    /// # Errors
    /// [`RegistryError::NoSuchListing`], [`RegistryError::Forbidden`].
    pub async fn suspend(&self, caller: &Caller, id: &ListingId) -> Result<HubEntry, RegistryError> {
        let caller_owns = |entry: &Registration| entry.listing.owner == *caller.owner();
        let change = |entry: &mut Registration, _| {
            entry.barred = !caller_owns(entry);
            (entry.listing.standing, entry.due) = (Standing::Suspended, None);
            format!("suspended {}", entry.listing.id)
        };
        Ok(HubEntry::shown(caller, self.edit(caller, id, change).await?))
    }

    /// Brings a suspended entry back; whether it counts is found out by looking at it. An admin vouches for
    /// it by that.
    ///
    /// # Errors
    /// [`RegistryError::NoSuchListing`], [`RegistryError::Forbidden`].
    pub async fn resume(&self, caller: &Caller, id: &ListingId) -> Result<HubEntry, RegistryError> {
        let (admin, lease) = (caller.is_admin(), self.settings.lease.0);
        let challenge = self.challenge();
        let change = move |entry: &mut Registration, now: Timestamp| {
            entry.vouched |= admin;
            entry.barred = false;
            let counts = entry.vouched || (entry.listing.proof != Proof::None && entry.challenge.is_none());
            entry.listing.standing = if counts { Standing::Active } else { Standing::Pending };
            if counts {
                entry.challenge = None;
            } else {
                entry.challenge.get_or_insert_with(|| challenge.clone());
            }
            if admin {
                entry.listing.warnings.retain(|warning| !warning.starts_with(OTHER_KEY));
            }
            if entry.listing.url.is_some() || entry.endpoint.is_some() {
                (entry.due, entry.listing.lease_until) = (Some(now), Some(now.plus(lease)));
            }
            format!("resumed {}", entry.listing.id)
        };
        let entry = self.edit(caller, id, change).await?;
        self.bell.notify_one();
        Ok(HubEntry::shown(caller, entry))
    }

    /// Removes an entry for good.
    ///
    /// # Errors
    /// [`RegistryError::NoSuchListing`], [`RegistryError::Forbidden`].
    pub async fn remove(&self, caller: &Caller, id: &ListingId) -> Result<(), RegistryError> {
        for _ in 0..TRIES {
            match self.remove_once(caller, id).await {
                Err(error) if error.is_conflict() => {}
                done => return done,
            }
        }
        Err(being_changed())
    }

    async fn remove_once(&self, caller: &Caller, id: &ListingId) -> Result<(), RegistryError> {
        let entry = self.own_entry(caller, id).await?;
        let Registration { listing, revision, .. } = entry;
        let text = format!("removed {}", listing.id);
        let released = NameChange::Released { name: listing.id.to_string(), owner: listing.owner.clone() };
        let change = ListingChange::Remove { id: listing.id.clone(), owner: listing.owner, revision };
        let line = self.line(kinds::LISTING_REMOVED, caller.owner().as_str(), text);
        let line = line.about(JournalSubject::Listing(listing.id.to_string()));
        let change = Change::new(line).edit(change);
        Ok(self.names.commit(change, &[released]).await?)
    }

    /// Writes one entry with its line in the journal (none when a check found nothing new).
    async fn put(&self, actor: &str, entry: &Registration, text: String) -> Result<(), RegistryError> {
        // The site's own looks at an entry are written even when its owner has no storage left.
        let (kind, admittance) = match actor {
            "site" => (kinds::LISTING_CHECKED, Admittance::Always),
            _ => (kinds::LISTING_CHANGED, Admittance::New),
        };
        let change = if text.is_empty() {
            Change::unjournaled(Unjournaled::EntryCheck)
        } else {
            let subject = JournalSubject::Listing(entry.listing.id.to_string());
            Change::new(self.line(kind, actor, text).about(subject))
        };
        let change = change.edit(ListingChange::Put(Box::new(entry.clone()))).admittance(admittance);
        Ok(self.store.commit(change).await?)
    }

    fn line(&self, kind: JournalKind, actor: &str, text: String) -> JournalLine {
        JournalLine::new(kind, self.ids.clock().now(), actor, text)
    }

    /// Refuses callers without a key, and owners who have as many entries as they may.
    async fn check_may_register(&self, caller: &Caller) -> Result<(), RegistryError> {
        self.check_may_add(caller, 0).await
    }

    /// Refuses callers without a key, and owners who have as many entries as they may, together with
    /// `besides` agents that are not entries.
    ///
    /// # Errors
    /// [`RegistryError::Forbidden`], [`RegistryError::TooManyListings`].
    pub async fn check_may_add(&self, caller: &Caller, besides: usize) -> Result<(), RegistryError> {
        if caller.is_admin() {
            return Ok(());
        }
        if caller.is_anonymous() {
            let needed = "registering an agent needs a key; ask the people who run this site for one";
            return Err(RegistryError::Forbidden(needed.into()));
        }
        if caller.is_peer() {
            let needed =
                "other sites tell of their agents through the mesh; registering one here needs a key";
            return Err(RegistryError::Forbidden(needed.into()));
        }
        let owner = Some(caller.owner().clone());
        let count = self.store.count_listings(ListingFilter { owner, ..ListingFilter::default() }).await?;
        if count + besides as u64 >= self.settings.quota as u64 {
            return Err(RegistryError::TooManyListings(self.settings.quota));
        }
        Ok(())
    }

    fn check_may_change(&self, caller: &Caller, entry: &Registration) -> Result<(), RegistryError> {
        let (listing, forbidden) =
            (&entry.listing, |sentence: &str| Err(RegistryError::Forbidden(sentence.into())));
        if caller.is_admin() {
            return Ok(());
        }
        if *caller.owner() == listing.owner {
            let barred = "the people who run this site have suspended this entry; ask them";
            return if entry.barred { forbidden(barred) } else { Ok(()) };
        }
        if !sees(caller, listing) {
            // Its name is taken, which everybody who wants to register it must learn; nothing else of it is
            // told.
            let hint = if entry.listing.standing == Standing::Pending {
                ", who has not proven to own it yet. Register the agent by its URL, or sign its card with a key of its domain: a proven registration takes the name"
            } else {
                ""
            };
            return forbidden(&format!("the name {} belongs to another owner{hint}", listing.id));
        }
        forbidden("only its owner and the people who run this site may change this entry")
    }

    /// A word that cannot be guessed.
    fn challenge(&self) -> String {
        let mut bytes = [0; 16];
        self.ids.rng().fill(&mut bytes);
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// How long until an entry that answered is looked at again: a third of its lease, spread so that not all
    /// are due at once.
    fn next_look(&self) -> Duration {
        let third = self.settings.lease.0 / 3;
        third + third.mul_f64(0.25 * chance(self.ids.rng().as_ref()))
    }
}

/// A number from 0 to 1.
fn chance(rng: &dyn Rng) -> f64 {
    let mut bytes = [0; 4];
    rng.fill(&mut bytes);
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}

/// The answer when an entry was changed by others each time a change was decided.
fn being_changed() -> RegistryError {
    bad("others are changing this entry at the same time; try again".into())
}

fn address(url: &str) -> Result<Url, RegistryError> {
    let wrong = |why: String| bad(format!("this is no address: {why}"));
    let url = Url::parse(url.trim()).map_err(|error| wrong(error.to_string()))?;
    if matches!(url.scheme(), "http" | "https") && url.has_host() {
        Ok(url)
    } else {
        Err(wrong("write https://…".into()))
    }
}
