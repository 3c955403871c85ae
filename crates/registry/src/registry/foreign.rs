//! Foreign: an agent as another registry shows it, which is not an entry here.
//!
//! Promises: cut to the bounds of an import, and named by a name everywhere. What the other registry says of
//! owner, proof and standing is not taken over. It does not say whether what it holds is true.

use agentsite_protocol::listing::ListingId;
use agentsite_protocol::{Skill, did_web_keys, read_unambiguous};
use serde_json::Value;

use super::did::Claim;
use super::draft::{Draft, bad};
use crate::error::RegistryError;

/// An agent as another registry shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignEntry {
    /// By what it is named everywhere.
    pub id: ListingId,
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its own version, or empty.
    pub version: String,
    /// The media type of its document.
    pub media_type: String,
    /// Where its document is.
    pub url: Option<String>,
    /// Its document itself, where the other registry shows it instead of an address.
    pub document: Option<Value>,
    /// What it can do.
    pub skills: Vec<Skill>,
    /// Key words of the whole.
    pub tags: Vec<String>,
}

impl ForeignEntry {
    /// Reads an entry of a catalogue.
    pub(crate) fn read(value: &Value) -> Result<Self, RegistryError> {
        let Draft { id, name, description, version, media_type, url, document, skills, tags, .. } =
            Draft::of_catalogue_entry(value)?;
        let id = id.and_then(|id| id.parse().ok());
        let id = id.ok_or_else(|| {
            bad("`identifier` is not a valid id. Valid form: urn:air:PUBLISHER:NAMESPACE:NAME".into())
        })?;
        Ok(Self { id, name, description, version, media_type, url, document, skills, tags })
    }
}

/// Reads any bytes as a document that the registry could be handed, for the fuzzer.
pub(crate) fn fuzz_draft(bytes: &[u8]) {
    let Ok(value) = read_unambiguous(bytes) else { return };
    let _ = Claim::of(&value);
    let _ = did_web_keys(&value, value["id"].as_str().unwrap_or_default());
    if let Ok(draft) = Draft::read(&value) {
        assert!(draft.description.chars().count() <= 4_000, "a draft is within bounds");
    }
    if let Ok(entry) = ForeignEntry::read(&value) {
        assert!(entry.id.as_str().parse::<ListingId>().is_ok(), "an id is what its parser takes");
    }
}
