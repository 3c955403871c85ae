//! Kept records: the catalogue on disk, and what a node must remember besides.
//!
//! Promises: what the catalogue wants stored and removed becomes edits with the right revisions; after their
//! commit, and only then, it is taken as done. Bytes are kept as they were signed. It does not verify them:
//! the catalogue does that when it is restored.

use std::collections::{BTreeMap, HashMap};

use agentsite_mesh::{AgentVectors, Body, Record, RecordKey, SiteId, Subject, Work};
use agentsite_protocol::Timestamp;
use agentsite_store::{Collection, RecordChange, SharedStore, StoreError, StoredRecord};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::batch::RecordChanges;
use crate::sites::{SITES, SiteEntry};

/// Where records are kept, by site and subject.
pub(crate) const RECORDS: Collection<KeptRecord> = Collection::new("mesh_records");

/// Where a node keeps what it must remember; one record.
pub(crate) const STATE: Collection<NodeState> = Collection::new("mesh_state");

/// The key of that record.
pub(crate) const STATE_KEY: &str = "node";

/// The wire form of a record, in base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct KeptRecord(String);

/// What a node must remember besides records.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeState {
    /// For which identity the work was done.
    #[serde(default)]
    pub(crate) site: String,
    /// The nonce that proves it.
    #[serde(default)]
    pub(crate) nonce: u64,
    /// When something was last kept: how long the site was away is counted from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<Timestamp>,
    /// From where other sites answered with their keys; only for cells.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) networks: BTreeMap<String, String>,
}

impl NodeState {
    /// The work of this identity: what was done before, else new work.
    pub(crate) fn work(&self, site: &SiteId, bits: u32) -> Work {
        let known = Work::of(site, self.nonce);
        if self.site == site.to_string() && known.bits >= bits { known } else { Work::at_least(site, bits) }
    }
}

/// The revisions of what is kept.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    records: HashMap<String, u64>,
    sites: HashMap<String, u64>,
    pub(crate) state: NodeState,
    state_revision: u64,
}

impl Kept {
    /// Reads everything; gives the wire forms of the records, too.
    pub(crate) async fn load(store: &SharedStore) -> Result<(Self, Vec<Vec<u8>>), StoreError> {
        let mut kept = Self::default();
        let mut wire = Vec::new();
        for record in RECORDS.all(store).await? {
            // A damaged row is a record that is not there, and is written over.
            wire.extend(STANDARD_NO_PAD.decode(&record.value.0));
            kept.records.insert(record.key, record.revision);
        }
        kept.sites = SITES.all(store).await?.into_iter().map(|site| (site.key, site.revision)).collect();
        if let Some(state) = STATE.get(store, STATE_KEY).await? {
            (kept.state, kept.state_revision) = (state.value, state.revision);
        }
        Ok((kept, wire))
    }

    /// The edits that carry these changes out; `state` is written, too, when it is given.
    pub(crate) fn edits(
        &self,
        changes: &RecordChanges,
        state: Option<&NodeState>,
    ) -> Result<Vec<RecordChange>, StoreError> {
        let mut edits = Vec::with_capacity(changes.len() + 1);
        for (key, record) in changes {
            let body = record.as_ref().map(|record| STANDARD_NO_PAD.encode(record.bytes()));
            let body = body.map(|body| written(&KeptRecord(body))).transpose()?;
            edits.extend(edit(RECORDS.name(), &self.records, record_key(key), body));
            if key.subject == Subject::Site {
                let about = record.as_ref().and_then(|record| site_entry(record));
                let body = about.map(|about| written(&about)).transpose()?;
                edits.extend(edit(SITES.name(), &self.sites, key.site.to_string(), body));
            }
        }
        if let Some(state) = state {
            edits.push(STATE.put(STATE_KEY, None, self.state_revision, state)?);
        }
        Ok(edits)
    }

    /// Takes note that the edits were committed.
    pub(crate) fn committed(&mut self, edits: &[RecordChange], state: Option<NodeState>) {
        for edit in edits {
            match edit {
                RecordChange::Put { collection, record } => {
                    if let Some(revisions) = self.revisions(collection) {
                        revisions.insert(record.key.clone(), record.revision);
                    }
                }
                RecordChange::Remove { collection, key, .. } => {
                    self.revisions(collection).map(|revisions| revisions.remove(key));
                }
            }
        }
        if let Some(state) = state {
            (self.state, self.state_revision) = (state, self.state_revision + 1);
        }
    }

    fn revisions(&mut self, collection: &str) -> Option<&mut HashMap<String, u64>> {
        match collection {
            name if name == RECORDS.name() => Some(&mut self.records),
            name if name == SITES.name() => Some(&mut self.sites),
            _ => None,
        }
    }
}

/// The vectors in a kept record, which was verified before it was kept.
pub(crate) fn kept_vectors(record: &KeptRecord) -> Option<AgentVectors> {
    let bytes = STANDARD_NO_PAD.decode(&record.0).ok()?;
    AgentVectors::in_record(&bytes)
}

/// The key under which the record of an agent is kept; `site` is its DID.
pub(crate) fn agent_key(site: &str, name: &str) -> String {
    format!("{site} agent {name}")
}

fn written<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Engine(error.to_string()))
}

/// The edit that brings one record to this body; none when there is nothing to remove.
fn edit(
    collection: &'static str,
    revisions: &HashMap<String, u64>,
    key: String,
    body: Option<String>,
) -> Option<RecordChange> {
    let revision = revisions.get(&key).copied();
    match (body, revision) {
        (Some(body), before) => {
            let record =
                StoredRecord { revision: before.unwrap_or(0) + 1, ..StoredRecord::new(key, None, body) };
            Some(RecordChange::Put { collection, record })
        }
        (None, Some(revision)) => Some(RecordChange::Remove { collection, key, revision }),
        (None, None) => None,
    }
}

fn record_key(key: &RecordKey) -> String {
    match &key.subject {
        Subject::Agent(name) => agent_key(&key.site.to_string(), name.as_str()),
        Subject::Split(cell) => format!("{} split {cell}", key.site),
        other => format!("{} {}", key.site, other.kind()),
    }
}

fn site_entry(record: &Record) -> Option<SiteEntry> {
    match record.body() {
        Body::Site(profile) => Some(SiteEntry::of(record, profile)),
        _ => None,
    }
}
