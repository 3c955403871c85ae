//! Backup and restore: one whole file out, one whole file in.
//!
//! Promises: a backup is a consistent copy of one moment, made while the site runs, checked before it gets
//! its name; it never replaces a file. A restore takes only a sound file of a known schema, needs the site to
//! be stopped, and keeps the old database as `<db>.before-restore`. At every moment the database's name leads
//! to a whole database.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::fault::on_file;
use super::file::{self, Lock};
use super::sidecar::{PRIVATE, sidecar};
use super::vault::Vault;
use super::{audit, incomplete, progress, schema};
use crate::{StoreError, StoreKey};

/// Where a backup carries the key, in `meta`.
const KEY: &str = "site_key";

/// Copies the database to a new file.
pub(super) fn backup(from: &Path, to: &Path, key: &StoreKey) -> Result<(), StoreError> {
    if to.exists() {
        return Err(StoreError::Engine(format!(
            "{} exists already: name another file for the backup",
            to.display()
        )));
    }
    let part = sidecar(to, ".part");
    let _half_made = Cleanup(part.clone());
    remove(&part)?;
    let source = file::connect(from, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    // Made beforehand, so that it is its owner's alone from the first byte; SQLite writes into an empty file.
    let made = fs::OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&part);
    made.map_err(|error| on_file("write", &part, &error))?;
    let name = part.to_str().ok_or_else(|| StoreError::Engine("the backup's name must be UTF-8".into()))?;
    source.execute("VACUUM INTO ?1", [name])?;
    drop(source);
    let copy = file::connect(&part, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    file::mark_clean(&copy, true)?;
    leave_key(&copy, key)?;
    verify(&copy)?;
    drop(copy);
    sync_file(&part)?;
    fs::rename(&part, to).map_err(|error| on_file("write", to, &error))?;
    file::sync_folder(to)
}

/// Puts a key that goes into backups into one.
pub(super) fn leave_key(copy: &Connection, key: &StoreKey) -> Result<(), StoreError> {
    if key.travels() {
        let sql = "INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)";
        copy.execute(sql, params![KEY, key.bytes().as_slice()])?;
    }
    Ok(())
}

/// Puts a backup in the place of the database at `db`, which no process may have open. The key that came with
/// it is handed to `keep_key`, which must have it on disk when it returns, and is not left in the database.
///
/// # Errors
/// [`StoreError::Locked`] while a site runs on it; [`StoreError::Corrupt`] or [`StoreError::TooNew`] when the
/// backup is not fit, and then nothing has changed.
pub fn restore(
    backup: &Path,
    db: &Path,
    keep_key: impl FnOnce(StoreKey) -> std::io::Result<()>,
) -> Result<(), StoreError> {
    let _lock = Lock::take(db)?;
    if fs::canonicalize(backup).is_ok_and(|one| fs::canonicalize(db).is_ok_and(|other| one == other)) {
        return Err(StoreError::Engine("the backup is the database itself: name another file".into()));
    }
    let new = sidecar(db, ".restoring");
    let _half_made = Cleanup(new.clone());
    remove(&new)?;
    copy_private(backup, &new)?;
    let copy = file::connect(&new, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    verify(&copy)?;
    // One plain file, whatever mode it was copied in.
    copy.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
    let key = take_key(&copy)?;
    drop(copy);
    sync_file(&new)?;
    keep_old(db)?;
    if let Some(key) = key {
        keep_key(key)
            .map_err(|error| StoreError::Engine(format!("cannot write the key of the backup: {error}")))?;
    }
    progress::forget(db);
    fs::rename(&new, db).map_err(|error| on_file("write", db, &error))?;
    file::sync_folder(db)?;
    incomplete::remove(db)
}

/// Takes the data at `db`, which no process may have open, as it is: the journal is chained and every row
/// authenticated anew, and signed heads that no longer fit are dropped.
///
/// # Errors
/// [`StoreError::Locked`] while a site runs on it; [`StoreError::Corrupt`] when its pages do not fit
/// together, [`StoreError::WrongKey`] when the key is another one.
pub fn accept(db: &Path, key: &StoreKey) -> Result<(), StoreError> {
    let _lock = Lock::take(db)?;
    let vault = Vault::new(key);
    let mut file = file::connect(db, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    if schema::version(&file)? < schema::AUDITED {
        // Nothing in it is authenticated yet, so there is nothing to accept but that it is here.
        progress::forget(db);
        return Ok(());
    }
    file::check(&file, "integrity_check")?;
    let moment = file.transaction()?;
    moment.execute("DELETE FROM journal_heads", [])?;
    audit::seal_all(&moment, &vault)?;
    moment.commit()?;
    progress::forget(db);
    Ok(())
}

/// Takes the key out of a copy that carries one.
fn take_key(copy: &Connection) -> Result<Option<StoreKey>, StoreError> {
    let found = carried_key(copy)?;
    copy.execute("DELETE FROM meta WHERE name = ?1", [KEY])?;
    Ok(found)
}

/// The key that the backup in this file carries.
///
/// # Errors
/// [`StoreError::Corrupt`] or [`StoreError::TooNew`] when the file is not a backup that this program reads.
pub fn backup_key(backup: &Path) -> Result<Option<StoreKey>, StoreError> {
    let copy = file::connect(backup, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    if schema::version(&copy)? == 0 {
        return Err(StoreError::Corrupt("the backup is empty".into()));
    }
    carried_key(&copy)
}

/// The key that a backup carries.
pub(super) fn carried_key(db: &Connection) -> Result<Option<StoreKey>, StoreError> {
    let found = db.query_row("SELECT value FROM meta WHERE name = ?1", [KEY], |row| row.get(0));
    let found: Option<[u8; 32]> = found.optional()?;
    Ok(found.map(|bytes| StoreKey::new(bytes).in_backups()))
}

/// Copies a file for its owner alone.
fn copy_private(from: &Path, to: &Path) -> Result<(), StoreError> {
    let copied = || {
        let mut new = fs::OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(to)?;
        std::io::copy(&mut fs::File::open(from)?, &mut new)
    };
    copied().map(drop).map_err(|error| on_file("copy", from, &error))
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
    let kept = sidecar(db, ".before-restore");
    let (log, kept_log) = (sidecar(db, "-wal"), sidecar(&kept, "-wal"));
    for stale in [&kept, &kept_log, &sidecar(&kept, "-shm"), &sidecar(db, "-shm")] {
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
#[derive(Debug)]
pub(super) struct Cleanup(pub(super) PathBuf);

impl Cleanup {
    /// Removes what an earlier work left.
    pub(super) fn clear(&self) {
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_file(sidecar(&self.0, "-wal"));
        let _ = fs::remove_file(sidecar(&self.0, "-shm"));
        let _ = fs::remove_file(sidecar(&self.0, "-journal"));
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        self.clear();
    }
}
