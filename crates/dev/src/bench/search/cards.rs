//! The cards that agents are made from, and the questions, with vectors of the full model.
//!
//! Promises: written once into the folder of the bench and read by its parts; the same at every run.

use std::path::Path;

use agentsite_search::MiniLm;
use agentsite_search::population::Sample;
use agentsite_search::population::cards::{CARDS, card, question};

use super::broken;
use crate::bench::BenchError;
use crate::bench::report::Report;

/// Questions that are measured.
const QUESTIONS: usize = 160;

const FILE: &str = "cards.json";

/// Writes cards and questions with their vectors into the folder.
pub(super) fn make(folder: &Path) -> Result<Report, BenchError> {
    let cards: Vec<String> = (0..CARDS).map(card).collect();
    let questions: Vec<String> = (0..QUESTIONS).map(|number| question(number * 5 + 1)).collect();
    let model = MiniLm::load();
    let vectors = |texts: &[String]| -> Vec<Box<[f32]>> {
        model.encode(texts).into_iter().map(|vector| vector.values).collect()
    };
    let kept = [(&cards, vectors(&cards)), (&questions, vectors(&questions))];
    let path = folder.join(FILE);
    let json = serde_json::to_vec(&kept).map_err(broken)?;
    std::fs::write(&path, json).map_err(|error| BenchError::file("write", &path, &error))?;
    Ok(Report::default())
}

/// Reads cards and questions back.
pub(super) fn read(folder: &Path) -> Result<(Vec<Sample>, Vec<Sample>), BenchError> {
    type Kept = (Vec<String>, Vec<Box<[f32]>>);
    let path = folder.join(FILE);
    let json = std::fs::read(&path).map_err(|error| BenchError::file("read", &path, &error))?;
    let [cards, questions]: [Kept; 2] = serde_json::from_slice(&json).map_err(broken)?;
    let samples = |(texts, vectors): Kept| {
        texts.into_iter().zip(vectors).map(|(text, vector)| Sample { text, vector }).collect()
    };
    Ok((samples(cards), samples(questions)))
}
