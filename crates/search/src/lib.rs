//! AgentQuery: ask for an agent in plain language, get the right one.
//!
//! Promises: what [`Finder::put`] acknowledged is found by the next [`Finder::find`], and readers never wait
//! for writers. Vectors of different models are never compared. The same entries and the same question give
//! the same answer, and each hit says why.
//!
//! It does not know agents, callers, files of agents or the network: an [`Entry`] is a few texts and facts,
//! independent of their owner.

#![deny(unsafe_code)]

mod embedder;
mod entry;
mod finder;
mod index;
mod index_change;
mod log;
mod minilm;
#[doc(hidden)]
pub mod population;
mod question;
mod rank;
mod reading;
mod reason;
mod simd;
mod table;
mod wordpiece;
mod words;

pub use embedder::{EmbedError, Embedder, Hashed, ModelId, Vector};
pub use entry::{Audience, Entry, Facts, Passage, PublishedVectors};
pub use finder::{
    Embedders, EncodeProgress, FindError, Finder, FinderSettings, Opened, digest, whole_vectors,
};
#[doc(hidden)]
pub use index_change::records_in;
pub use minilm::MiniLm;
pub use question::{Ask, FindResults, Hit};
pub use rank::Blend;
pub use table::Static;
pub use wordpiece::WordPiece;
pub use words::terms;
