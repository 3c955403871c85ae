//! What a record is about, and its name by content.
//!
//! Promises: keys have one order, which every site shares. It does not read foreign bytes.

use std::fmt;

use agentsite_protocol::AgentName;
use sha2::{Digest as _, Sha256};

use crate::cell_id::CellId;
use crate::site_id::SiteId;

/// What is hashed before a payload, so that the hash of something else is not an id.
const ID_DOMAIN: &[u8] = b"agentsite record id v1\0";

/// What a record of a site is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// That the site is there.
    Lease,
    /// The site itself.
    Site,
    /// One of its agents.
    Agent(AgentName),
    /// How a cell is split, in the view of the site.
    Split(CellId),
}

impl Subject {
    /// The kind, as payloads name it.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Lease => "lease",
            Self::Site => "site",
            Self::Agent(_) => "agent",
            Self::Split(_) => "split",
        }
    }
}

/// Whose record about what: there is one current record for each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKey {
    /// Who signs it.
    pub site: SiteId,
    /// What it is about.
    pub subject: Subject,
}

impl RecordKey {
    /// The key of a site's lease.
    #[must_use]
    pub const fn lease(site: SiteId) -> Self {
        Self { site, subject: Subject::Lease }
    }

    /// The key of a site's own record.
    #[must_use]
    pub const fn site(site: SiteId) -> Self {
        Self { site, subject: Subject::Site }
    }

    /// The key of an agent.
    #[must_use]
    pub const fn agent(site: SiteId, name: AgentName) -> Self {
        Self { site, subject: Subject::Agent(name) }
    }
}

impl fmt::Display for RecordKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subject {
            Subject::Agent(name) => write!(out, "{name}@{}", self.site),
            other => write!(out, "{} of {}", other.kind(), self.site),
        }
    }
}

/// The name of a record by its content, however often it was signed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId([u8; 32]);

impl RecordId {
    /// The id of a payload.
    #[must_use]
    pub fn of(payload: &[u8]) -> Self {
        Self(Sha256::new_with_prefix(ID_DOMAIN).chain_update(payload).finalize().into())
    }

    /// Wraps the bytes of an id.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for RecordId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(8).try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}
