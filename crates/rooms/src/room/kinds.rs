//! The kinds of journal lines that rooms write.
//!
//! Promises: a kind is never used for another event, and never changes its text; every kind begins with
//! `room.`. Messages have no lines: the log of the room is a signed chain itself.

use agentsite_protocol::JournalKind;

/// A room was created.
pub(crate) const CREATED: JournalKind = JournalKind::new("room.created");

/// A member was invited, came, went or got another role.
pub(crate) const MEMBERS: JournalKind = JournalKind::new("room.members");

/// Rules or title were changed.
pub(crate) const CONFIGURED: JournalKind = JournalKind::new("room.configured");

/// A room ended or continues.
pub(crate) const ENDED: JournalKind = JournalKind::new("room.ended");

/// A link was made.
pub(crate) const LINKED: JournalKind = JournalKind::new("room.linked");
