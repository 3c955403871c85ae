//! Answers: a cache of recent questions, so that the same question is not computed twice.
//!
//! Promises: a cached answer is used only while the index is unchanged: any change of any entry forgets all.
//! The time of day counts to the minute, because newcomers are newcomers for days. Only what is asked a
//! second time is kept, because most questions are not, and keeping an answer takes longer than finding it
//! does among few entries. It does not keep answers that lack a part.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::question::{Ask, FindResults};
use crate::rank::Blend;

/// Answers that are kept; some kilobytes each. When there are more all are forgotten, which costs as much as
/// one change of the index.
const MOST: usize = 256;

/// Longest question that is kept, as it is written down with its filters.
const LONGEST: usize = 2_048;

/// Hashes of recent questions, in this many rows of this many.
const ROWS: usize = 256;
const ROW: usize = 4;

/// Recent answers.
#[derive(Debug)]
pub(super) struct Answers {
    /// Each in the row of its hash, the last one first.
    asked: Vec<[AtomicU64; ROW]>,
    hasher: RandomState,
    kept: Mutex<CachedAnswers>,
}

impl Default for Answers {
    fn default() -> Self {
        let asked = (0..ROWS).map(|_| Default::default()).collect();
        Self { asked, hasher: RandomState::new(), kept: Mutex::default() }
    }
}

#[derive(Debug, Default)]
struct CachedAnswers {
    version: u64,
    answers: HashMap<String, FindResults>,
}

/// A question as answers are known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key(Option<String>);

impl Key {
    /// Everything of a question that its answer depends on.
    fn of(ask: &Ask, blend: Blend) -> Self {
        let Ask { text, filter, audience, limit, offset, now } = ask;
        if text.len() > LONGEST {
            return Self(None);
        }
        let minute = now.map(|now| now.as_millis() / 60_000);
        let key = format!("{text:?} {filter:?} {audience:?} {limit} {offset} {minute:?} {blend:?}");
        Self((key.len() <= LONGEST).then_some(key))
    }
}

impl Answers {
    /// What a question is known by; nothing when its text was not asked lately.
    pub(super) fn key(&self, ask: &Ask, blend: Blend) -> Key {
        let hash = self.hasher.hash_one(&ask.text).max(1);
        let row = &self.asked[hash as usize % ROWS];
        if row.iter().any(|asked| asked.load(Ordering::Relaxed) == hash) {
            return Key::of(ask, blend);
        }
        // Who comes between loses a memory, nothing else.
        let mut next = hash;
        for asked in row {
            next = asked.swap(next, Ordering::Relaxed);
        }
        Key(None)
    }

    /// The answer that was given in this version of the index.
    pub(super) fn get(&self, version: u64, Key(key): &Key) -> Option<FindResults> {
        let key = key.as_ref()?;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.version != version {
            return None;
        }
        kept.answers.get(key).cloned()
    }

    /// Keeps an answer that was given in a version of the index.
    pub(super) fn keep(&self, version: u64, Key(key): Key, found: &FindResults) {
        let (Some(key), None) = (key, &found.without) else { return };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.version != version || kept.answers.len() >= MOST {
            // An older version never takes the place of a newer one.
            if kept.version > version {
                return;
            }
            *kept = CachedAnswers { version, answers: HashMap::new() };
        }
        kept.answers.insert(key, found.clone());
    }
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::Timestamp;

    use super::*;
    use crate::Audience;

    fn found(considered: usize) -> FindResults {
        FindResults { considered, ..FindResults::default() }
    }

    #[test]
    fn an_answer_is_given_again_until_the_index_changes() {
        let answers = Answers::default();
        let key = Key::of(&Ask::of("weather", 10), Blend::Best);
        assert_eq!(answers.get(1, &key), None);
        answers.keep(1, key.clone(), &found(3));
        assert_eq!(answers.get(1, &key), Some(found(3)));
        assert_eq!((answers.get(2, &key), answers.get(0, &key)), (None, None));
        answers.keep(2, key.clone(), &found(4));
        answers.keep(1, key.clone(), &found(3));
        assert_eq!((answers.get(2, &key), answers.get(1, &key)), (Some(found(4)), None));
        let lacking = FindResults { without: Some("meaning".into()), ..found(1) };
        answers.keep(3, key.clone(), &lacking);
        assert_eq!(answers.get(3, &key), None);
    }

    #[test]
    fn questions_that_differ_in_anything_are_told_apart_and_minutes_are_not() {
        let plain = Ask { now: Some(Timestamp::from_millis(0)), ..Ask::of("weather", 10) };
        let mut filtered = plain.clone();
        filtered.filter.live = true;
        let others = [
            Ask { text: "weather ".into(), ..plain.clone() },
            Ask { limit: 11, ..plain.clone() },
            Ask { offset: 1, ..plain.clone() },
            Ask { audience: Audience::public(), ..plain.clone() },
            Ask { now: Some(Timestamp::from_millis(60_000)), ..plain.clone() },
            filtered,
        ];
        let key = Key::of(&plain, Blend::Best);
        others.iter().for_each(|other| assert_ne!(Key::of(other, Blend::Best), key));
        assert_ne!(Key::of(&plain, Blend::Words), key);
        assert_eq!(Key::of(&Ask { now: Some(Timestamp::from_millis(59_999)), ..plain }, Blend::Best), key);
        assert_eq!(Key::of(&Ask::of("x".repeat(LONGEST + 1), 10), Blend::Best), Key(None));
    }

    #[test]
    fn only_what_is_asked_again_has_a_key() {
        let answers = Answers::default();
        let ask = Ask::of("weather", 10);
        assert_eq!(answers.key(&ask, Blend::Best), Key(None));
        assert_eq!(answers.key(&ask, Blend::Best), Key::of(&ask, Blend::Best));
        answers.keep(1, Key(None), &found(3));
        assert_eq!(answers.get(1, &Key(None)), None);
    }

    #[test]
    fn only_so_many_are_kept() {
        let answers = Answers::default();
        let key = |number: usize| Key::of(&Ask::of(number.to_string(), 1), Blend::Best);
        (0..=MOST).for_each(|number| answers.keep(1, key(number), &found(number)));
        assert_eq!((answers.get(1, &key(0)), answers.get(1, &key(MOST))), (None, Some(found(MOST))));
    }
}
