//! Candidates: entries that may answer a question, and how closely is looked for them.
//!
//! Promises: plain values that the ways of finding entries share. They do not find and do not order.

use super::coded::Coded;
use super::snapshot::EntryPosition;

/// The vector of a question in each model of the index, where there is one.
pub(crate) type Vectors<'a> = &'a [Option<Coded>];

/// How much work a search spends on a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// The question has only the vector of the fast model: it took microseconds and is approximate, so fewer
    /// are compared.
    Quick,
    /// It has that of the full model, which took milliseconds: a closer look costs little in comparison.
    Full,
}

impl Effort {
    /// What the vectors of a question are worth.
    pub(crate) fn of(vectors: Vectors<'_>) -> Self {
        if vectors.iter().skip(1).any(Option::is_some) { Self::Full } else { Self::Quick }
    }
}

/// An entry that may be among the best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) spot: EntryPosition,
    /// How near its nearest vector is, from -1 to 1; `None` when it has none that can be compared.
    pub(crate) near: Option<f32>,
    /// The place of that vector among the entry's.
    pub(crate) vector: usize,
    /// The model of that vector.
    pub(crate) model: usize,
    /// The sum of its terms' scores.
    pub(crate) words: f32,
}
