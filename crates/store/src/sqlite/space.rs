//! The disk below the file: how much space is left, and a ballast that is thrown off when there is none.
//!
//! Promises: the ballast is a file beside the database that holds space for the day the disk is full; then it
//! is removed, so that ends and removals can still be written, and it is made again, as large as there is
//! space for, when space has come back. New work is refused while less than a reserve is left. Pages that
//! removals free inside of the database count as space: they are used again before the file grows, so the
//! file never has to shrink. The look at the disk is one call of the system, once a second at most while
//! there is space.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::file::PAGE;
use super::sidecar::sidecar;
use crate::storage::{Disk, DiskState, StorageSettings};

/// How often the disk is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// The ballast is at most this share of the disk, so that a small disk is not filled by it.
const BALLAST_SHARE: u64 = 16;

/// The reserve is at most this share of the disk.
const RESERVE_SHARE: u64 = 20;

/// Free bytes below which the file may not even open: its index of the log takes 32 KiB, and a start writes a
/// little.
const TO_OPEN: u64 = 256 << 10;

/// Free bytes that stay beside a ballast that is made again on a disk that is nearly full: for the log.
const BESIDE_BALLAST: u64 = 1 << 20;

/// What is known of the disk.
#[derive(Debug)]
pub(super) struct Space {
    folder: PathBuf,
    ballast: PathBuf,
    settings: StorageSettings,
    disk: Disk,
    looked: Option<Instant>,
}

impl Space {
    /// Looks at the disk before the file is opened; throws the ballast off when there is too little space to
    /// open it.
    pub(super) fn open(db: &Path, settings: StorageSettings) -> Self {
        let folder = db.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let (folder, ballast) = (folder.to_owned(), sidecar(db, "-ballast"));
        let mut space = Self { folder, ballast, settings, disk: Disk::default(), looked: None };
        space.measure();
        if space.disk.size > 0 && space.disk.free < TO_OPEN {
            tracing::warn!("the disk is full: the site starts without taking new work; free some space");
            space.fill();
        }
        space
    }

    /// How the disk is now.
    pub(super) fn disk(&self) -> Disk {
        self.disk
    }

    /// Looks at the disk and changes the state; while there is space, once a second at most.
    pub(super) fn look(&mut self, db: &Connection) {
        let ample = self.disk.state == DiskState::Ample;
        if ample && self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return;
        }
        self.looked = Some(Instant::now());
        self.measure();
        if self.disk.size == 0 {
            return;
        }
        let pages: i64 = db.pragma_query_value(None, "freelist_count", |row| row.get(0)).unwrap_or(0);
        self.disk.reusable = pages.unsigned_abs() * PAGE.unsigned_abs();
        let before = self.disk.state;
        let missing = self.target().saturating_sub(self.disk.ballast);
        // A ballast that was thrown off must find its place again before anything else does.
        let held_back = if before == DiskState::Full { missing.min(self.disk.free) } else { 0 };
        let space = (self.disk.free - held_back) + self.disk.reusable;
        self.disk.state = match before {
            DiskState::Full if space < self.reserve() => DiskState::Full,
            _ if space < self.reserve() => DiskState::Low,
            _ => DiskState::Ample,
        };
        if self.disk.state != DiskState::Full && missing > 0 {
            self.load(missing, before);
        }
        self.tell(before);
    }

    /// A commit found no space: throws the ballast off.
    pub(super) fn fill(&mut self) {
        let before = self.disk.state;
        self.disk.state = DiskState::Full;
        if std::fs::remove_file(&self.ballast).is_ok() {
            tracing::warn!(
                bytes = self.disk.ballast,
                "the ballast was removed, so that removals can be written"
            );
        }
        self.measure();
        self.looked = Some(Instant::now());
        self.tell(before);
    }

    fn tell(&self, before: DiskState) {
        let Disk { state, free, reusable, .. } = self.disk;
        match state {
            _ if state == before => {}
            DiskState::Ample => tracing::info!(free, reusable, "the disk has space again: new work is taken"),
            DiskState::Low => tracing::error!(
                free,
                reusable,
                "the disk is nearly full: new work is refused; free some space, delete tasks or lower the retention limits"
            ),
            DiskState::Full => tracing::error!(
                free,
                "the disk is full: only removals are written; free some space, delete tasks or lower the retention limits"
            ),
        }
    }

    fn measure(&mut self) {
        self.disk.ballast = std::fs::metadata(&self.ballast).map_or(0, |file| file.len());
        if let Ok(found) = rustix::fs::statvfs(&self.folder) {
            self.disk.free = found.f_bavail.saturating_mul(found.f_frsize);
            self.disk.size = found.f_blocks.saturating_mul(found.f_frsize);
        }
    }

    fn target(&self) -> u64 {
        self.settings.ballast.min(self.disk.size / BALLAST_SHARE)
    }

    fn reserve(&self) -> u64 {
        self.settings.reserve.min(self.disk.size / RESERVE_SHARE)
    }

    /// Makes the ballast whole again, as far as there is space.
    fn load(&mut self, missing: u64, before: DiskState) {
        let beside =
            if before == DiskState::Full { BESIDE_BALLAST.min(self.reserve() / 2) } else { self.reserve() };
        let more = missing.min(self.disk.free.saturating_sub(beside));
        if more == 0 {
            return;
        }
        if let Err(error) = allocate(&self.ballast, self.disk.ballast + more) {
            tracing::warn!(%error, "the ballast could not be made; it is tried again");
            let _ = std::fs::remove_file(&self.ballast);
        }
        self.measure();
    }
}

/// Makes a file of this size that really takes the space.
fn allocate(path: &Path, bytes: u64) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    reserve(&options.open(path)?, bytes)
}

#[cfg(target_os = "linux")]
fn reserve(file: &File, bytes: u64) -> std::io::Result<()> {
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes)?)
}

#[cfg(not(target_os = "linux"))]
fn reserve(mut file: &File, bytes: u64) -> std::io::Result<()> {
    use std::io::Write as _;
    std::io::copy(&mut std::io::Read::take(std::io::repeat(0), bytes), &mut file)?;
    file.flush()
}
