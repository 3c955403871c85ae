//! The mark of a copy that is not whole yet: a file next to the place of the database.
//!
//! Promises: it is on disk before the first row is copied and goes when the database has its name; while it
//! is there no store opens. Without it a site that is started after a copy was broken off would begin with an
//! empty database in the same place.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::fault::on_file;
use super::file::sync_folder;
use super::sidecar::{PRIVATE, sidecar};
use crate::StoreError;

const ENDING: &str = ".incomplete";

/// For people who look into the folder.
const TEXT: &str = "Data is being copied into this folder and is not complete.\n\
    Run the same `agentsite migrate` again; it removes this file at its end.\n\
    To begin an empty site here instead, remove this file.\n";

/// Sets the mark.
pub(super) fn set(db: &Path) -> Result<(), StoreError> {
    let path = sidecar(db, ENDING);
    let written = || {
        let mut file =
            fs::OpenOptions::new().create(true).truncate(true).write(true).mode(PRIVATE).open(&path)?;
        file.write_all(TEXT.as_bytes())?;
        file.sync_all()
    };
    written().map_err(|error| on_file("write", &path, &error))?;
    sync_folder(db)
}

/// Removes the mark.
pub(super) fn remove(db: &Path) -> Result<(), StoreError> {
    let path = sidecar(db, ENDING);
    match fs::remove_file(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(on_file("remove", &path, &error)),
        Ok(()) => sync_folder(db),
    }
}

/// Fails while the mark is there.
pub(super) fn check(db: &Path) -> Result<(), StoreError> {
    if sidecar(db, ENDING).exists() { Err(StoreError::Incomplete) } else { Ok(()) }
}
