//! Real vectors for made-up agents: cards of the search and questions about them, encoded by the model of the
//! protocol.
//!
//! Also used by the example `cells_results`.

use agentsite_mesh::{PROTOCOL_DIMENSIONS, PROTOCOL_MODEL};
use agentsite_search::population::cards::{CARDS, card};
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
    VectorSource { skills: encode(card), questions: encode(question) }
}

/// A question about what a card does, without its audience and its second subject.
fn question(number: usize) -> String {
    let card = card(number);
    let deed = card.split(" for ").next().unwrap_or(&card);
    format!("I need an agent that {}", deed.to_lowercase())
}
