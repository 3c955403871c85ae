//! The progress file next to the database (`site.db-head`): how far the file had come, noted outside of it.
//!
//! Promises: written after each commit, never before, so that it is never ahead of what is on disk; synced
//! only now and then, so it may be behind after a power cut. At the next opening a log that lost frames, and
//! a database that was replaced by an older copy, are told by it. A progress file that is missing or damaged
//! tells nothing. It does not make commits durable.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension};

use super::chain::ChainEnd;
use super::fault::damaged;
use super::log::{self, Salts};
use super::sidecar::{PRIVATE, sidecar};
use super::vault::Vault;
use crate::StoreError;

const ENDING: &str = "-head";

/// Salts, frames, place and hash of the last line, and a code over them.
const LENGTH: usize = 8 + 8 + 8 + 32 + 16;

/// What is noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Noted {
    /// The log and how many of its frames are whole.
    pub(super) log: (Salts, u64),
    /// The last line of the journal.
    pub(super) line: ChainEnd,
}

/// The progress file of a database that is being written.
#[derive(Debug)]
pub(super) struct Progress {
    db: PathBuf,
    file: Option<File>,
    log: Option<File>,
    salts: Salts,
    frames: u64,
}

impl Progress {
    /// Opens the file for writing; a site without one works as well.
    pub(super) fn open(db: &Path) -> Self {
        let path = sidecar(db, ENDING);
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(PRIVATE).open(&path);
        let file = file
            .inspect_err(
                |error| tracing::warn!(%error, "the progress file of the database cannot be written"),
            )
            .ok();
        Self { db: db.to_owned(), file, log: None, salts: [0; 8], frames: 0 }
    }

    /// Notes a commit, after which the log has so many frames.
    pub(super) fn note(&mut self, vault: &Vault, frames: u64, line: ChainEnd) {
        // The log begins anew by itself, with other salts; it stays the same file.
        if self.log.is_none() {
            self.log = File::open(sidecar(&self.db, "-wal")).ok();
        }
        let salts = self.log.as_ref().and_then(log::salts);
        self.frames = if salts.is_some() { frames } else { 0 };
        self.salts = salts.unwrap_or_default();
        self.write(vault, line);
    }

    /// Notes that the log is about to be emptied.
    pub(super) fn note_empty(&mut self, vault: &Vault, line: ChainEnd) {
        self.frames = 0;
        self.write(vault, line);
        if let Some(file) = &self.file {
            let _ = file.sync_data();
        }
    }

    fn write(&self, vault: &Vault, line: ChainEnd) {
        let Some(file) = &self.file else { return };
        let mut bytes = Vec::with_capacity(LENGTH);
        bytes.extend(self.salts);
        bytes.extend(self.frames.to_le_bytes());
        bytes.extend(line.seq.to_le_bytes());
        bytes.extend(line.hash);
        bytes.extend(vault.record(&bytes));
        // What was noted before stays true when this fails.
        let _ = file.write_all_at(&bytes, 0);
    }
}

/// Reads the progress file of a database that no process has open.
pub(super) fn read(db: &Path, vault: &Vault) -> Option<Noted> {
    let bytes = std::fs::read(sidecar(db, ENDING)).ok().filter(|bytes| bytes.len() == LENGTH)?;
    let (noted, code) = bytes.split_at(LENGTH - 16);
    if vault.record(noted).as_slice() != code {
        tracing::warn!(
            "the progress file of the database is damaged or was written with another key; it is not used"
        );
        return None;
    }
    let eight = |at: usize| -> [u8; 8] { std::array::from_fn(|place| noted[at + place]) };
    let line =
        ChainEnd { seq: i64::from_le_bytes(eight(16)), hash: std::array::from_fn(|place| noted[24 + place]) };
    Some(Noted { log: (eight(0), u64::from_le_bytes(eight(8))), line })
}

/// Fails when the database does not hold the line that was noted last.
pub(super) fn judge_line(db: &Connection, noted: &Noted) -> Result<(), StoreError> {
    if noted.line.seq == 0 {
        return Ok(());
    }
    let sql = "SELECT hash FROM journal WHERE seq = ?1";
    let hash: Option<Option<Vec<u8>>> = db.query_row(sql, [noted.line.seq], |row| row.get(0)).optional()?;
    let last: i64 = db.query_row("SELECT ifnull(max(seq), 0) FROM journal", [], |row| row.get(0))?;
    match hash.flatten() {
        Some(hash) if hash == noted.line.hash => Ok(()),
        // Lines go from the front only, and the newest stays.
        None if last > noted.line.seq => Ok(()),
        _ => Err(damaged(format!(
            "it does not hold journal line {} that agentsite had written: it is an older copy, or its end was removed",
            noted.line.seq
        ))),
    }
}

/// Removes the progress file, for a database that was put in the place of the old one.
pub(super) fn forget(db: &Path) {
    let _ = std::fs::remove_file(sidecar(db, ENDING));
}
