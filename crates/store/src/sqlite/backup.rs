//! Backup and restore: one whole file out, one whole file in.
//!
//! Promises: a backup is a consistent copy of one moment, made while the site goes on, checked before it gets its name; it never
//! replaces a file. A restore takes only a sound file of a known schema, needs the site to be stopped, and keeps the
//! old database as `<db>.before-restore`. At every moment the database's name leads to a whole database.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::fault::on_file;
use super::file::{self, Lock, beside};
use super::schema;
use crate::StoreError;

/// Copies the database to a new file.
pub(super) fn backup(from: &Path, to: &Path) -> Result<(), StoreError> {
    if to.exists() {
        return Err(StoreError::Engine(format!(
            "{} exists already: name another file for the backup",
            to.display()
        )));
    }
    let part = beside(to, ".part");
    let _half_made = Cleanup(part.clone());
    remove(&part)?;
    let source = file::connect(from, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let name = part.to_str().ok_or_else(|| StoreError::Engine("the backup's name must be UTF-8".into()))?;
    source.execute("VACUUM INTO ?1", [name])?;
    drop(source);
    let copy = file::connect(&part, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    file::mark_clean(&copy, true)?;
    verify(&copy)?;
    drop(copy);
    sync_file(&part)?;
    fs::rename(&part, to).map_err(|error| on_file("write", to, &error))?;
    file::sync_folder(to)
}

/// Puts a backup in the place of the database at `db`, which no process may have open.
///
/// # Errors
/// [`StoreError::Locked`] while a site runs on it; [`StoreError::Corrupt`] or [`StoreError::TooNew`] when the backup is not
/// fit, and then nothing has changed.
pub fn restore(backup: &Path, db: &Path) -> Result<(), StoreError> {
    let _lock = Lock::take(db)?;
    if fs::canonicalize(backup).is_ok_and(|one| fs::canonicalize(db).is_ok_and(|other| one == other)) {
        return Err(StoreError::Engine("the backup is the database itself: name another file".into()));
    }
    let new = beside(db, ".restoring");
    let _half_made = Cleanup(new.clone());
    remove(&new)?;
    fs::copy(backup, &new).map_err(|error| on_file("copy", backup, &error))?;
    let copy = file::connect(&new, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    verify(&copy)?;
    // One plain file, whatever mode it was copied in.
    copy.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
    drop(copy);
    sync_file(&new)?;
    keep_old(db)?;
    fs::rename(&new, db).map_err(|error| on_file("write", db, &error))?;
    file::sync_folder(db)
}

/// Fails unless the file is a sound database of a schema we know.
fn verify(db: &Connection) -> Result<(), StoreError> {
    if schema::version(db)? == 0 {
        return Err(StoreError::Corrupt("the backup is empty".into()));
    }
    file::check(db, "integrity_check")
}

/// Gives the old database, with the log that belongs to it, a second name.
fn keep_old(db: &Path) -> Result<(), StoreError> {
    let kept = beside(db, ".before-restore");
    let (log, kept_log) = (beside(db, "-wal"), beside(&kept, "-wal"));
    for stale in [&kept, &kept_log, &beside(&kept, "-shm"), &beside(db, "-shm")] {
        remove(stale)?;
    }
    if !db.exists() {
        return remove(&log);
    }
    // Where the file system has no links, a copy does the same.
    if fs::hard_link(db, &kept).is_err() {
        fs::copy(db, &kept).map_err(|error| on_file("keep", db, &error))?;
    }
    if log.exists() {
        fs::rename(&log, &kept_log).map_err(|error| on_file("keep", &log, &error))?;
    }
    Ok(())
}

fn sync_file(path: &Path) -> Result<(), StoreError> {
    let file = fs::OpenOptions::new().write(true).open(path);
    file.and_then(|file| file.sync_all()).map_err(|error| on_file("sync", path, &error))
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(on_file("remove", path, &error)),
        _ => Ok(()),
    }
}

/// Removes a half-made file when the work on it ends early; after a rename there is nothing left to remove.
struct Cleanup(PathBuf);

impl Drop for Cleanup {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_file(beside(&self.0, "-wal"));
        let _ = fs::remove_file(beside(&self.0, "-shm"));
        let _ = fs::remove_file(beside(&self.0, "-journal"));
    }
}
