//! Admission: how a new entry, or a new version of one, gets into the registry.
//!
//! Promises: an owner has no more entries, and no more unproven ones, than it may have; a proven registration
//! takes the place of an unproven one; what others changed in the meantime is read again before the decision
//! is made anew. It does not find out what is proven (`proof`).

use agentsite_protocol::listing::{Listing, ListingId, Proof, Standing};
use agentsite_protocol::{Caller, JournalLine, JournalSubject, Visibility};
use agentsite_store::{Change, ListingChange, ListingFilter, Registration};

use super::draft::bad;
use super::identifier::name_everywhere;
use super::listed::bare;
use super::{Candidate, MAX_WARNINGS, OTHER_KEY, OwnNames, Registry, TRIES, being_changed, shape};
use crate::error::RegistryError;
use crate::kinds;
use crate::names::NameChange;

/// Most entries of one owner that wait for a proof; admins have no limit. Each of them
/// keeps a name from others who have no proof either, and half of the default quota is more than
/// an owner proves in a day.
const MAX_PENDING: usize = 50;

impl Registry {
    /// Takes a new entry in, or a new version of the caller's own.
    pub(super) async fn admit(
        &self,
        caller: &Caller,
        candidate: Candidate,
        visibility: Visibility,
        own: OwnNames<'_>,
    ) -> Result<Registration, RegistryError> {
        let _one_at_a_time = self.adding.lock().await;
        for _ in 0..TRIES {
            match self.admit_once(caller, candidate.clone(), visibility, own).await {
                Err(error) if error.is_conflict() => {}
                done => return done,
            }
        }
        Err(being_changed())
    }

    async fn admit_once(
        &self,
        caller: &Caller,
        candidate: Candidate,
        visibility: Visibility,
        own: OwnNames<'_>,
    ) -> Result<Registration, RegistryError> {
        let id = name_everywhere(&candidate, false);
        let found = self.store.listing(&id).await?;
        let (known, displaced) = match found {
            Some(found) if is_displaced(&found, &candidate, caller) => (None, Some(found)),
            found => (found, None),
        };
        if let Some(known) = &known {
            self.check_may_change(caller, known)?;
        } else {
            self.check_may_register(caller).await?;
            self.check_released(caller, &id, &candidate)?;
        }
        let mut entry = self.admitted(caller, candidate, id, known.as_ref());
        if known.is_none() && entry.listing.standing == Standing::Pending {
            self.check_pending(caller).await?;
        }
        entry.listing.visibility = visibility;
        self.warn_of_like_names(&mut entry, own).await?;
        self.write_admitted(caller, &entry, known.is_some(), displaced).await?;
        self.bell.notify_one();
        Ok(entry)
    }

    /// Writes an entry that was admitted, in the place of an unproven one if there is one.
    async fn write_admitted(
        &self,
        caller: &Caller,
        entry: &Registration,
        anew: bool,
        displaced: Option<Registration>,
    ) -> Result<(), RegistryError> {
        let (name, id) = (JournalLine::excerpt(&entry.listing.name), entry.listing.id.clone());
        let did = if anew { "registered anew" } else { "registered" };
        let mut text = format!("{did} {name} as {id}");
        if displaced.is_some() {
            text.push_str(", in the place of an entry that was not proven");
        }
        let removed = displaced.map(|Registration { listing, revision, .. }| ListingChange::Remove {
            id: listing.id,
            owner: listing.owner,
            revision,
        });
        let line = self.line(kinds::LISTING_REGISTERED, caller.owner().as_str(), text);
        let change = Change::new(line.about(JournalSubject::Listing(id.to_string())))
            .edits(removed)
            .edit(ListingChange::Put(Box::new(entry.clone())));
        Ok(self.names.commit(change, &[NameChange::Taken(id.to_string())]).await?)
    }

    /// Refuses the identifier of a removed entry to all but its previous owner and those who prove that the
    /// agent is theirs.
    pub(super) fn check_released(
        &self,
        caller: &Caller,
        id: &ListingId,
        candidate: &Candidate,
    ) -> Result<(), RegistryError> {
        if candidate.proof == Proof::None { self.names.check(caller, id.as_str()) } else { Ok(()) }
    }

    /// Refuses one more entry without proof than an owner may have.
    async fn check_pending(&self, caller: &Caller) -> Result<(), RegistryError> {
        if self.pending_space(caller).await? == 0 {
            return Err(bad(too_many_pending()));
        }
        Ok(())
    }

    /// How many more entries without proof this caller may add.
    pub(super) async fn pending_space(&self, caller: &Caller) -> Result<usize, RegistryError> {
        if caller.is_admin() {
            return Ok(usize::MAX);
        }
        let (owner, standings) = (Some(caller.owner().clone()), vec![Standing::Pending]);
        let filter = ListingFilter { owner, standings, ..ListingFilter::default() };
        let count = self.store.count_listings(filter).await?;
        Ok(MAX_PENDING.saturating_sub(usize::try_from(count).unwrap_or(usize::MAX)))
    }

    /// The entry of a candidate, in the place of `known` if there is one.
    pub(super) fn admitted(
        &self,
        caller: &Caller,
        candidate: Candidate,
        id: ListingId,
        known: Option<&Registration>,
    ) -> Registration {
        let Candidate { draft, proof, key, etag, mut warnings, at: _, contacted } = candidate;
        let now = self.ids.clock().now();
        let vouched = caller.is_admin() || known.is_some_and(|known| known.vouched);
        let other_key =
            known.and_then(|known| known.key.as_ref()).is_some_and(|before| key.as_ref() != Some(before));
        if other_key && !caller.is_admin() {
            warnings.push(format!("{OTHER_KEY}; its owner must prove to be the same"));
        }
        let counts = (vouched || proof != Proof::None) && (!other_key || caller.is_admin());
        let has_address = draft.url.is_some() || draft.endpoint.is_some();
        warnings.truncate(MAX_WARNINGS);
        // What was found out at another address says nothing about this one.
        let same = known.filter(|known| known.listing.url == draft.url).map(|known| &known.listing);
        let owner = known.map_or_else(|| caller.owner().clone(), |known| known.listing.owner.clone());
        let listing = Listing {
            standing: if counts { Standing::Active } else { Standing::Pending },
            proof,
            warnings,
            registered_at: known.map_or(now, |known| known.listing.registered_at),
            updated_at: now,
            live: contacted || same.is_some_and(|same| same.live),
            checked_at: contacted.then_some(now).or_else(|| same?.checked_at),
            seen_at: contacted.then_some(now).or_else(|| same?.seen_at),
            lease_until: has_address.then(|| now.plus(self.settings.lease.0)),
            ..bare(&draft, id, owner)
        };
        Registration {
            shape: shape::shape(&listing.name),
            due: has_address.then(|| if contacted { now.plus(self.next_look()) } else { now }),
            imported: None,
            challenge: (!counts).then(|| self.challenge()),
            key: if other_key && !caller.is_admin() {
                known.and_then(|known| known.key.clone())
            } else {
                key
            },
            revision: known.map_or(1, |known| known.revision + 1),
            endpoint: draft.endpoint,
            failures: 0,
            barred: false,
            ignores_vectors: false,
            vouched,
            // A look at the same version must find out about the key again.
            etag: etag.filter(|_| !other_key),
            listing,
        }
    }
}

/// Whether a new registration takes the name of another owner's entry: it is proven, and nothing proves that
/// the entry is its owner's.
///
/// An answer that was signed with the card's own key proves who posted the card, not whose domain it names;
/// such an entry gives way to what the domain itself serves. Entries that an admin vouches for or has
/// suspended stay.
fn is_displaced(known: &Registration, candidate: &Candidate, caller: &Caller) -> bool {
    let listing = &known.listing;
    if *caller.owner() == listing.owner || known.barred || candidate.proof < Proof::Domain {
        return false;
    }
    let unproven = listing.proof == Proof::None && !known.vouched;
    let by_own_key = listing.proof == Proof::Signature
        && known.vouched
        && listing.url.is_none()
        && !listing.owner.is_admin();
    unproven || (by_own_key && candidate.at.is_some())
}

pub(super) fn too_many_pending() -> String {
    format!(
        "You have {MAX_PENDING} entries that wait for a proof, the most that one owner may have. Prove or remove one first."
    )
}
