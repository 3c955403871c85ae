//! TermCounts: how often a term occurs in the entries of a segment that have it more than once.
//!
//! Promises: what was written is read back, entries in order. Few of them take three bytes each. Of many, two
//! bits for every entry of the segment say two and three times, and only higher counts are listed; that is
//! shorter, and looked up without searching. Entries with a count of one are stored elsewhere.

/// Bytes of an entry that is listed: its number and its count.
const WIDTH: usize = 3;

/// What two bits say up to: this count and those beyond it are listed.
const BEYOND: u8 = 4;

/// The entries that have a term more than once.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TermCounts<'a> {
    count: usize,
    /// The two bits of every entry, a set for each, when they are kept so.
    planes: Option<[&'a [[u8; 8]]; 2]>,
    /// Those that are listed, in order.
    listed: &'a [[u8; WIDTH]],
}

/// Some entries of a segment, and the place of each, from 1 on. All others have the place 0: who writes there
/// need not ask first.
pub(super) struct Chosen<'a> {
    pub(super) entries: &'a [u16],
    places: Vec<u16>,
}

impl<'a> Chosen<'a> {
    /// A sample of this size.
    pub(super) fn of(entries: &'a [u16], all: usize) -> Self {
        let mut places = vec![0; all];
        entries.iter().zip(1..).for_each(|(entry, place)| places[usize::from(*entry)] = place);
        Self { entries, places }
    }

    /// The place of an entry.
    #[inline]
    pub(super) fn place(&self, entry: u16) -> usize {
        self.places.get(usize::from(entry)).map_or(0, |place| usize::from(*place))
    }
}

/// Bytes of a set of entries.
pub(super) const fn set_bytes(entries: usize) -> usize {
    entries.div_ceil(64) * 8
}

/// Whether this many are stored as two bits for every entry.
const fn has_planes(count: usize, entries: usize) -> bool {
    count * WIDTH > 2 * set_bytes(entries)
}

const fn number(listed: &[u8; WIDTH]) -> u16 {
    u16::from_le_bytes([listed[0], listed[1]])
}

/// Whether a set has an entry.
#[inline]
pub(super) fn bit(set: &[[u8; 8]], entry: u16) -> u8 {
    let word = set.get(usize::from(entry) / 64).map_or(0, |word| u64::from_le_bytes(*word));
    (word >> (entry % 64) & 1) as u8
}

impl<'a> TermCounts<'a> {
    /// Writes the entries of a list with a count above one, for a segment of this size.
    pub(super) fn write(list: &[(u16, u8)], entries: usize, out: &mut Vec<u8>) {
        let count = list.iter().filter(|(_, times)| *times > 1).count();
        let planes = has_planes(count, entries);
        let least = if planes { BEYOND } else { 2 };
        let listed = || list.iter().filter(|(_, times)| *times >= least);
        out.extend((count as u16).to_le_bytes());
        out.extend((listed().count() as u16).to_le_bytes());
        if planes {
            let (from, size) = (out.len(), set_bytes(entries));
            out.resize(from + 2 * size, 0);
            for (entry, times) in list {
                let code = times.saturating_sub(1).min(BEYOND - 1);
                let (byte, bit) = (from + usize::from(*entry) / 8, entry % 8);
                out[byte] |= (code & 1) << bit;
                out[byte + size] |= (code >> 1) << bit;
            }
        }
        for (entry, times) in listed() {
            out.extend(entry.to_le_bytes());
            out.push(*times);
        }
    }

    /// Reads what was written; gives what follows too.
    pub(super) fn read(bytes: &'a [u8], entries: usize) -> (Self, &'a [u8]) {
        let (head, mut rest) = bytes.split_at(4);
        let (count, listed) =
            (u16::from_le_bytes([head[0], head[1]]), u16::from_le_bytes([head[2], head[3]]));
        let count = usize::from(count);
        let mut planes = None;
        if has_planes(count, entries) {
            let (both, after) = rest.split_at(2 * set_bytes(entries));
            let (low, high) = both.split_at(set_bytes(entries));
            planes = Some([low.as_chunks().0, high.as_chunks().0]);
            rest = after;
        }
        let (listed, rest) = rest.split_at(usize::from(listed) * WIDTH);
        (Self { count, planes, listed: listed.as_chunks().0 }, rest)
    }

    /// How many there are.
    pub(super) const fn count(self) -> usize {
        self.count
    }

    /// How often an entry has the term that has it.
    #[inline]
    pub(super) fn times(self, entry: u16) -> u8 {
        if self.count == 0 {
            return 1;
        }
        if let Some(planes) = self.planes {
            let times = 1 + bit(planes[0], entry) + 2 * bit(planes[1], entry);
            if times < BEYOND {
                return times;
            }
        }
        self.listed.binary_search_by_key(&entry, number).map_or(1, |place| self.listed[place][2])
    }

    /// Turns the value of each entry, 1 where it has the term and 0 elsewhere, into the frequency of the
    /// term.
    pub(super) fn count_each(self, some: &Chosen<'_>, times: &mut [u8]) {
        if let Some([low, high]) = self.planes {
            for (entry, times) in some.entries.iter().zip(&mut times[1..]) {
                *times *= 1 + bit(low, *entry) + 2 * bit(high, *entry);
            }
        }
        self.listed.iter().for_each(|listed| times[some.place(number(listed))] = listed[2]);
    }

    /// Gives every one of them and how often it has the term to `take`, in order.
    #[inline]
    pub(super) fn each(self, mut take: impl FnMut(u16, u8)) {
        let Some([low, high]) = self.planes else {
            return self.listed.iter().for_each(|listed| take(number(listed), listed[2]));
        };
        let mut listed = self.listed.iter();
        for (place, (low, high)) in low.iter().zip(high).enumerate() {
            let (low, high) = (u64::from_le_bytes(*low), u64::from_le_bytes(*high));
            let mut left = low | high;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                let times = 1 + (low >> bit & 1) as u8 + 2 * (high >> bit & 1) as u8;
                let beyond = if times == BEYOND { listed.next() } else { None };
                take((place * 64) as u16 | bit as u16, beyond.map_or(times, |listed| listed[2]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counts_come_back_whether_few_or_many_have_them(
            size in prop_oneof![1..300usize, Just(3_000usize)],
            counts in prop::collection::vec(prop_oneof![Just(0u8), Just(1), 2..=3u8, any::<u8>()], 0..300),
        ) {
            let list: Vec<(u16, u8)> = (0..size as u16).zip(counts).filter(|(_, times)| *times > 0).collect();
            let mut bytes = Vec::new();
            TermCounts::write(&list, size, &mut bytes);
            bytes.extend([7, 7]);
            let (often, rest) = TermCounts::read(&bytes, size);
            prop_assert_eq!(rest, [7, 7]);
            prop_assert!(list.iter().all(|(entry, times)| often.times(*entry) == *times));
            let has = |entry: u16| list.iter().find(|(other, _)| *other == entry).map_or(0, |(_, times)| *times);
            let some: Vec<u16> = (0..size as u16).step_by(3).collect();
            let mut together: Vec<u8> = std::iter::once(0).chain(some.iter().map(|entry| has(*entry).min(1))).collect();
            often.count_each(&Chosen::of(&some, size), &mut together);
            prop_assert_eq!(&together[1..], some.iter().map(|entry| has(*entry)).collect::<Vec<_>>());
            let mut all = Vec::new();
            often.each(|entry, times| all.push((entry, times)));
            let expected: Vec<(u16, u8)> = list.into_iter().filter(|(_, times)| *times > 1).collect();
            prop_assert_eq!((often.count(), all), (expected.len(), expected));
        }
    }
}
