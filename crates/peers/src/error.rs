//! Why something about the mesh cannot be done.
//!
//! Promises: each sentence says what happened and what to do.

use agentsite_mesh::OverlayError;
use agentsite_protocol::BadSiteToken;
use agentsite_registry::RegistryError;
use agentsite_store::StoreError;

/// Why something about the mesh cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum PeersError {
    /// The caller may not.
    #[error("only admins manage the peers of a site")]
    Forbidden,
    /// The mesh is off.
    #[error("this site is not in the mesh; start it with --mesh, or set [mesh] enabled = true")]
    Off,
    /// The mesh runs in another process, or has not started.
    #[error("the mesh does not run in this process: {0}")]
    NotHere(String),
    /// What was given cannot be used.
    #[error("{0}")]
    Bad(String),
    /// There is no such site, or no such agent of it.
    #[error("{0}")]
    NotFound(String),
    /// The proof of a calling site does not hold.
    #[error(transparent)]
    Token(#[from] BadSiteToken),
    /// The site was banned here.
    #[error("{0} is banned here")]
    Banned(String),
    /// The network does not do it.
    #[error(transparent)]
    Overlay(#[from] OverlayError),
    /// The registry does not do it.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The store does not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
}
