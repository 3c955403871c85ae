//! Draft: what a site is about to sign.
//!
//! Promises: whatever is drafted is signed within the bounds that readers check, or not at all. It takes the
//! number and the times as they are given: the catalogue chooses them.

use std::time::Duration;

use agentsite_protocol::{SigningKey, Timestamp, canonical_json};

use super::bad_record::BadRecord;
use super::payload::{Payload, VERSION, max_lifetime};
use super::{Body, Claim, DOMAIN, Record, Subject};
use crate::site_id::SiteId;

/// What a site is about to sign.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// What it is about.
    pub subject: Subject,
    /// What it says.
    pub body: Body,
    /// Its number.
    pub seq: u64,
    /// When it is signed.
    pub issued_at: Timestamp,
    /// How long it holds; cut to what its kind allows.
    pub lifetime: Duration,
    /// The nonce that proves the work of the identity.
    pub work: u64,
    /// The one site that it is for; none when it is for all.
    pub to: Option<SiteId>,
}

impl Record {
    /// Signs a draft with the key of a site.
    ///
    /// # Errors
    /// [`BadRecord`] when it would not be read: too large, a body of another kind, or a key that is not
    /// Ed25519.
    pub fn sign(key: &SigningKey, draft: Draft) -> Result<Self, BadRecord> {
        let site = SiteId::of(&key.public()).map_err(|_| BadRecord::Form("the key of a site is Ed25519"))?;
        let removed = draft.body == Body::Removed;
        let lifetime = draft.lifetime.min(max_lifetime(&draft.subject, removed));
        let (about, agent, split) = match draft.body {
            Body::Site(about) => (Some(about), None, None),
            Body::Agent(agent) => (None, Some(agent), None),
            Body::Split(split) => (None, None, Some(split)),
            Body::Lease | Body::Removed => (None, None, None),
        };
        let (name, cell) = match &draft.subject {
            Subject::Agent(name) => (Some(name.clone()), None),
            Subject::Split(cell) => (None, Some(cell.to_string())),
            Subject::Lease | Subject::Site => (None, None),
        };
        let payload = Payload {
            v: VERSION,
            kind: draft.subject.kind().into(),
            site: site.to_string(),
            name,
            seq: draft.seq,
            issued_at: draft.issued_at,
            expires_at: draft.issued_at.plus(lifetime),
            work: draft.work,
            to: draft.to.map(|site| site.to_string()),
            removed,
            about,
            agent,
            cell,
            split,
        };
        let value = serde_json::to_value(payload).map_err(|error| BadRecord::Json(error.to_string()))?;
        let payload = canonical_json(&value).map_err(|error| BadRecord::Json(error.to_string()))?;
        let signature = key.sign_statement(DOMAIN, &payload);
        Claim::decode(&[&signature[..], &payload].concat()).map(Self)
    }
}
