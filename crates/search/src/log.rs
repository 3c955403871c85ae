//! Log: the one file of an index, to which changes are appended.
//!
//! Promises: [`Log::append`] returns when its bytes are on disk, and its write is atomic. A tail that a kill
//! left unfinished is cut off at the next opening; a byte that changed is noticed. Rewriting makes a new file
//! and puts it in place of the old one in one step; a reader of the old one continues to read it.
//!
//! The file: 8 bytes of name and version, then frames: length of the body, checksum of the body, checksum of
//! these two, the body. The length has its own checksum so that a frame that ends after the file is known to
//! be unfinished and not damaged.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// Name of the file and its version; another version is rebuilt, not read.
const HEADER: &[u8; 8] = b"agentix3";

/// Length and two checksums.
const FRAME: usize = 4 + 8 + 4;

/// Longest body of a frame. Longer changes are written as several frames.
pub(crate) const LONGEST_FRAME: usize = 16 * 1024 * 1024;

/// The path of the index in its folder.
const NAME: &str = "index.log";
/// Where a rewritten one grows.
const NEXT: &str = "index.next";

/// What bodies are read from, by their place. Clones read the same bytes even when the log is rewritten
/// meanwhile.
#[derive(Debug, Clone)]
pub(crate) enum Bytes {
    /// A file.
    Disk(Arc<File>),
    /// Memory, for an index without a folder; the lock is held for one copy.
    Memory(Arc<RwLock<Vec<u8>>>),
}

impl Bytes {
    /// Reads bytes from a position.
    pub(crate) fn read(&self, at: u64, count: usize) -> io::Result<Vec<u8>> {
        match self {
            Self::Disk(file) => {
                let mut bytes = vec![0; count];
                file.read_exact_at(&mut bytes, at)?;
                Ok(bytes)
            }
            Self::Memory(all) => {
                let all = all.read().unwrap_or_else(PoisonError::into_inner);
                let from = usize::try_from(at).unwrap_or(usize::MAX);
                let bytes = all.get(from..).and_then(|rest| rest.get(..count));
                bytes.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
            }
        }
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Disk(file) => file.write_all_at(bytes, at),
            Self::Memory(all) => {
                let mut all = all.write().unwrap_or_else(PoisonError::into_inner);
                all.truncate(usize::try_from(at).unwrap_or(usize::MAX));
                all.extend(bytes);
                Ok(())
            }
        }
    }

    fn sync(&self) -> io::Result<()> {
        match self {
            Self::Disk(file) => file.sync_data(),
            Self::Memory(_) => Ok(()),
        }
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        match self {
            Self::Disk(file) => file.set_len(length),
            Self::Memory(all) => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                all.write().unwrap_or_else(PoisonError::into_inner).truncate(length);
                Ok(())
            }
        }
    }
}

/// The log of one index. There is one writer.
#[derive(Debug)]
pub(crate) struct Log {
    bytes: Bytes,
    folder: Option<PathBuf>,
    end: u64,
    /// A failed write that could not be taken back: nothing more is written behind it.
    broken: bool,
}

/// Takes a body and where it begins; an error says why it cannot be used.
pub(crate) type Take<'a> = &'a mut dyn FnMut(&[u8], u64) -> Result<(), String>;

impl Log {
    /// A log in memory.
    pub(crate) fn memory() -> Self {
        let bytes = Bytes::Memory(Arc::new(RwLock::new(HEADER.to_vec())));
        Self { bytes, folder: None, end: HEADER.len() as u64, broken: false }
    }

    /// Opens the log of a folder, or begins one, and gives every body to `take` with the place where the file
    /// is read and its length. What is damaged is said; the log is then empty.
    pub(crate) fn open(
        folder: &Path,
        take: Take<'_>,
        progress: &dyn Fn(u64, u64),
    ) -> io::Result<(Self, Option<String>)> {
        fs::create_dir_all(folder)?;
        let _ = fs::remove_file(folder.join(NEXT));
        let path = folder.join(NAME);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let length = file.metadata()?.len();
        let (end, damage) = if length < HEADER.len() as u64 {
            (0, (length > 0).then(|| "its file has no beginning".to_owned()))
        } else {
            match replay(&file, length, take, progress) {
                Ok(end) => (end, None),
                Err(Stop::Io(error)) => return Err(error),
                Err(Stop::Damage(what)) => (0, Some(what)),
            }
        };
        let mut log =
            Self { bytes: Bytes::Disk(Arc::new(file)), folder: Some(folder.into()), end, broken: false };
        log.settle()?;
        // A file that a kill left before its header was whole held nothing.
        Ok((log, damage.filter(|_| length >= HEADER.len() as u64)))
    }

    /// Cuts what is behind the end, and writes the beginning of an empty file.
    fn settle(&mut self) -> io::Result<()> {
        self.bytes.cut(self.end)?;
        if self.end == 0 {
            self.bytes.write(0, HEADER)?;
            self.end = HEADER.len() as u64;
            self.bytes.sync()?;
            self.sync_folder()?;
        }
        Ok(())
    }

    /// From where bodies are read.
    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes.clone()
    }

    /// Bytes of the file.
    pub(crate) const fn len(&self) -> u64 {
        self.end
    }

    /// Writes bodies, each in a frame, and returns when all are on disk: where each begins. After an error
    /// none of them is there.
    pub(crate) fn append(&mut self, bodies: &[Vec<u8>]) -> io::Result<Vec<u64>> {
        if self.broken {
            return Err(io::Error::other("an earlier write failed and could not be undone"));
        }
        let mut at = self.end;
        let mut begins = Vec::with_capacity(bodies.len());
        let written = bodies.iter().try_for_each(|body| {
            begins.push(at + FRAME as u64);
            at += frame(&self.bytes, at, body)?;
            Ok(())
        });
        match written.and_then(|()| self.bytes.sync()) {
            Ok(()) => {
                self.end = at;
                Ok(begins)
            }
            Err(error) => {
                self.broken = self.bytes.cut(self.end).is_err();
                Err(error)
            }
        }
    }

    /// Puts a new log in place of this one: `bodies` gives one body after the other. Gives where each begins.
    pub(crate) fn rewrite(
        &mut self,
        bodies: &mut dyn FnMut() -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<Vec<u64>> {
        let bytes = match &self.folder {
            None => Bytes::Memory(Arc::default()),
            Some(folder) => {
                let path = folder.join(NEXT);
                let new = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
                Bytes::Disk(Arc::new(new))
            }
        };
        bytes.write(0, HEADER)?;
        let mut at = HEADER.len() as u64;
        let mut begins = Vec::new();
        while let Some(body) = bodies()? {
            begins.push(at + FRAME as u64);
            at += frame(&bytes, at, &body)?;
        }
        bytes.sync()?;
        if let Some(folder) = &self.folder {
            fs::rename(folder.join(NEXT), folder.join(NAME))?;
        }
        (self.bytes, self.end, self.broken) = (bytes, at, false);
        self.sync_folder()?;
        Ok(begins)
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.folder.as_ref().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }
}

/// Writes one frame and gives its size.
fn frame(bytes: &Bytes, at: u64, body: &[u8]) -> io::Result<u64> {
    let length = u32::try_from(body.len()).map_err(|_| io::Error::other("a change is too large"))?;
    let mut whole = Vec::with_capacity(FRAME + body.len());
    whole.extend(length.to_le_bytes());
    whole.extend(checksum(body).to_le_bytes());
    let head = checksum(&whole);
    whole.extend(head.to_le_bytes().iter().take(4));
    whole.extend(body);
    bytes.write(at, &whole)?;
    Ok(whole.len() as u64)
}

enum Stop {
    Io(io::Error),
    Damage(String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads all frames; gives where the last whole one ends.
fn replay(file: &File, length: u64, take: Take<'_>, progress: &dyn Fn(u64, u64)) -> Result<u64, Stop> {
    let mut reader = BufReader::with_capacity(1 << 20, file);
    reader.seek(SeekFrom::Start(0))?;
    let mut header = [0; HEADER.len()];
    reader.read_exact(&mut header)?;
    if &header != HEADER {
        return Err(Stop::Damage("its file is of another version".into()));
    }
    let mut at = HEADER.len() as u64;
    let mut body = Vec::new();
    while length - at >= FRAME as u64 {
        let mut head = [0; FRAME];
        reader.read_exact(&mut head)?;
        let (count, sum) =
            read_head(&head).ok_or_else(|| Stop::Damage(format!("its file is damaged at byte {at}")))?;
        let begins = at + FRAME as u64;
        if count as u64 > length - begins {
            break;
        }
        body.resize(count, 0);
        reader.read_exact(&mut body)?;
        if checksum(&body) != sum {
            return Err(Stop::Damage(format!("its file is damaged after byte {begins}")));
        }
        take(&body, begins).map_err(Stop::Damage)?;
        at = begins + count as u64;
        progress(at, length);
    }
    Ok(at)
}

/// Length and checksum of a body.
fn read_head(head: &[u8; FRAME]) -> Option<(usize, u64)> {
    let (said, proof) = head.split_at(FRAME - 4);
    if checksum(said).to_le_bytes()[..4] != *proof {
        return None;
    }
    let count = said[..4].try_into().map(u32::from_le_bytes).ok()?;
    let sum = said[4..].try_into().map(u64::from_le_bytes).ok()?;
    usize::try_from(count).ok().map(|count| (count, sum))
}

/// Eight bytes at a time, each step a bijection of the sum: a change within eight bytes is always noticed,
/// any other all but surely.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let mut words = bytes.chunks_exact(8);
    let mut sum = bytes.len() as u64 ^ 0x51ab_5e1f;
    for word in words.by_ref() {
        sum = step(sum, word.try_into().map(u64::from_le_bytes).unwrap_or_default());
    }
    let rest = words.remainder().iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let sum = step(step(sum, rest), 0);
    sum ^ (sum >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(folder: &Path) -> (Vec<Vec<u8>>, Option<String>) {
        let mut all = Vec::new();
        let mut take = |body: &[u8], _: u64| {
            all.push(body.to_vec());
            Ok(())
        };
        let (_, damage) = Log::open(folder, &mut take, &|_, _| {}).unwrap();
        (all, damage)
    }

    fn written(folder: &Path) -> Vec<u8> {
        let (mut log, _) = Log::open(folder, &mut |_, _| Ok(()), &|_, _| {}).unwrap();
        for body in [&b"first"[..], b"", b"the third, which is longer than the others"] {
            let at = log.append(&[body.to_vec()]).unwrap();
            assert_eq!(log.bytes().read(at[0], body.len()).unwrap(), body);
        }
        fs::read(folder.join(NAME)).unwrap()
    }

    #[test]
    fn a_file_cut_at_any_byte_gives_all_whole_bodies_before_it_and_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let whole = written(folder.path());
        let ends = [8, 8 + 16 + 5, 8 + 16 + 5 + 16, whole.len()];
        for cut in 0..=whole.len() {
            fs::write(folder.path().join(NAME), &whole[..cut]).unwrap();
            let (all, damage) = bodies(folder.path());
            assert_eq!(all.len(), ends[1..].iter().filter(|end| **end <= cut).count(), "cut at {cut}");
            assert_eq!(damage, None, "cut at {cut}");
            let (mut log, _) = Log::open(folder.path(), &mut |_, _| Ok(()), &|_, _| {}).unwrap();
            log.append(&[b"after".to_vec()]).unwrap();
            assert_eq!(bodies(folder.path()).0.last().unwrap(), b"after");
        }
    }

    #[test]
    fn a_byte_that_changed_is_noticed_wherever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let whole = written(folder.path());
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                fs::write(folder.path().join(NAME), bytes).unwrap();
                let (_, damage) = bodies(folder.path());
                assert!(damage.is_some(), "bit {bit} of byte {at}");
                assert_eq!(bodies(folder.path()), (Vec::new(), None), "and the log begins anew");
            }
        }
    }

    #[test]
    fn a_file_of_an_older_version_is_said_to_be_one_and_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let mut whole = written(folder.path());
        for older in [b"agentix1", b"agentix2"] {
            whole[..HEADER.len()].copy_from_slice(older);
            fs::write(folder.path().join(NAME), &whole).unwrap();
            let (all, damage) = bodies(folder.path());
            assert_eq!((all.len(), damage.as_deref()), (0, Some("its file is of another version")));
            assert_eq!(bodies(folder.path()), (Vec::new(), None));
        }
    }

    #[test]
    fn a_rewritten_log_takes_the_place_of_the_old_one_which_can_still_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let (mut log, _) = Log::open(folder.path(), &mut |_, _| Ok(()), &|_, _| {}).unwrap();
        let at = log.append(&[b"old".to_vec()]).unwrap();
        let old = log.bytes();
        let mut bodies_to_write = vec![b"new".to_vec()];
        log.rewrite(&mut || Ok(bodies_to_write.pop())).unwrap();
        log.append(&[b"newer".to_vec()]).unwrap();
        assert_eq!(old.read(at[0], 3).unwrap(), b"old");
        assert_eq!(bodies(folder.path()).0, [b"new".to_vec(), b"newer".to_vec()]);
    }
}
