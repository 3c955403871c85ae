//! The write-ahead log, looked at before SQLite does: SQLite stops reading at the first frame with a wrong
//! checksum and says nothing, so a flipped bit would silently undo everything after it.
//!
//! Promises: reads the log's header and the checksums of its frames
//! (<https://sqlite.org/fileformat2.html#walformat>) and compares how many frames are whole with the number
//! that the writer had noted (`record`). It changes nothing.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::fault::{damaged, on_file};
use super::sidecar::sidecar;
use crate::StoreError;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// The largest page of a database.
const MAX_PAGE: usize = 65_536;

/// Tells one life of a log from the next.
pub(super) type Salts = [u8; 8];

/// What a log holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Log {
    /// There is none, or it is empty.
    Empty,
    /// Its header is damaged.
    NoHeader,
    /// Frames up to the last whole commit.
    Frames { salts: Salts, committed: u64 },
}

/// The salts of the log as it is now; `None` when it is empty.
pub(super) fn salts(log: &File) -> Option<Salts> {
    let mut salts = [0; 8];
    log.read_exact_at(&mut salts, 16).ok()?;
    Some(salts)
}

/// Reads the log of a database that no process has open.
pub(super) fn inspect(db: &Path) -> Result<Log, StoreError> {
    let path = sidecar(db, "-wal");
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Log::Empty),
        Err(error) => return Err(on_file("read", &path, &error)),
    };
    read(&mut BufReader::with_capacity(1 << 20, file)).map_err(|error| on_file("read", &path, &error))
}

/// Fails when frames are missing that had been acknowledged.
pub(super) fn judge(log: Log, noted: Option<(Salts, u64)>) -> Result<(), StoreError> {
    let Some((salts, frames)) = noted.filter(|(_, frames)| *frames > 0) else { return Ok(()) };
    match log {
        Log::Empty => Err(damaged(format!(
            "its write-ahead log with {frames} pages of acknowledged changes is missing"
        ))),
        Log::NoHeader => Err(damaged(
            "the header of its write-ahead log has a wrong checksum, so acknowledged changes cannot be read",
        )),
        // A later life of the log than the noted one: the earlier was copied into the database.
        Log::Frames { salts: found, .. } if found != salts => Ok(()),
        Log::Frames { committed, .. } if committed >= frames => Ok(()),
        Log::Frames { committed, .. } => Err(damaged(format!(
            "frame {} of its write-ahead log has a wrong checksum, so the last {} pages of acknowledged changes cannot be read",
            committed + 1,
            frames - committed
        ))),
    }
}

fn read(log: &mut impl Read) -> io::Result<Log> {
    let mut header = [0; HEADER];
    if !filled(log, &mut header)? {
        return Ok(Log::Empty);
    }
    let big = match u32_at(&header, 0) {
        0x377f_0682 => false,
        0x377f_0683 => true,
        _ => return Ok(Log::NoHeader),
    };
    let page = u32_at(&header, 8) as usize;
    let mut sum = Sum { big, a: 0, b: 0 };
    sum.add(&header[..24]);
    if !sum.is(&header[24..]) || !(512..=MAX_PAGE).contains(&page) {
        return Ok(Log::NoHeader);
    }
    let salts: Salts = std::array::from_fn(|at| header[16 + at]);
    let (mut frame, mut frames, mut committed) = (vec![0; FRAME_HEADER + page], 0, 0);
    while filled(log, &mut frame)? {
        sum.add(&frame[..8]);
        sum.add(&frame[FRAME_HEADER..]);
        if frame[8..16] != salts || !sum.is(&frame[16..24]) {
            break;
        }
        frames += 1;
        if u32_at(&frame, 4) != 0 {
            committed = frames;
        }
    }
    Ok(Log::Frames { salts, committed })
}

/// Fills the buffer; false at the end of the file.
fn filled(log: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match log.read_exact(buffer) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}

/// The running checksum of a log.
struct Sum {
    big: bool,
    a: u32,
    b: u32,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        let word = |at: &[u8]| {
            let four = std::array::from_fn(|place| at[place]);
            if self.big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
        };
        let (mut a, mut b) = (self.a, self.b);
        for pair in bytes.chunks_exact(8) {
            a = a.wrapping_add(word(&pair[..4])).wrapping_add(b);
            b = b.wrapping_add(word(&pair[4..])).wrapping_add(a);
        }
        (self.a, self.b) = (a, b);
    }

    fn is(&self, bytes: &[u8]) -> bool {
        (u32_at(bytes, 0), u32_at(bytes, 4)) == (self.a, self.b)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(std::array::from_fn(|place| bytes[at + place]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Salts = [1; 8];
    const B: Salts = [2; 8];

    #[test]
    fn missing_frames_are_an_error_only_when_they_had_been_noted() {
        let frames = |salts, committed| Log::Frames { salts, committed };
        for sound in [
            judge(Log::Empty, None),
            judge(Log::NoHeader, None),
            judge(Log::Empty, Some((A, 0))),
            judge(frames(A, 7), Some((A, 7))),
            judge(frames(A, 9), Some((A, 7))),
            judge(frames(B, 1), Some((A, 7))),
        ] {
            assert!(sound.is_ok(), "{sound:?}");
        }
        for damage in [
            judge(Log::Empty, Some((A, 7))),
            judge(Log::NoHeader, Some((A, 7))),
            judge(frames(A, 6), Some((A, 7))),
        ] {
            assert!(matches!(damage, Err(StoreError::Corrupt(_))), "{damage:?}");
        }
    }
}
