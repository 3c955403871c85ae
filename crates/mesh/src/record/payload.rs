//! The payload of a record: the JSON that is signed, in its canonical form (RFC 8785).
//!
//! Promises: the members that this version knows, and the rules that tie them together: which kind has which
//! body, how long it may live, how large it may be. Members of later versions are passed over here and kept
//! in the bytes.

use std::time::Duration;

use agentsite_protocol::{AgentName, Timestamp};
use serde::{Deserialize, Serialize};

use super::bad_record::BadRecord;
use super::profile::{AgentProfile, BadProfile, SiteProfile};
use super::split::SplitProfile;
use super::{Body, Subject};
use crate::limits::{
    LEASE_LIFETIME, MAX_AGENT_PAYLOAD, MAX_LEASE_PAYLOAD, MAX_LIFETIME, MAX_SITE_PAYLOAD, TOMBSTONE_LIFETIME,
};
use crate::site_id::SiteId;

/// The version of the form. Another one may change the rules, so it is refused.
pub(super) const VERSION: u64 = 1;

/// The payload as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Payload {
    pub(super) v: u64,
    pub(super) kind: String,
    /// The `did:key` of the site.
    pub(super) site: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<AgentName>,
    pub(super) seq: u64,
    pub(super) issued_at: Timestamp,
    pub(super) expires_at: Timestamp,
    pub(super) work: u64,
    /// The `did:key` of the one site that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) to: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) removed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) about: Option<SiteProfile>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<AgentProfile>,
    /// The cell of a split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cell: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) split: Option<SplitProfile>,
}

impl Payload {
    /// What it is about.
    pub(super) fn subject(&self) -> Result<Subject, BadRecord> {
        match (self.kind.as_str(), &self.name, &self.cell) {
            ("lease", None, None) => Ok(Subject::Lease),
            ("site", None, None) => Ok(Subject::Site),
            ("agent", Some(name), None) => Ok(Subject::Agent(name.clone())),
            ("split", None, Some(cell)) => {
                cell.parse().map(Subject::Split).map_err(|_| BadRecord::Form("`cell` does not name a cell"))
            }
            ("lease" | "site" | "agent" | "split", ..) => {
                Err(BadRecord::Form("exactly the records of agents have a name, and those of splits a cell"))
            }
            _ => Err(BadRecord::Form("`kind` is none of lease, site, agent and split")),
        }
    }

    /// What it says; checks that the body is the one that its kind has, and within bounds.
    pub(super) fn body(self, subject: &Subject) -> Result<Body, BadRecord> {
        match (subject, self.removed, self.about, self.agent, self.split) {
            (_, true, None, None, None) => Ok(Body::Removed),
            (Subject::Lease, false, None, None, None) => Ok(Body::Lease),
            (Subject::Site, false, Some(about), None, None) => {
                about.check().map(Body::Site).map_err(BadRecord::Profile)
            }
            (Subject::Agent(_), false, None, Some(agent), None) => {
                agent.check().map(Body::Agent).map_err(BadRecord::Profile)
            }
            (Subject::Split(_), false, None, None, Some(split)) => {
                let split = split.check().map(Body::Split);
                split.map_err(|error| BadRecord::Profile(BadProfile::Vectors(error)))
            }
            _ => Err(BadRecord::Form("the body is not the one that this kind of record has")),
        }
    }

    /// The one site that it is for; none when it is for all.
    pub(super) fn to(&self) -> Result<Option<SiteId>, BadRecord> {
        let unnamed = |_| BadRecord::Form("`to` is not the did:key of an Ed25519 key");
        self.to.as_deref().map(str::parse).transpose().map_err(unnamed)
    }

    /// Checks its times against each other.
    pub(super) fn check_lifetime(&self, subject: &Subject) -> Result<(), BadRecord> {
        let life = self.expires_at.since(self.issued_at);
        let most = max_lifetime(subject, self.removed);
        // What only one site knows is not taken back by gossip, so it ends as soon as a lease.
        let most = if self.to.is_some() { most.min(LEASE_LIFETIME) } else { most };
        let fits = self.expires_at > self.issued_at && life <= most;
        if fits {
            Ok(())
        } else {
            Err(BadRecord::Form("it lives longer than this kind of record may, or not at all"))
        }
    }
}

/// Longest life of such a record.
pub(super) const fn max_lifetime(subject: &Subject, removed: bool) -> Duration {
    match (subject, removed) {
        // What a removed lease overrides ends as soon as itself.
        (Subject::Lease, _) => LEASE_LIFETIME,
        (_, true) => TOMBSTONE_LIFETIME,
        (_, false) => MAX_LIFETIME,
    }
}

/// Largest payload about such a subject, in bytes.
pub(super) const fn max_payload(subject: &Subject) -> usize {
    match subject {
        Subject::Lease => MAX_LEASE_PAYLOAD,
        Subject::Site => MAX_SITE_PAYLOAD,
        Subject::Agent(_) | Subject::Split(_) => MAX_AGENT_PAYLOAD,
    }
}
