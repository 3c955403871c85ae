//! The kinds of journal lines that conversations write.
//!
//! Promises: a kind is never used for another event, and never changes its text, because readers filter by
//! it; every kind begins with `conversation.`, so that it differs from those of other capabilities. The
//! sentences are written where the events happen.

use agentsite_protocol::JournalKind;

/// A conversation was begun without first words.
pub(crate) const CREATED: JournalKind = JournalKind::new("conversation.created");

/// Title, pin or branch were changed.
pub(crate) const EDITED: JournalKind = JournalKind::new("conversation.edited");

/// A conversation was deleted.
pub(crate) const REMOVED: JournalKind = JournalKind::new("conversation.removed");
