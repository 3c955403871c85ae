//! Records: modest data of a capability that needs no table and no verb of its own.
//!
//! Promises: a record lies in a collection under a key, belongs to an owner or to the site, and carries the
//! number of its revision; a change names the revision it was decided on and is refused when there is
//! another. One that has an end goes when its time has come. What is in the body is the capability's own
//! matter. Not meant for what grows with traffic: lists of a collection are read whole, in pages by key.

use agentsite_protocol::{Principal, Timestamp};

use crate::StoreError;

/// A record as it is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredRecord {
    /// What tells it from all others of its collection.
    pub key: String,
    /// To whom it belongs; `None` for the site itself.
    pub owner: Option<Principal>,
    /// 1 when it is new, one more with each change.
    pub revision: u64,
    /// When it goes by itself.
    pub expires_at: Option<Timestamp>,
    /// What it says, as text.
    pub body: String,
}

/// The body may be secret and is not shown.
impl std::fmt::Debug for StoredRecord {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "StoredRecord({} revision {})", self.key, self.revision)
    }
}

impl StoredRecord {
    /// A record that there is not yet.
    #[must_use]
    pub fn new(key: impl Into<String>, owner: Option<Principal>, body: String) -> Self {
        Self { key: key.into(), owner, revision: 1, expires_at: None, body }
    }

    /// The record with another body, to take the place of this one.
    #[must_use]
    pub fn next(self, body: String) -> Self {
        Self { revision: self.revision + 1, body, ..self }
    }
}

/// What happens to a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordChange {
    /// It is made, or takes the place of the one whose revision is one less.
    Put {
        /// The collection.
        collection: &'static str,
        /// The record as it is afterwards.
        record: StoredRecord,
    },
    /// It goes, if it is still of this revision.
    Remove {
        /// The collection.
        collection: &'static str,
        /// Its key.
        key: String,
        /// The revision that it has.
        revision: u64,
    },
}

impl RecordChange {
    /// The same change, of a record that goes by itself at this time.
    #[must_use]
    pub fn ending(mut self, at: Timestamp) -> Self {
        if let Self::Put { record, .. } = &mut self {
            record.expires_at = Some(at);
        }
        self
    }

    /// The collection and the key.
    pub(crate) fn place(&self) -> (&'static str, &str) {
        match self {
            Self::Put { collection, record } => (collection, &record.key),
            Self::Remove { collection, key, .. } => (collection, key),
        }
    }

    /// The revision that the store must have, 0 for none, and the one it has afterwards.
    pub(crate) const fn revisions(&self) -> (u64, u64) {
        match self {
            Self::Put { record, .. } => (record.revision.saturating_sub(1), record.revision),
            Self::Remove { revision, .. } => (*revision, 0),
        }
    }
}

/// Which records of a collection are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordQuery {
    /// The collection.
    pub collection: &'static str,
    /// Only those of this owner.
    pub owner: Option<Principal>,
    /// Only those behind this key, in the order of keys.
    pub after: Option<String>,
    /// At most so many.
    pub limit: usize,
}

impl RecordQuery {
    /// The first records of a collection, at most so many.
    #[must_use]
    pub fn of(collection: &'static str, limit: usize) -> Self {
        Self { collection, limit, ..Self::default() }
    }
}

/// Refuses changes that do not fit what `found` gives for a place, one after the other as if those before
/// were done.
pub(crate) fn guard<'a, E>(
    changes: impl Iterator<Item = &'a RecordChange>,
    mut found: impl FnMut(&str, &str) -> Result<Option<u64>, E>,
) -> Result<Option<StoreError>, E> {
    let mut meanwhile = std::collections::HashMap::new();
    for change in changes {
        let (place, (expected, after)) = (change.place(), change.revisions());
        let revision = match meanwhile.get(&place) {
            Some(revision) => *revision,
            None => found(place.0, place.1)?.unwrap_or(0),
        };
        if revision != expected {
            return Ok(Some(StoreError::Moved(format!("{} {}", place.0, place.1))));
        }
        meanwhile.insert(place, after);
    }
    Ok(None)
}
