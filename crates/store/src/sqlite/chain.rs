//! The journal as a chain of hashes: each line's hash covers the line before it.
//!
//! Promises: pure. A line that is changed, removed from the middle, inserted or moved breaks the chain at
//! that line. The text stands in the hash by a salted digest, so that it can be removed later without
//! breaking the chain and without leaving a trace of what it said. It does not sign: the site signs heads of
//! the chain with its own key.

use agentsite_protocol::JournalLine;
use sha2::{Digest, Sha256};

/// What a line says whose text was removed.
pub const REDACTED: &str = "(removed with its task)";

/// What the first line of a journal follows.
pub const START: [u8; 32] = [0; 32];

/// The end of the chain: the last line and its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainEnd {
    /// The line.
    pub seq: i64,
    /// Its hash.
    pub hash: [u8; 32],
}

impl ChainEnd {
    /// The link of a line that follows this one.
    #[must_use]
    pub fn next(&self, line: &Covered<'_>) -> Self {
        let mut hash = Sha256::new();
        // Lines of versions that had no kinds keep the hash that they were written with.
        let old = line.kind.is_none() && line.subject.is_none();
        hash.update(if old { b"agentsite journal 1" } else { b"agentsite journal 2" });
        hash.update(self.hash);
        hash.update(line.seq.to_le_bytes());
        hash.update(line.at.to_le_bytes());
        let about = [line.kind, line.subject].map(|part| part.map(str::as_bytes));
        let about = about.into_iter().filter(|_| !old);
        let parts = [Some(line.actor.as_bytes()), line.agent.map(str::as_bytes), line.task];
        for part in parts.into_iter().chain(about) {
            match part {
                // No text is as long as this.
                None => hash.update(u64::MAX.to_le_bytes()),
                Some(part) => {
                    hash.update((part.len() as u64).to_le_bytes());
                    hash.update(part);
                }
            }
        }
        hash.update(line.text);
        Self { seq: line.seq, hash: hash.finalize().into() }
    }
}

/// What a line's hash covers.
#[derive(Debug)]
pub struct Covered<'a> {
    /// Its place.
    pub seq: i64,
    /// When it was written, in milliseconds.
    pub at: i64,
    /// Who did it.
    pub actor: &'a str,
    /// The agent that it is about.
    pub agent: Option<&'a str>,
    /// The task that it is about.
    pub task: Option<&'a [u8]>,
    /// Its kind.
    pub kind: Option<&'a str>,
    /// What the line is about, unless its task or its agent says so.
    pub subject: Option<&'a str>,
    /// The digest of its text.
    pub text: [u8; 32],
}

impl<'a> Covered<'a> {
    /// What the hash of a line of the journal covers.
    #[must_use]
    pub fn new(seq: i64, line: &'a JournalLine, subject: Option<&'a str>, text: [u8; 32]) -> Self {
        Self {
            seq,
            at: line.at.as_millis(),
            actor: &line.actor,
            agent: line.agent.as_ref().map(agentsite_protocol::AgentName::as_str),
            task: line.task.as_ref().map(|id| id.as_bytes().as_slice()),
            kind: line.kind.as_ref().map(agentsite_protocol::JournalKind::as_str),
            subject,
            text,
        }
    }
}

/// The digest of a line's text.
#[must_use]
pub fn digest(salt: &[u8], text: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update((salt.len() as u64).to_le_bytes());
    hash.update(salt);
    hash.update(text.as_bytes());
    hash.finalize().into()
}
