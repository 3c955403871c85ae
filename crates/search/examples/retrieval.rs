//! Measures how well the finder ranks: public sets of questions with known answers, through the same `put`
//! and `find` that a site uses.
//!
//! Promises: prints recall, reciprocal rank and nDCG for words alone, meaning alone, their plain sum and the
//! product's own ranking, overall and for each source, and how the scores of best hits are spread. Vectors of
//! the corpus are kept in the folder given with `--cache`, so a second run does not make them again. It
//! changes nothing else.
//!
//! usage: retrieval CORPUS QUERIES [--cache FOLDER]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a measurement talks on its standard streams")]

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use agentsite_search::{Ask, Blend, Embedders, Entry, Facts, Finder, FinderSettings, Hashed, MiniLm, digest};
use serde::Deserialize;

/// How many answers count.
const DEPTH: usize = 10;

/// Entries of one `put`, between which progress is shown.
const BATCH: usize = 64;

/// The ways of ranking, the simplest first.
const BLENDS: [Blend; 4] = [Blend::Words, Blend::Meaning, Blend::Sum, Blend::Best];

/// An entry of the corpus.
#[derive(Deserialize)]
struct Document {
    id: String,
    name: String,
    text: String,
}

/// A question with its answers.
#[derive(Deserialize)]
struct Question {
    source: String,
    query: String,
    relevant: Vec<String>,
}

/// Sums over questions.
#[derive(Default, Clone, Copy)]
struct Sums {
    count: f64,
    recall: [f64; 3],
    reciprocal: f64,
    gain: f64,
}

/// The scores of the product's best hits.
#[derive(Default)]
struct Scores {
    right: Vec<f64>,
    wrong: Vec<f64>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let cache = words.iter().position(|word| word == "--cache").map(|place| {
        words.remove(place);
        PathBuf::from(words.remove(place))
    });
    let [corpus, queries] = words.as_slice() else {
        return Err("usage: retrieval CORPUS QUERIES [--cache FOLDER]".into());
    };
    let documents: Vec<Document> = read(corpus)?;
    let questions: Vec<Question> = read(queries)?;
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let finder = fill(documents, cache).await?;
        let mut scores = Scores::default();
        let sums = measure(&finder, &questions, &mut scores).await?;
        BLENDS.iter().zip(&sums).for_each(|(blend, sums)| report(*blend, sums));
        spread("scores of best hits that are right", scores.right);
        spread("scores of best hits that are not", scores.wrong);
        Ok(())
    })
}

fn read<T: for<'a> Deserialize<'a>>(path: &str) -> Result<Vec<T>, Box<dyn std::error::Error>> {
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// A finder that holds the documents with their full vectors.
async fn fill(
    documents: Vec<Document>,
    folder: Option<PathBuf>,
) -> Result<Finder, Box<dyn std::error::Error>> {
    let embedders = Embedders { fast: Arc::new(Hashed::new(64)), full: Some(Arc::new(MiniLm::load())) };
    let (finder, opened) = Finder::open(FinderSettings { folder, embedders }, &|_| {})?;
    eprintln!("{} of {} entries are in the index", opened.entries, documents.len());
    let entries = documents.into_iter().map(|document| Entry {
        id: document.id,
        name: document.name,
        text: document.text,
        passages: Vec::new(),
        facts: Facts::default(),
        vectors: None,
    });
    let lacking: Vec<Entry> =
        entries.filter(|entry| finder.digest(&entry.id) != Some(digest(entry))).collect();
    for (number, batch) in lacking.chunks(BATCH).enumerate() {
        finder.put(batch.to_vec(), true).await?;
        eprint!("\rencoded {} of {}", (number * BATCH + batch.len()), lacking.len());
    }
    eprintln!();
    Ok(finder)
}

/// Asks everything in each way; sums for each source and for all. A question's vectors are made once, as the
/// embedder remembers recent texts.
async fn measure(
    finder: &Finder,
    questions: &[Question],
    scores: &mut Scores,
) -> Result<[BTreeMap<String, Sums>; 4], Box<dyn std::error::Error>> {
    let mut sums: [BTreeMap<String, Sums>; 4] = Default::default();
    for (number, question) in questions.iter().enumerate() {
        let relevant: HashSet<&str> = question.relevant.iter().map(String::as_str).collect();
        for (blend, sums) in BLENDS.iter().zip(&mut sums) {
            let found = finder.find_by(&Ask::of(question.query.clone(), DEPTH), *blend).await?;
            let right = |place: &usize| relevant.contains(found.hits[*place].id.as_str());
            let places: Vec<usize> = (0..found.hits.len()).filter(right).collect();
            if let (Blend::Best, Some(best)) = (blend, found.hits.first()) {
                let list = if places.first() == Some(&0) { &mut scores.right } else { &mut scores.wrong };
                list.push(best.score);
            }
            for source in [question.source.split('_').next().unwrap_or_default(), "all"] {
                sums.entry(source.to_owned()).or_default().add(&places, relevant.len());
            }
        }
        if number % 50 == 0 {
            eprint!("\rquestion {number} of {}   ", questions.len());
        }
    }
    eprint!("\r                                        \r");
    Ok(sums)
}

impl Sums {
    fn add(&mut self, places: &[usize], relevant: usize) {
        let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
        let ideal: f64 = (0..relevant.min(DEPTH)).map(gain).sum();
        self.count += 1.0;
        for (recall, depth) in self.recall.iter_mut().zip([1, 5, DEPTH]) {
            *recall += places.iter().filter(|place| **place < depth).count() as f64 / relevant.max(1) as f64;
        }
        self.reciprocal += places.first().map_or(0.0, |place| 1.0 / (*place as f64 + 1.0));
        self.gain += places.iter().map(|place| gain(*place)).sum::<f64>() / ideal.max(1e-9);
    }
}

fn report(blend: Blend, sums: &BTreeMap<String, Sums>) {
    let name = match blend {
        Blend::Words => "words alone (BM25)",
        Blend::Meaning => "meaning alone (vectors)",
        Blend::Sum => "plain sum",
        Blend::Best => "the product's ranking",
    };
    println!(
        "{name:<26} {:>6} {:>6} {:>6} {:>6} {:>7} {:>6}",
        "R@1", "R@5", "R@10", "MRR@10", "nDCG@10", "count"
    );
    for (source, sums) in sums {
        let [one, five, ten] = sums.recall.map(|recall| recall / sums.count);
        let (reciprocal, gain) = (sums.reciprocal / sums.count, sums.gain / sums.count);
        println!(
            "  {source:<24} {one:>6.3} {five:>6.3} {ten:>6.3} {reciprocal:>6.3} {gain:>7.3} {:>6}",
            sums.count
        );
    }
}

/// Prints the percentiles of a list of scores.
fn spread(name: &str, mut scores: Vec<f64>) {
    scores.sort_unstable_by(f64::total_cmp);
    let at = |share: usize| scores.get(scores.len() * share / 100).copied().unwrap_or_default();
    let [one, five, quarter, half, most] = [1, 5, 25, 50, 95].map(at);
    println!("{name}: 1% {one:.2}, 5% {five:.2}, 25% {quarter:.2}, 50% {half:.2}, 95% {most:.2}");
}
