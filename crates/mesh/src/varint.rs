//! Whole numbers of variable length, and a reader of foreign bytes that cannot run past their end.
//!
//! Promises: seven bits to a byte, highest first, as negentropy writes them. Only the shortest form of a
//! number is taken, so that a message has one encoding.

/// The bytes end too early, or a number is not in its shortest form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Truncated;

/// Appends a number.
pub(crate) fn write(number: u64, out: &mut Vec<u8>) {
    let groups = length(number);
    for group in (0..groups).rev() {
        let low = u8::try_from(number >> (7 * group) & 0x7f).expect("seven bits fit a byte");
        out.push(if group == 0 { low } else { low | 0x80 });
    }
}

/// How many bytes a number takes.
pub(crate) fn length(number: u64) -> usize {
    let bits = 64 - number.leading_zeros() as usize;
    bits.div_ceil(7).max(1)
}

/// Foreign bytes, read from the front.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Truncated> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Truncated> {
        self.take(N)?.try_into().map_err(|_| Truncated)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Truncated> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn number(&mut self) -> Result<u64, Truncated> {
        let mut number = 0_u64;
        loop {
            let byte = self.byte()?;
            let is_padding = number == 0 && byte == 0x80;
            if is_padding || number > u64::MAX >> 7 {
                return Err(Truncated);
            }
            number = number << 7 | u64::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
    }

    /// A number that counts or measures something in memory.
    pub(crate) fn count(&mut self) -> Result<usize, Truncated> {
        usize::try_from(self.number()?).map_err(|_| Truncated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn padded_and_endless_numbers_are_refused() {
        assert_eq!(Reader::new(&[0x80, 0x01]).number(), Err(Truncated));
        assert_eq!(Reader::new(&[0xff; 11]).number(), Err(Truncated));
        assert_eq!(Reader::new(&[0x81]).number(), Err(Truncated));
        assert_eq!(Reader::new(&[0x81, 0x00]).number(), Ok(128));
    }

    proptest! {
        #[test]
        fn numbers_come_back(number: u64) {
            let mut bytes = Vec::new();
            write(number, &mut bytes);
            prop_assert_eq!(bytes.len(), length(number));
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(reader.number(), Ok(number));
            prop_assert!(reader.is_empty());
        }
    }
}
