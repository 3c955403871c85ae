//! Query and Match: a search in plain language, and what it found with the reasons.
//!
//! Promises: a Query that was checked is within the limits named here, regardless of its sender; the text is
//! kept unchanged. A Match contains the parts of its score. It does not search (`search` does) and does not
//! decide who may see what (`site` does).

use serde::{Deserialize, Serialize};

use crate::{Money, Timestamp};

/// Longest text of a query, in bytes. A request of several pages is a task, not a search.
pub const MAX_QUERY: usize = 8 * 1024;

/// Most values of one filter.
pub const MAX_FILTER_VALUES: usize = 64;

/// Longest value of a filter, in bytes.
pub const MAX_FILTER_VALUE: usize = 256;

/// The default number of matches.
pub const DEFAULT_MATCHES: usize = 10;

/// Most matches of one answer.
pub const MAX_MATCHES: usize = 100;

/// Farthest page, in matches from the best: readers do not page that far, and matches beyond it are no better
/// than chance.
pub const MAX_OFFSET: usize = 10_000;

/// What to look for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Query {
    /// What is needed, in plain language.
    pub text: String,
    /// What a match must be, independent of the text.
    #[serde(default, skip_serializing_if = "Filter::is_empty")]
    pub filter: Filter,
    /// How many matches; [`DEFAULT_MATCHES`] when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// How many of the best to leave out, for the next page.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: usize,
    /// How far is looked.
    #[serde(default, skip_serializing_if = "Reach::is_here")]
    pub reach: Reach,
}

/// How far a query looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// At the agents that the site runs or knows.
    #[default]
    Here,
    /// Also at those that the registries know which the operator has named.
    Upstreams,
}

impl Reach {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
    const fn is_here(&self) -> bool {
        matches!(self, Self::Here)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// What a match must be. Values of one field are alternatives, fields are joined by "and"; case does not
/// count.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Filter {
    /// Has one of these tags among its skills.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Is called by one of these protocols: `a2a`, `mcp`, ….
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<String>,
    /// Takes one of these media types.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input_modes: Vec<String>,
    /// Gives one of these media types.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub output_modes: Vec<String>,
    /// Runs in one of these regions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<String>,
    /// Belongs to one of these owners.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<String>,
    /// Answered the last check.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub live: bool,
    /// Costs at most this per call; a bare number is credits. What names no price costs nothing, and what is
    /// priced in another asset does not match.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "crate::money::limit")]
    pub max_price: Option<Money>,
    /// Is trusted at least this much, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_trust: Option<f64>,
}

/// What is wrong with a query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadQuery {
    /// The query is empty.
    #[error("the query is empty: describe in a sentence what you need")]
    Empty,
    /// Too much is asked at once.
    #[error("the query has {0} bytes, more than {MAX_QUERY}: describe what you need in a few sentences")]
    TooLong(usize),
    /// The requested page is beyond the limit.
    #[error("only the best {MAX_OFFSET} matches are available: describe more exactly what you need")]
    TooFar,
    /// A filter has too many values, too long ones, or a number that is none.
    #[error("the filter `{0}` is invalid: {1}")]
    Filter(&'static str, String),
}

impl Query {
    /// A query for this text, without filters.
    #[must_use]
    pub fn of(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// How many matches are given.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit.unwrap_or(DEFAULT_MATCHES).clamp(1, MAX_MATCHES)
    }

    /// Refuses what is empty or beyond the limits.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), BadQuery> {
        if !self.text.chars().any(char::is_alphanumeric) {
            return Err(BadQuery::Empty);
        }
        if self.text.len() > MAX_QUERY {
            return Err(BadQuery::TooLong(self.text.len()));
        }
        if self.offset > MAX_OFFSET {
            return Err(BadQuery::TooFar);
        }
        self.filter.check()
    }
}

impl Filter {
    /// Whether everything passes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses what is beyond the limits.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn check(&self) -> Result<(), BadQuery> {
        for (name, values) in self.lists() {
            if values.len() > MAX_FILTER_VALUES {
                let what = format!("it has {} values, at most {MAX_FILTER_VALUES} are allowed", values.len());
                return Err(BadQuery::Filter(name, what));
            }
            if values.iter().any(|value| value.is_empty() || value.len() > MAX_FILTER_VALUE) {
                let what = format!("each value has 1 to {MAX_FILTER_VALUE} bytes");
                return Err(BadQuery::Filter(name, what));
            }
        }
        if !(0.0..=1.0).contains(&self.min_trust.unwrap_or(0.0)) {
            return Err(BadQuery::Filter("minTrust", "name a number from 0 to 1".into()));
        }
        Ok(())
    }

    /// The fields that are lists of words, with their names.
    #[must_use]
    pub fn lists(&self) -> [(&'static str, &[String]); 6] {
        [
            ("tags", &self.tags),
            ("protocols", &self.protocols),
            ("inputModes", &self.input_modes),
            ("outputModes", &self.output_modes),
            ("regions", &self.regions),
            ("owners", &self.owners),
        ]
    }
}

/// Why something was found, in parts that people can read.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    /// How near its meaning is, from 0 to 1.
    pub meaning: f64,
    /// How well its words fit, from 0 to 1 (the best of this answer has 1).
    pub words: f64,
    /// What trust did to the score: a factor near 1.
    pub trust: f64,
    /// The skill that fitted best, if it was not the agent as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// The sentence of it that is most similar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passage: Option<String>,
    /// Words of the query that it contains, as written in the query.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matched: Vec<String>,
    /// Listed because newcomers get a reserved place, not by its score alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub newcomer: bool,
    /// The model whose vectors were compared.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
}

impl Reason {
    /// Why, in one line that people can read.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut parts = Vec::new();
        if let Some(skill) = &self.skill {
            parts.push(format!("its skill `{skill}`"));
        }
        if !self.matched.is_empty() {
            parts.push(format!("the words {}", self.matched.join(", ")));
        }
        let near = self.meaning >= NEAR || parts.is_empty();
        if near {
            parts.push(format!("near in meaning ({:.2})", self.meaning));
        }
        if self.newcomer {
            parts.push("new here".into());
        }
        parts.join(" · ")
    }
}

/// The score from which meaning is worth mentioning next to other reasons.
const NEAR: f64 = 0.3;

/// An agent that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Match {
    /// By what it is named everywhere: `urn:air:<publisher>:<namespace>:<name>`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Where its card is, when it has one that can be fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<String>,
    /// Whether this site runs it.
    pub local: bool,
    /// How well it fits, from 0 to 1.
    pub score: f64,
    /// Why; where another registry found it, that one's matter and empty here.
    pub reason: Reason,
    /// The registry that found it, when it was not this site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Of an agent from elsewhere: whether it answered when it was last checked; none before the first check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<bool>,
    /// Of an agent from elsewhere: when it last answered, or its site last signed its record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<Timestamp>,
}

impl Match {
    /// Why it was found, in one line that people can read.
    #[must_use]
    pub fn why(&self) -> String {
        let found = self
            .source
            .as_ref()
            .map_or_else(|| self.reason.sentence(), |source| format!("found by {source}"));
        match (self.live, self.seen_at) {
            (Some(false), Some(seen)) => format!("not reachable, last seen {seen} · {found}"),
            (Some(false), None) => format!("not reachable · {found}"),
            _ => found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_says_what_is_wrong_with_it() {
        assert_eq!(Query::of("  \u{7}!? ").check(), Err(BadQuery::Empty));
        assert_eq!(Query::of("x".repeat(1 << 20)).check(), Err(BadQuery::TooLong(1 << 20)));
        assert_eq!(Query::of("何か天気を教えて").check(), Ok(()));
        assert_eq!(Query { offset: usize::MAX, ..Query::of("x") }.check(), Err(BadQuery::TooFar));
        let filter = |filter| Query { filter, ..Query::of("weather") }.check();
        assert!(filter(Filter { tags: vec!["x".into(); 65], ..Filter::default() }).is_err());
        assert!(filter(Filter { regions: vec![String::new()], ..Filter::default() }).is_err());
        assert!(filter(Filter { min_trust: Some(1.5), ..Filter::default() }).is_err());
        assert!(filter(Filter { min_trust: Some(0.5), live: true, ..Filter::default() }).is_ok());
    }

    #[test]
    fn a_reason_is_told_in_one_line() {
        assert_eq!(Reason { meaning: 0.1, ..Reason::default() }.sentence(), "near in meaning (0.10)");
        let reason = Reason {
            meaning: 0.1,
            skill: Some("sums".into()),
            matched: vec!["add".into(), "two".into()],
            newcomer: true,
            ..Reason::default()
        };
        assert_eq!(reason.sentence(), "its skill `sums` · the words add, two · new here");
    }

    #[test]
    fn a_query_looks_here_unless_it_says_otherwise() {
        let read = |text| serde_json::from_str::<Query>(text);
        assert_eq!(read(r#"{"text":"x"}"#).unwrap().reach, Reach::Here);
        assert_eq!(read(r#"{"text":"x","reach":"upstreams"}"#).unwrap().reach, Reach::Upstreams);
        assert!(read(r#"{"text":"x","reach":"everywhere"}"#).is_err());
        assert_eq!(serde_json::to_string(&Query::of("x")).unwrap(), r#"{"text":"x"}"#);
    }

    #[test]
    fn a_filter_that_nobody_knows_is_an_error_and_not_ignored() {
        let read = |text| serde_json::from_str::<Query>(text);
        assert!(read(r#"{"text":"x","filter":{"colour":["red"]}}"#).is_err());
        let query = read(r#"{"text":"x","filter":{"tags":["math"]},"limit":3}"#).unwrap();
        assert_eq!((query.filter.tags.len(), query.limit()), (1, 3));
        assert_eq!(Query::of("x").limit(), DEFAULT_MATCHES);
        assert_eq!(Query { limit: Some(1_000_000), ..Query::of("x") }.limit(), MAX_MATCHES);
    }
}
