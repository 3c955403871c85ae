//! The cards that agents are made from, and the questions, in plain English with vectors of the full model.
//!
//! Promises: 640 cards that differ in what is done, to what and for whom, the same at every run.

use std::path::Path;

use agentsite_search::MiniLm;
use agentsite_search::population::Sample;

use super::broken;
use crate::bench::report::Report;
use crate::exit::CliError;

/// What agents do, and how somebody asks for it.
const DEEDS: [(&str, &str); 16] = [
    ("Translates", "translate"),
    ("Summarises", "sum up"),
    ("Checks the figures of", "check the figures in"),
    ("Books and reschedules", "book"),
    ("Compares the prices of", "compare prices of"),
    ("Writes unit tests and documentation for", "write tests for"),
    ("Draws charts and dashboards from", "draw a chart from"),
    ("Answers questions about", "answer a question about"),
    ("Extracts names, dates and amounts from", "extract the dates from"),
    ("Monitors and sends alerts about", "warn me about"),
    ("Proofreads and corrects", "proofread"),
    ("Recommends", "recommend me"),
    ("Schedules the delivery of", "deliver"),
    ("Finds legal risks in", "find the risks in"),
    ("Converts between formats of", "convert"),
    ("Explains to beginners", "explain"),
];

/// To what.
const THINGS: [&str; 20] = [
    "rental contracts and insurance policies",
    "train and flight tickets",
    "recipes and restaurant menus",
    "Python and Rust source code",
    "medical reports and lab results",
    "weather forecasts and storm warnings",
    "invoices, receipts and tax forms",
    "stock prices and company balance sheets",
    "football results and league tables",
    "photographs and satellite images",
    "scientific papers on chemistry",
    "job applications and interviews",
    "customer complaints by e-mail",
    "electricity meters and solar panels",
    "maps, hiking routes and bicycle paths",
    "songs, concerts and playlists",
    "SQL databases and spreadsheets",
    "school lessons in mathematics",
    "network logs and security incidents",
    "houses and flats for sale",
];

/// For whom.
const PEOPLE: [&str; 10] = [
    "a small law firm",
    "families with children",
    "hospital nurses",
    "students abroad",
    "a city council",
    "freelance designers",
    "factory engineers",
    "elderly travellers",
    "an online shop",
    "volunteer firefighters",
];

/// Questions that are measured.
const QUESTIONS: usize = 160;

const FILE: &str = "cards.json";

/// Writes cards and questions with their vectors into the folder.
pub(super) fn make(folder: &Path) -> Result<Report, CliError> {
    let (deeds, things) = (DEEDS.len(), THINGS.len());
    let card = |number: usize| {
        let (deed, thing) = (DEEDS[number % deeds].0, THINGS[number / deeds % things]);
        let (people, other) = (PEOPLE[number % PEOPLE.len()], THINGS[(number * 7 + 3) % things]);
        format!("{deed} {thing} for {people}. Knows {other} too")
    };
    let cards: Vec<String> = (0..2 * deeds * things).map(card).collect();
    let questions: Vec<String> = (0..QUESTIONS).map(|number| question(number * 5 + 1)).collect();
    let model = MiniLm::load();
    let vectors = |texts: &[String]| -> Vec<Box<[f32]>> {
        model.encode(texts).into_iter().map(|vector| vector.values).collect()
    };
    let kept = [(&cards, vectors(&cards)), (&questions, vectors(&questions))];
    let path = folder.join(FILE);
    let json = serde_json::to_vec(&kept).map_err(broken)?;
    std::fs::write(&path, json).map_err(|error| CliError::file("write", &path, &error))?;
    Ok(Report::default())
}

/// A question; the same number gives the same, and few numbers give the same as another.
pub(super) fn question(number: usize) -> String {
    let (deed, thing) = (DEEDS[number % DEEDS.len()].1, THINGS[number / DEEDS.len() % THINGS.len()]);
    let people = PEOPLE[number / 3 % PEOPLE.len()];
    format!("Who can {deed} {thing} for {people} before {} o'clock?", number / 320 % 1000)
}

/// Reads cards and questions back.
pub(super) fn read(folder: &Path) -> Result<(Vec<Sample>, Vec<Sample>), CliError> {
    type Kept = (Vec<String>, Vec<Box<[f32]>>);
    let path = folder.join(FILE);
    let json = std::fs::read(&path).map_err(|error| CliError::file("read", &path, &error))?;
    let [cards, questions]: [Kept; 2] = serde_json::from_slice(&json).map_err(broken)?;
    let samples = |(texts, vectors): Kept| {
        texts.into_iter().zip(vectors).map(|(text, vector)| Sample { text, vector }).collect()
    };
    Ok((samples(cards), samples(questions)))
}
