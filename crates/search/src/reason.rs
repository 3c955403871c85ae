//! Reason: why an entry was found, in parts that people can read.
//!
//! Promises: a reason is taken from the stored entry and from the words of the question; nothing is invented.
//! Texts are cut to a line.

use agentsite_protocol::Reason;
use serde::{Deserialize, Serialize};

use crate::rank::Ranked;
use crate::{Entry, Passage};

/// Longest passage in a reason, in letters: two lines on a page.
const LONGEST_PASSAGE: usize = 200;

/// Sentences of a text among which the nearest is looked for.
pub(crate) const MOST_SENTENCES: usize = 16;

/// Words of the question that are named.
const MOST_MATCHED: usize = 16;

/// The texts of an entry as stored in its record.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Texts {
    name: String,
    text: String,
    passages: Vec<Passage>,
}

impl Texts {
    /// Writes the texts of an entry down.
    pub(crate) fn bytes(entry: &Entry) -> Vec<u8> {
        let texts =
            Self { name: entry.name.clone(), text: entry.text.clone(), passages: entry.passages.clone() };
        serde_json::to_vec(&texts).unwrap_or_default()
    }

    /// Reads them back.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// An entry with these texts and no facts.
    pub(crate) fn entry(self, id: &str) -> Entry {
        Entry { id: id.into(), name: self.name, text: self.text, passages: self.passages, ..Entry::default() }
    }

    /// The text behind a vector, and its skill: the whole is the first, passages follow.
    pub(crate) fn behind(&self, vector: usize) -> (Option<&str>, &str) {
        let passage = vector.checked_sub(1).and_then(|passage| self.passages.get(passage));
        match passage {
            Some(passage) => {
                (Some(passage.skill.as_str()).filter(|skill| !skill.is_empty()), passage.text.as_str())
            }
            None if self.text.is_empty() => (None, &self.name),
            None => (None, &self.text),
        }
    }
}

/// Cuts a text into sentences.
pub(crate) fn sentences(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut from = 0;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let ends = matches!(letter, '.' | '!' | '?' | ';')
            && letters.peek().is_none_or(|(_, next)| next.is_whitespace())
            || matches!(letter, '\n' | '。' | '！' | '？');
        if ends {
            let to = at + letter.len_utf8();
            all.push(text[from..to].trim());
            from = to;
        }
    }
    all.push(text[from..].trim());
    all.retain(|sentence| sentence.chars().any(char::is_alphanumeric));
    all.truncate(MOST_SENTENCES);
    all
}

/// The words of a question that an entry has, each once: `has` answers for the word at an index.
pub(crate) fn matched(said: &[(String, u64)], has: impl Fn(usize) -> bool) -> Vec<String> {
    let mut matched: Vec<String> = Vec::new();
    for (place, (word, _)) in said.iter().enumerate() {
        if matched.len() < MOST_MATCHED && !matched.contains(word) && has(place) {
            matched.push(word.clone());
        }
    }
    matched
}

/// Says why. `sentence` is the nearest of the text behind the nearest vector, as one [`line`].
pub(crate) fn explain(
    ranked: &Ranked,
    matched: Vec<String>,
    skill: Option<&str>,
    sentence: Option<&str>,
    model: &str,
) -> Reason {
    let compared = ranked.candidate.near.is_some();
    Reason {
        meaning: ranked.meaning,
        words: ranked.words,
        trust: ranked.trust,
        skill: skill.filter(|_| compared).map(str::to_owned),
        passage: sentence.map(str::to_owned),
        matched,
        newcomer: ranked.newcomer,
        model: if compared { model.to_owned() } else { String::new() },
    }
}

/// One line of at most [`LONGEST_PASSAGE`] letters.
pub(crate) fn line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(LONGEST_PASSAGE) {
        None => text,
        Some(_) => text.chars().take(LONGEST_PASSAGE - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_into_sentences_and_lines() {
        assert_eq!(
            sentences("Finds 3.5 flights. Cheap!  Really?\n\n"),
            ["Finds 3.5 flights.", "Cheap!", "Really?"]
        );
        assert_eq!(sentences("天気。予報です"), ["天気。", "予報です"]);
        assert_eq!(sentences(" … "), [""; 0]);
        assert_eq!(line(&"é ".repeat(500)).chars().count(), LONGEST_PASSAGE);
    }
}
