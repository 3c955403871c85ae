//! Reading: an entry as the index takes it in.
//!
//! Promises: for any entry, its reading is within the limits named here; nothing is refused, the excess is
//! left out. A duplicate passage counts once, so repeating it does not help. It does not make vectors.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Entry, Facts, Passage, words};

/// Longest text of a kind, in bytes. Models read a page at most.
pub(crate) const LONGEST_TEXT: usize = 8 * 1024;

/// Longest id, name, skill or value of a fact, in bytes.
pub(crate) const LONGEST_NAME: usize = 512;

/// Bytes of all texts of an entry together; enough for every real card.
pub(crate) const LONGEST_ENTRY: usize = 64 * 1024;

/// Vectors of an entry: one for the whole and one for each of its first passages. More would let one card
/// crowd the others out of the scan, and the cost of a scan grows with them. Words of later passages still
/// count.
pub(crate) const MOST_VECTORS: usize = 32;

/// Passages that are read for their words.
pub(crate) const MOST_PASSAGES: usize = 256;

/// Different terms of an entry, and different pairs of them; the first ones count.
pub(crate) const MOST_TERMS: usize = 4096;

/// Values of one fact.
pub(crate) const MOST_VALUES: usize = 64;

/// How often a term in each field counts.
const NAME_WEIGHT: u8 = 1;
const TEXT_WEIGHT: u8 = 1;

/// An entry cut to the limits, with its terms counted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reading {
    /// The entry as it is kept.
    pub(crate) entry: Entry,
    /// How often each term and each pair of neighbouring terms occurs in it, by weight of the field; in order
    /// of the term.
    pub(crate) terms: Vec<(u64, u8)>,
    /// All of its terms, by weight; pairs are not counted.
    pub(crate) length: u32,
}

impl Reading {
    /// Reads an entry.
    pub(crate) fn of(mut entry: Entry) -> Self {
        trim(&mut entry);
        let mut count = Count::default();
        count.add(&entry.name, NAME_WEIGHT);
        count.add(&entry.text, TEXT_WEIGHT);
        let mut skills = BTreeSet::new();
        for passage in &entry.passages {
            if skills.insert(&passage.skill) {
                count.add(&passage.skill, TEXT_WEIGHT);
            }
            count.add(&passage.text, TEXT_WEIGHT);
        }
        entry.facts.tags.iter().for_each(|tag| count.add(tag, TEXT_WEIGHT));
        count.terms.append(&mut count.pairs);
        Self { terms: count.terms.into_iter().collect(), length: count.length, entry }
    }

    /// The texts that get a vector: what it says of itself first (its name where it says nothing), then
    /// passages in order.
    pub(crate) fn texts(&self) -> Vec<String> {
        let Entry { name, text, passages, .. } = &self.entry;
        let first = if text.trim().is_empty() { spaced(name) } else { text.clone() };
        let passages = passages.iter().take(MOST_VECTORS - 1).map(|passage| passage.text.clone());
        std::iter::once(first).chain(passages).collect()
    }

    /// The name as text, which shifts the first vector slightly; `None` where there is no other text.
    pub(crate) fn title(&self) -> Option<String> {
        let title = spaced(&self.entry.name);
        let has_both = !self.entry.text.trim().is_empty() && title.contains(char::is_alphanumeric);
        has_both.then_some(title)
    }
}

/// `getWeather_now` as words with spaces.
fn spaced(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    let mut before = ' ';
    for letter in name.chars() {
        if matches!(letter, '_' | '-' | '.' | '/' | ':') {
            if before != ' ' {
                out.push(' ');
            }
            before = ' ';
            continue;
        }
        if letter.is_uppercase() && (before.is_lowercase() || before.is_numeric()) {
            out.push(' ');
        }
        out.push(letter);
        before = letter;
    }
    out.truncate(out.trim_end().len());
    out
}

#[derive(Default)]
struct Count {
    terms: BTreeMap<u64, u8>,
    pairs: BTreeMap<u64, u8>,
    length: u32,
}

impl Count {
    fn add(&mut self, text: &str, weight: u8) {
        let mut pairs = words::Pairs::default();
        words::read(text, &mut |word| {
            self.length = self.length.saturating_add(u32::from(weight));
            count(&mut self.terms, word.term, weight);
            if let Some(pair) = pairs.next(word) {
                count(&mut self.pairs, pair, weight);
            }
            true
        });
    }
}

fn count(terms: &mut BTreeMap<u64, u8>, term: u64, weight: u8) {
    let space = terms.len() < MOST_TERMS;
    match terms.get_mut(&term) {
        Some(count) => *count = count.saturating_add(weight),
        None if space => drop(terms.insert(term, weight)),
        None => {}
    }
}

/// Cuts everything to the limits.
fn trim(entry: &mut Entry) {
    shorten(&mut entry.name, LONGEST_NAME);
    shorten(&mut entry.text, LONGEST_TEXT);
    let mut space = LONGEST_ENTRY - entry.name.len() - entry.text.len();
    let mut seen = BTreeSet::new();
    let mut kept = Vec::new();
    let given = entry.passages.len();
    for mut passage in std::mem::take(&mut entry.passages) {
        shorten(&mut passage.skill, LONGEST_NAME);
        shorten(&mut passage.text, LONGEST_TEXT);
        let size = passage.skill.len() + passage.text.len();
        if kept.len() == MOST_PASSAGES || size > space {
            break;
        }
        if !passage.text.trim().is_empty() && seen.insert(passage.text.trim().to_lowercase()) {
            space -= size;
            kept.push(passage);
        }
    }
    if kept.len() != given || kept.len() >= MOST_VECTORS {
        // Places have moved, so it is not known any more which vector belongs to which passage.
        entry.vectors = None;
    }
    entry.passages = spread(kept);
    trim_facts(&mut entry.facts);
}

/// With more passages than vectors, the first of each skill goes before the examples, so that each skill
/// keeps a vector.
fn spread(passages: Vec<Passage>) -> Vec<Passage> {
    if passages.len() < MOST_VECTORS {
        return passages;
    }
    let mut skills = BTreeSet::new();
    let (first, later): (Vec<_>, Vec<_>) =
        passages.into_iter().partition(|passage| skills.insert(passage.skill.clone()));
    first.into_iter().chain(later).collect()
}

/// Cuts facts to the limits; numbers that are none count as not said.
pub(crate) fn trim_facts(facts: &mut Facts) {
    shorten(&mut facts.owner, LONGEST_NAME);
    for list in [&mut facts.tags, &mut facts.protocols, &mut facts.input_modes, &mut facts.output_modes] {
        list.truncate(MOST_VALUES);
        list.iter_mut().for_each(|value| shorten(value, LONGEST_NAME));
    }
    if let Some(region) = &mut facts.region {
        shorten(region, LONGEST_NAME);
    }
    facts.trust = if facts.trust.is_finite() { facts.trust.clamp(0.0, 1.0) } else { 0.5 };
}

/// Cuts a text at a letter.
pub(crate) fn shorten(text: &mut String, most: usize) {
    text.truncate(text.floor_char_boundary(most));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_skills_and_a_book_are_cut_to_the_limits() {
        let passages = (0..10_000).map(|number| Passage {
            skill: format!("skill {}", number / 2),
            text: format!("does thing {number} {}", "é".repeat(20)),
            example: number % 2 == 1,
        });
        let entry = Entry {
            id: "big".into(),
            name: "n".repeat(100_000),
            text: "word ".repeat(20_000),
            passages: passages.collect(),
            facts: Facts { tags: vec!["t".repeat(10_000); 10_000], trust: f64::NAN, ..Facts::default() },
            vectors: None,
        };
        let reading = Reading::of(entry);
        assert_eq!(reading.entry.name.len(), LONGEST_NAME);
        assert_eq!(reading.entry.text.len(), LONGEST_TEXT);
        assert_eq!(reading.entry.passages.len(), MOST_PASSAGES);
        assert_eq!(reading.texts().len(), MOST_VECTORS);
        assert!(reading.entry.passages[..MOST_VECTORS].iter().all(|passage| !passage.example));
        assert_eq!((reading.entry.facts.tags.len(), reading.entry.facts.trust), (MOST_VALUES, 0.5));
        assert!(reading.terms.len() <= 2 * MOST_TERMS && reading.terms.is_sorted());
    }

    #[test]
    fn a_passage_said_twice_counts_once() {
        let passage = |text: &str| Passage { skill: "s".into(), text: text.into(), example: false };
        let once = Entry { passages: vec![passage("cheap flights")], ..Entry::default() };
        let often = Entry { passages: vec![passage("Cheap flights "); 50], ..Entry::default() };
        assert_eq!(Reading::of(once).terms, Reading::of(often).terms);
    }

    #[test]
    fn names_are_embedded_as_words() {
        assert_eq!(spaced("getWeather_now.v2/api__x_"), "get Weather now v2 api x");
        let entry = Entry { name: "findFlights".into(), text: "Finds flights.".into(), ..Entry::default() };
        let reading = Reading::of(entry.clone());
        assert_eq!(
            (reading.texts(), reading.title().as_deref()),
            (vec!["Finds flights.".into()], Some("find Flights"))
        );
        let silent = Reading::of(Entry { text: " ".into(), ..entry });
        assert_eq!((silent.texts(), silent.title()), (vec!["find Flights".into()], None));
    }
}
