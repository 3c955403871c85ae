//! Pairs: which entries of a segment have a pair of neighbouring words.
//!
//! Promises: what was put in is found, entries of a pair in order, one as often as it has the pair. There are
//! many pairs, nearly all of them in one entry only, and a question has few: so those of a large segment are
//! in a file, of which a question reads some kilobytes. The few that many entries have stay in memory as
//! words do. The file has no name, so it disappears with the process in every case; at a start it is made
//! again from the log. What cannot be written stays in memory.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::postings::{Posted, Posting, Postings};
use super::space::own_pages;

/// Segments of this size have their pairs in a file; smaller ones are soon merged into larger ones.
const LARGE: usize = 8_192;

/// Pairs whose first is known, so that a question reads no more than it needs.
const RUN: usize = 128;

/// From this number of entries on, a pair is stored like a word: a byte for an entry, and nothing is read.
const FREQUENT: usize = 256;

/// Runs that are read at once, where many entries have a pair.
const RUNS: usize = 64;

/// Bytes of a pair.
const WIDTH: usize = 8;

/// The file while it still has a name; one that is found at a start is removed.
const NAME: &str = "index.pairs";

/// The pairs of a segment.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    /// The first of each run.
    firsts: Vec<u64>,
    count: usize,
    kept: PairTable,
    frequent: Postings,
}

/// The entries of one pair.
#[derive(Debug)]
pub(crate) enum Paired<'a> {
    /// Few, in order, with how often each has it.
    Few(Vec<(u16, u8)>),
    /// Many.
    Many(Posted<'a>),
}

/// Where they lie: 48 bits of the pair's term and the entry behind them, in order.
#[derive(Debug)]
enum PairTable {
    Memory(Vec<u64>),
    Disk(File),
}

impl Default for PairTable {
    fn default() -> Self {
        Self::Memory(Vec::new())
    }
}

/// Where files of pairs are made; nowhere for an index in memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct PairFolder(Option<Arc<PathBuf>>);

impl PairFolder {
    /// In a folder, which is cleared of what a kill left there.
    pub(crate) fn of(folder: Option<&Path>) -> Self {
        let path = folder.map(|folder| folder.join(NAME));
        if let Some(path) = &path {
            let _ = std::fs::remove_file(path);
        }
        Self(path.map(Arc::new))
    }

    /// A file that no other process sees.
    fn file(&self) -> io::Result<Option<File>> {
        let Some(path) = &self.0 else { return Ok(None) };
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&**path)?;
        std::fs::remove_file(&**path)?;
        Ok(Some(file))
    }
}

/// Whether a term is that of a pair.
pub(crate) const fn is_pair(term: u64) -> bool {
    term & 1 == 1
}

/// One entry of a pair. The high bits of a term are its best.
pub(crate) const fn pair(term: u64, entry: u16) -> u64 {
    term & !0xffff | entry as u64
}

impl Pairs {
    /// Builds them from [`pair`]s in any order, for a segment of this size.
    pub(crate) fn of(mut all: Vec<u64>, entries: usize, pair_folder: &PairFolder) -> Self {
        all.sort_unstable();
        let frequent = if entries < LARGE { Postings::default() } else { take_frequent(&mut all, entries) };
        all.shrink_to_fit();
        let firsts = all.iter().step_by(RUN).copied().collect();
        let count = all.len();
        let file = if entries < LARGE { Ok(None) } else { write(&all, pair_folder) };
        let kept = match file {
            Ok(Some(file)) => PairTable::Disk(file),
            Ok(None) => PairTable::Memory(all),
            Err(error) => {
                tracing::warn!(%error, "pairs of words stay in memory, because they could not be written");
                PairTable::Memory(all)
            }
        };
        Self { firsts, count, kept, frequent }
    }

    /// Joins several, in which entry `old` of the part `p` is now `moved(p, old)`, or gone.
    pub(crate) fn join(
        parts: &[&Self],
        moved: &dyn Fn(usize, u16) -> Option<u16>,
        entries: usize,
        pair_folder: &PairFolder,
    ) -> io::Result<Self> {
        let mut all = Vec::with_capacity(parts.iter().map(|part| part.count).sum());
        for (number, part) in parts.iter().enumerate() {
            let stay = |kept: u64| Some(pair(kept, moved(number, kept as u16)?));
            all.extend(part.all()?.into_iter().filter_map(stay));
            let frequent = part
                .frequent
                .iter()
                .flat_map(|(term, entry, times)| std::iter::repeat_n(pair(term, entry), usize::from(times)));
            all.extend(frequent.filter_map(stay));
        }
        Ok(Self::of(all, entries, pair_folder))
    }

    /// The entries that have a pair, in order, and how often each has it.
    pub(crate) fn find(&self, term: u64) -> io::Result<Paired<'_>> {
        let many = self.frequent.find(pair(term, 0));
        if many.count() > 0 {
            return Ok(Paired::Many(many));
        }
        let (least, most) = (pair(term, 0), pair(term, u16::MAX));
        let from = self.firsts.partition_point(|first| *first < least).saturating_sub(1) * RUN;
        let end = (self.firsts.partition_point(|first| *first <= most) * RUN).min(self.count);
        let mut found: Vec<(u16, u8)> = Vec::new();
        let mut take = |kept: u64| {
            if (least..=most).contains(&kept) {
                match found.last_mut() {
                    Some((entry, times)) if *entry == kept as u16 => *times = times.saturating_add(1),
                    _ => found.push((kept as u16, 1)),
                }
            }
        };
        match &self.kept {
            PairTable::Memory(all) => {
                let some = &all[from.min(end)..end];
                let first = some.partition_point(|kept| *kept < least);
                some[first..].iter().copied().take_while(|kept| *kept <= most).for_each(take);
            }
            PairTable::Disk(file) => {
                let mut bytes = vec![0; end.saturating_sub(from).min(RUNS * RUN) * WIDTH];
                for at in (from..end).step_by(RUNS * RUN) {
                    let bytes = &mut bytes[..(end - at).min(RUNS * RUN) * WIDTH];
                    file.read_exact_at(bytes, (at * WIDTH) as u64)?;
                    bytes.as_chunks().0.iter().for_each(|pair| take(u64::from_le_bytes(*pair)));
                }
            }
        }
        Ok(Paired::Few(found))
    }

    fn all(&self) -> io::Result<Vec<u64>> {
        match &self.kept {
            PairTable::Memory(all) => Ok(all.clone()),
            PairTable::Disk(file) => {
                let mut bytes = vec![0; self.count * WIDTH];
                file.read_exact_at(&mut bytes, 0)?;
                Ok(bytes.as_chunks::<WIDTH>().0.iter().map(|pair| u64::from_le_bytes(*pair)).collect())
            }
        }
    }
}

/// Takes those out that many entries have; what is left stays in order.
fn take_frequent(all: &mut Vec<u64>, entries: usize) -> Postings {
    let mut frequent: Vec<Posting> = Vec::new();
    let (mut from, mut kept) = (0, 0);
    while from < all.len() {
        let term = pair(all[from], 0);
        let to = from + all[from..].iter().take_while(|next| pair(**next, 0) == term).count();
        let run = &all[from..to];
        let times = run.chunk_by(|one, next| one == next);
        if run.len() >= FREQUENT && times.clone().count() >= FREQUENT {
            own_pages(&mut frequent, run.len());
            let posting =
                |times: &[u64]| (term, times[0] as u16, u8::try_from(times.len()).unwrap_or(u8::MAX));
            frequent.extend(times.map(posting));
        } else {
            // In place: another array as long as this one would leave a hole between those that stay.
            all.copy_within(from..to, kept);
            kept += to - from;
        }
        from = to;
    }
    all.truncate(kept);
    Postings::of(frequent, entries)
}

fn write(all: &[u64], pair_folder: &PairFolder) -> io::Result<Option<File>> {
    let Some(mut file) = pair_folder.file()? else { return Ok(None) };
    for some in all.chunks(RUNS * RUN) {
        file.write_all(&some.iter().flat_map(|pair| pair.to_le_bytes()).collect::<Vec<u8>>())?;
    }
    Ok(Some(file))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(pairs: &Pairs, term: u64) -> Vec<u16> {
        let found = match pairs.find(term).unwrap() {
            Paired::Few(entries) => entries,
            Paired::Many(posted) => posted.sorted(),
        };
        found.into_iter().flat_map(|(entry, times)| std::iter::repeat_n(entry, usize::from(times))).collect()
    }

    proptest! {
        #[test]
        fn in_memory_and_in_a_file_the_same_is_found_before_and_after_a_join(
            all in prop::collection::vec((0..40u64, 0..2_000u16), 0..3_000),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let pair_folders = [PairFolder::default(), PairFolder::of(Some(folder.path()))];
            let term = |number: u64| (number * number / 40) << 20 | 1;
            let made = |part: usize, pair_folder: &PairFolder| {
                let part = all.iter().filter(|(_, entry)| usize::from(*entry % 2) == part);
                Pairs::of(part.map(|(number, entry)| pair(term(*number), *entry)).collect(), LARGE, pair_folder)
            };
            for pair_folder in &pair_folders {
                let parts = [made(0, pair_folder), made(1, pair_folder)];
                prop_assert_eq!(matches!(parts[0].kept, PairTable::Disk(_)), pair_folder.0.is_some());
                let stays = |_: usize, entry: u16| (!entry.is_multiple_of(5)).then_some(entry);
                let joined = Pairs::join(&[&parts[0], &parts[1]], &stays, LARGE, pair_folder).unwrap();
                for asked in (0..=40).map(term) {
                    let mut expected: Vec<u16> =
                        all.iter().filter(|(number, _)| term(*number) == asked).map(|(_, entry)| *entry).collect();
                    expected.sort_unstable();
                    let mut both = [found(&parts[0], asked), found(&parts[1], asked)].concat();
                    both.sort_unstable();
                    prop_assert_eq!(&both, &expected);
                    expected.retain(|entry| !entry.is_multiple_of(5));
                    prop_assert_eq!(found(&joined, asked), expected);
                }
            }
            prop_assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "files have no name");
        }
    }

    #[test]
    fn what_a_kill_left_of_a_file_is_removed_at_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(NAME), "half").unwrap();
        let _pair_folder = PairFolder::of(Some(folder.path()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn pairs_of_small_segments_and_those_that_cannot_be_written_stay_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let pair_folder = PairFolder::of(Some(folder.path()));
        let small = Pairs::of(vec![pair(1 << 30, 3)], LARGE - 1, &pair_folder);
        assert!(matches!(small.kept, PairTable::Memory(_)));
        drop(folder);
        let unwritten = Pairs::of(vec![pair(1 << 30, 3), pair(1 << 30, 3)], LARGE, &pair_folder);
        assert!(matches!(unwritten.kept, PairTable::Memory(_)));
        assert_eq!(found(&unwritten, 1 << 30), [3, 3]);
    }
}
