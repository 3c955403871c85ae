//! Recent: the vectors of the texts asked for last.
//!
//! Promises: bounded in texts and bytes; the least recently used one is dropped first. It is plain data
//! without a lock.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// How many texts are kept: the questions of a busy hour.
const MOST_TEXTS: usize = 2048;
/// How many bytes of texts and vectors: a vector has 1.5 kB.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// Longer texts are documents, not questions.
const LONGEST_TEXT: usize = 2048;

/// The texts and their vectors.
#[derive(Debug, Default)]
pub(super) struct Recent {
    vectors: HashMap<Arc<str>, (u64, Box<[f32]>)>,
    order: BTreeMap<u64, Arc<str>>,
    bytes: usize,
    tick: u64,
}

impl Recent {
    /// The vector of a text, which becomes the most recent.
    pub(super) fn get(&mut self, text: &str) -> Option<Box<[f32]>> {
        let (asked, values) = self.vectors.get_mut(text)?;
        let text = self.order.remove(asked)?;
        self.tick += 1;
        *asked = self.tick;
        self.order.insert(self.tick, text);
        Some(values.clone())
    }

    /// Keeps a vector, and lets go of the oldest as far as needed.
    pub(super) fn put(&mut self, text: &str, values: &[f32]) {
        if text.len() > LONGEST_TEXT || self.get(text).is_some() {
            return;
        }
        self.tick += 1;
        let key: Arc<str> = text.into();
        self.bytes += weight(text, values);
        self.vectors.insert(Arc::clone(&key), (self.tick, values.into()));
        self.order.insert(self.tick, key);
        while self.vectors.len() > MOST_TEXTS || self.bytes > MOST_BYTES {
            let Some((_, oldest)) = self.order.pop_first() else { break };
            if let Some((_, values)) = self.vectors.remove(&oldest) {
                self.bytes -= weight(&oldest, &values);
            }
        }
    }
}

fn weight(text: &str, values: &[f32]) -> usize {
    text.len() + size_of_val(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_not_asked_for_the_longest_goes_first() {
        let mut recent = Recent::default();
        for number in 0..MOST_TEXTS {
            recent.put(&number.to_string(), &[number as f32]);
        }
        assert_eq!(recent.get("0").as_deref(), Some(&[0.0][..]));
        recent.put("one more", &[1.0]);
        assert!(recent.get("0").is_some());
        assert!(recent.get("1").is_none());
        assert_eq!((recent.vectors.len(), recent.order.len()), (MOST_TEXTS, MOST_TEXTS));
    }

    #[test]
    fn bytes_are_bounded_too() {
        let mut recent = Recent::default();
        for number in 0..200 {
            recent.put(&number.to_string(), &[0.5; 16_384]);
            assert!(recent.bytes <= MOST_BYTES);
        }
        assert!(recent.vectors.len() > 10);
        recent.put(&"long".repeat(LONGEST_TEXT), &[1.0]);
        assert!(recent.get(&"long".repeat(LONGEST_TEXT)).is_none());
    }
}
