//! The file: who owns it, how a connection to it is set up, and whether it is sound.
//!
//! Promises: one process at a time, by a lock that the operating system takes back when the process dies;
//! every connection has the same bounded caches; after an unclean stop the file is checked before it is
//! believed. It does not repair.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::fault::{damaged, on_file};
use super::sidecar::{PRIVATE, sidecar};
use super::vault::Vault;
use super::{log, progress, schema};
use crate::StoreError;

/// Size of a page: rows of about a kilobyte fill it well, and the log holds fewer, larger frames than with
/// the default 4 kB.
pub(super) const PAGE: i64 = 8_192;

/// Cache of one connection in KiB; four connections then stay far below the memory of an idle site, and hot
/// pages fit.
const CACHE_KIB: i64 = 2_048;

/// How long a connection waits for a lock of another program, such as a shell opened on the file.
const BUSY: Duration = Duration::from_secs(5);

/// Prepared statements a connection keeps; the writer uses about thirty, a reader as many.
const STATEMENTS: usize = 64;

/// Largest file that is checked whole on opening after an unclean stop: about two seconds. Above it the check
/// would cost more than it gives, because SQLite recovers the log by itself and every row of events carries a
/// seal.
const CHECKED: u64 = 256 << 20;

/// How often the lock is asked for before it counts as another site's, and the pause between: a second in
/// all. A child that a killed site had just forked holds the lock until it becomes its own program or sees
/// that its parent is gone.
const LOCK_TRIES: usize = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// The lock that makes one process the owner of the file.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    pub(super) fn take(db: &Path) -> Result<Self, StoreError> {
        let path = sidecar(db, ".lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(PRIVATE).open(&path);
        let file = file.map_err(|error| on_file("open", &path, &error))?;
        for _ in 0..LOCK_TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) => std::thread::park_timeout(LOCK_PAUSE),
                Err(TryLockError::Error(error)) => return Err(on_file("lock", &path, &error)),
            }
        }
        Err(StoreError::Locked)
    }

    /// Takes the lock of a database that no process has open; `None` while a site runs on it, and for a file
    /// that never had a lock, such as a backup.
    pub(super) fn try_take(db: &Path) -> Result<Option<Self>, StoreError> {
        let path = sidecar(db, ".lock");
        let file = match OpenOptions::new().write(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file.map_err(|error| on_file("open", &path, &error))?,
        };
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(on_file("lock", &path, &error)),
        }
    }
}

/// Whether a process, such as a running site, holds the database at `db`. Takes nothing itself; when it
/// cannot be told, it counts as held.
#[must_use]
pub fn is_in_use(db: &Path) -> bool {
    match File::open(sidecar(db, ".lock")) {
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        Ok(file) => file.try_lock_shared().is_err(),
    }
}

/// Opens the file for the writer, checks it if need be, and brings it up to date.
pub(super) fn open(path: &Path, vault: &Vault) -> Result<Connection, StoreError> {
    make_private(path)?;
    let noted = progress::read(path, vault);
    log::judge(log::inspect(path)?, noted.map(|noted| noted.log))?;
    let log_left = std::fs::metadata(sidecar(path, "-wal")).is_ok_and(|log| log.len() > 0);
    let mut db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    // Before anything is written: a file of a later version or of another program stays as it is.
    let fresh = schema::version(&db)? == 0;
    if fresh {
        db.pragma_update(None, "page_size", PAGE)?;
    }
    let mode: String = db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        return Err(StoreError::Engine(format!(
            "the file system cannot hold a write-ahead log (mode {mode})"
        )));
    }
    db.pragma_update(None, "synchronous", "FULL")?;
    if !fresh && (log_left || !is_clean(&db)?) {
        check_after_unclean_stop(&db, path)?;
    }
    schema::migrate(&mut db, vault)?;
    if let Some(noted) = &noted {
        progress::judge_line(&db, noted)?;
    }
    match mark_clean(&db, false) {
        // A full disk must not keep a site from starting: it can still read, and expire what fills the disk.
        Err(StoreError::Full) => {
            tracing::warn!("the disk is full: free some space or lower the retention limits");
        }
        marked => marked?,
    }
    Ok(db)
}

/// Opens a connection with the settings they all share.
pub(super) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(BUSY)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    // Only the writer empties the log, when it closes in good order; after an error nothing may touch the
    // file again.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Plans do not depend on bound values; without it a cached statement is planned anew at each new value.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.pragma_update(None, "cache_size", -CACHE_KIB)?;
    db.pragma_update(None, "foreign_keys", false)?;
    db.pragma_update(None, "temp_store", "MEMORY")?;
    db.pragma_update(None, "mmap_size", 0)?;
    db.pragma_update(None, "wal_autocheckpoint", 0)?;
    // What is removed is overwritten, not only unlinked.
    db.pragma_update(None, "secure_delete", true)?;
    Ok(db)
}

/// Makes the database and the files beside it their owner's alone; those that SQLite makes later get the mode
/// of the database.
fn make_private(path: &Path) -> Result<(), StoreError> {
    let made = OpenOptions::new().create(true).truncate(false).write(true).mode(PRIVATE).open(path);
    drop(made.map_err(|error| on_file("open", path, &error))?);
    for ending in ["", "-wal", "-shm", "-head", ".lock", ".before-restore", ".before-restore-wal"] {
        let path = sidecar(path, ending);
        match std::fs::set_permissions(&path, Permissions::from_mode(PRIVATE)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(on_file("protect", &path, &error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Notes whether the file was left in good order.
pub(super) fn mark_clean(db: &Connection, clean: bool) -> Result<(), StoreError> {
    db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('clean', ?1)", [clean])?;
    Ok(())
}

/// Whether the log of this database holds nothing.
pub(super) fn log_is_empty(db: Option<&str>) -> bool {
    db.is_some_and(|db| std::fs::metadata(sidecar(Path::new(db), "-wal")).map_or(true, |log| log.len() == 0))
}

/// Fails with the first damage that `check` (`quick_check` or `integrity_check`) finds.
pub(super) fn check(db: &Connection, check: &str) -> Result<(), StoreError> {
    let found: String = db.query_row(&format!("PRAGMA {check}(1)"), [], |row| row.get(0))?;
    if found == "ok" { Ok(()) } else { Err(damaged(found.lines().next().unwrap_or("unreadable"))) }
}

/// Writes a folder's entries to disk, so that a new or renamed file survives a power cut.
pub(super) fn sync_folder(of: &Path) -> Result<(), StoreError> {
    let folder = of.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| on_file("sync", folder, &error))
}

fn is_clean(db: &Connection) -> Result<bool, StoreError> {
    let clean =
        db.query_row("SELECT value FROM meta WHERE name = 'clean'", [], |row| row.get(0)).optional()?;
    Ok(clean.unwrap_or(false))
}

fn check_after_unclean_stop(db: &Connection, path: &Path) -> Result<(), StoreError> {
    let bytes = std::fs::metadata(path).map_err(|error| on_file("read", path, &error))?.len();
    if bytes > CHECKED {
        tracing::warn!(
            bytes,
            "the site was not stopped in good order; the database is too large to check on every start"
        );
        return Ok(());
    }
    tracing::info!(bytes, "the site was not stopped in good order; checking the database");
    check(db, "quick_check")
}
