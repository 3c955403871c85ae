//! A document of a library, before it is read: its name, its version and where its bytes come from.
//!
//! Promises: plain values; nothing here reads a file.

use std::path::PathBuf;
use std::time::SystemTime;

use super::read::Kind;

/// A version of a document: what changes when its content does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) size: u64,
    pub(super) modified: Option<SystemTime>,
}

/// A document that is there.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// How people name it.
    pub(super) file: String,
    /// Where it lies; its text, when the program carries it.
    pub(super) content: Content,
    pub(super) kind: Kind,
    pub(super) version: Version,
}

/// Where the bytes of a document come from.
#[derive(Debug, Clone)]
pub(super) enum Content {
    File(PathBuf),
    Carried(&'static str),
}
