//! Registry: agents from elsewhere that the site knows, each with an owner, a proof and a lease.
//!
//! Promises: nobody writes over or removes another's entry; an entry counts only when its document came from
//! where it says, or somebody vouches for it; a document signed by another key than before is not taken
//! silently. Everything foreign is cut to bounds. Each change is one commit with its line in the journal, and
//! listeners hear of it after that.
//!
//! It does not search and does not call agents. Agents that register by connecting to the site are
//! `connected`'s; they share the quota and the look at like names with those here.

mod admission;
mod did;
mod draft;
mod export;
mod import;
mod interfaces;
mod proof;
mod scout;
mod shape;
mod upkeep;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::listing::{Listing, Proof, Standing, air_urn};
use agentsite_protocol::{Caller, Ids, JournalKind, JournalLine, JournalSubject, Rng, Timestamp, Visibility};
use agentsite_store::{
    Admittance, Change, ListingChange, ListingFilter, Page, Registration, SharedStore, Unjournaled,
};
use sha2::{Digest as _, Sha256};
use tokio::sync::{Notify, broadcast};
use url::Url;

pub(crate) use draft::Draft;
pub(crate) use export::{catalogue_entry, server_file};
pub use import::{Imported, RefusedEntry};
pub(crate) use proof::CHALLENGE_PATH;
pub(crate) use scout::{EgressScout, Scout};
#[cfg(test)]
pub(crate) use scout::{Looked, ToolServer};
pub(crate) use shape::shape as shape_of;

use crate::names::{NameChange, Names};
use crate::{HubSettings, SiteError, kinds};
use draft::{bad, publisher};

/// The namespace of agents that are called by A2A, and of tool servers, in names that the site makes.
const NAMESPACES: (&str, &str) = ("agents", "servers");

/// Changes that a listener may be behind before it is told that it missed some and must read everything
/// again: four full imports.
const CHANGE_QUEUE: usize = 4_096;

/// How often a change is decided anew when another one came between.
const TRIES: usize = 3;

/// Most warnings of an entry.
const MAX_WARNINGS: usize = 8;

/// Begins the warning about another key, by which it is found again.
const OTHER_KEY: &str = "its document is signed by another key than before";

/// Everything about registered agents of one site.
#[derive(Debug)]
pub(crate) struct Registry {
    settings: HubSettings,
    store: SharedStore,
    ids: Ids,
    scout: Arc<dyn Scout>,
    /// For whom the identifiers of removed entries are reserved.
    names: Arc<Names>,
    changes: broadcast::Sender<String>,
    bell: Notify,
    /// Held while entries are added, so that nobody has more than the quota.
    adding: tokio::sync::Mutex<()>,
}

/// The name of an agent of the site itself, and what it looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnName {
    pub(crate) name: String,
    pub(crate) shape: String,
}

/// A new entry on its way in: the draft, and what was found out about it.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) draft: Draft,
    pub(crate) proof: Proof,
    pub(crate) key: Option<String>,
    pub(crate) etag: Option<String>,
    pub(crate) warnings: Vec<String>,
    /// Where its document or it itself is, for its name everywhere.
    pub(crate) at: Option<Url>,
    /// Whether it was contacted just now, and answered.
    pub(crate) contacted: bool,
}

impl Registry {
    pub(crate) fn new(
        settings: HubSettings,
        store: SharedStore,
        ids: Ids,
        scout: Arc<dyn Scout>,
        names: Arc<Names>,
    ) -> Arc<Self> {
        let (changes, _) = broadcast::channel(CHANGE_QUEUE);
        Arc::new(Self {
            settings,
            store,
            ids,
            scout,
            names,
            changes,
            bell: Notify::new(),
            adding: Default::default(),
        })
    }

    /// Ids of entries that have changed or gone, from now on. A listener that is told that it lags reads
    /// everything again.
    pub(crate) fn changes(&self) -> broadcast::Receiver<String> {
        self.changes.subscribe()
    }

    /// Entries that this caller may see, by id, after the id `after`. A caller sees its own whatever their
    /// standing.
    pub(crate) async fn page(
        &self,
        caller: &Caller,
        filter: ListingFilter,
        after: Option<String>,
        limit: usize,
    ) -> Result<Page<Listing, String>, SiteError> {
        let seen_by = (least_seen(caller), caller.owner().to_string());
        let seen_by = if caller.is_admin() { filter.seen_by } else { Some(seen_by) };
        let filter = ListingFilter { seen_by, ..filter };
        let page = self.store.listings(filter, after, limit).await?;
        Ok(Page { items: page.items.into_iter().map(|entry| entry.listing).collect(), next: page.next })
    }

    /// Registers the agent or the tool server at this address.
    pub(crate) async fn register(
        &self,
        caller: &Caller,
        url: &Url,
        visibility: Visibility,
        own: &[OwnName],
    ) -> Result<Registration, SiteError> {
        self.check_may_register(caller).await?;
        let candidate = self.look_at(url).await?;
        self.admit(caller, candidate, visibility, own).await
    }

    /// Registers an agent by a document that lies nowhere else.
    pub(crate) async fn post(
        &self,
        caller: &Caller,
        document: &[u8],
        visibility: Visibility,
        own: &[OwnName],
    ) -> Result<Registration, SiteError> {
        self.check_may_register(caller).await?;
        let candidate = self.read_posted(document).await?;
        self.admit(caller, candidate, visibility, own).await
    }

    /// One entry, if this caller may see it.
    pub(crate) async fn entry_for(&self, caller: &Caller, id: &str) -> Result<Registration, SiteError> {
        let missing = || SiteError::NoSuchListing(id.chars().take(200).collect());
        let found = self.store.listing(id).await?.ok_or_else(missing)?;
        if sees(caller, &found.listing) { Ok(found) } else { Err(missing()) }
    }

    /// One entry that this caller may change.
    async fn own_entry(&self, caller: &Caller, id: &str) -> Result<Registration, SiteError> {
        let found = self.entry_for(caller, id).await?;
        self.check_may_change(caller, &found)?;
        Ok(found)
    }

    /// Changes an entry; `change` gives the line of the journal.
    pub(crate) async fn edit(
        &self,
        caller: &Caller,
        id: &str,
        change: impl Fn(&mut Registration, Timestamp) -> String + Send,
    ) -> Result<Registration, SiteError> {
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
    pub(crate) async fn suspend(&self, caller: &Caller, id: &str) -> Result<Registration, SiteError> {
        let caller_owns = |entry: &Registration| entry.listing.owner == caller.owner().as_str();
        let change = |entry: &mut Registration, _| {
            entry.barred = !caller_owns(entry);
            (entry.listing.standing, entry.due) = (Standing::Suspended, None);
            format!("suspended {}", entry.listing.id)
        };
        self.edit(caller, id, change).await
    }

    /// Brings a suspended entry back; whether it counts is found out by looking at it. One who runs the site
    /// vouches for it by that.
    pub(crate) async fn resume(&self, caller: &Caller, id: &str) -> Result<Registration, SiteError> {
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
        Ok(entry)
    }

    /// Removes an entry for good.
    pub(crate) async fn remove(&self, caller: &Caller, id: &str) -> Result<(), SiteError> {
        for _ in 0..TRIES {
            match self.remove_once(caller, id).await {
                Err(error) if error.is_conflict() => {}
                done => return done,
            }
        }
        Err(being_changed())
    }

    async fn remove_once(&self, caller: &Caller, id: &str) -> Result<(), SiteError> {
        let entry = self.own_entry(caller, id).await?;
        let Registration { listing, revision, .. } = entry;
        let text = format!("removed {}", listing.id);
        let released = NameChange::Released { name: listing.id.clone(), owner: listing.owner.clone() };
        let change = ListingChange::Remove { id: listing.id.clone(), owner: listing.owner, revision };
        let line = self.line(kinds::listing::REMOVED, caller.owner().as_str(), text);
        let line = line.about(JournalSubject::Listing(listing.id.clone()));
        let change = Change::new(line).edit(change);
        self.names.commit(change, &[released]).await?;
        let _ = self.changes.send(listing.id);
        Ok(())
    }

    /// Writes one entry with its line in the journal (none when a check found nothing new), and tells of it.
    async fn put(&self, actor: &str, entry: &Registration, text: String) -> Result<(), SiteError> {
        // The site's own looks at an entry are written even when its owner has no storage left.
        let (kind, admittance) = match actor {
            "site" => (kinds::listing::CHECKED, Admittance::Always),
            _ => (kinds::listing::CHANGED, Admittance::New),
        };
        let change = if text.is_empty() {
            Change::unjournaled(Unjournaled::EntryCheck)
        } else {
            let subject = JournalSubject::Listing(entry.listing.id.clone());
            Change::new(self.line(kind, actor, text).about(subject))
        };
        let change = change.edit(ListingChange::Put(Box::new(entry.clone()))).admittance(admittance);
        self.store.commit(change).await?;
        let _ = self.changes.send(entry.listing.id.clone());
        Ok(())
    }

    fn line(&self, kind: JournalKind, actor: &str, text: String) -> JournalLine {
        JournalLine::new(kind, self.ids.clock().now(), actor, text)
    }

    /// Refuses strangers, and those who have as many entries as they may.
    async fn check_may_register(&self, caller: &Caller) -> Result<(), SiteError> {
        self.check_may_add(caller, 0).await
    }

    /// Refuses strangers, and those who have as many entries as they may together with `besides` others.
    pub(crate) async fn check_may_add(&self, caller: &Caller, besides: usize) -> Result<(), SiteError> {
        if caller.is_admin() {
            return Ok(());
        }
        if caller.is_anonymous() {
            let needed = "registering an agent needs a key; ask the people who run this site for one";
            return Err(SiteError::Forbidden(needed.into()));
        }
        let owner = Some(caller.owner().to_string());
        let count = self.store.count_listings(ListingFilter { owner, ..ListingFilter::default() }).await?;
        if count + besides as u64 >= self.settings.quota as u64 {
            return Err(SiteError::TooManyListings(self.settings.quota));
        }
        Ok(())
    }

    fn check_may_change(&self, caller: &Caller, entry: &Registration) -> Result<(), SiteError> {
        let (listing, forbidden) =
            (&entry.listing, |sentence: &str| Err(SiteError::Forbidden(sentence.into())));
        if caller.is_admin() {
            return Ok(());
        }
        if caller.owner().as_str() == listing.owner {
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
            return forbidden(&format!("the name {} belongs to somebody else{hint}", listing.id));
        }
        forbidden("only its owner and the people who run this site may change this entry")
    }

    /// Adds a warning for each entry of somebody else whose name can be taken for this one's.
    async fn warn_of_like_names(&self, entry: &mut Registration, own: &[OwnName]) -> Result<(), SiteError> {
        let (owner, id) = (entry.listing.owner.clone(), entry.listing.id.clone());
        let warnings = self.like_names(&entry.shape, &owner, &id, own).await?;
        entry.listing.warnings.extend(warnings);
        entry.listing.warnings.truncate(MAX_WARNINGS);
        Ok(())
    }

    /// A warning for each entry of somebody else, and each agent of the site, whose name can be taken for one
    /// of this shape.
    async fn like_names(
        &self,
        shape: &str,
        owner: &str,
        id: &str,
        own: &[OwnName],
    ) -> Result<Vec<String>, SiteError> {
        let shapes = shape::alike(shape);
        let mut warnings: Vec<String> = Vec::new();
        // There may be thousands of names on either side.
        let known: HashSet<&str> = shapes.iter().map(String::as_str).collect();
        for OwnName { name, .. } in own.iter().filter(|own| known.contains(own.shape.as_str())) {
            warnings.push(format!("its name looks like that of {name}, an agent of this site"));
        }
        for holder in self.store.name_holders(shapes).await? {
            if holder.owner != owner && holder.id != id {
                warnings.push(format!(
                    "its name looks like that of {}, which belongs to somebody else",
                    holder.id
                ));
            }
        }
        Ok(warnings)
    }

    /// The same warnings about an agent that connects under this name.
    pub(crate) async fn warnings_about(
        &self,
        name: &str,
        owner: &str,
        own: &[OwnName],
    ) -> Result<Vec<String>, SiteError> {
        let mut warnings = self.like_names(&shape::shape(name), owner, "", own).await?;
        warnings.truncate(MAX_WARNINGS);
        Ok(warnings)
    }

    /// A word that nobody can guess.
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
fn being_changed() -> SiteError {
    bad("others are changing this entry at the same time; try again".into())
}

/// Whether this caller may see an entry.
pub(crate) fn sees(caller: &Caller, listing: &Listing) -> bool {
    caller.is_admin()
        || caller.owner().as_str() == listing.owner
        || (listing.standing == Standing::Active && listing.visibility >= least_seen(caller))
}

/// The narrowest visibility that this caller sees.
pub(crate) fn least_seen(caller: &Caller) -> Visibility {
    let anything = "agents-of-others".parse().expect("this is a name");
    [Visibility::Private, Visibility::Peers]
        .into_iter()
        .find(|visibility| caller.may_call(&anything, *visibility))
        .unwrap_or(Visibility::Public)
}

/// What a draft says, as a listing of which nothing else is known.
fn bare(draft: &Draft) -> Listing {
    let now = Timestamp::from_millis(0);
    Listing {
        id: String::new(),
        name: draft.name.clone(),
        description: draft.description.clone(),
        version: draft.version.clone(),
        media_type: draft.media_type.clone(),
        url: draft.url.clone(),
        document: draft.document.clone(),
        skills: draft.skills.clone(),
        tags: draft.tags.clone(),
        protocols: draft.protocols.clone(),
        interfaces: draft.interfaces.clone(),
        input_modes: draft.input_modes.clone(),
        output_modes: draft.output_modes.clone(),
        local: false,
        visibility: draft.visibility.unwrap_or(Visibility::Public),
        owner: String::new(),
        standing: Standing::Pending,
        proof: Proof::None,
        live: false,
        trust: 0.5,
        price: draft.price,
        region: draft.region.clone(),
        warnings: Vec::new(),
        registered_at: now,
        updated_at: now,
        checked_at: None,
        seen_at: None,
        lease_until: None,
    }
}

/// An entry that another registry shows, cut to bounds; what it says of proof and standing counts for
/// nothing.
pub(crate) fn foreign_entry(value: &serde_json::Value) -> Result<Listing, SiteError> {
    let draft = Draft::of_catalogue_entry(value)?;
    let id = draft.id.clone().filter(|id| is_urn(id));
    let id = id.ok_or_else(|| bad("`identifier` is no name everywhere (urn:air:…)".into()))?;
    Ok(Listing { id, ..bare(&draft) })
}

/// Reads any bytes as a document that the hub could be handed, for the fuzzer.
pub(crate) fn fuzz_draft(bytes: &[u8]) {
    let Ok(value) = agentsite_protocol::read_unambiguous(bytes) else { return };
    let _ = did::Claim::of(&value);
    let _ = agentsite_protocol::did_web_keys(&value, value["id"].as_str().unwrap_or_default());
    if let Ok(draft) = Draft::read(&value) {
        assert!(bare(&draft).description.chars().count() <= 4_000, "a draft is within bounds");
    }
    if let Ok(listing) = foreign_entry(&value) {
        assert!(is_urn(&listing.id));
    }
}

/// By what an entry is named everywhere. The name that a document claims counts only where somebody vouches
/// for it.
fn name_everywhere(candidate: &Candidate, claimed: bool) -> String {
    let draft = &candidate.draft;
    if let Some(id) = draft.id.as_deref().filter(|id| claimed && is_urn(id)) {
        return id.to_owned();
    }
    let is_server = draft.protocols.iter().any(|protocol| protocol == "mcp");
    let namespace = if is_server { NAMESPACES.1 } else { NAMESPACES.0 };
    let at = candidate.at.clone().or_else(|| Url::parse(draft.endpoint.as_deref()?).ok());
    let publisher = at.as_ref().map_or_else(|| "unknown".to_owned(), publisher);
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let mut name: String =
        draft.name.chars().map(|letter| if letter == ' ' { '-' } else { letter }).collect();
    if !name.chars().all(plain) {
        // Letters that may not stand in a name would make many names one.
        let digest = Sha256::digest(draft.name.as_bytes());
        name.extend(digest.iter().take(4).map(|byte| format!("{byte:02x}")));
    }
    air_urn(&publisher, namespace, &name)
}

/// Whether a text is a name everywhere.
fn is_urn(text: &str) -> bool {
    let mut parts = text.split(':');
    let begins = parts.next() == Some("urn") && parts.next() == Some("air");
    let publisher =
        |part: &str| part.chars().all(|letter| letter.is_ascii_alphanumeric() || ".-".contains(letter));
    let rest: Vec<&str> = parts.collect();
    let plain =
        |part: &&str| part.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-".contains(letter));
    begins
        && (2..=8).contains(&rest.len())
        && text.len() <= 512
        && rest.iter().all(|part| !part.is_empty())
        && publisher(rest[0])
        && rest[1..].iter().all(plain)
}
