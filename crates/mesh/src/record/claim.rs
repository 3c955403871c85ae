//! Claim: foreign bytes read as a record, before anybody knows who signed it.
//!
//! Promises: whatever the bytes are, reading them costs little and does not panic: length, nesting and counts
//! are checked before anything is parsed, and only the one canonical encoding of a payload is taken. The wire
//! form is the signature (64 bytes) and the payload. A claim proves nothing until [`Claim::verify`].

use std::sync::Arc;

use agentsite_protocol::{Nesting, SIGNATURE_BYTES, Timestamp, canonical_json, read_unambiguous};

use serde_json::json;

use super::bad_record::BadRecord;
use super::payload::{Payload, VERSION, max_payload};
use super::{Body, DOMAIN, Head, Record, RecordId, RecordKey, Subject};
use crate::limits::{MAX_AGENT_PAYLOAD, MAX_DEPTH, MAX_NODES};
use crate::site_id::SiteId;
use crate::work::{MAX_NONCE, Work};

/// Bounds on the shape of a payload.
const SHAPE: Nesting = Nesting { depth: MAX_DEPTH, nodes: MAX_NODES };

/// A record whose signature was not checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    head: Head,
    /// Signature and payload, as they came.
    bytes: Arc<[u8]>,
}

impl Claim {
    /// Reads the wire form.
    ///
    /// # Errors
    /// [`BadRecord`] says what is wrong with it.
    pub fn decode(bytes: &[u8]) -> Result<Self, BadRecord> {
        let payload = bytes.get(SIGNATURE_BYTES..).filter(|payload| !payload.is_empty());
        let payload = payload
            .filter(|payload| payload.len() <= MAX_AGENT_PAYLOAD)
            .ok_or(BadRecord::Size(bytes.len()))?;
        let (read, subject) = read(payload)?;
        if payload.len() > max_payload(&subject) {
            return Err(BadRecord::Size(bytes.len()));
        }
        let site: SiteId =
            read.site.parse().map_err(|_| BadRecord::Form("`site` is not the did:key of an Ed25519 key"))?;
        let head = Head {
            id: RecordId::of(payload),
            key: RecordKey { site, subject },
            seq: read.seq,
            issued_at: read.issued_at,
            expires_at: read.expires_at,
            work: Work::of(&site, read.work),
            to: read.to()?,
            removed: read.removed,
        };
        read.body(&head.key.subject)?;
        Ok(Self { head, bytes: bytes.into() })
    }

    /// Checks the signature.
    ///
    /// # Errors
    /// [`BadRecord::Signature`] when the site did not sign it.
    pub fn verify(self) -> Result<Record, BadRecord> {
        let (signature, payload) = self.bytes.split_at(SIGNATURE_BYTES);
        let key = self.site().key().map_err(|_| BadRecord::Signature)?;
        key.verify_statement(DOMAIN, payload, signature).map_err(|_| BadRecord::Signature)?;
        Ok(Record(self))
    }

    /// Its name by content.
    #[must_use]
    pub const fn id(&self) -> RecordId {
        self.head.id
    }

    /// Whose record about what.
    #[must_use]
    pub const fn key(&self) -> &RecordKey {
        &self.head.key
    }

    /// The site that it names as its author.
    #[must_use]
    pub const fn site(&self) -> SiteId {
        self.head.key.site
    }

    /// What it is about.
    #[must_use]
    pub const fn subject(&self) -> &Subject {
        &self.head.key.subject
    }

    /// Its number: a later version has a higher one.
    #[must_use]
    pub const fn seq(&self) -> u64 {
        self.head.seq
    }

    /// When its site signed it, by the site's own clock.
    #[must_use]
    pub const fn issued_at(&self) -> Timestamp {
        self.head.issued_at
    }

    /// When it stops holding.
    #[must_use]
    pub const fn expires_at(&self) -> Timestamp {
        self.head.expires_at
    }

    /// The work that its site did for its identity.
    #[must_use]
    pub const fn work(&self) -> Work {
        self.head.work
    }

    /// The one site that it is for; none when it is for all. Others refuse it.
    #[must_use]
    pub const fn to(&self) -> Option<SiteId> {
        self.head.to
    }

    /// Whether it says that its subject is gone.
    #[must_use]
    pub const fn is_removed(&self) -> bool {
        self.head.removed
    }

    /// The wire form: signature and payload.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What it says. Parsed each time, because the catalogue keeps many and reads few.
    #[must_use]
    pub fn body(&self) -> Body {
        let (_, payload) = self.bytes.split_at(SIGNATURE_BYTES);
        let body = read(payload).and_then(|(payload, subject)| payload.body(&subject));
        body.expect("the body was read when the record was decoded")
    }
}

/// Reads a payload, cheapest checks first.
fn read(payload: &[u8]) -> Result<(Payload, Subject), BadRecord> {
    SHAPE.check(payload).map_err(|error| BadRecord::Json(error.to_string()))?;
    let value = read_unambiguous(payload).map_err(|error| BadRecord::Json(error.to_string()))?;
    if value["v"] != VERSION {
        return Err(BadRecord::Form("`v` is not 1: another version of the form"));
    }
    let canonical = canonical_json(&value).map_err(|error| BadRecord::Json(error.to_string()))?;
    if canonical != payload {
        return Err(BadRecord::NotCanonical);
    }
    let times = (value["issuedAt"].clone(), value["expiresAt"].clone());
    let read: Payload = serde_json::from_value(value).map_err(|error| BadRecord::Json(error.to_string()))?;
    if times != (json!(read.issued_at), json!(read.expires_at)) {
        return Err(BadRecord::Form("times are in UTC with three decimals"));
    }
    let subject = read.subject()?;
    read.check_lifetime(&subject)?;
    if read.seq == 0 || read.work > MAX_NONCE {
        return Err(BadRecord::Form("`seq` begins at 1, and `work` ends at 2^53 - 1"));
    }
    Ok((read, subject))
}
