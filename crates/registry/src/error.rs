//! Why the registry did not do what was asked.
//!
//! Promises: variants are what a caller can act on, and each sentence says what to do. Codes and statuses are
//! the gateway's.

use agentsite_protocol::Caller;
use agentsite_protocol::listing::{BadListingId, ListingId};
use agentsite_store::StoreError;

/// Letters of an id that a sentence repeats.
const MAX_TOLD: usize = 200;

/// Why the registry did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// There is none, or it is not for this caller.
    #[error("there is no entry `{0}` in the hub")]
    NoSuchListing(String),
    /// What was to be registered cannot be taken, or an answer to a challenge does not hold.
    #[error("{0}")]
    BadListing(String),
    /// The caller has as many entries as it may.
    #[error("you have {0} entries in the hub, as many as you may (hub.quota); remove one first")]
    TooManyListings(usize),
    /// What was to be registered does not answer.
    #[error("{0}")]
    Unreachable(String),
    /// The caller may not do this.
    #[error("{0}")]
    Forbidden(String),
    /// The name is reserved or belongs to another owner.
    #[error("{0}")]
    NameTaken(String),
    /// The name is not reserved.
    #[error("The name `{0}` is not reserved. List the reserved names with `agentsite agent names`.")]
    NoSuchReservation(String),
    /// The text cannot be served or signed as a challenge.
    #[error("{0}")]
    BadChallenge(String),
    /// The site serves as many challenges of other hubs as it may.
    #[error("the site serves {0} challenges, as many as it may; withdraw one, or wait until one has run out")]
    TooManyChallenges(usize),
    /// The store did not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A text that cannot be an id is asked for like an id that does not exist.
impl From<BadListingId> for RegistryError {
    fn from(BadListingId(text): BadListingId) -> Self {
        Self::NoSuchListing(text)
    }
}

impl RegistryError {
    /// There is no entry of this id for this caller.
    pub(crate) fn missing(id: &ListingId) -> Self {
        Self::NoSuchListing(id.as_str().chars().take(MAX_TOLD).collect())
    }

    /// Whether a concurrent change of the same data refused this one, so that it must be decided again.
    pub(crate) const fn is_conflict(&self) -> bool {
        matches!(self, Self::Store(StoreError::Moved(_) | StoreError::Foreign(_)))
    }
}

/// Refuses all but admins.
pub(crate) fn admin_only(caller: &Caller) -> Result<(), RegistryError> {
    if caller.is_admin() {
        return Ok(());
    }
    let sentence = "only the people who run this site may do that; use a key with the scope admin";
    Err(RegistryError::Forbidden(sentence.into()))
}
