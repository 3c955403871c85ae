//! From a question to the passages that answer it, and from those to words.
//!
//! Promises: every passage names its source; duplicates are shown once; when nothing fits well, the answer
//! says so and lists what exists. Nothing is invented: every sentence occurs in a document.

use std::collections::HashSet;
use std::sync::Arc;

use agentsite_protocol::{Artifact, JsonMap, Message, Part, Role};
use agentsite_search::{Ask, FindError, Hit, terms};
use serde_json::{Value, json};

use super::passage::{Location, Passage};
use super::reading::Reading;
use super::sentence::{QuestionTerms, Sentence, compare, shown};
use super::shelf::{Shelf, terms_of};

/// Passages that are considered.
const CANDIDATES: usize = 32;

/// Those whose sentences are compared one by one.
const READ: usize = 16;

/// Passages of an answer as text.
pub(super) const PASSAGES: usize = 4;

/// Share of the question's terms that a passage must contain to count as an answer.
const COVERED: f64 = 0.45;

/// Similarity at which a passage counts as an answer regardless of its words; unrelated sentences of one
/// language seldom reach it.
const NEAR: f64 = 0.42;

/// Semantic similarity that the best sentence must have when only words match.
const FAR: f64 = 0.2;

/// Share of the score of the best sentence at which the next one of its passage is shown with it.
const NEARLY: f64 = 0.93;

/// Share of the best score that a further passage must have.
const WORTH: f64 = 0.55;

/// Share of their words at which two passages say the same.
const SAME: f64 = 0.8;

/// Words of a question below which it is read together with the previous one.
const SHORT: usize = 2;

/// Longest question that is read; the rest is cut off.
const LONGEST: usize = 4_000;

/// Documents that are named when nothing fits.
const NAMED: usize = 12;

/// How a question begins that continues the one before.
const GOES_ON: [&str; 7] = ["and ", "what about", "how about", "or ", "why?", "how so", "more"];

/// Words that refer to something mentioned before.
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

/// What is asked: its words, with those of the previous question when it continues it.
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
    let (candidates, sentences) = candidates(&reading.shelf(), &QuestionTerms::of(question), found.hits);
    let sentences = compare(reading.embedders(), question, sentences).await;
    let mut fits = fitting(candidates, &sentences);
    fits.sort_by(|(a, _), (b, _)| b.score.total_cmp(&a.score));
    Ok(distinct(fits, most))
}

/// A passage that may answer.
struct Candidate {
    passage: Arc<Passage>,
    terms: HashSet<u64>,
    /// Share of the wanted words in it and above it.
    covered: f64,
    /// Nearness in meaning of the whole.
    meaning: f64,
    /// How well it fits as a whole, from 0 to 1.
    score: f64,
}

/// The passages that were found, the best first, and the sentences of the first ones.
fn candidates(shelf: &Shelf, wanted: &QuestionTerms, hits: Vec<Hit>) -> (Vec<Candidate>, Vec<Sentence>) {
    let none = HashSet::new();
    let candidate = |hit: Hit| {
        let passage = shelf.passage(&hit.id)?;
        let terms = terms_of(&passage);
        let covered = wanted.covered(shelf, &terms, &none);
        let score = (hit.score.clamp(0.0, 1.0) + covered) / 2.0;
        Some(Candidate { passage, terms, covered, meaning: hit.reason.meaning, score })
    };
    let mut all: Vec<Candidate> = hits.into_iter().filter_map(candidate).collect();
    all.sort_by(|a, b| b.score.total_cmp(&a.score));
    let read = all.iter().enumerate().take(READ);
    let sentences = read.flat_map(|(at, one)| Sentence::all(shelf, wanted, &one.passage, (at, one.score)));
    let sentences = sentences.collect();
    (all, sentences)
}

/// The passages that answer, each with its best sentence.
fn fitting(candidates: Vec<Candidate>, sentences: &[Sentence]) -> Vec<(Pick, HashSet<u64>)> {
    let closely = sentences.first().is_some_and(|best| best.full.is_some());
    let mut fits = Vec::new();
    for (at, candidate) in candidates.into_iter().enumerate() {
        let own: Vec<&Sentence> = sentences.iter().filter(|sentence| sentence.passage == at).collect();
        let Some(first) = own.first() else { continue };
        let fits_well = match first.full {
            Some(near) => near >= NEAR || near >= FAR && candidate.covered >= COVERED,
            None => !closely && candidate.meaning >= NEAR || candidate.covered >= COVERED,
        };
        if fits_well {
            let best = together(&own, &candidate.passage.text);
            fits.push((Pick { passage: candidate.passage, score: first.score(), best }, candidate.terms));
        }
    }
    fits
}

/// The best sentence, with the next one when it fits nearly as well, in the order of the passage.
fn together(sentences: &[&Sentence], text: &str) -> String {
    let least = sentences.first().map_or(0.0, |first| first.score() * NEARLY);
    let mut chosen: Vec<&str> =
        sentences.iter().take(2).filter(|one| one.score() >= least).map(|one| one.text.as_str()).collect();
    chosen.sort_by_key(|sentence| text.find(*sentence));
    chosen.into_iter().map(shown).collect::<Vec<_>>().join(" ")
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

/// An answer of quotations: as text, and for programs.
pub(super) fn quoted(reading: &Reading, question: &str, picks: &[Pick]) -> Vec<Artifact> {
    let words = if picks.is_empty() { nothing(reading) } else { in_words(picks) };
    vec![words_artifact(words, picks), data(reading, question, picks)]
}

/// The text of an answer, with its sources.
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
        Location::Line(line) => place["line"] = json!(line),
        Location::Page(page) => place["page"] = json!(page),
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
            // What is bold in the document would end the bold around it.
            let best = pick.best.trim().replace("**", "");
            words.push_str(&format!("**{best}**\n\n{whole}\n>\n> [1] {source}\n"));
        } else {
            words.push_str(&format!("\n{}\n\n[{}] {source}\n", pick.best.trim(), at + 1));
        }
    }
    words
}

/// The answer when nothing fits.
pub(super) fn nothing(reading: &Reading) -> String {
    let shelf = reading.shelf();
    let names: Vec<&str> = shelf.readable().take(NAMED).collect();
    let count = shelf.readable().count();
    if count == 0 {
        return format!("There are no documents to answer from in {}.", reading.source());
    }
    let more = if count > names.len() { format!(" and {} more", count - names.len()) } else { String::new() };
    format!(
        "I found nothing about this. I have read: {}{more}. Rephrase the question, or ask about one of \
         these.",
        names.join(", ")
    )
}
