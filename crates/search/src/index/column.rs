//! Column: one number for each entry of a segment, of which few differ.
//!
//! Promises: numbers come back as they were. While there are at most 256 different ones each entry takes a
//! byte; with more, all of them take four. It does not forget a number that nobody has any more until the
//! segment is joined.

/// One number for each entry.
#[derive(Debug, Clone, Default)]
pub(crate) struct Column {
    /// The different numbers.
    values: Vec<f32>,
    /// Which of them each entry has.
    places: Vec<u8>,
    /// The numbers themselves, when too many differ.
    plain: Vec<f32>,
}

impl Column {
    /// The number of an entry.
    #[inline]
    pub(crate) fn of(&self, entry: usize) -> f32 {
        self.places.get(entry).map_or_else(|| self.plain[entry], |place| self.values[usize::from(*place)])
    }

    /// Adds the number of the next entry.
    pub(crate) fn push(&mut self, value: f32) {
        match self.place(value) {
            Some(place) => self.places.push(place),
            None => self.plain.push(value),
        }
    }

    /// Gives an entry another number.
    pub(crate) fn set(&mut self, entry: usize, value: f32) {
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

    /// The place of a number among the different ones; `None` when numbers are kept plain, from now on at the
    /// latest.
    fn place(&mut self, value: f32) -> Option<u8> {
        if !self.plain.is_empty() {
            return None;
        }
        let known = self.values.iter().position(|other| other.to_bits() == value.to_bits());
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
