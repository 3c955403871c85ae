//! The kinds of journal lines that conversations write, and conversations as a capability of a site.
//!
//! Promises: a kind is never used for another event, and never changes its text, because readers filter by
//! it; every kind begins with `conversation.`, so that it differs from those of other capabilities. The
//! sentences are written where the events happen.

use std::sync::Arc;

use agentsite_protocol::JournalKind;
use agentsite_store::SharedStore;
use agentsite_tasks::{Capability, Processes};

use crate::feed::ConversationFeed;
use crate::others::following;

/// A conversation was begun without first words.
pub(crate) const CREATED: JournalKind = JournalKind::new("conversation.created");

/// Title, pin or branch were changed.
pub(crate) const EDITED: JournalKind = JournalKind::new("conversation.edited");

/// A conversation was deleted.
pub(crate) const REMOVED: JournalKind = JournalKind::new("conversation.removed");

/// What conversations contribute to a site: the feed takes part in the commits of tasks.
#[must_use]
pub fn capability(feed: &Arc<ConversationFeed>, store: SharedStore, processes: &Processes) -> Capability {
    let own =
        Capability::new("conversations").kinds(const { &[CREATED, EDITED, REMOVED] }).hook(feed.clone());
    following(own, feed, store, processes)
}
