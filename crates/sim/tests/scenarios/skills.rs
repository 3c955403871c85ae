//! Real vectors for made-up agents: cards and questions of the search, encoded by the model of the protocol.
//!
//! Also used by the example `cells_results`.

use agentsite_mesh::{PROTOCOL_DIMENSIONS, PROTOCOL_MODEL};
use agentsite_search::population::cards::{CARDS, card, question};
use agentsite_search::{Embedder as _, MiniLm};
use agentsite_sim::cells::VectorSource;

/// The vectors of all cards that differ, and of a question about each.
pub(crate) fn real_vectors() -> VectorSource {
    let model = MiniLm::load();
    assert_eq!((model.model().as_str(), model.dimensions()), (PROTOCOL_MODEL, PROTOCOL_DIMENSIONS));
    let encode = |text: fn(usize) -> String| -> Vec<Vec<f32>> {
        let texts: Vec<String> = (0..CARDS / 2).map(text).collect();
        model.encode(&texts).into_iter().map(|vector| vector.values.into_vec()).collect()
    };
    VectorSource { skills: encode(card), questions: encode(question) }
}
