//! Bits: a set of the entries of one segment.
//!
//! Promises: no bit is set beyond the number of entries the set was made for.

/// A set of small numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Bits {
    words: Vec<u64>,
    size: usize,
}

impl Bits {
    /// An empty set of numbers below `size`.
    pub(crate) fn none(size: usize) -> Self {
        Self { words: vec![0; size.div_ceil(64)], size }
    }

    /// The set of all numbers below `size`.
    pub(crate) fn all(size: usize) -> Self {
        let mut bits = Self { words: vec![u64::MAX; size.div_ceil(64)], size };
        if let (Some(last), rest @ 1..) = (bits.words.last_mut(), size % 64) {
            *last = (1 << rest) - 1;
        }
        bits
    }

    /// Whether a number is in it.
    #[inline]
    pub(crate) fn has(&self, number: usize) -> bool {
        self.words.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Adds a number.
    pub(crate) fn add(&mut self, number: usize) {
        if number < self.size {
            self.words[number / 64] |= 1 << (number % 64);
        }
    }

    /// Makes space for one more number, in the set or not.
    pub(crate) fn push(&mut self, is_in: bool) {
        if self.size.is_multiple_of(64) {
            self.words.push(0);
        }
        self.size += 1;
        if is_in {
            self.add(self.size - 1);
        }
    }

    /// Puts a number in or takes it out.
    pub(crate) fn set(&mut self, number: usize, is_in: bool) {
        if is_in {
            self.add(number);
        } else {
            self.take(number);
        }
    }

    /// Takes a number out; says whether it was there.
    pub(crate) fn take(&mut self, number: usize) -> bool {
        let was = self.has(number);
        if was {
            self.words[number / 64] &= !(1 << (number % 64));
        }
        was
    }

    /// Keeps what is in the other set too.
    pub(crate) fn keep(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= other);
    }

    /// The set as words of 64 numbers, the lowest bit first.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The numbers in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(place, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                (left != 0).then(|| {
                    let bit = left.trailing_zeros() as usize;
                    left &= left - 1;
                    place * 64 + bit
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_added_and_nothing_beyond_its_size() {
        for size in [0, 1, 63, 64, 65, 200] {
            let all = Bits::all(size);
            assert_eq!((all.count(), all.iter().count()), (size, size));
            let mut bits = Bits::none(size);
            (0..size + 5).step_by(3).for_each(|number| bits.add(number));
            assert_eq!(bits.iter().collect::<Vec<_>>(), (0..size).step_by(3).collect::<Vec<_>>());
            assert!(!bits.has(size) && !bits.take(size));
            let mut grown = Bits::default();
            (0..size).for_each(|number| grown.push(number % 3 == 0));
            assert_eq!(grown, bits);
            bits.keep(&Bits::none(size));
            assert_eq!(bits.count(), 0);
            (0..size).for_each(|number| bits.set(number, true));
            assert_eq!(bits, all);
        }
    }
}
