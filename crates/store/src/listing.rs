//! Registration: an entry of the hub with what keeps it fresh, and what can be asked and changed about
//! entries.
//!
//! Promises: an entry keeps its owner for life; a change names the revision that it was decided on, so that
//! of two that meet one is refused. What the words of an entry mean is decided by `site`. It does not know
//! SQL.

use agentsite_protocol::listing::{Listing, ListingId, Standing};
use agentsite_protocol::{Principal, Timestamp, Visibility};
use serde::{Deserialize, Serialize};

/// An entry of the hub that came from elsewhere, with what keeps it fresh.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Registration {
    /// What every caller reads.
    pub listing: Listing,
    /// How often it was written: 1 for a new one.
    #[serde(default)]
    pub revision: u64,
    /// When to look at it next; none when it is not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
    /// Looks in a row that found nothing.
    #[serde(default)]
    pub failures: u32,
    /// What its document's server called the version that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// Where it answers calls, to see whether it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Which key signed its document; another one is not taken for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What its owner must sign or serve to prove that it is the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<String>,
    /// Whether it is vouched for: by an admin, or by the owner having answered the challenge.
    #[serde(default)]
    pub vouched: bool,
    /// Whether an admin has suspended it, so that its owner cannot bring it back.
    #[serde(default)]
    pub barred: bool,
    /// Digest of what was last imported as this entry, so that the same again is recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<String>,
    /// Whether the vectors that its publisher made are not used, because one did not belong to its text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignores_vectors: bool,
    /// Its name as it looks: letters that look alike are the same one here.
    #[serde(default)]
    pub shape: String,
}

/// What happens to an entry.
#[derive(Debug, Clone)]
pub enum ListingChange {
    /// It is written. Its `revision` is the one after that which was read, so 1 means that there must be none
    /// of this id.
    Put(Box<Registration>),
    /// It goes, if it is still as it was read.
    Remove {
        /// Which.
        id: ListingId,
        /// To whom it belongs.
        owner: Principal,
        /// The revision that was read.
        revision: u64,
    },
}

impl ListingChange {
    /// Which entry.
    pub(crate) fn id(&self) -> &ListingId {
        match self {
            Self::Put(registration) => &registration.listing.id,
            Self::Remove { id, .. } => id,
        }
    }

    /// Whose entry it must be and at which revision; 0 when it must not exist.
    pub(crate) fn assumes(&self) -> (&Principal, u64) {
        match self {
            Self::Put(new) => (&new.listing.owner, new.revision.saturating_sub(1)),
            Self::Remove { owner, revision, .. } => (owner, *revision),
        }
    }
}

/// Which entries are wanted; empty means all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListingFilter {
    /// Of this owner.
    pub owner: Option<Principal>,
    /// In one of these standings; empty for any.
    pub standings: Vec<Standing>,
    /// With a document of this media type.
    pub media_type: Option<String>,
    /// Changed at or after this time.
    pub updated_since: Option<Timestamp>,
    /// Only what may be seen: entries that are active and at least so visible, and those of the owner named.
    pub seen_by: Option<(Visibility, Principal)>,
}

impl ListingFilter {
    /// Whether an entry is wanted.
    #[must_use]
    pub fn fits(&self, listing: &Listing) -> bool {
        let seen = |(least, owner): &(Visibility, Principal)| {
            (listing.standing == Standing::Active && listing.visibility >= *least) || listing.owner == *owner
        };
        self.owner.as_ref().is_none_or(|owner| *owner == listing.owner)
            && (self.standings.is_empty() || self.standings.contains(&listing.standing))
            && self.media_type.as_ref().is_none_or(|media_type| *media_type == listing.media_type)
            && self.updated_since.is_none_or(|since| listing.updated_at >= since)
            && self.seen_by.as_ref().is_none_or(seen)
    }
}

/// Who has a name of some shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameHolder {
    /// The shape.
    pub shape: String,
    /// The entry.
    pub id: ListingId,
    /// Its owner.
    pub owner: Principal,
}

/// Most holders of one shape that are listed: enough to warn, little enough for a shape that thousands share.
pub const HOLDERS: usize = 4;
