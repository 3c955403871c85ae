//! Question and answer: the input and output of a finder.
//!
//! Promises: values only; a question is read by `finder`, within the limits that are named here.

use agentsite_protocol::{Filter, MAX_QUERY, Reason, Timestamp};

use crate::{Audience, words};

/// Terms of a question; the first ones count.
const MOST_TERMS: usize = 64;

/// The weight of a pair of neighbouring words relative to a single word. 0.6 ranks as well, 0.2 a little
/// worse.
const PAIR_WEIGHT: f32 = 0.4;

/// A question.
#[derive(Debug, Clone)]
pub struct Ask {
    /// In plain language.
    pub text: String,
    /// What a hit must be.
    pub filter: Filter,
    /// The audience.
    pub audience: Audience,
    /// How many.
    pub limit: usize,
    /// How many of the best to leave out.
    pub offset: usize,
    /// The present time, for newcomers.
    pub now: Option<Timestamp>,
}

impl Ask {
    /// A question of a caller who sees everything.
    #[must_use]
    pub fn of(text: impl Into<String>, limit: usize) -> Self {
        Self {
            text: text.into(),
            filter: Filter::default(),
            audience: Audience::everything(),
            limit,
            offset: 0,
            now: None,
        }
    }
}

/// One entry that fits.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Its id.
    pub id: String,
    /// How well it fits, from 0 to 1.
    pub score: f64,
    /// Why.
    pub reason: Reason,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FindResults {
    /// The best ones, the best first.
    pub hits: Vec<Hit>,
    /// How many entries passed the filter.
    pub considered: usize,
    /// What was left out of the scores and why.
    pub without: Option<String>,
}

/// The words of a question.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct QuestionWords {
    /// As they were said, with their terms, in order.
    pub(crate) said: Vec<(String, u64)>,
    /// Different terms with their weight, pairs of neighbouring words among them.
    pub(crate) terms: Vec<(u64, f32)>,
}

impl QuestionWords {
    /// Reads a question. Empty words count only where there are no others.
    pub(crate) fn of(text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(MAX_QUERY)];
        let (mut full, mut empty) = (Vec::new(), Vec::new());
        let (mut pairs, mut paired) = (words::Pairs::default(), Vec::new());
        words::read(text, &mut |word| {
            let list = if word.empty { &mut empty } else { &mut full };
            list.push((word.said.to_owned(), word.term));
            paired.extend(pairs.next(word));
            full.len() < MOST_TERMS
        });
        let said = if full.is_empty() { empty } else { full };
        let mut terms: Vec<(u64, f32)> = Vec::new();
        let single = said.iter().take(MOST_TERMS).map(|(_, term)| (*term, 1.0));
        for (term, weight) in single.chain(paired.into_iter().map(|pair| (pair, PAIR_WEIGHT))) {
            if !terms.iter().any(|(known, _)| *known == term) {
                terms.push((term, weight));
            }
        }
        Self { said, terms }
    }
}
