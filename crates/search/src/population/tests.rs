//! Generated agents are the same each time and near their sources.
//!
//! How fast they are found is measured by `agentsite bench search`, not here.

use super::*;
use crate::{Ask, Blend, Embedders, Finder, FinderSettings, Hashed};

/// Vectors that have nothing to do with texts, as many numbers as the full model gives.
fn samples(count: u64, seed: u64) -> Vec<Sample> {
    let vector = |number: u64| {
        let mut dice = Dice::of(seed + number);
        let values: Vec<f32> = (0..384).map(|_| dice.normal()).collect();
        Vector::checked(ModelId::new("made"), values).unwrap().values
    };
    (0..count)
        .map(|number| Sample { text: format!("card {number} of {seed}"), vector: vector(number) })
        .collect()
}

fn now<T>(work: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(work).poll(&mut context) {
        std::task::Poll::Ready(done) => done,
        std::task::Poll::Pending => unreachable!("made vectors are there at once"),
    }
}

fn filled(population: &Arc<Population>, agents: std::ops::Range<u64>) -> Finder {
    let full: Arc<Population> = Arc::clone(population);
    let embedders = Embedders { fast: Arc::new(Hashed::new(64)), full: Some(full) };
    let (finder, _) = Finder::open(FinderSettings { folder: None, embedders }, &|_| {}).unwrap();
    let numbers: Vec<u64> = agents.collect();
    for some in numbers.chunks(1_000) {
        now(finder.put(some.iter().map(|number| population.entry(*number)).collect(), true)).unwrap();
    }
    finder
}

#[test]
fn an_agent_is_the_same_each_time_and_others_differ() {
    let population = Population::new(samples(20, 1), &[]);
    assert_eq!(population.entry(7), population.entry(7));
    assert_eq!(population.vector(7, 0), population.vector(7, 0));
    assert_ne!(population.vector(7, 0), population.vector(7, 1));
    assert_ne!(population.entry(7).text, population.entry(8).text);
    assert_eq!(population.entry(7).text.split_whitespace().count(), WORDS + 2, "a name goes before");
    assert!((dot(&population.vector(7, 0), &population.vector(7, 0)) - 1.0).abs() < 1e-4);
    let skilled = population.with_skills(2);
    let (entry, of) = (skilled.entry(7), |text: &str| skilled.embed_one(text).values);
    assert_eq!((entry.passages.len(), &*of(&entry.text)), (2, &skilled.vector(7, 0)[..]));
    assert_eq!(&*of(&entry.passages[1].text), &skilled.vector(7, 2)[..]);
    assert_eq!(of(&entry.name), of(&entry.text));
}

#[test]
fn the_scan_by_signs_finds_nearly_all_of_the_nearest_among_thirty_thousand() {
    let questions = samples(60, 1_000);
    // Questions are near cards, as real ones are.
    let mut cards = samples(300, 1);
    for (card, question) in cards.iter_mut().zip(&questions) {
        let near: Vec<f32> =
            card.vector.iter().zip(&question.vector).map(|(own, other)| own + 0.7 * other).collect();
        card.vector = Vector::checked(ModelId::new("made"), near).unwrap().values;
    }
    let population = Arc::new(Population::new(cards, &questions));
    let finder = filled(&population, 0..30_000);
    let mut truth = Truth::new(Arc::clone(&population), questions, 10);
    (0..30_000).for_each(|number| truth.see(number));
    let mut recall = 0.0;
    for (number, question) in truth.questions().iter().enumerate() {
        let found = now(finder.find_by(&Ask::of(&question.text, 10), Blend::Meaning)).unwrap();
        let ids: Vec<&str> = found.hits.iter().map(|hit| hit.id.as_str()).collect();
        recall += truth.recall(number, &ids) / truth.questions().len() as f64;
    }
    assert!(recall >= 0.95, "recall {recall}");
}

#[test]
fn readers_see_whole_answers_while_segments_are_joined_and_the_log_is_rewritten() {
    let questions = samples(4, 1_000);
    let population = Arc::new(Population::new(samples(50, 1), &questions));
    let finder = Arc::new(filled(&population, 0..2_000));
    let writing = {
        let (finder, population) = (Arc::clone(&finder), Arc::clone(&population));
        std::thread::spawn(move || {
            for round in 0..12 {
                let entries = (0..1_000).map(|number| population.entry(number)).collect();
                now(finder.put(entries, true)).unwrap();
                let gone: Vec<String> = (1_000 + round * 50..1_050 + round * 50).map(id).collect();
                finder.remove(&gone).unwrap();
            }
        })
    };
    let mut asked = 0;
    while !writing.is_finished() || asked < 20 {
        let found = now(finder.find(&Ask::of(&questions[asked % 4].text, 10))).unwrap();
        assert_eq!(found.hits.len(), 10);
        assert!((1_400..=2_000).contains(&found.considered), "{} agents", found.considered);
        asked += 1;
    }
    writing.join().unwrap();
    assert_eq!(finder.len(), 1_400);
}
