//! WordPiece: a text as numbers of the model's vocabulary.
//!
//! Promises: the tokens of BERT's uncased tokenizer: control characters dropped, Chinese characters apart,
//! accents stripped, lower case, words and punctuation apart, then the longest known beginning of what is
//! left, again and again. Never fails, and reads no more of a text than its tokens need. Names of special
//! tokens in a text, such as `[SEP]`, are plain words here: a text cannot reach the model's own marks.

use std::sync::LazyLock;

use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_properties::props::GeneralCategory;
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};

static VOCABULARY: &str = include_str!("../model/vocab.txt");
const NORMALIZER: DecomposingNormalizerBorrowed<'static> = DecomposingNormalizerBorrowed::new_nfd();
const CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> =
    CodePointMapData::<GeneralCategory>::new();

/// Longer words are unknown as a whole; from the reference.
const LONGEST_WORD: usize = 100;
/// How many bytes of a text are read: 256 tokens of ordinary text take two thousand, and a text of only
/// spaces must end too.
const LONGEST_TEXT: usize = 65_536;
/// Places of the hash table, over twice the words.
const PLACES: usize = 1 << 16;

const UNKNOWN: u32 = 100;
const BEGIN: u32 = 101;
const END: u32 = 102;

/// The tokenizer of all-MiniLM-L6-v2.
#[derive(Debug)]
pub struct WordPiece {
    /// Where each word of the vocabulary begins, and the end.
    starts: Vec<u32>,
    /// The number of a word plus one, and a part of its hash above it, at the place of its hash or after it;
    /// 0 is free.
    places: Vec<u32>,
    /// Bytes of the longest word of the vocabulary.
    longest: usize,
}

static OURS: LazyLock<WordPiece> = LazyLock::new(WordPiece::new);

impl WordPiece {
    /// The one over the embedded vocabulary; made at the first call.
    #[must_use]
    pub fn ours() -> &'static Self {
        &OURS
    }

    /// The tokens of a text between the marks of its begin and end, `at_most` in all.
    #[must_use]
    pub fn tokens(&self, text: &str, at_most: usize) -> Vec<u32> {
        let mut out = vec![BEGIN];
        self.read(text, at_most.saturating_sub(1), &mut out);
        out.push(END);
        out
    }

    /// The vocabulary, in the order of its numbers.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        (0..self.starts.len() - 1).map(|number| self.word(number))
    }

    /// Adds the tokens of a text, without marks, until there are `at_most`.
    pub(crate) fn read(&self, text: &str, at_most: usize, out: &mut Vec<u32>) {
        let mut words = Words { own: self, word: String::new(), letters: 0, at_most, out };
        let mut rest = &text[..text.floor_char_boundary(LONGEST_TEXT)];
        while !rest.is_empty() && words.out.len() < at_most {
            let ascii = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
            let (plain, other) = rest.split_at(ascii);
            plain.bytes().for_each(|byte| words.ascii(byte));
            let foreign = other.bytes().position(|byte| byte.is_ascii()).unwrap_or(other.len());
            let (foreign, after) = other.split_at(foreign);
            words.foreign(foreign);
            rest = after;
        }
        words.close();
    }

    fn new() -> Self {
        let mut starts = vec![0];
        let ends = VOCABULARY.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        starts.extend(ends.map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX)));
        let mut own = Self { starts, places: vec![0; PLACES], longest: 0 };
        for number in 0..own.starts.len() - 1 {
            let word = own.word(number);
            let hash = word.bytes().fold(SEED, mix);
            let mut place = place(hash);
            own.longest = own.longest.max(word.len());
            while own.places[place] != 0 {
                place = (place + 1) % PLACES;
            }
            own.places[place] = mark(hash) | u32::from(u16::try_from(number + 1).unwrap_or_default());
        }
        own
    }

    fn word(&self, number: usize) -> &'static str {
        let [from, to] = [self.starts[number], self.starts[number + 1]].map(|at| at as usize);
        // Behind each word there is the end of its line.
        &VOCABULARY[from..to - 1]
    }

    /// The number of the word that is `prefix` and then `piece`, whose hash is given.
    fn number(&self, hash: u64, prefix: &str, piece: &str) -> Option<u32> {
        let mut place = place(hash);
        loop {
            let found = self.places[place];
            if found == 0 {
                return None;
            }
            // Most other words are rejected by a few bits, without comparing their letters.
            if found & !NUMBER == mark(hash) {
                let number = (found & NUMBER) - 1;
                if self.word(number as usize).strip_prefix(prefix) == Some(piece) {
                    return Some(number);
                }
            }
            place = (place + 1) % PLACES;
        }
    }

    /// Splits a word into pieces; unknown as a whole when a rest matches no piece.
    fn pieces(&self, word: &str, out: &mut Vec<u32>) {
        let begun = out.len();
        let mut rest = word;
        while !rest.is_empty() {
            let prefix = if rest.len() == word.len() { "" } else { "##" };
            let Some((number, length)) = self.longest(prefix, rest) else {
                out.truncate(begun);
                out.push(UNKNOWN);
                return;
            };
            out.push(number);
            rest = &rest[length..];
        }
    }

    /// The longest beginning of `rest` that is a word with this prefix, and its length.
    fn longest(&self, prefix: &str, rest: &str) -> Option<(u32, usize)> {
        let mut hashes = [0; 64];
        let reach = rest.len().min(self.longest).min(hashes.len());
        let mut hash = prefix.bytes().fold(SEED, mix);
        for (at, byte) in rest.bytes().take(reach).enumerate() {
            hash = mix(hash, byte);
            hashes[at] = hash;
        }
        let ends = (1..=reach).rev().filter(|end| rest.is_char_boundary(*end));
        ends.into_iter().find_map(|end| Some((self.number(hashes[end - 1], prefix, &rest[..end])?, end)))
    }
}

const SEED: u64 = 0xcbf2_9ce4_8422_2325;

fn mix(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

fn place(hash: u64) -> usize {
    usize::try_from((hash ^ hash >> 32) % PLACES as u64).unwrap_or_default()
}

/// The bits of a place that hold a number.
const NUMBER: u32 = 0xffff;

/// What is stored of a hash next to a number: bits that do not choose the slot.
const fn mark(hash: u64) -> u32 {
    (hash >> 16) as u32 & !NUMBER
}

/// A text being read: the word so far and the tokens so far.
struct Words<'a> {
    own: &'a WordPiece,
    word: String,
    letters: usize,
    at_most: usize,
    out: &'a mut Vec<u32>,
}

impl Words<'_> {
    fn ascii(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => self.close(),
            0..32 | 127 => {}
            _ if byte.is_ascii_punctuation() => self.alone(char::from(byte)),
            _ => self.letter(char::from(byte.to_ascii_lowercase())),
        }
    }

    /// Reads what is not ASCII. Its normal form does not depend on its neighbours.
    fn foreign(&mut self, text: &str) {
        let clean = text.chars().filter(|letter| !is_dropped(*letter)).flat_map(|letter| {
            let apart = if is_chinese(letter) { Some(' ') } else { None };
            apart.into_iter().chain([letter]).chain(apart)
        });
        for letter in NORMALIZER.normalize_iter(clean) {
            if letter.is_whitespace() {
                self.close();
            } else if letter.is_ascii() {
                self.ascii(letter as u8);
            } else {
                match CATEGORIES.get(letter) {
                    GeneralCategory::NonspacingMark => {}
                    category if is_punctuation(category) => self.alone(letter),
                    _ => letter.to_lowercase().for_each(|letter| self.letter(letter)),
                }
            }
        }
    }

    fn letter(&mut self, letter: char) {
        self.letters += 1;
        if self.letters <= LONGEST_WORD {
            self.word.push(letter);
        }
    }

    fn alone(&mut self, letter: char) {
        self.close();
        self.letter(letter);
        self.close();
    }

    fn close(&mut self) {
        if self.letters > 0 && self.out.len() < self.at_most {
            if self.letters > LONGEST_WORD {
                self.out.push(UNKNOWN);
            } else {
                self.own.pieces(&self.word, self.out);
                self.out.truncate(self.at_most);
            }
        }
        self.word.clear();
        self.letters = 0;
    }
}

/// Control and format characters and those without a public meaning.
fn is_dropped(letter: char) -> bool {
    letter == char::REPLACEMENT_CHARACTER
        || matches!(
            CATEGORIES.get(letter),
            GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::PrivateUse
                | GeneralCategory::Surrogate
        )
}

fn is_punctuation(category: GeneralCategory) -> bool {
    matches!(
        category,
        GeneralCategory::ConnectorPunctuation
            | GeneralCategory::DashPunctuation
            | GeneralCategory::OpenPunctuation
            | GeneralCategory::ClosePunctuation
            | GeneralCategory::InitialPunctuation
            | GeneralCategory::FinalPunctuation
            | GeneralCategory::OtherPunctuation
    )
}

/// The blocks of Chinese characters, as the reference counts them.
fn is_chinese(letter: char) -> bool {
    matches!(letter,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}' | '\u{2b740}'..='\u{2b81f}' | '\u{2b820}'..='\u{2ceaf}' | '\u{2f800}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Case {
        text: String,
        ids: Vec<u32>,
    }

    #[test]
    fn tokens_are_those_of_the_reference() {
        let cases: Vec<Case> = serde_json::from_str(include_str!("../tests/golden/wordpiece.json")).unwrap();
        for Case { text, ids } in cases {
            assert_eq!(WordPiece::ours().tokens(&text, 256), ids, "{text:?}");
        }
    }

    #[test]
    fn a_text_cannot_write_the_marks_of_the_model() {
        let tokens = WordPiece::ours().tokens("[CLS] one [SEP] two [PAD]", 256);
        assert!(tokens[1..tokens.len() - 1].iter().all(|token| *token > END), "{tokens:?}");
    }

    #[test]
    fn a_very_long_text_is_read_as_far_as_needed() {
        for text in
            ["word ".repeat(300_000), "x".repeat(1_000_000), " ".repeat(1_000_000), "。".repeat(400_000)]
        {
            assert!(WordPiece::ours().tokens(&text, 256).len() <= 256);
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_known_tokens_between_the_marks(text in any::<String>(), at_most in 2_usize..40) {
            let tokens = WordPiece::ours().tokens(&text, at_most);
            prop_assert!(tokens.len() <= at_most);
            prop_assert_eq!((tokens[0], tokens[tokens.len() - 1]), (BEGIN, END));
            prop_assert!(tokens.iter().all(|token| (UNKNOWN..30_522).contains(token)));
        }

        #[test]
        fn case_and_spaces_make_no_difference(words in prop::collection::vec("[a-z]{1,12}", 0..8)) {
            let ours = WordPiece::ours();
            let loud = words.join(" \t\n ").to_uppercase();
            prop_assert_eq!(ours.tokens(&words.join(" "), 256), ours.tokens(&loud, 256));
        }
    }
}
