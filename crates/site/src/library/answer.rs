//! From a question to the passages that answer it, and from those to words.
//!
//! Promises: every passage names its source; what says the same twice is shown once; when nothing fits well, the answer says so and what there is. Nothing is made up:
//! every sentence stands in a document.

use std::collections::HashSet;
use std::sync::Arc;

use agentsite_protocol::{Artifact, JsonMap, Message, Part, Role};
use agentsite_search::{Ask, FindError, terms};
use serde_json::{Value, json};

use super::passage::{Passage, Place, sentences};
use super::reading::Reading;
use super::shelf::{Shelf, terms_of};

/// Passages that are compared in detail.
const CANDIDATES: usize = 32;

/// Passages of an answer in words.
pub(super) const PASSAGES: usize = 4;

/// Share of what the question says that a passage must have in its words, to count as an answer.
const COVERED: f64 = 0.34;

/// Nearness in meaning at which a passage counts as an answer whatever its words are; unrelated sentences of one language seldom come near it.
const NEAR: f64 = 0.45;

/// Share of the best score that a further passage must have.
const WORTH: f64 = 0.55;

/// Share of their words at which two passages say the same.
const SAME: f64 = 0.8;

/// Words of a question below which the one before it is taken to be meant, too.
const SHORT: usize = 2;

/// Longest question that is read; what follows is no question any more.
const LONGEST: usize = 4_000;

/// Documents that are named when nothing fits.
const NAMED: usize = 12;

/// How a question begins that goes on with the one before.
const GOES_ON: [&str; 7] = ["and ", "what about", "how about", "or ", "why?", "how so", "more"];

/// Words that stand for something said before.
const STANDS_FOR: [&str; 7] = ["it", "its", "that", "they", "them", "this", "those"];

/// A passage of an answer.
#[derive(Debug, Clone)]
pub(super) struct Pick {
    pub(super) passage: Arc<Passage>,
    /// How well it fits, from 0 to 1.
    pub(super) score: f64,
    /// The sentences that fit best.
    pub(super) best: String,
}

/// What is asked: the words, with those of the question before when it goes on with it.
pub(super) fn question(message: &Message, earlier: &[Message]) -> String {
    let words = bounded(message.plain_text().trim());
    let before = earlier.iter().rev().filter(|message| message.role == Role::User).map(Message::plain_text);
    let before = before.map(|before| bounded(before.trim())).find(|before| !before.is_empty());
    match before {
        Some(before) if !words.is_empty() && goes_on(&words) => format!("{before} {words}"),
        _ => words,
    }
}

fn goes_on(words: &str) -> bool {
    let lower = words.to_lowercase();
    let stands_for = |word: &str| STANDS_FOR.contains(&word);
    GOES_ON.iter().any(|start| lower.starts_with(start))
        || terms(words).len() <= SHORT
        || lower.split(|letter: char| !letter.is_alphanumeric()).any(stands_for)
            && terms(words).len() <= 2 * SHORT
}

fn bounded(words: &str) -> String {
    words.chars().take(LONGEST).collect()
}

/// The passages that fit a question best, at most `most`; none when none fits.
pub(super) async fn find(reading: &Reading, question: &str, most: usize) -> Result<Vec<Pick>, FindError> {
    let Some(finder) = reading.finder() else { return Ok(Vec::new()) };
    let found = finder.find(&Ask::of(question, CANDIDATES)).await?;
    let shelf = reading.shelf();
    let wanted: HashSet<u64> = terms(question).into_iter().collect();
    let mut fits: Vec<(Pick, HashSet<u64>)> = Vec::new();
    for hit in found.hits {
        let Some(passage) = shelf.passage(&hit.id) else { continue };
        let known = terms_of(&passage);
        let covered = covered(&shelf, &wanted, &known);
        if covered < COVERED && hit.reason.meaning < NEAR {
            continue;
        }
        let best = best(&shelf, &wanted, &passage.text);
        let score = (hit.score.clamp(0.0, 1.0) + covered) / 2.0;
        fits.push((Pick { passage, score, best }, known));
    }
    fits.sort_by(|(a, _), (b, _)| b.score.total_cmp(&a.score));
    Ok(distinct(fits, most))
}

/// Which share of what is wanted is there, each word weighing as much as it is rare.
fn covered(shelf: &Shelf, wanted: &HashSet<u64>, known: &HashSet<u64>) -> f64 {
    let weight = |term: &u64| shelf.weight(*term);
    let all: f64 = wanted.iter().map(weight).sum();
    let there: f64 = wanted.intersection(known).map(weight).sum();
    if all > 0.0 { there / all } else { 0.0 }
}

/// The best ones that differ from each other and are not much worse than the first.
fn distinct(fits: Vec<(Pick, HashSet<u64>)>, most: usize) -> Vec<Pick> {
    let least = fits.first().map_or(0.0, |(best, _)| best.score * WORTH);
    let mut taken: Vec<(Pick, HashSet<u64>)> = Vec::new();
    for (pick, terms) in fits {
        let same = |(_, other): &(Pick, HashSet<u64>)| {
            let both = terms.intersection(other).count();
            both as f64 >= SAME * terms.len().min(other.len()).max(1) as f64
        };
        if pick.score >= least && taken.len() < most && !taken.iter().any(same) {
            taken.push((pick, terms));
        }
    }
    taken.into_iter().map(|(pick, _)| pick).collect()
}

/// The sentence of a text that fits best, and one that fits nearly as well.
fn best(shelf: &Shelf, wanted: &HashSet<u64>, text: &str) -> String {
    let pieces: Vec<&str> = text.lines().flat_map(sentences).collect();
    let fit = |piece: &&str| covered(shelf, wanted, &terms(piece).into_iter().collect());
    let fits: Vec<f64> = pieces.iter().map(fit).collect();
    let top = fits.iter().copied().fold(0.0, f64::max);
    let good = pieces.iter().zip(&fits).filter(|(_, fit)| **fit > 0.0 && **fit >= 0.75 * top);
    let chosen: Vec<&str> = good.map(|(piece, _)| *piece).take(2).collect();
    if chosen.is_empty() { pieces.first().copied().unwrap_or_default().to_owned() } else { chosen.join(" ") }
}

/// An answer of quotations: in words, and for programs.
pub(super) fn quoted(reading: &Reading, question: &str, picks: &[Pick]) -> Vec<Artifact> {
    let words = if picks.is_empty() { nothing(reading) } else { in_words(picks) };
    vec![words_artifact(words, picks), data(reading, question, picks)]
}

/// The words of an answer, with their sources beside them.
pub(super) fn words_artifact(words: String, picks: &[Pick]) -> Artifact {
    let sources: Vec<Value> = picks.iter().map(|pick| place(&pick.passage)).collect();
    let metadata = JsonMap::from_iter([("sources".to_owned(), Value::Array(sources))]);
    let mut part = Part::text(words);
    part.extra.insert("metadata".into(), Value::Object(metadata));
    Artifact { artifact_id: "answer".into(), parts: vec![part], ..Artifact::default() }
}

/// The passages, for programs.
pub(super) fn data(reading: &Reading, question: &str, picks: &[Pick]) -> Artifact {
    let passage = |pick: &Pick| {
        let mut passage = place(&pick.passage);
        passage["score"] = json!((pick.score * 1_000.0).round() / 1_000.0);
        passage["text"] = json!(pick.passage.text);
        passage["best"] = json!(pick.best);
        passage
    };
    let passages: Vec<Value> = picks.iter().map(passage).collect();
    let documents = reading.shelf().readable().count();
    let data = json!({ "question": question, "passages": passages, "documents": documents });
    Artifact {
        artifact_id: "passages".into(),
        name: Some("Passages and their sources".into()),
        parts: vec![Part::data(data)],
        ..Artifact::default()
    }
}

fn place(passage: &Passage) -> Value {
    let mut place = json!({ "source": passage.source(), "file": passage.file, "heading": passage.heading });
    match passage.place {
        Place::Line(line) => place["line"] = json!(line),
        Place::Page(page) => place["page"] = json!(page),
    }
    place
}

/// The best sentences first; the whole first passage, and of the others what fits.
fn in_words(picks: &[Pick]) -> String {
    let mut words = String::new();
    for (at, pick) in picks.iter().enumerate() {
        let source = pick.passage.source();
        if at == 0 {
            let whole =
                pick.passage.text.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n");
            words.push_str(&format!("**{}**\n\n{whole}\n>\n> [1] {source}\n", pick.best.trim()));
        } else {
            words.push_str(&format!("\n{}\n\n[{}] {source}\n", pick.best.trim(), at + 1));
        }
    }
    words
}

/// What is said when nothing fits.
pub(super) fn nothing(reading: &Reading) -> String {
    let shelf = reading.shelf();
    let names: Vec<&str> = shelf.readable().take(NAMED).collect();
    let count = shelf.readable().count();
    if count == 0 {
        return format!("There are no documents to answer from in {}.", reading.source());
    }
    let more = if count > names.len() { format!(" and {} more", count - names.len()) } else { String::new() };
    format!(
        "I found nothing about this. I have read: {}{more}. Ask in other words, or about one of these.",
        names.join(", ")
    )
}
