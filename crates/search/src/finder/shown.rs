//! Shown: texts of entries that were shown lately, cut into sentences, with the vectors that choose among
//! them.
//!
//! Promises: never more than [`MOST_BYTES`]; what was not shown for longest goes first, half of all at a
//! time. A text is known by the number of its entry, which is another whenever the entry is put again, so
//! nothing old is ever shown. It does not read and does not encode.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::index::coded::Coded;
use crate::reason::line;
use crate::simd::Lanes;

/// Bytes that are kept: some six thousand texts of five sentences.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// What a text and a sentence of it take besides their letters and numbers.
const BESIDE: usize = 96;

/// Which text: the number of an entry, and which of its vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) serial: u32,
    pub(super) vector: u32,
}

/// A text in sentences.
#[derive(Debug, PartialEq)]
pub(super) struct Piece {
    skill: Option<String>,
    sentences: Vec<Sentence>,
}

#[derive(Debug, PartialEq)]
struct Sentence {
    /// As it is shown.
    line: String,
    /// Its vector in whole numbers and their factor; none where there is nothing to choose.
    codes: Box<[i8]>,
    scale: f32,
}

impl Piece {
    /// Sentences without their vectors.
    pub(super) fn of(skill: Option<&str>, sentences: &[&str]) -> Self {
        let sentence = |text: &&str| Sentence { line: line(text), codes: Box::default(), scale: 0.0 };
        Self { skill: skill.map(str::to_owned), sentences: sentences.iter().map(sentence).collect() }
    }

    /// Takes one vector for each sentence, if there are several.
    pub(super) fn take_vectors<'a>(&mut self, vectors: &mut impl Iterator<Item = &'a Box<[f32]>>) {
        if self.sentences.len() < 2 {
            return;
        }
        for (sentence, vector) in self.sentences.iter_mut().zip(vectors) {
            if let Some(coded) = Coded::of(vector) {
                (sentence.codes, sentence.scale) = (coded.codes.into(), coded.scale);
            }
        }
    }

    /// The skill, and the sentence that is nearest to the question; the first when that is unknown.
    pub(super) fn fitting(&self, query: Option<&Coded>) -> (Option<&str>, Option<&str>) {
        let lanes = Lanes::best();
        let near = |sentence: &Sentence| match query {
            Some(query) => lanes.dot(&sentence.codes, &query.codes) as f32 * sentence.scale,
            None => 0.0,
        };
        let near = self.sentences.iter().map(|sentence| (near(sentence), sentence.line.as_str()));
        let best = near.reduce(|best, next| if next.0 > best.0 { next } else { best });
        (self.skill.as_deref(), best.map(|(_, line)| line))
    }

    fn bytes(&self) -> usize {
        let each = |sentence: &Sentence| BESIDE + sentence.line.len() + sentence.codes.len();
        BESIDE + self.sentences.iter().map(each).sum::<usize>()
    }
}

/// The texts.
#[derive(Debug, Default)]
pub(super) struct Shown(Mutex<ShownHalves>);

/// Two halves: what was shown since the young one was begun, and what was shown before.
#[derive(Debug, Default)]
struct ShownHalves {
    young: HashMap<Key, Arc<Piece>>,
    old: HashMap<Key, Arc<Piece>>,
    /// Bytes of the young half.
    bytes: usize,
}

impl ShownHalves {
    fn keep(&mut self, key: Key, piece: Arc<Piece>) {
        let bytes = piece.bytes();
        if bytes > MOST_BYTES / 2 || self.young.contains_key(&key) {
            return;
        }
        if self.bytes + bytes > MOST_BYTES / 2 {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        self.bytes += bytes;
        self.young.insert(key, piece);
    }
}

impl Shown {
    /// The cached texts.
    pub(super) fn get(&self, keys: &[Key]) -> Vec<Option<Arc<Piece>>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut get = |key: &Key| {
            if let Some(piece) = kept.young.get(key) {
                return Some(Arc::clone(piece));
            }
            let piece = kept.old.remove(key)?;
            kept.keep(*key, Arc::clone(&piece));
            Some(piece)
        };
        keys.iter().map(&mut get).collect()
    }

    /// Keeps texts.
    pub(super) fn keep(&self, pieces: impl Iterator<Item = (Key, Arc<Piece>)>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.for_each(|(key, piece)| kept.keep(key, piece));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(letters: usize) -> Arc<Piece> {
        Arc::new(Piece::of(Some("skill"), &["x".repeat(letters).as_str()]))
    }

    fn key(serial: u32) -> Key {
        Key { serial, vector: 0 }
    }

    #[test]
    fn the_nearest_sentence_fits_and_the_first_where_nobody_can_say() {
        let mut piece = Piece::of(None, &["It sings.", "It  cooks."]);
        assert_eq!(piece.fitting(None), (None, Some("It sings.")));
        piece.take_vectors(&mut [Box::from([1.0, 0.0]), Box::from([0.0, 2.0])].iter());
        let query = Coded::of(&[0.2, 0.8]).unwrap();
        assert_eq!(piece.fitting(Some(&query)), (None, Some("It cooks.")));
        assert_eq!(piece.fitting(None), (None, Some("It sings.")));
        let none = Piece::of(Some("sing"), &[]);
        assert_eq!(none.fitting(Some(&query)), (Some("sing"), None));
    }

    #[test]
    fn what_is_shown_again_and_again_stays_and_the_bytes_are_bounded() {
        let shown = Shown::default();
        let (popular, size) = (key(u32::MAX), piece(150).bytes());
        shown.keep([(popular, piece(150))].into_iter());
        let many = u32::try_from(3 * MOST_BYTES / size).unwrap();
        for serial in 0..many {
            shown.keep([(key(serial), piece(150))].into_iter());
            assert!(shown.get(&[popular])[0].is_some(), "{serial}");
        }
        let kept = shown.0.lock().unwrap();
        assert!((kept.young.len() + kept.old.len()) * size <= MOST_BYTES);
        drop(kept);
        assert_eq!(shown.get(&[key(0)]), [None], "who was not shown again is gone");
        assert!(shown.get(&[key(many - 1), Key { serial: many - 1, vector: 1 }])[1].is_none());
    }
}
