//! Sidecar files: what lies next to the database under its name with an ending, such as its log and its lock.
//!
//! Promises: one place says how such a file is named and which mode it gets. It opens and writes nothing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The mode of the database and its sidecar files: only their owner may read or write them.
pub(super) const PRIVATE: u32 = 0o600;

/// The path of the sidecar file of this database with this ending.
pub(super) fn sidecar(db: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(db);
    name.push(ending);
    name.into()
}
