//! Sentence: which sentence of the passages that were found answers the question.
//!
//! Promises: sentences, rows of tables and lines of lists are compared one by one, each together with the
//! headings above it: by their words, by the fast model, and the few best by the full one, so that an answer
//! takes the time of a few sentences. An embedder that fails costs its part of the comparison. It does not
//! look for passages: `answer` does.

use std::collections::HashSet;
use std::path::Path;

use agentsite_search::{Embedder, Embedders, Vector, terms};

use super::passage::{Passage, sentences};
use super::shelf::Shelf;

/// Most sentences that are compared by the fast model, of the best passages first: a few milliseconds.
const MOST: usize = 160;

/// Sentences that are compared by the full model, in one batch: each takes some milliseconds.
const CLOSELY: usize = 8;

/// What each part of a comparison counts; chosen by the questions of `questions.tsv` that are not kept out of
/// tuning.
const MEANING: f64 = 0.4;
const WORDS: f64 = 0.25;
const PRIOR: f64 = 0.2;
const MET: f64 = 0.1;
/// How much of the nearness by the fast model counts where the full one was not asked.
const FAST_SHARE: f64 = 0.8;

/// The weight of a word that occurs only in the headings above a sentence.
const ABOVE: f64 = 0.5;

/// Most words and strokes of the head of a table.
const HEAD_WORDS: usize = 16;

/// A question as sentences are compared with it.
#[derive(Debug)]
pub(super) struct QuestionTerms {
    /// What it is about: its terms without those that only ask.
    pub(super) terms: HashSet<u64>,
    kind: Kind,
}

/// What kind of answer the question requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A number: how many.
    Number,
    /// A size: how large.
    Size,
    /// A time: how long, when.
    Time,
    /// What to do: how do I.
    Command,
    /// A file or an address: where.
    Location,
    /// Anything else.
    Other,
}

/// How questions begin, what they ask for, and which of their words say nothing about what they are about.
const KINDS: [(&str, Kind, &str); 18] = [
    ("how many", Kind::Number, "many"),
    ("how much", Kind::Number, "much"),
    ("how often", Kind::Number, "often"),
    ("default port", Kind::Number, ""),
    ("which port", Kind::Number, ""),
    ("exit code", Kind::Number, ""),
    ("how large", Kind::Size, "large"),
    ("how big", Kind::Size, "big"),
    ("how long", Kind::Time, "long"),
    ("how old", Kind::Time, "old"),
    ("how soon", Kind::Time, "soon"),
    ("when ", Kind::Time, ""),
    ("how do i", Kind::Command, ""),
    ("how can i", Kind::Command, ""),
    ("how to", Kind::Command, ""),
    ("which command", Kind::Command, "command"),
    ("which file", Kind::Location, ""),
    ("where ", Kind::Location, ""),
];

/// Words that represent a number.
const NUMBERS: [&str; 14] = [
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "hundred", "thousand", "million",
    "once", "twice",
];

/// Words and signs for lengths of time.
const TIMES: [&str; 20] = [
    "second", "seconds", "minute", "minutes", "hour", "hours", "day", "days", "week", "weeks", "month",
    "months", "year", "years", "s", "ms", "m", "min", "h", "d",
];

/// How many of [`TIMES`] are words, which do not need a preceding number.
const TIME_WORDS: usize = 14;

/// Units of sizes.
const SIZES: [&str; 8] = ["KiB", "MiB", "GiB", "kB", "MB", "GB", "bytes", "Bytes"];

impl QuestionTerms {
    /// Reads a question.
    pub(super) fn of(question: &str) -> Self {
        let lower = question.to_lowercase();
        let found = KINDS.iter().find(|(begin, ..)| lower.contains(begin));
        let all: HashSet<u64> = terms(question).into_iter().collect();
        let asking: HashSet<u64> =
            found.map(|(.., word)| terms(word)).unwrap_or_default().into_iter().collect();
        let about: HashSet<u64> = all.difference(&asking).copied().collect();
        let kind = found.map_or(Kind::Other, |(_, kind, _)| *kind);
        Self { terms: if about.is_empty() { all } else { about }, kind }
    }

    /// Whether a sentence has the requested kind.
    fn is_met(&self, sentence: &str) -> bool {
        let says = |list: &[&str]| {
            let lower = sentence.to_lowercase();
            lower.split(|letter: char| !letter.is_alphanumeric()).any(|word| list.contains(&word))
        };
        match self.kind {
            Kind::Number => numbers(sentence).next().is_some() || says(&NUMBERS),
            Kind::Size => numbers(sentence).any(|unit| SIZES.contains(&unit)),
            Kind::Time => says(&TIMES[..TIME_WORDS]) || numbers(sentence).any(|unit| TIMES.contains(&unit)),
            Kind::Command => sentence.contains('`') || sentence.contains("--") || sentence.contains(" = "),
            Kind::Location => sentence.split('`').skip(1).step_by(2).any(|code| code.contains(['/', '.'])),
            Kind::Other => false,
        }
    }

    /// Which share of the query occurs in these terms, each weighted by its rarity; occurrences in the second
    /// ones count less.
    pub(super) fn covered(&self, shelf: &Shelf, own: &HashSet<u64>, above: &HashSet<u64>) -> f64 {
        let (mut all, mut there) = (0.0, 0.0);
        for term in &self.terms {
            let weight = shelf.weight(*term);
            all += weight;
            if own.contains(term) {
                there += weight;
            } else if above.contains(term) {
                there += ABOVE * weight;
            }
        }
        if all > 0.0 { there / all } else { 0.0 }
    }
}

/// The standalone numbers, each with the letters that follow it: `10 receivers` and `30d` have one, `a2a` has
/// none.
fn numbers(sentence: &str) -> impl Iterator<Item = &str> {
    let starts = sentence.char_indices().filter(|(at, letter)| {
        let before = sentence[..*at].chars().next_back();
        letter.is_ascii_digit()
            && !before.is_some_and(|before| before.is_alphanumeric() || matches!(before, '_' | '-'))
    });
    starts.map(|(at, _)| {
        let after = sentence[at..].trim_start_matches(|letter: char| letter.is_ascii_digit()).trim_start();
        after.split(|letter: char| !letter.is_alphabetic()).next().unwrap_or_default()
    })
}

/// A sentence of a passage and how well it fits.
#[derive(Debug, Clone)]
pub(super) struct Sentence {
    /// The number of its passage among those that were given.
    pub(super) passage: usize,
    /// As written in the passage.
    pub(super) text: String,
    /// As it is compared.
    spoken: String,
    /// How well its passage fits as a whole, from 0 to 1.
    prior: f64,
    /// Share of the wanted words in it and above it.
    words: f64,
    /// Whether it has the requested kind.
    meets: bool,
    /// Nearness in meaning by the fast model.
    fast: f64,
    /// Nearness in meaning by the full model, for the few that were compared closely.
    pub(super) full: Option<f64>,
}

impl Sentence {
    /// Reads the sentences of a passage, whose number and fit are given.
    pub(super) fn all<'a>(
        shelf: &'a Shelf,
        wanted: &'a QuestionTerms,
        passage: &'a Passage,
        (number, prior): (usize, f64),
    ) -> impl Iterator<Item = Self> + 'a {
        let above: HashSet<u64> =
            passage.heading.iter().flat_map(|heading| terms(heading)).chain(terms(&passage.file)).collect();
        pieces(&passage.text).filter(|piece| piece.contains(char::is_alphanumeric)).map(move |piece| Self {
            passage: number,
            text: piece.to_owned(),
            spoken: spoken(passage, piece),
            prior,
            words: wanted.covered(shelf, &terms(piece).into_iter().collect(), &above),
            meets: wanted.is_met(piece),
            fast: 0.0,
            full: None,
        })
    }

    /// How well it fits, from 0 to 1.
    pub(super) fn score(&self) -> f64 {
        let meaning = self.full.unwrap_or(FAST_SHARE * self.fast).max(0.0);
        let met = if self.meets { MET } else { 0.0 };
        (MEANING * meaning + WORDS * self.words + PRIOR * self.prior + met).clamp(0.0, 1.0)
    }
}

/// Compares sentences with the question; the best first.
pub(super) async fn compare(embedders: &Embedders, question: &str, mut all: Vec<Sentence>) -> Vec<Sentence> {
    all.truncate(MOST);
    let texts: Vec<String> = all.iter().map(|sentence| sentence.spoken.clone()).collect();
    let near_fast = near(&*embedders.fast, question, &texts).await.unwrap_or_default();
    all.iter_mut().zip(near_fast).for_each(|(sentence, near)| sentence.fast = near);
    let order = |all: &mut Vec<Sentence>| all.sort_by(|a, b| b.score().total_cmp(&a.score()));
    order(&mut all);
    if let Some(full) = &embedders.full {
        let texts: Vec<String> = all.iter().take(CLOSELY).map(|sentence| sentence.spoken.clone()).collect();
        let near_full = near(&**full, question, &texts).await.unwrap_or_default();
        all.iter_mut().zip(near_full).for_each(|(sentence, near)| sentence.full = Some(near));
        order(&mut all);
    }
    all
}

/// The sentences of a text; a row of a table is one, and the names of its columns are none.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rows = 0;
    text.lines().flat_map(move |line| {
        let row = line.starts_with('|').then_some(line);
        rows = if row.is_some() { rows + 1 } else { 0 };
        let row = row.filter(|row| rows > 1 || !names_columns(row));
        row.into_iter().chain(sentences(if rows > 0 { "" } else { line }))
    })
}

/// Whether the first row that a passage has of a table is its head: a few words, no figures, no code.
fn names_columns(row: &str) -> bool {
    row.split_whitespace().count() <= HEAD_WORDS
        && !row.contains(|letter: char| letter.is_ascii_digit() || letter == '`')
}

/// A sentence as it is compared: with its page and heading, without the marks of tables, lists and code.
fn spoken(passage: &Passage, piece: &str) -> String {
    let page = Path::new(&*passage.file).file_stem().unwrap_or_default().to_string_lossy();
    let heading = passage.heading.last().map(|heading| format!(", {}", plain(heading))).unwrap_or_default();
    format!("{page}{heading}: {}", plain(piece))
}

fn plain(text: &str) -> String {
    let text = text.trim_start_matches(['-', '*', ' ', '|']).trim_end_matches(['|', ' ']);
    let text = text.replace(" | ", ", ").replace("**", "");
    text.chars().filter(|letter| *letter != '`').collect()
}

/// A sentence as it is shown: without the marks of lists and tables.
pub(super) fn shown(piece: &str) -> String {
    let piece = piece.trim();
    match piece.strip_prefix('|') {
        Some(row) => {
            let cells = row.split(" | ").map(|cell| cell.trim_matches(['|', ' ']));
            cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join(" · ")
        }
        None => piece.strip_prefix("- ").or_else(|| piece.strip_prefix("* ")).unwrap_or(piece).to_owned(),
    }
}

/// The similarity of texts to a question; `None` when the embedder fails.
async fn near(embedder: &dyn Embedder, question: &str, texts: &[String]) -> Option<Vec<f64>> {
    let question = embedder.embed(&[question.to_owned()]).await.ok()?;
    let question = question.first()?;
    let vectors = embedder.embed(texts).await.ok()?;
    let product = |vector: &Vector| -> f64 {
        vector.values.iter().zip(&question.values).map(|(a, b)| f64::from(a * b)).sum()
    };
    Some(vectors.iter().map(product).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_known_when_it_is_seen() {
        let met = |question: &str, sentence: &str| QuestionTerms::of(question).is_met(sentence);
        assert!(met("How many receivers?", "A task has at most **10** receivers."));
        assert!(met("How many tries?", "It is tried twice."));
        assert!(!met("How many agents?", "An agent elsewhere (`a2a`) and one more."));
        assert!(met("How large may it be?", "A text of at most 16 KiB.") && met("how big?", "`1MiB`"));
        assert!(!met("How large may it be?", "At most 16 of them."));
        assert!(met("How long is it kept?", "| `age` | `30d` |") && met("how long?", "After a day it goes."));
        assert!(!met("How long is it kept?", "| `tasks` | `100000` |"));
        assert!(met("How do I do it?", "Run `agentsite key new`."));
        assert!(
            met("Where is it?", "It lies in `~/.cursor/mcp.json`.") && !met("Where is it?", "Elsewhere. `x`")
        );
    }

    #[test]
    fn words_that_only_ask_are_not_looked_for() {
        assert_eq!(QuestionTerms::of("How long is it kept?").terms, terms("kept").into_iter().collect());
        assert_eq!(QuestionTerms::of("How long?").terms, terms("long").into_iter().collect());
    }

    #[test]
    fn rows_are_whole_and_heads_of_tables_are_no_sentences() {
        let text = "First. Second.\n| key | meaning |\n| `a` | One. Two. |\n| `b` | Three. |\nLast.";
        let all: Vec<&str> = pieces(text).collect();
        assert_eq!(all, ["First.", "Second.", "| `a` | One. Two. |", "| `b` | Three. |", "Last."]);
        assert_eq!(shown(all[2]), "`a` · One. Two.");
        assert_eq!(shown("- An item."), "An item.");
        assert_eq!(plain(all[3]), "b, Three.");
    }
}
