//! Listed: what a foreign document says, in the form of an entry.
//!
//! Promises: pure; nothing that a document says of its own standing, proof or owner is taken over. It does
//! not decide whether an entry is admitted.

use agentsite_protocol::listing::{Listing, ListingId, Proof, Standing};
use agentsite_protocol::{Principal, Timestamp, Visibility};

use super::draft::Draft;

/// What a draft says, as a listing of which nothing else is known.
pub(super) fn bare(draft: &Draft, id: ListingId, owner: Principal) -> Listing {
    let now = Timestamp::from_millis(0);
    Listing {
        id,
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
        owner,
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
