//! Dictionary: the terms of a segment in order, so that the list of a term is found.
//!
//! Promises: terms are known by the high [`KNOWN`] bits of their hash: of a hundred thousand terms one
//! question in three hundred million takes one for another. A term takes four bytes where there are many of
//! them, because its highest bits are known from where it lies. It does not know the lists.

use std::iter::Peekable;

/// Highest bits of a term, by which terms are grouped.
const TOP: u32 = 13;

/// Bits of a term by which it is known.
const KNOWN: u32 = TOP + 32;

/// The terms of a segment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dictionary {
    /// The highest bits of each term; empty when `starts` says it in fewer bytes.
    tops: Vec<u16>,
    /// Where the terms of each value of the highest bits begin, with the end behind the last.
    starts: Vec<u32>,
    /// The next 32 bits of each term.
    marks: Vec<u32>,
}

/// What is known of a term.
pub(crate) const fn known(term: u64) -> u64 {
    term & !(u64::MAX >> KNOWN)
}

const fn top(term: u64) -> u16 {
    (term >> (u64::BITS - TOP)) as u16
}

const fn mark(term: u64) -> u32 {
    (term >> (u64::BITS - KNOWN)) as u32
}

impl Dictionary {
    /// Adds the next term of the order.
    pub(crate) fn push(&mut self, term: u64) {
        self.tops.push(top(term));
        self.marks.push(mark(term));
    }

    /// No terms follow.
    pub(crate) fn settle(&mut self) {
        let all = 1usize << TOP;
        if size_of_val(&*self.tops) > (all + 1) * size_of::<u32>() {
            let tops = std::mem::take(&mut self.tops);
            let start = |top: usize| tops.partition_point(|other| usize::from(*other) < top) as u32;
            self.starts = (0..=all).map(start).collect();
        }
        self.tops.shrink_to_fit();
        self.marks.shrink_to_fit();
    }

    /// The place of a term in the order.
    pub(crate) fn find(&self, term: u64) -> Option<usize> {
        let top = top(term);
        let same = match self.starts.get(usize::from(top)..usize::from(top) + 2) {
            Some(ends) => ends[0] as usize..ends[1] as usize,
            None => {
                let from = self.tops.partition_point(|other| *other < top);
                from..from + self.tops[from..].partition_point(|other| *other == top)
            }
        };
        self.marks[same.clone()].binary_search(&mark(term)).ok().map(|place| same.start + place)
    }

    /// The terms in order, as far as they are known, each with its place.
    pub(crate) fn iter(&self) -> Terms<'_> {
        Terms { dictionary: self, place: 0, top: 0 }
    }

    /// Gives each different term of several dictionaries in order, with its place in each that has it.
    pub(crate) fn join(parts: &[&Self], mut take: impl FnMut(u64, &[(usize, usize)])) {
        let mut left: Vec<Peekable<Terms<'_>>> = parts.iter().map(|part| part.iter().peekable()).collect();
        let mut places = Vec::with_capacity(parts.len());
        while let Some(term) = left.iter_mut().filter_map(|terms| Some(terms.peek()?.0)).min() {
            places.clear();
            for (part, terms) in left.iter_mut().enumerate() {
                places.extend(terms.next_if(|next| next.0 == term).map(|(_, place)| (part, place)));
            }
            take(term, &places);
        }
    }
}

/// The terms of a dictionary in order, with their places.
#[derive(Debug)]
pub(crate) struct Terms<'a> {
    dictionary: &'a Dictionary,
    place: usize,
    top: usize,
}

impl Iterator for Terms<'_> {
    type Item = (u64, usize);

    fn next(&mut self) -> Option<(u64, usize)> {
        let Dictionary { tops, starts, marks } = self.dictionary;
        let place = self.place;
        let mark = u64::from(*marks.get(place)?);
        self.place += 1;
        match tops.get(place) {
            Some(top) => self.top = usize::from(*top),
            None => {
                while starts.get(self.top + 1).is_some_and(|end| *end as usize <= place) {
                    self.top += 1;
                }
            }
        }
        Some(((self.top as u64) << (u64::BITS - TOP) | mark << (u64::BITS - KNOWN), place))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dictionary(terms: impl Iterator<Item = u64>) -> Dictionary {
        let mut dictionary = Dictionary::default();
        terms.for_each(|term| dictionary.push(term));
        dictionary.settle();
        dictionary
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn terms_come_back_in_order_and_are_found_in_few_and_in_many(
            few in prop::collection::btree_set(any::<u64>().prop_map(known), 0..60),
            many in prop_oneof![Just(0u64), Just(20_000)],
            others in prop::collection::vec(any::<u64>().prop_map(known), 0..20),
        ) {
            let spread = (0..many).map(|number| known(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            let terms: std::collections::BTreeSet<u64> = few.iter().copied().chain(spread).collect();
            let made = dictionary(terms.iter().copied());
            prop_assert_eq!(made.tops.is_empty(), many > 0 || terms.is_empty());
            let expected: Vec<(u64, usize)> = terms.iter().copied().zip(0..).collect();
            prop_assert_eq!(made.iter().collect::<Vec<_>>(), expected.clone());
            prop_assert!(expected.iter().all(|(term, place)| made.find(term | 1) == Some(*place)));
            prop_assert!(others.iter().all(|other| terms.contains(other) || made.find(*other).is_none()));
            let second = dictionary(few.iter().copied());
            let mut joined = Vec::new();
            Dictionary::join(&[&made, &second], |term, places| joined.push((term, places.to_vec())));
            prop_assert_eq!(joined.len(), terms.len());
            for ((term, places), (expected, place)) in joined.iter().zip(&expected) {
                prop_assert_eq!((term, places[0]), (expected, (0, *place)));
                prop_assert_eq!(places.get(1).copied(), second.find(*term).map(|place| (1, place)));
            }
        }
    }
}
