//! Column: one value for each entry of a segment, of which few differ.
//!
//! Promises: values come back as they were. While there are at most 256 different ones each entry takes a
//! byte; with more, each takes its full size. It does not forget a value that no entry has any more until the
//! segment is joined.

/// One value for each entry.
#[derive(Debug, Clone)]
pub(crate) struct Column<T> {
    /// The different values.
    values: Vec<T>,
    /// Which of them each entry has.
    places: Vec<u8>,
    /// The values themselves, when too many differ.
    plain: Vec<T>,
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self { values: Vec::new(), places: Vec::new(), plain: Vec::new() }
    }
}

impl<T: Copy + PartialEq> Column<T> {
    /// The value of an entry.
    #[inline]
    pub(crate) fn of(&self, entry: usize) -> T {
        self.places.get(entry).map_or_else(|| self.plain[entry], |place| self.values[usize::from(*place)])
    }

    /// Adds the value of the next entry.
    pub(crate) fn push(&mut self, value: T) {
        match self.place(value) {
            Some(place) => self.places.push(place),
            None => self.plain.push(value),
        }
    }

    /// Gives an entry another value.
    pub(crate) fn set(&mut self, entry: usize, value: T) {
        match self.place(value) {
            Some(place) => self.places[entry] = place,
            None => self.plain[entry] = value,
        }
    }

    /// Gives back memory that was taken in advance.
    pub(crate) fn settle(&mut self) {
        self.values.shrink_to_fit();
        self.places.shrink_to_fit();
        self.plain.shrink_to_fit();
    }

    /// The place of a value among the different ones; `None` when values are kept plain, from now on at the
    /// latest.
    fn place(&mut self, value: T) -> Option<u8> {
        if !self.plain.is_empty() {
            return None;
        }
        let known = self.values.iter().position(|other| *other == value);
        let place = known.unwrap_or(self.values.len());
        let Ok(code) = u8::try_from(place) else {
            self.plain = (0..self.places.len()).map(|entry| self.of(entry)).collect();
            (self.places, self.values) = (Vec::new(), Vec::new());
            return None;
        };
        if known.is_none() {
            self.values.push(value);
        }
        Some(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_as_they_were_however_many_differ() {
        for different in [1, 3, 256, 257, 700] {
            let mut column = Column::default();
            let number = |entry: usize| (entry % different) as f32 / 7.0;
            (0..1_000).for_each(|entry| column.push(number(entry)));
            column.settle();
            assert!((0..1_000).all(|entry| column.of(entry) == number(entry)), "{different}");
            assert_eq!(column.plain.is_empty(), different <= 256);
            column.set(5, -1.0);
            column.set(6, number(0));
            let expected = |entry| {
                [-1.0, number(0)].get(usize::wrapping_sub(entry, 5)).copied().unwrap_or(number(entry))
            };
            assert!((0..1_000).all(|entry| column.of(entry) == expected(entry)), "{different}");
        }
    }
}
