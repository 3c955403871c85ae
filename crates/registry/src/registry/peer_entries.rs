//! Peer entries: agents that other sites told of through the mesh, as entries of the registry.
//!
//! Promises: the owner of such an entry is the site that signed its record, and its name everywhere begins
//! with that site's key, so that it never takes the name of another entry or of an agent here. It is cut to
//! the bounds of every foreign document, warned of like every other, and an entry that an admin suspended
//! stays so. Everything is given as edits, for the one commit that also keeps the record. What is there
//! already is not written again. It does not verify records and does not decide how many there may be: the
//! mesh does.

use std::collections::HashMap;

use agentsite_protocol::listing::{A2A_CARD, ListingId, Proof, Standing};
use agentsite_protocol::{AgentName, Principal, Skill, Timestamp, Visibility};
use agentsite_store::{ListingChange, ListingFilter, Registration};

use super::draft::Draft;
use super::likeness::OwnNames;
use super::listed::bare;
use super::{MAX_WARNINGS, Registry, shape};
use crate::error::RegistryError;

/// The namespace of agents in the names of such entries.
const NAMESPACE: &str = "agents";

/// Entries that are read at once.
const PAGE: usize = 500;

/// An agent of another site, as its signed record tells of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PeerAgent {
    /// The DID of its site, which signed the record.
    pub site: String,
    /// Its name at that site.
    pub name: AgentName,
    /// Whom its site tells of it: everybody, or this site alone (`peers`).
    pub visibility: Visibility,
    /// Its name for people.
    pub title: String,
    /// What it does.
    pub description: String,
    /// Its own version.
    pub version: String,
    /// What it can do.
    pub skills: Vec<Skill>,
    /// Where its card is, for a site that others reach by an address.
    pub url: Option<String>,
    /// Where it is called through the mesh.
    pub endpoint: String,
    /// Media types that it takes.
    pub input_modes: Vec<String>,
    /// Media types that it gives.
    pub output_modes: Vec<String>,
    /// When its site signed the record.
    pub issued_at: Timestamp,
    /// When the record stops holding.
    pub expires_at: Timestamp,
    /// Whether the vectors of the record are not used. Once said of a version, it holds for that version.
    pub ignores_vectors: bool,
    /// Whether its site answers and when that was found, if this site knows.
    pub reached: Option<(bool, Timestamp)>,
}

impl PeerAgent {
    /// By what it is named everywhere.
    #[must_use]
    pub fn id(&self) -> ListingId {
        peer_entry_id(&self.site, &self.name)
    }

    fn draft(&self) -> Result<Draft, RegistryError> {
        Draft {
            name: self.title.clone(),
            description: self.description.clone(),
            version: self.version.clone(),
            media_type: A2A_CARD.into(),
            url: self.url.clone(),
            endpoint: Some(self.endpoint.clone()),
            skills: self.skills.clone(),
            protocols: vec!["a2a".into()],
            input_modes: self.input_modes.clone(),
            output_modes: self.output_modes.clone(),
            ..Draft::default()
        }
        .bounded()
    }
}

/// By what an agent of another site is named everywhere. The key of a site has capital letters, which the
/// host of an address never has, so no other entry gets such a name by itself.
#[must_use]
pub fn peer_entry_id(site: &str, name: &AgentName) -> ListingId {
    ListingId::of(site.strip_prefix("did:key:").unwrap_or(site), NAMESPACE, name.as_str())
}

impl Registry {
    /// The edits that put these agents of other sites into the registry and take those out; those that cannot
    /// be an entry are left out and named in the log.
    ///
    /// # Errors
    /// [`RegistryError::Store`].
    pub async fn peer_changes(
        &self,
        put: &[PeerAgent],
        gone: &[ListingId],
        own: OwnNames<'_>,
    ) -> Result<Vec<ListingChange>, RegistryError> {
        let ids = put.iter().map(PeerAgent::id).chain(gone.iter().cloned()).collect();
        let known = self.store.listings_of(ids).await?;
        let mut known: HashMap<ListingId, Registration> =
            known.into_iter().map(|entry| (entry.listing.id.clone(), entry)).collect();
        let mut changes = Vec::with_capacity(put.len() + gone.len());
        for agent in put {
            let before = known.remove(&agent.id());
            match self.peer_entry(agent, before.as_ref(), own) {
                Ok(entry) => changes.extend(written(entry, before)),
                Err(error) => {
                    tracing::debug!(agent = %agent.id(), %error, "An agent of another site is left out.");
                }
            }
        }
        for id in gone {
            // An entry of somebody else under such a name is not the mesh's to remove.
            let before = known.remove(id).filter(|entry| entry.listing.owner.peer_did().is_some());
            changes.extend(before.map(removed));
        }
        Ok(changes)
    }

    /// The edits that write into the entries of a site whether it answers: those that say otherwise.
    ///
    /// # Errors
    /// [`RegistryError::Store`].
    pub async fn peer_reach(
        &self,
        site: &str,
        live: bool,
        checked_at: Timestamp,
        seen_at: Option<Timestamp>,
    ) -> Result<Vec<ListingChange>, RegistryError> {
        let unnamed = |_| super::draft::bad(format!("{site} is not a DID"));
        let owner = Principal::peer(site).map_err(unnamed)?;
        let filter = ListingFilter { owner: Some(owner), ..ListingFilter::default() };
        let (mut changes, mut after) = (Vec::new(), None);
        loop {
            let page = self.store.listings(filter.clone(), after, PAGE).await?;
            for mut entry in page.items {
                let known = entry.listing.checked_at.is_some();
                if entry.listing.live == live && known {
                    continue;
                }
                entry.revision += 1;
                (entry.listing.live, entry.listing.checked_at) = (live, Some(checked_at));
                entry.listing.seen_at = entry.listing.seen_at.max(seen_at);
                changes.push(ListingChange::Put(Box::new(entry)));
            }
            after = page.next;
            if after.is_none() {
                return Ok(changes);
            }
        }
    }

    fn peer_entry(
        &self,
        agent: &PeerAgent,
        before: Option<&Registration>,
        own: OwnNames<'_>,
    ) -> Result<Registration, RegistryError> {
        let unnamed = |_| super::draft::bad(format!("{} is not a DID", agent.site));
        let owner = Principal::peer(&agent.site).map_err(unnamed)?;
        let before = before.filter(|before| before.listing.owner == owner);
        let (draft, now) = (agent.draft()?, self.ids.clock().now());
        let mut listing = bare(&draft, agent.id(), owner);
        listing.visibility = agent.visibility;
        listing.standing =
            before.filter(|before| before.barred).map_or(Standing::Active, |before| before.listing.standing);
        listing.proof = Proof::Signature;
        // Its site says so by its lease, until this site itself finds that it does not answer.
        let known = before.and_then(|before| Some((before.listing.live, before.listing.checked_at?)));
        let reached = match (agent.reached, known) {
            // What is known already is not written again.
            (Some((live, _)), Some(known)) if known.0 == live => Some(known),
            (reached, known) => reached.or(known),
        };
        listing.live = reached.is_none_or(|(live, _)| live);
        listing.checked_at = reached.map(|(_, at)| at);
        listing.registered_at = before.map_or(now, |before| before.listing.registered_at);
        listing.updated_at = now;
        let contact = before.and_then(|before| before.listing.seen_at);
        listing.seen_at = contact.max(Some(agent.issued_at));
        listing.lease_until = Some(agent.expires_at);
        let shape = shape::shape(&listing.name);
        let told = |name: AgentName| format!("its name looks like that of {name}, an agent of this site");
        // Only what looks the same: such an entry is shown with its site, and a large mesh has thousands.
        let like = own(std::slice::from_ref(&shape));
        listing.warnings = like.into_iter().map(told).take(MAX_WARNINGS).collect();
        Ok(Registration {
            listing,
            revision: before.map_or(1, |before| before.revision + 1),
            due: None,
            failures: 0,
            etag: None,
            endpoint: draft.endpoint,
            key: Some(agent.site.clone()),
            challenge: None,
            vouched: false,
            barred: before.is_some_and(|before| before.barred),
            ignores_vectors: agent.ignores_vectors
                || before.is_some_and(|before| {
                    before.ignores_vectors && before.listing.seen_at == Some(agent.issued_at)
                }),
            imported: None,
            shape,
        })
    }
}

/// The edits that write an entry: none when it says what it said before; in the place of another owner's
/// entry, if there is one.
fn written(entry: Registration, before: Option<Registration>) -> Vec<ListingChange> {
    let Some(before) = before else { return vec![ListingChange::Put(Box::new(entry))] };
    if before.listing.owner != entry.listing.owner {
        return vec![removed(before), ListingChange::Put(Box::new(entry))];
    }
    let mut same = entry.clone();
    (same.revision, same.listing.updated_at) = (before.revision, before.listing.updated_at);
    if same == before { Vec::new() } else { vec![ListingChange::Put(Box::new(entry))] }
}

fn removed(Registration { listing, revision, .. }: Registration) -> ListingChange {
    ListingChange::Remove { id: listing.id, owner: listing.owner, revision }
}
