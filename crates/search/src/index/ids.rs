//! Ids: the number of each entry, by its id.
//!
//! Promises: 9 bytes for an entry, because the ids themselves lie in the segments. Its hash is keyed anew at each start, so nobody can choose
//! ids that fall into one place.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use hashbrown::HashTable;

/// From ids to numbers.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    keys: RandomState,
    table: HashTable<(u32, u32)>,
}

impl Ids {
    /// The number of an id, where `is` says whether a number belongs to it.
    pub(crate) fn find(&self, id: &str, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let key = self.key(id);
        self.table
            .find(spread(key), |(other, serial)| *other == key && is(*serial))
            .map(|(_, serial)| *serial)
    }

    /// Adds a number for an id that has none.
    pub(crate) fn add(&mut self, id: &str, serial: u32) {
        let key = self.key(id);
        self.table.insert_unique(spread(key), (key, serial), |(key, _)| spread(*key));
    }

    /// Forgets a number of an id.
    pub(crate) fn remove(&mut self, id: &str, serial: u32) {
        let key = self.key(id);
        if let Ok(found) = self.table.find_entry(spread(key), |(_, other)| *other == serial) {
            found.remove();
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    fn key(&self, id: &str) -> u32 {
        (self.keys.hash_one(id) >> 32) as u32
    }
}

/// The table wants 64 good bits.
const fn spread(key: u32) -> u64 {
    (key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
