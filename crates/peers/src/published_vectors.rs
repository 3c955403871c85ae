//! The vectors in the records of other sites, for the search of this one.
//!
//! Promises: works in every process of a site, because records are kept in the store. Only vectors of the
//! protocol's model are given. Whether they may be used is said by the entry of the registry.

use std::collections::HashMap;

use agentsite_mesh::AgentVectors;
use agentsite_protocol::listing::ListingId;
use agentsite_store::{Registration, SharedStore, StoreError};

use crate::kept::{RECORDS, agent_key, kept_vectors};

/// The vectors that a publisher made of an agent, in whole numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCodes {
    /// The model that made them.
    pub model: String,
    /// That of the agent.
    pub agent: Vec<i8>,
    /// Those of its first skills.
    pub skills: Vec<Vec<i8>>,
}

impl AgentCodes {
    /// The vectors of a record, if the model of the protocol made them.
    pub(crate) fn of(vectors: &AgentVectors) -> Option<Self> {
        let mut codes = vectors.iter().map(|codes| codes.codes().to_vec());
        let agent = codes.next().filter(|_| vectors.is_of_protocol())?;
        Some(Self { model: vectors.model().to_owned(), agent, skills: codes.collect() })
    }
}

/// The vectors in the records behind these entries; entries without are left out, and so are those whose
/// vectors are not used.
///
/// # Errors
/// What the store reports.
pub async fn published_vectors(
    store: &SharedStore,
    entries: &[Registration],
) -> Result<HashMap<ListingId, AgentCodes>, StoreError> {
    let mut found = HashMap::new();
    for entry in entries.iter().filter(|entry| !entry.ignores_vectors) {
        let (Some(site), id) = (entry.listing.owner.peer_did(), &entry.listing.id) else { continue };
        let Some((_, name)) = id.as_str().rsplit_once(':') else { continue };
        let record = RECORDS.get(store, &agent_key(site, name)).await?;
        let vectors = record.and_then(|record| kept_vectors(&record.value));
        if let Some(codes) = vectors.as_ref().and_then(AgentCodes::of) {
            found.insert(id.clone(), codes);
        }
    }
    Ok(found)
}
