//! The query that search and explore share, checked.
//!
//! Promises: closed as its schema is; the filter is bounded in keys, values and length. A key is a path into
//! an entry, or a term of a vocabulary that the query's `@context` binds (ARD 0.91); terms of vocabularies
//! that no entry here uses find nothing. It does not look at agents.

use agentsite_protocol::listing::{A2A_CARD, MCP_SERVER_CARD};
use agentsite_protocol::{Filter, MAX_FILTER_VALUE, MAX_FILTER_VALUES, Query};
use agentsite_site::UpstreamQuery;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::bad;
use super::entry::Entry;
use super::filter::same;
use super::path::Path;
use super::token::Bond;
use crate::failure::Failure;

/// Most keys of a filter; people name a handful.
const MAX_KEYS: usize = 32;

/// The vocabulary to which terms without a prefix belong.
const BASE_TERMS: &str = "https://agenticresourcediscovery.org/ns#";

/// The query as it was sent.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SentQuery {
    #[serde(rename = "@context", default)]
    context: Option<Value>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    filter: Option<Map<String, Value>>,
}

/// The query, checked.
#[derive(Debug)]
pub(super) struct CheckedQuery {
    /// What is looked for in plain language; checked to be some.
    pub(super) text: Option<String>,
    constraints: Vec<(Path, Vec<String>)>,
    /// The filter and what binds its prefixes, as they were sent.
    sent: (Map<String, Value>, Option<Value>),
}

impl CheckedQuery {
    /// Checks a query.
    pub(super) fn check(sent: SentQuery) -> Result<Self, Failure> {
        if let Some(text) = &sent.text {
            Query::of(text.as_str()).check().map_err(|error| bad(format!("query.text: {error}")))?;
        }
        let filter = sent.filter.unwrap_or_default();
        if filter.len() > MAX_KEYS {
            return Err(bad(format!(
                "query.filter: it has {} keys, at most {MAX_KEYS} are taken",
                filter.len()
            )));
        }
        let read =
            |(key, values): (String, Value)| Ok((term(&key, sent.context.as_ref())?, texts(&key, values)?));
        let sent_filter = filter.clone();
        let constraints = filter.into_iter().map(read).collect::<Result<_, Failure>>()?;
        Ok(Self { text: sent.text, constraints, sent: (sent_filter, sent.context) })
    }

    /// Whether an entry satisfies every constraint.
    pub(super) fn admits(&self, entry: &Entry) -> bool {
        self.constraints.iter().all(|(path, wanted)| {
            path.texts(&entry.members).iter().any(|text| wanted.iter().any(|value| same(text, value)))
        })
    }

    /// Whether an entry of another registry contradicts no constraint. That registry applied them, and may
    /// leave out what it does not show.
    pub(super) fn may_admit(&self, entry: &Entry) -> bool {
        self.constraints.iter().all(|(path, wanted)| {
            let told = path.texts(&entry.members);
            told.is_empty() || told.iter().any(|text| wanted.iter().any(|value| same(text, value)))
        })
    }

    /// The same question for other registries.
    pub(super) fn elsewhere(&self) -> UpstreamQuery {
        let (filter, context) = self.sent.clone();
        UpstreamQuery { text: self.text.clone().unwrap_or_default(), filter, context }
    }

    /// The part of the constraints that the search itself can apply, so that it looks only at what may pass.
    pub(super) fn filter(&self) -> Filter {
        let values = |name: &str| {
            let path = Path::Member(vec![name.to_owned()]);
            self.constraints.iter().find(|(known, _)| *known == path).map(|(_, values)| values.clone())
        };
        let protocol = |media: &String| match media.to_lowercase().as_str() {
            A2A_CARD => Some("a2a".to_owned()),
            MCP_SERVER_CARD => Some("mcp".to_owned()),
            _ => None,
        };
        // Only where each of the types is one of the two: others say nothing about protocols.
        let protocols =
            values("type").and_then(|types| types.iter().map(protocol).collect::<Option<Vec<_>>>());
        Filter {
            tags: values("tags").unwrap_or_default(),
            protocols: protocols.unwrap_or_default(),
            ..Filter::default()
        }
    }

    /// What a page token of this query is bound to.
    pub(super) fn bond(&self) -> Bond {
        Bond::of(&[self.text.as_deref().unwrap_or_default(), &format!("{:?}", self.constraints)])
    }
}

/// The place that a key of a filter means.
fn term(key: &str, context: Option<&Value>) -> Result<Path, Failure> {
    let path = |key: &str| Path::read(key).map_err(|error| bad(format!("query.filter: {error}")));
    let Some((prefix, rest)) = key.split_once(':') else { return path(key) };
    match vocabulary(prefix, context) {
        Some(BASE_TERMS) => path(rest),
        Some(_) => Ok(Path::Nowhere),
        None if key.starts_with(BASE_TERMS) => path(&key[BASE_TERMS.len()..]),
        None if rest.starts_with("//") => Ok(Path::Nowhere),
        None => {
            let prefix: String = prefix.chars().take(40).collect();
            Err(bad(format!("query.filter: the prefix `{prefix}` is not bound; bind it in query.@context")))
        }
    }
}

/// What a prefix is bound to by a context, or by one of several.
fn vocabulary<'a>(prefix: &str, context: Option<&'a Value>) -> Option<&'a str> {
    match context? {
        Value::Object(bound) => bound.get(prefix)?.as_str(),
        Value::Array(several) => several.iter().rev().find_map(|one| one.get(prefix)?.as_str()),
        _ => None,
    }
}

fn texts(key: &str, values: Value) -> Result<Vec<String>, Failure> {
    let wrong =
        |what: &str| bad(format!("query.filter: `{}` {what}", key.chars().take(60).collect::<String>()));
    let values = if let Value::Array(values) = values { values } else { vec![values] };
    if values.is_empty() || values.len() > MAX_FILTER_VALUES {
        return Err(wrong(&format!("takes 1 to {MAX_FILTER_VALUES} values")));
    }
    let text = |value: Value| match value {
        Value::String(text) if !text.is_empty() && text.len() <= MAX_FILTER_VALUE => Ok(text),
        Value::String(_) => Err(wrong(&format!("takes values of 1 to {MAX_FILTER_VALUE} bytes"))),
        plain @ (Value::Number(_) | Value::Bool(_)) => Ok(plain.to_string()),
        _ => Err(wrong("takes texts")),
    };
    values.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(query: Value) -> Result<CheckedQuery, String> {
        let sent: SentQuery = serde_json::from_value(query).map_err(|error| error.to_string())?;
        CheckedQuery::check(sent).map_err(|failure| failure.sentence.into_owned())
    }

    #[test]
    fn a_query_says_what_is_wrong_with_it() {
        let keys: Map<String, Value> =
            (0..40).map(|number| (format!("metadata.x{number}"), json!("y"))).collect();
        for (query, said) in [
            (json!({ "words": "x" }), "unknown field"),
            (json!({ "text": " " }), "empty"),
            (json!({ "text": "x".repeat(9000) }), "bytes"),
            (json!({ "filter": { "colour": "red" } }), "no field"),
            (json!({ "filter": { "tags": [] } }), "1 to 64 values"),
            (json!({ "filter": { "tags": vec!["x"; 65] } }), "1 to 64 values"),
            (json!({ "filter": { "tags": ["x".repeat(300)] } }), "bytes"),
            (json!({ "filter": { "tags": [{ "a": 1 }] } }), "takes texts"),
            (json!({ "filter": { "okf:taxonomy": ["x"] } }), "not bound"),
            (json!({ "filter": keys }), "keys"),
        ] {
            let error = asked(query).unwrap_err();
            assert!(error.contains(said), "{said}: {error}");
        }
    }

    #[test]
    fn terms_mean_what_their_context_says() {
        let context = json!([{ "air": BASE_TERMS, "okf": "https://openknowledgeformat.org/ns#" }]);
        let told =
            asked(json!({ "@context": context, "filter": { "air:tags": "x", "okf:taxonomy": ["y"] } }))
                .unwrap();
        assert_eq!(told.constraints[0].0, Path::read("tags").unwrap());
        assert_eq!(told.constraints[1].0, Path::Nowhere);
    }

    #[test]
    fn the_search_gets_what_it_can_apply() {
        let types =
            |types: Value| asked(json!({ "filter": { "type": types, "tags": "x" } })).unwrap().filter();
        assert_eq!(types(json!([MCP_SERVER_CARD])).protocols, ["mcp"]);
        assert_eq!(types(json!([A2A_CARD])).tags, ["x"]);
        assert!(types(json!([A2A_CARD, "application/x"])).protocols.is_empty());
    }
}
