//! Names: the ids of a segment's entries, and the entry of an id.
//!
//! Promises: every id comes back as it was; of an id that was put twice both entries are found, and the
//! caller says which one lives. Ids that follow each other are mostly alike, so of most only what differs
//! from the one before is kept. The hash is keyed anew at each start, so ids cannot be chosen that fall into
//! one place. Nothing changes but by adding.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::LazyLock;

use hashbrown::HashTable;

/// Ids between two that are stored whole; at most this many are read to decode one.
const RUN: usize = 16;

static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The ids of a segment.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// For each id how many bytes it shares with the one before, how many follow, and these.
    bytes: Vec<u8>,
    /// Where each run begins.
    runs: Vec<u32>,
    count: usize,
    last: Vec<u8>,
    table: HashTable<u16>,
}

impl Names {
    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.count
    }

    /// Reserves memory for this many ids at once.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.runs.reserve_exact(count.div_ceil(RUN));
        let mut table = std::mem::take(&mut self.table);
        table.reserve(count, |other| key(&self.read(usize::from(*other))));
        self.table = table;
    }

    /// Adds the id of the next entry.
    pub(crate) fn push(&mut self, id: &str) {
        let whole = self.count.is_multiple_of(RUN);
        if whole {
            self.runs.push(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
        }
        let same = self.last.iter().zip(id.as_bytes()).take_while(|(one, other)| one == other).count();
        let shared = if whole { 0 } else { same };
        number(&mut self.bytes, shared);
        number(&mut self.bytes, id.len() - shared);
        self.bytes.extend(&id.as_bytes()[shared..]);
        self.last.clear();
        self.last.extend(id.as_bytes());
        let entry = self.count as u16;
        self.count += 1;
        let mut table = std::mem::take(&mut self.table);
        table.insert_unique(key(id.as_bytes()), entry, |other| key(&self.read(usize::from(*other))));
        self.table = table;
    }

    /// The id of an entry.
    pub(crate) fn id(&self, entry: usize) -> String {
        String::from_utf8(self.read(entry)).unwrap_or_default()
    }

    /// The entry of an id for which `lives` holds.
    pub(crate) fn find(&self, id: &str, lives: impl Fn(usize) -> bool) -> Option<usize> {
        let is = |entry: &u16| lives(usize::from(*entry)) && self.read(usize::from(*entry)) == id.as_bytes();
        self.table.find(key(id.as_bytes()), is).map(|entry| usize::from(*entry))
    }

    /// Gives back memory that was taken in advance.
    pub(crate) fn settle(&mut self) {
        self.bytes.shrink_to_fit();
        self.runs.shrink_to_fit();
        self.last = Vec::new();
        let mut table = std::mem::take(&mut self.table);
        table.shrink_to_fit(|entry| key(&self.read(usize::from(*entry))));
        self.table = table;
    }

    fn read(&self, entry: usize) -> Vec<u8> {
        let mut id = Vec::with_capacity(64);
        let mut at = self.runs[entry / RUN] as usize;
        for _ in 0..=entry % RUN {
            let (shared, count) = (read_number(&self.bytes, &mut at), read_number(&self.bytes, &mut at));
            id.truncate(shared);
            id.extend(&self.bytes[at..at + count]);
            at += count;
        }
        id
    }
}

fn key(id: &[u8]) -> u64 {
    KEYS.hash_one(id)
}

/// Writes a number in as few bytes of seven bits as it needs.
fn number(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn read_number(bytes: &[u8], at: &mut usize) -> usize {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        number |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return number;
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn ids_come_back_as_they_were_and_lead_to_their_entries(
            ids in prop::collection::vec("(urn:air:)?[a-c]{0,3}(é|:agent-)?[0-9]{0,4}(x{200})?", 0..60),
        ) {
            let mut names = Names::default();
            ids.iter().for_each(|id| names.push(id));
            for settled in [false, true] {
                if settled {
                    names.settle();
                }
                prop_assert_eq!((0..names.len()).map(|entry| names.id(entry)).collect::<Vec<_>>(), ids.clone());
                for (entry, id) in ids.iter().enumerate() {
                    prop_assert_eq!(names.find(id, |other| other == entry), Some(entry));
                    prop_assert_eq!(names.find(id, |_| false), None);
                }
                prop_assert_eq!(names.find("nobody", |_| true), None);
            }
        }
    }

    #[test]
    fn ids_of_one_owner_take_a_few_bytes_each() {
        let mut names = Names::default();
        (0..1_000).for_each(|number| names.push(&format!("urn:air:owner.example.org:agent-{number}")));
        names.settle();
        assert!(names.bytes.len() < 8_000, "{} bytes", names.bytes.len());
    }
}
