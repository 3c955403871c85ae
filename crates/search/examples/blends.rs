//! Measures on public questions that each part of the ranking makes it better: `blends FOLDER`, with
//! `corpus.jsonl` and `queries.dev.jsonl` in it.
//!
//! Promises: prints nDCG@10 of words, meaning, their plain sum and the ranking as it is, and fails unless
//! they come in that order. The questions are not part of the repository; `cargo xtask test` runs this where
//! they are.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a measurement talks on its standard streams")]

use std::collections::HashSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use agentsite_protocol::Visibility;
use agentsite_search::{Ask, Blend, Embedders, Entry, Facts, FindResults, Finder, FinderSettings, Static};
use serde_json::Value;

/// How many of the questions are asked, spread over all of them.
const QUESTIONS: usize = 300;

#[tokio::main]
async fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: blends FOLDER");
        return ExitCode::from(2);
    };
    match measure(Path::new(&folder)).await {
        Ok([words, meaning, sum, best]) => {
            println!("nDCG@10: words {words:.3}, meaning {meaning:.3}, sum {sum:.3}, best {best:.3}");
            if best >= sum && sum >= words.max(meaning) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(folder: &Path) -> Result<[f64; 4], Box<dyn std::error::Error>> {
    let lines = |name: &str| -> Result<Vec<Value>, Box<dyn std::error::Error>> {
        let text = std::fs::read_to_string(folder.join(name))?;
        Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
    };
    let (corpus, questions) = (lines("corpus.jsonl")?, lines("queries.dev.jsonl")?);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // The fast vectors: the full ones of the whole corpus take minutes, and the order of the four ways is the
    // same.
    let embedders = Embedders { fast: Arc::new(Static::load()), full: None };
    let (finder, _) = Finder::open(FinderSettings { folder: None, embedders }, &|_| {})?;
    let entries = corpus.iter().map(|doc| Entry {
        id: text(&doc["id"]),
        name: text(&doc["name"]),
        text: text(&doc["text"]),
        facts: Facts { visibility: Visibility::Public, ..Facts::default() },
        ..Entry::default()
    });
    finder.put(entries.collect(), false).await?;
    let questions: Vec<&Value> = questions.iter().step_by((questions.len() / QUESTIONS).max(1)).collect();
    let mut sums = [0.0; 4];
    for question in &questions {
        let ask = Ask::of(text(&question["query"]), 10);
        let relevant: HashSet<&str> =
            question["relevant"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (sum, blend) in sums.iter_mut().zip([Blend::Words, Blend::Meaning, Blend::Sum, Blend::Best]) {
            *sum += gain(&finder.find_by(&ask, blend).await?, &relevant);
        }
    }
    Ok(sums.map(|sum| sum / questions.len() as f64))
}

/// nDCG@10 of an answer.
fn gain(found: &FindResults, relevant: &HashSet<&str>) -> f64 {
    let at = |place: usize| 1.0 / (place as f64 + 2.0).log2();
    let ideal: f64 = (0..relevant.len().min(10)).map(at).sum();
    let places = found.hits.iter().enumerate().filter(|(_, hit)| relevant.contains(hit.id.as_str()));
    places.map(|(place, _)| at(place)).sum::<f64>() / ideal
}
