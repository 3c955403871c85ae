//! Postings: which entries of a segment have a term, and how often.
//!
//! Promises: terms are in order, entries of a term are in order, counts are exact (from 1 to 255). Nothing changes after it is made; joining two makes
//! a third. It does not know which entries are still alive.
//!
//! Entries of a term lie as the steps from one to the next, in as few bytes of seven bits as they need; the lowest bit of a step says whether a count
//! other than 1 follows. Most take one byte.

/// The terms of a segment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Postings {
    terms: Vec<u64>,
    /// How many entries each term has.
    counts: Vec<u32>,
    /// Where the entries of each term begin.
    starts: Vec<u32>,
    bytes: Vec<u8>,
    /// The last entry that was written.
    last: u32,
}

/// One term of one entry.
pub(crate) type Posting = (u64, u16, u8);

/// The entries of one term.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Posted<'a> {
    count: u32,
    bytes: &'a [u8],
}

impl<'a> Posted<'a> {
    /// How many there are.
    pub(crate) const fn count(self) -> usize {
        self.count as usize
    }

    /// The entries in order, and how often each has the term.
    #[inline]
    pub(crate) fn iter(self) -> impl Iterator<Item = (u16, u8)> + 'a {
        let mut bytes = self.bytes.iter().copied();
        let mut next = 0u32;
        (0..self.count).map(move |_| {
            let mut byte = bytes.next().unwrap_or_default();
            let mut step = u32::from(byte & 0x7f);
            let mut shift = 7;
            while byte & 0x80 != 0 {
                byte = bytes.next().unwrap_or_default();
                step |= u32::from(byte & 0x7f) << shift;
                shift += 7;
            }
            let count = if step & 1 == 0 { 1 } else { bytes.next().unwrap_or_default() };
            let entry = next.wrapping_add(step >> 1);
            next = entry.wrapping_add(1);
            (entry as u16, count)
        })
    }
}

impl Postings {
    /// Makes them of any number of postings in any order.
    pub(crate) fn of(mut all: Vec<Posting>) -> Self {
        all.sort_unstable();
        let mut postings = Self { bytes: Vec::with_capacity(all.len() * 3 / 2), ..Self::default() };
        all.into_iter().for_each(|posting| postings.push(posting));
        postings.end()
    }

    /// Joins several, in which entry `old` of the part `p` is now `moved(p, old)`, or gone. Numbers must grow with the part and the entry.
    pub(crate) fn join(parts: &[&Self], moved: &dyn Fn(usize, u16) -> Option<u16>) -> Self {
        let room = parts.iter().map(|part| part.bytes.len()).sum();
        let mut joined = Self { bytes: Vec::with_capacity(room), ..Self::default() };
        let mut next = vec![0; parts.len()];
        while let Some(term) = parts
            .iter()
            .zip(&next)
            .filter_map(|(part, next): (&&Self, &usize)| part.terms.get(*next))
            .min()
            .copied()
        {
            for (number, part) in parts.iter().enumerate() {
                if part.terms.get(next[number]) != Some(&term) {
                    continue;
                }
                let posted = part.at(next[number]);
                next[number] += 1;
                for (entry, count) in posted.iter() {
                    if let Some(entry) = moved(number, entry) {
                        joined.push((term, entry, count));
                    }
                }
            }
        }
        joined.end()
    }

    /// The entries that have a term.
    pub(crate) fn find(&self, term: u64) -> Posted<'_> {
        self.terms.binary_search(&term).map_or(Posted::default(), |place| self.at(place))
    }

    /// Whether an entry has a term.
    pub(crate) fn has(&self, term: u64, entry: u16) -> bool {
        self.find(term).iter().find(|(other, _)| *other >= entry).is_some_and(|(other, _)| other == entry)
    }

    /// All of them, in order of term and entry.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Posting> {
        self.terms
            .iter()
            .enumerate()
            .flat_map(|(place, term)| self.at(place).iter().map(|(entry, count)| (*term, entry, count)))
    }

    fn push(&mut self, (term, entry, count): Posting) {
        let entry = u32::from(entry);
        if self.terms.last() == Some(&term) {
            self.step(entry - self.last - 1, count);
        } else {
            self.terms.push(term);
            self.starts.push(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
            self.counts.push(0);
            self.step(entry, count);
        }
        self.last = entry;
        if let Some(counted) = self.counts.last_mut() {
            *counted += 1;
        }
    }

    fn step(&mut self, step: u32, count: u8) {
        let mut left = step << 1 | u32::from(count != 1);
        while left >= 0x80 {
            self.bytes.push(left as u8 | 0x80);
            left >>= 7;
        }
        self.bytes.push(left as u8);
        if count != 1 {
            self.bytes.push(count);
        }
    }

    fn end(mut self) -> Self {
        self.terms.shrink_to_fit();
        self.starts.shrink_to_fit();
        self.counts.shrink_to_fit();
        self.bytes.shrink_to_fit();
        self
    }

    fn at(&self, place: usize) -> Posted<'_> {
        let to = self.starts.get(place + 1).map_or(self.bytes.len(), |to| *to as usize);
        Posted { count: self.counts[place], bytes: &self.bytes[self.starts[place] as usize..to] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(postings: &Postings, term: u64) -> Vec<(u16, u8)> {
        let posted = postings.find(term);
        let all: Vec<_> = posted.iter().collect();
        assert_eq!(all.len(), posted.count());
        all
    }

    #[test]
    fn joined_postings_are_those_of_the_entries_that_stay() {
        let one = Postings::of(vec![(7, 1, 2), (3, 0, 1), (7, 0, 5)]);
        let two = Postings::of(vec![(7, 0, 1), (9, 0, 1), (9, 1, 3)]);
        assert_eq!(found(&one, 7), [(0, 5), (1, 2)]);
        assert_eq!(found(&one, 4), []);
        let moved = |part: usize, entry: u16| match (part, entry) {
            (0, 1) => Some(0),
            (1, entry) => Some(1 + entry),
            _ => None,
        };
        let joined = Postings::join(&[&one, &two], &moved);
        assert_eq!(found(&joined, 3), []);
        assert_eq!(found(&joined, 7), [(0, 2), (1, 1)]);
        assert_eq!(found(&joined, 9), [(1, 1), (2, 3)]);
        assert_eq!(joined.iter().collect::<Vec<_>>(), [(7, 0, 2), (7, 1, 1), (9, 1, 1), (9, 2, 3)]);
    }

    #[test]
    fn far_entries_and_large_counts_come_back_as_they_were() {
        let all: Vec<Posting> = [0, 1, 63, 64, 65, 191, 8_300, 24_800, 65_535]
            .map(|entry| (5, entry, (entry % 256) as u8 | 1))
            .into();
        let postings = Postings::of(all.clone());
        assert_eq!(postings.iter().collect::<Vec<_>>(), all);
        assert!(postings.has(5, 8_300) && !postings.has(5, 8_301) && !postings.has(6, 64));
    }
}
