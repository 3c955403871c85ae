//! Record: what a site says of itself and its agents, signed, numbered and of limited life.
//!
//! Promises: a [`Record`] exists only if the key of its site signed it: it is made by [`Record::sign`] or
//! [`Claim::verify`] and by nothing else. Its bytes are kept as they came, so members of later versions are
//! passed on. One content has one id. It does not judge the time: the catalogue does, by its own clock.

mod bad_record;
mod claim;
mod key;
mod payload;
mod profile;
mod sign;
mod split;
#[cfg(test)]
mod tests;

use std::ops::Deref;
use std::sync::Arc;

use agentsite_protocol::{SIGNATURE_BYTES, Timestamp};

use crate::site_id::SiteId;
use crate::work::Work;

pub use bad_record::BadRecord;
pub use claim::Claim;
pub use key::{RecordId, RecordKey, Subject};
pub use profile::{AgentProfile, BadProfile, SiteProfile, SkillProfile};
pub use sign::Draft;
pub use split::SplitProfile;

/// What the signature of a record is made for, so that no other signature passes for one.
const DOMAIN: &str = "agentsite record v1";

/// A record that its site signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record(Claim);

impl Deref for Record {
    type Target = Claim;

    fn deref(&self) -> &Claim {
        &self.0
    }
}

impl Record {
    /// Whether this is a later version than `other` of the same subject: by number, and by id where a site
    /// signed two versions with one number, so that everybody keeps the same one.
    #[must_use]
    pub fn supersedes(&self, other: &Self) -> bool {
        (self.seq(), self.id()) > (other.seq(), other.id())
    }

    /// Whether this and `other` prove that their site signed two versions with one number.
    #[must_use]
    pub fn contradicts(&self, other: &Self) -> bool {
        self.key() == other.key() && self.seq() == other.seq() && self.id() != other.id()
    }
}

/// A record on its way into the catalogue.
#[derive(Debug, Clone)]
pub enum Candidate {
    /// The wire form, as it came: neither read nor verified, because most of what gossip brings is known.
    Raw(Box<[u8]>),
    /// Its signature was checked, by the code that made this value in this process.
    Proven(Arc<Record>),
}

impl Candidate {
    /// The id of its content.
    #[must_use]
    pub fn id(&self) -> RecordId {
        match self {
            Self::Raw(bytes) => RecordId::of(bytes.get(SIGNATURE_BYTES..).unwrap_or_default()),
            Self::Proven(record) => record.id(),
        }
    }

    /// The wire form.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Raw(bytes) => bytes,
            Self::Proven(record) => record.bytes(),
        }
    }
}

/// What a record says besides its head.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// The site is there.
    Lease,
    /// What the site is.
    Site(SiteProfile),
    /// What the agent does.
    Agent(AgentProfile),
    /// How a cell is split.
    Split(SplitProfile),
    /// The subject is gone.
    Removed,
}

/// The head of a record: what the catalogue decides by.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Head {
    id: RecordId,
    key: RecordKey,
    seq: u64,
    issued_at: Timestamp,
    expires_at: Timestamp,
    work: Work,
    to: Option<SiteId>,
    removed: bool,
}
