//! Import: many entries at once, from the forms in which others keep them.
//!
//! Promises: a batch is one commit; what cannot be taken of it is told by its place and does not hold up the
//! rest. Every entry of the source is counted once: as added, renewed, unchanged, joined to the entry of the
//! same agent, or refused. What a document claims about standing, proof and owner counts for nothing: entries
//! of admins count at once, those of others when they have been checked. An import does not bring a suspended
//! entry back, and does not move a proven one to another host. Long sources come page by page: each answer
//! names what comes next.

mod source;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use agentsite_protocol::listing::{ListingId, Proof, Standing};
use agentsite_protocol::{Caller, Visibility, read_unambiguous};
use agentsite_store::{Change, ListingChange, ListingFilter, Registration};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::admission::too_many_pending;
use super::did::Claim;
use super::digest::digest;
use super::draft::{Draft, bad};
use super::identifier::name_everywhere;
use super::interfaces::{self, Batch};
use super::{Candidate, Registry, TRIES, being_changed, chance};
use crate::error::RegistryError;
use crate::kinds;

/// Most entries of one batch: one transaction of some milliseconds.
const MAX_BATCH: usize = 1_000;

/// Largest line of a batch, in bytes.
const MAX_LINE: usize = 256 << 10;

/// What became of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportReport {
    /// Entries that are new here.
    pub added: usize,
    /// Entries that were here and have changed.
    pub renewed: usize,
    /// Entries that were here as they are.
    #[serde(default)]
    pub unchanged: usize,
    /// Entries that name a further interface of an agent which has an entry, and were joined to it.
    #[serde(default)]
    pub joined: usize,
    /// Entries that the source listed in this answer; the sum of all the other counts.
    #[serde(default)]
    pub listed: usize,
    /// Entries that the source says it has in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// What could not be taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedEntry>,
    /// Where the source goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Catalogues that it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<String>,
    /// Why the source may have more than was listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// An entry that could not be taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedEntry {
    /// Its place in what was sent, from 1.
    pub place: usize,
    /// Why.
    pub why: String,
}

impl ImportReport {
    fn refuse(&mut self, place: usize, why: impl std::fmt::Display) {
        self.refused.push(RefusedEntry { place, why: why.to_string().chars().take(300).collect() });
    }

    fn add(&mut self, batch: Self) {
        self.added += batch.added;
        self.renewed += batch.renewed;
        self.unchanged += batch.unchanged;
        self.joined += batch.joined;
        self.listed += batch.listed;
        self.refused.extend(batch.refused);
    }
}

/// What a batch writes.
#[derive(Default)]
struct Writes {
    put: BTreeMap<ListingId, Registration>,
    removed: Vec<Registration>,
}

impl Registry {
    /// Takes lines of JSON, each a card, an entry of a catalogue, a server file or a line of an export; in
    /// one commit.
    ///
    /// # Errors
    /// [`RegistryError::Forbidden`] for callers without a key; [`RegistryError::BadListing`] for too many
    /// lines. Single bad lines are named in the answer.
    pub async fn import_lines(&self, caller: &Caller, lines: &[u8]) -> Result<ImportReport, RegistryError> {
        let mut values = Vec::new();
        for (place, line) in (1..).zip(lines.split(|byte| *byte == b'\n')) {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let value = if line.len() > MAX_LINE {
                Err(format!("the line is longer than {MAX_LINE} bytes"))
            } else {
                read_unambiguous(line).map_err(|error| error.to_string())
            };
            values.push((place, value));
        }
        if values.len() > MAX_BATCH {
            return Err(bad(format!("send at most {MAX_BATCH} lines at once; this has {}", values.len())));
        }
        self.import(caller, values).await
    }

    /// Takes one batch in one commit.
    async fn import(
        &self,
        caller: &Caller,
        values: Vec<(usize, Result<Value, String>)>,
    ) -> Result<ImportReport, RegistryError> {
        if (caller.is_anonymous() || caller.is_peer()) && !caller.is_admin() {
            self.check_may_register(caller).await?;
        }
        let mut done = ImportReport { listed: values.len(), ..ImportReport::default() };
        let (mut drafts, mut claims) = (Batch::new(), BTreeMap::new());
        for (place, value) in values {
            let read = value.and_then(|value| {
                let draft = Draft::read(&value).map_err(|error| error.to_string())?;
                Ok((draft, Claim::of(&value)))
            });
            match read {
                Err(why) => done.refuse(place, why),
                Ok((draft, claim)) => {
                    let candidate = unproven(draft);
                    let id = name_everywhere(&candidate, caller.is_admin());
                    match drafts.entry(id) {
                        Entry::Occupied(taken) => done.refuse(place, format!("{} comes twice", taken.key())),
                        Entry::Vacant(free) => {
                            claims.extend(claim.map(|claim| (free.key().clone(), claim)));
                            free.insert((place, candidate));
                        }
                    }
                }
            }
        }
        done.joined += interfaces::join(&mut drafts);
        let claimed = drafts.iter_mut().filter_map(|(id, (_, one))| Some((one, claims.remove(id)?)));
        self.check_claims(claimed.collect()).await;
        let _one_at_a_time = self.adding.lock().await;
        for _ in 0..TRIES {
            let mut done = done.clone();
            let writes = self.batch(caller, drafts.clone(), &mut done).await?;
            match self.write_batch(caller, writes, &done).await {
                Err(error) if error.is_conflict() => {}
                written => return written.map(|()| done),
            }
        }
        Err(being_changed())
    }

    async fn write_batch(
        &self,
        caller: &Caller,
        writes: Writes,
        done: &ImportReport,
    ) -> Result<(), RegistryError> {
        let Writes { put, removed } = writes;
        let mut entries: Vec<Registration> = put.into_values().collect();
        if entries.is_empty() {
            return Ok(());
        }
        self.warn_of_same_names(&mut entries).await?;
        let text = format!("imported {} entries, {} of them new", entries.len(), done.added);
        let line = self.line(kinds::LISTING_IMPORTED, caller.owner().as_str(), text);
        let removed = removed.into_iter().map(|Registration { listing, revision, .. }| {
            ListingChange::Remove { id: listing.id, owner: listing.owner, revision }
        });
        let put = entries.into_iter().map(|entry| ListingChange::Put(Box::new(entry)));
        self.store.commit(Change::new(line).edits(removed.chain(put))).await?;
        self.bell.notify_one();
        Ok(())
    }

    /// The entries of a batch that may be written.
    async fn batch(
        &self,
        caller: &Caller,
        drafts: Batch,
        done: &mut ImportReport,
    ) -> Result<Writes, RegistryError> {
        let related = drafts.iter().flat_map(|(id, (_, one))| {
            let main = interfaces::main_ids(id, &one.draft);
            main.into_iter().chain(interfaces::further_ids(id, &one.draft)).chain([id.clone()])
        });
        let related: BTreeSet<ListingId> = related.collect();
        let known = self.store.listings_of(related.into_iter().collect()).await?;
        let known: BTreeMap<ListingId, Registration> =
            known.into_iter().map(|entry| (entry.listing.id.clone(), entry)).collect();
        let mut space = (self.space(caller).await?, self.pending_space(caller).await?);
        let mut writes = Writes::default();
        for (id, (place, candidate)) in drafts {
            if self.joins_known(caller, &id, &candidate.draft, &known, &mut writes) {
                done.joined += 1;
                continue;
            }
            let before = known.get(&id);
            if let Err(why) = self.check_imported(caller, &id, &candidate, before, &mut space) {
                done.refuse(place, why);
                continue;
            }
            let digest = digest(&candidate.draft);
            let same = |before: &Registration| {
                let known = &before.listing.interfaces;
                before.imported.as_ref() == Some(&digest)
                    && before.listing.standing == Standing::Active
                    && candidate.draft.interfaces.iter().all(|one| known.contains(one))
            };
            let further = self.further_entries(caller, &id, &candidate.draft, &known);
            match before {
                Some(before) if same(before) && further.is_empty() => {
                    done.unchanged += 1;
                    continue;
                }
                Some(_) => done.renewed += 1,
                None => done.added += 1,
            }
            let mut entry = self.imported_entry(caller, candidate, id.clone(), before);
            entry.imported = Some(digest);
            for one in further {
                let interface = interfaces::interface_of_entry(&one.listing);
                let listing = &mut entry.listing;
                interfaces::add(&mut listing.interfaces, &mut listing.protocols, interface);
                writes.removed.push(one.clone());
            }
            writes.put.insert(id, entry);
        }
        Ok(writes)
    }

    /// Whether an entry may be written, and why not; counts down the space for new ones.
    fn check_imported(
        &self,
        caller: &Caller,
        id: &ListingId,
        candidate: &Candidate,
        before: Option<&Registration>,
        (space, pending_space): &mut (usize, usize),
    ) -> Result<(), RegistryError> {
        if let Some(before) = before {
            self.check_may_change(caller, before)?;
            if before.listing.standing == Standing::Suspended {
                return Err(bad(format!("{id} is suspended; resume it first")));
            }
            let (here, there) = (before.listing.url.as_deref(), candidate.draft.url.as_deref());
            if before.listing.proof >= Proof::Domain && host_of(here) != host_of(there) {
                return Err(bad(format!(
                    "{id} is proven at another host; remove that entry first if it moved"
                )));
            }
            return Ok(());
        }
        self.check_released(caller, id, candidate)?;
        if *space == 0 {
            return Err(RegistryError::TooManyListings(self.settings.quota));
        }
        let waits = !caller.is_admin() && candidate.proof == Proof::None;
        if waits && *pending_space == 0 {
            return Err(bad(too_many_pending()));
        }
        (*space, *pending_space) = (*space - 1, pending_space.saturating_sub(usize::from(waits)));
        Ok(())
    }

    /// Joins a draft to the entry of the same agent that is here already; false when there is none.
    fn joins_known(
        &self,
        caller: &Caller,
        id: &ListingId,
        draft: &Draft,
        known: &BTreeMap<ListingId, Registration>,
        writes: &mut Writes,
    ) -> bool {
        let fits = |entry: &&Registration| {
            entry.listing.standing != Standing::Suspended
                && interfaces::is_same_agent(draft, &entry.listing)
                && self.check_may_change(caller, entry).is_ok()
        };
        let mains = interfaces::main_ids(id, draft);
        let mut mains = mains.iter().filter_map(|main| writes.put.get(main).or_else(|| known.get(main)));
        let Some(mut entry) = mains.find(fits).cloned() else { return false };
        let main = entry.listing.id.clone();
        let (listing, one) = (&mut entry.listing, interfaces::interface(id, draft));
        let changed = interfaces::add(&mut listing.interfaces, &mut listing.protocols, one);
        // An earlier import may have given the interface an entry of its own.
        let own = known.get(id).filter(|own| self.check_may_change(caller, own).is_ok());
        if changed || own.is_some() {
            if !writes.put.contains_key(&main) {
                entry.revision += 1;
                entry.listing.updated_at = self.ids.clock().now();
            }
            writes.put.insert(main, entry);
            writes.removed.extend(own.cloned());
        }
        true
    }

    /// Entries that an earlier import made for further interfaces of a draft's agent.
    fn further_entries(
        &self,
        caller: &Caller,
        id: &ListingId,
        draft: &Draft,
        known: &BTreeMap<ListingId, Registration>,
    ) -> Vec<Registration> {
        let found = interfaces::further_ids(id, draft).into_iter().filter_map(|one| known.get(&one).cloned());
        found
            .filter(|one| interfaces::is_further(one, draft) && self.check_may_change(caller, one).is_ok())
            .collect()
    }

    fn imported_entry(
        &self,
        caller: &Caller,
        candidate: Candidate,
        id: ListingId,
        before: Option<&Registration>,
    ) -> Registration {
        let visibility = candidate.draft.visibility.unwrap_or(Visibility::Public);
        let mut entry = self.admitted(caller, candidate, id, before);
        entry.listing.visibility = visibility;
        for one in before.map(|before| before.listing.interfaces.clone()).unwrap_or_default() {
            let listing = &mut entry.listing;
            if listing.interfaces.iter().all(|known| known.id != one.id) {
                interfaces::add(&mut listing.interfaces, &mut listing.protocols, one);
            }
        }
        if let Some(due) = &mut entry.due {
            // Those that count already are looked at some time within their lease, the others now.
            let now = self.ids.clock().now();
            let wait = self.settings.lease.0.mul_f64(chance(self.ids.rng().as_ref()));
            *due = if entry.vouched { now.plus(wait) } else { now };
        }
        entry
    }

    /// How many entries this caller may still add.
    async fn space(&self, caller: &Caller) -> Result<usize, RegistryError> {
        if caller.is_admin() {
            return Ok(usize::MAX);
        }
        let owner = Some(caller.owner().clone());
        let count = self.store.count_listings(ListingFilter { owner, ..ListingFilter::default() }).await?;
        Ok(self.settings.quota.saturating_sub(usize::try_from(count).unwrap_or(usize::MAX)))
    }

    /// Warns of names that look exactly alike; slips of a letter are not looked for in bulk.
    async fn warn_of_same_names(&self, entries: &mut [Registration]) -> Result<(), RegistryError> {
        let shapes: BTreeSet<String> = entries.iter().map(|entry| entry.shape.clone()).collect();
        let holders = self.store.name_holders(shapes.into_iter().collect()).await?;
        for entry in entries {
            let other = holders.iter().find(|holder| {
                holder.shape == entry.shape
                    && holder.owner != entry.listing.owner
                    && holder.id != entry.listing.id
            });
            if let Some(other) = other {
                let warning =
                    format!("its name looks like that of {}, which belongs to another owner", other.id);
                entry.listing.warnings.push(warning);
            }
        }
        Ok(())
    }
}

/// A draft of which nothing is known but what it says.
fn unproven(draft: Draft) -> Candidate {
    let at = draft.url.as_deref().and_then(|url| Url::parse(url).ok());
    let (proof, warnings) = (Proof::None, Vec::new());
    Candidate { draft, proof, key: None, etag: None, warnings, at, contacted: false }
}

fn host_of(url: Option<&str>) -> Option<String> {
    Url::parse(url?).ok()?.host_str().map(str::to_owned)
}
