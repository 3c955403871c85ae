//! Postings: which entries of a segment have a term, and how often.
//!
//! Promises: terms are in order, entries of a term are in order, counts are exact (up to 255). Nothing changes after it is made; joining two makes a
//! third. It does not know which entries are still alive.

/// The terms of a segment.
#[derive(Debug, Default)]
pub(crate) struct Postings {
    terms: Vec<u64>,
    /// Where the entries of each term begin, with the end behind the last.
    starts: Vec<u32>,
    entries: Vec<u16>,
    counts: Vec<u8>,
}

/// One term of one entry.
pub(crate) type Posting = (u64, u16, u8);

impl Postings {
    /// Makes them of any number of postings in any order.
    pub(crate) fn of(mut all: Vec<Posting>) -> Self {
        all.sort_unstable();
        let mut postings = Self::with_room(all.len());
        for (term, entry, count) in all {
            postings.begin(term);
            postings.entries.push(entry);
            postings.counts.push(count);
        }
        postings.end()
    }

    /// Joins several, in which entry `old` of the part `p` is now `moved(p, old)`, or gone. Numbers must grow with the part and the entry.
    pub(crate) fn join(parts: &[&Self], moved: &dyn Fn(usize, u16) -> Option<u16>) -> Self {
        let mut joined = Self::with_room(parts.iter().map(|part| part.entries.len()).sum());
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
                let (entries, counts) = part.at(next[number]);
                next[number] += 1;
                for (entry, count) in entries.iter().zip(counts) {
                    if let Some(entry) = moved(number, *entry) {
                        joined.begin(term);
                        joined.entries.push(entry);
                        joined.counts.push(*count);
                    }
                }
            }
        }
        joined.end()
    }

    /// The entries that have a term, and how often.
    pub(crate) fn find(&self, term: u64) -> (&[u16], &[u8]) {
        self.terms.binary_search(&term).map_or((&[], &[]), |place| self.at(place))
    }

    fn with_room(room: usize) -> Self {
        Self { entries: Vec::with_capacity(room), counts: Vec::with_capacity(room), ..Self::default() }
    }

    fn begin(&mut self, term: u64) {
        if self.terms.last() != Some(&term) {
            self.terms.push(term);
            self.starts.push(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        }
    }

    fn end(mut self) -> Self {
        self.starts.push(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        self.terms.shrink_to_fit();
        self.starts.shrink_to_fit();
        self.entries.shrink_to_fit();
        self.counts.shrink_to_fit();
        self
    }

    fn at(&self, place: usize) -> (&[u16], &[u8]) {
        let (from, to) = (self.starts[place] as usize, self.starts[place + 1] as usize);
        (&self.entries[from..to], &self.counts[from..to])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_postings_are_those_of_the_entries_that_stay() {
        let one = Postings::of(vec![(7, 1, 2), (3, 0, 1), (7, 0, 5)]);
        let two = Postings::of(vec![(7, 0, 1), (9, 0, 1), (9, 1, 3)]);
        assert_eq!(one.find(7), (&[0, 1][..], &[5, 2][..]));
        assert_eq!(one.find(4), (&[][..], &[][..]));
        let moved = |part: usize, entry: u16| match (part, entry) {
            (0, 1) => Some(0),
            (1, entry) => Some(1 + entry),
            _ => None,
        };
        let joined = Postings::join(&[&one, &two], &moved);
        assert_eq!(joined.find(3), (&[][..], &[][..]));
        assert_eq!(joined.find(7), (&[0, 1][..], &[2, 1][..]));
        assert_eq!(joined.find(9), (&[1, 2][..], &[1, 3][..]));
    }
}
