//! Listed: what a foreign document says, in the form of an entry.
//!
//! Promises: pure; nothing that a document says of its own standing, proof or owner is taken over. It does
//! not decide whether an entry is admitted.

use agentsite_protocol::Timestamp;
use agentsite_protocol::Visibility;
use agentsite_protocol::listing::{Listing, Proof, Standing};

use super::did;
use super::draft::{Draft, bad};
use super::identifier::is_urn;
use crate::error::RegistryError;

/// What a draft says, as a listing of which nothing else is known.
pub(super) fn bare(draft: &Draft) -> Listing {
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
pub(crate) fn foreign_entry(value: &serde_json::Value) -> Result<Listing, RegistryError> {
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
