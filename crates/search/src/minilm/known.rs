//! Known: vectors that were made when the program was built, so that its built-in agents are found without
//! the weights.
//!
//! Promises: a text has the vector that the encoder would give it, to the bit; a text that differs in one
//! letter has none and is encoded. A file of another model counts as empty. `cargo xtask generate` writes the
//! file and notices when it is out of date. All numbers are little-endian: `AGSKNO01`; length and name of the
//! model; numbers of a vector; how many texts; for each text in order its length, its bytes, and its vector
//! as f32.

use super::weights::WIDTH;

static FILE: &[u8] = include_bytes!("../../model/known.f32");
const MAGIC: &[u8; 8] = b"AGSKNO01";

/// Texts with their vectors, in place in the binary; in order of the text.
#[derive(Debug, Default)]
pub(super) struct Known(Vec<(&'static str, &'static [u8])>);

impl Known {
    /// The texts that the program carries vectors of, as far as this model made them.
    pub(super) fn carried(model: &str) -> Self {
        read(FILE, model).map(Self).unwrap_or_default()
    }

    /// Whether a text has a vector.
    pub(super) fn has(&self, text: &str) -> bool {
        self.place(text).is_some()
    }

    /// The vector of a text.
    pub(super) fn get(&self, text: &str) -> Option<Box<[f32]>> {
        let (_, numbers) = self.0[self.place(text)?];
        let (numbers, _) = numbers.as_chunks::<4>();
        Some(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    fn place(&self, text: &str) -> Option<usize> {
        self.0.binary_search_by_key(&text, |(known, _)| known).ok()
    }

    /// The texts, in order.
    #[cfg(test)]
    pub(super) fn texts(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(text, _)| *text)
    }
}

/// Writes texts and their vectors as [`Known::carried`] reads them; the texts are in order and each is there
/// once.
pub(super) fn write(model: &str, vectors: &[(&str, &[f32])]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    let number = |file: &mut Vec<u8>, number: usize| {
        file.extend(u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
    };
    let text = |file: &mut Vec<u8>, text: &str| {
        number(file, text.len());
        file.extend(text.as_bytes());
    };
    text(&mut file, model);
    number(&mut file, WIDTH);
    number(&mut file, vectors.len());
    for (known, values) in vectors {
        text(&mut file, known);
        values.iter().for_each(|value| file.extend(value.to_le_bytes()));
    }
    file
}

/// Reads a file; `None` when it is of another model or damaged.
fn read(file: &'static [u8], model: &str) -> Option<Vec<(&'static str, &'static [u8])>> {
    let mut rest = file.strip_prefix(MAGIC)?;
    let made_by = text(&mut rest)?;
    let (width, count) = (number(&mut rest)?, number(&mut rest)?);
    if made_by != model || width != WIDTH {
        return None;
    }
    let mut vectors = Vec::new();
    for _ in 0..count {
        let known = text(&mut rest)?;
        vectors.push((known, rest.split_off(..WIDTH * 4)?));
    }
    (rest.is_empty() && vectors.is_sorted_by(|one, next| one.0 < next.0)).then_some(vectors)
}

fn number(rest: &mut &'static [u8]) -> Option<usize> {
    let (number, left) = rest.split_first_chunk::<4>()?;
    *rest = left;
    usize::try_from(u32::from_le_bytes(*number)).ok()
}

fn text(rest: &mut &'static [u8]) -> Option<&'static str> {
    let length = number(rest)?;
    std::str::from_utf8(rest.split_off(..length)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(model: &str) -> &'static [u8] {
        let (one, two) = ([1.0; WIDTH], [-0.25; WIDTH]);
        write(model, &[("a", &one), ("über", &two)]).leak()
    }

    #[test]
    fn what_was_written_is_read_and_nothing_else_is_known() {
        let known = Known(read(file("m"), "m").unwrap());
        assert_eq!(known.get("über").as_deref(), Some(&[-0.25; WIDTH][..]));
        assert!(known.has("a") && !known.has("A") && !known.has("") && known.get("b").is_none());
    }

    #[test]
    fn a_file_of_another_model_or_a_damaged_one_knows_nothing() {
        let whole = file("m");
        assert!(read(whole, "other").is_none());
        for length in 0..whole.len() {
            assert!(read(&whole[..length], "m").is_none(), "{length}");
        }
    }

    #[test]
    fn the_carried_file_is_of_the_model_that_the_program_has() {
        assert!(
            read(FILE, super::super::MiniLm::load().model.as_str()).is_some_and(|texts| !texts.is_empty())
        );
    }
}
