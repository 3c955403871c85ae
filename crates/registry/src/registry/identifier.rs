//! Identifier: by what an entry is named everywhere.
//!
//! Promises: pure; the same document at the same address has the same name. The name that a document claims
//! counts only where an admin vouches for it.

use agentsite_protocol::listing::ListingId;
use sha2::{Digest as _, Sha256};
use url::Url;

use super::Candidate;
use super::draft::publisher;

/// The namespace of agents that are called by A2A, and of tool servers, in names that the site makes.
const NAMESPACES: (&str, &str) = ("agents", "servers");

/// By what an entry is named everywhere. The name that a document claims counts only where an admin
/// vouches for it.
pub(super) fn name_everywhere(candidate: &Candidate, claimed: bool) -> ListingId {
    let draft = &candidate.draft;
    if let Some(Ok(id)) = draft.id.as_deref().filter(|_| claimed).map(str::parse) {
        return id;
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
    ListingId::of(&publisher, namespace, &name)
}
