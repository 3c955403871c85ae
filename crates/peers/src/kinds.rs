//! The kinds of journal lines about the mesh.
//!
//! Promises: a kind is never used for another event, and never changes its text.

use agentsite_protocol::JournalKind;

/// An admin added a site as a peer, or changed it.
pub(crate) const PEER_ADDED: JournalKind = JournalKind::new("peer.added");
/// A site was banned, by an admin or because of what it sent.
pub(crate) const PEER_BANNED: JournalKind = JournalKind::new("peer.banned");
/// A ban was lifted, or a peer removed.
pub(crate) const PEER_ALLOWED: JournalKind = JournalKind::new("peer.allowed");
/// The site took part in the mesh from then on, under this identity.
pub(crate) const MESH_JOINED: JournalKind = JournalKind::new("mesh.joined");
/// A site signed two versions of one record, or another process uses this site's key.
pub(crate) const MESH_CONFLICT: JournalKind = JournalKind::new("mesh.conflict");
/// A site put vectors into its records that do not belong to its texts.
pub(crate) const MESH_VECTORS: JournalKind = JournalKind::new("mesh.vectors");

/// All of them.
pub(crate) const ALL: &[JournalKind] =
    &[PEER_ADDED, PEER_BANNED, PEER_ALLOWED, MESH_JOINED, MESH_CONFLICT, MESH_VECTORS];
