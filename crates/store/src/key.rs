//! The key that a store is sealed with: where it lies is the binary's concern, what it protects is the
//! store's.
//!
//! Promises: it is never shown. A copy of the database without it reveals no secret of the site, and the
//! protected rows of the copy cannot be changed unnoticed. It does not encrypt tasks, conversations or the
//! journal.

/// The key of a store.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreKey {
    bytes: [u8; 32],
    travels: bool,
}

impl StoreKey {
    /// A key that the operator keeps; backups do not contain it.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self { bytes, travels: false }
    }

    /// The same key, and it goes into backups: for a key that lies beside the database, so that a restored
    /// backup is a working site.
    #[must_use]
    pub const fn in_backups(self) -> Self {
        Self { travels: true, ..self }
    }

    /// The key itself.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    pub(crate) const fn travels(&self) -> bool {
        self.travels
    }
}

/// Shows nothing: a key must not reach a log.
impl std::fmt::Debug for StoreKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("StoreKey")
    }
}
