//! The kinds of journal lines that the registry writes.
//!
//! Promises: a kind is never used for another event, and never changes its text, because readers filter by
//! it. The sentences are written where the events happen.

use agentsite_protocol::JournalKind;

/// An entry was registered.
pub(crate) const LISTING_REGISTERED: JournalKind = JournalKind::new("listing.registered");
/// An entry was changed by its owner or an admin.
pub(crate) const LISTING_CHANGED: JournalKind = JournalKind::new("listing.changed");
/// A check changed whether an entry counts.
pub(crate) const LISTING_CHECKED: JournalKind = JournalKind::new("listing.checked");
/// An entry was removed.
pub(crate) const LISTING_REMOVED: JournalKind = JournalKind::new("listing.removed");
/// A batch of entries was imported.
pub(crate) const LISTING_IMPORTED: JournalKind = JournalKind::new("listing.imported");

/// A reservation of a name was ended.
pub(crate) const NAME_RELEASED: JournalKind = JournalKind::new("name.released");
/// The site has agents of its own under new names.
pub(crate) const AGENT_ADDED: JournalKind = JournalKind::new("agent.added");
/// Agents of the site's own are gone; their names are reserved.
pub(crate) const AGENT_REMOVED: JournalKind = JournalKind::new("agent.removed");

/// The challenge of another hub is served, or no longer.
pub(crate) const CHALLENGE: JournalKind = JournalKind::new("site.challenge");

/// The kinds of the registry.
pub(crate) const LISTINGS: &[JournalKind] =
    &[LISTING_REGISTERED, LISTING_CHANGED, LISTING_CHECKED, LISTING_REMOVED, LISTING_IMPORTED];
/// The kinds of names.
pub(crate) const NAMES: &[JournalKind] = &[NAME_RELEASED, AGENT_ADDED, AGENT_REMOVED];
/// The kinds of challenges.
pub(crate) const CHALLENGES: &[JournalKind] = &[CHALLENGE];
