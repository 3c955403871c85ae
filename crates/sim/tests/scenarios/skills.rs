//! Real vectors for made-up agents: cards of the search and questions about them, encoded by the model of the
//! protocol.
//!
//! Also used by the example `cells_results`.

use agentsite_mesh::{PROTOCOL_DIMENSIONS, PROTOCOL_MODEL};
use agentsite_search::population::cards::{self, CARDS, card};
use agentsite_search::{Embedder as _, MiniLm};
use agentsite_sim::cells::VectorSource;

/// How many cards differ.
pub(crate) const ALL: usize = CARDS / 2;

/// The vectors of so many cards, and of a question about each.
pub(crate) fn real_vectors(count: usize) -> VectorSource {
    let model = MiniLm::load();
    assert_eq!((model.model().as_str(), model.dimensions()), (PROTOCOL_MODEL, PROTOCOL_DIMENSIONS));
    let encode = |text: fn(usize) -> String| -> Vec<Vec<f32>> {
        let texts: Vec<String> = (0..count.min(ALL)).map(text).collect();
        model.encode(&texts).into_iter().map(|vector| vector.values.into_vec()).collect()
    };
    VectorSource { skills: encode(skill), questions: encode(question) }
}

/// What an agent with a skill can do: the first clause of a card.
fn skill(number: usize) -> String {
    clause(&card(number)).to_owned()
}

/// A question about a skill.
fn question(number: usize) -> String {
    format!("{}?", clause(&cards::question(number)))
}

/// What a sentence says before it names an audience.
fn clause(text: &str) -> &str {
    text.split(" for ").next().unwrap_or(text)
}
