//! From a record to an entry of the registry.
//!
//! Promises: pure; the entry says what the record says and nothing else.

use agentsite_mesh::{Body, Record, RecordKey, Subject};
use agentsite_protocol::listing::ListingId;
use agentsite_protocol::{Skill, Visibility};
use agentsite_registry::{PeerAgent, peer_entry_id};

use crate::hosts::link_host;

/// How the names of entries of other sites begin, and nothing else of the registry.
pub(crate) const ENTRIES: &str = "urn:air:z6Mk";

/// Entries that are read at once.
pub(crate) const PAGE: usize = 500;

/// The name of the entry of an agent, if the record is about one.
pub(crate) fn entry_id(key: &RecordKey) -> Option<ListingId> {
    match &key.subject {
        Subject::Agent(name) => Some(peer_entry_id(&key.site.to_string(), name)),
        _ => None,
    }
}

/// The agent that a record tells of.
pub(crate) fn peer_agent(record: &Record) -> Option<PeerAgent> {
    let (Subject::Agent(name), Body::Agent(profile)) = (record.subject(), record.body()) else { return None };
    let (input_modes, output_modes) = profile.modes();
    let skills = profile.skills().iter().map(|skill| Skill {
        id: skill.id.clone(),
        name: skill.name.clone(),
        description: skill.description.clone(),
        tags: skill.tags.clone(),
        ..Skill::default()
    });
    Some(PeerAgent {
        site: record.site().to_string(),
        name: name.clone(),
        visibility: Visibility::Public,
        title: profile.title().to_owned(),
        description: profile.description().to_owned(),
        version: profile.version().to_owned(),
        skills: skills.collect(),
        url: profile.url().map(str::to_owned),
        endpoint: format!("http://{}/a2a/{name}", link_host(&record.site())),
        input_modes: input_modes.to_vec(),
        output_modes: output_modes.to_vec(),
        issued_at: record.issued_at(),
        expires_at: record.expires_at(),
        ignores_vectors: false,
        reached: None,
    })
}
