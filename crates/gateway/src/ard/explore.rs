//! `POST /explore`: how the agents that fit a query are spread over the values of some fields.
//!
//! Promises: counted over the whole matched set, each form of an agent as an entry of its own; an entry with
//! several values counts in each of their buckets once. Bounded in facets and buckets. It never asks other
//! registries.

use std::collections::{BTreeMap, HashMap};

use axum::extract::Request;
use axum::response::Response;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::entry::Entry;
use super::matched::matched;
use super::path::Path;
use super::query::{CheckedQuery, SentQuery};
use super::{ARD, ArdCall, FrontState, bad, respond};
use crate::document::json;
use crate::failure::Failure;
use crate::route::{Route, Shape};
use crate::written::{ArdQuery, EntryField};

/// Most facets of one request; each is a pass over the matched set.
const MAX_FACETS: usize = 16;

/// Buckets of a facet when the caller names no number, as the specification has it.
const BUCKETS: i64 = 20;

/// Most buckets of a facet.
const MAX_BUCKETS: i64 = 1000;

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        ARD.post("/explore", answer)
            .operation("exploreRegistry", "How the agents that fit are spread over the values of fields")
            .takes(Shape::of::<ExploreRequest>())
            .gives(Shape::of::<Spread>()),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ExploreRequest {
    #[serde(default)]
    #[schemars(with = "ArdQuery")]
    query: SentQuery,
    result_type: ResultType,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct ResultType {
    #[schemars(extend("minItems" = 1, "maxItems" = MAX_FACETS, "uniqueItems" = true))]
    facets: Vec<Facet>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
struct Facet {
    #[schemars(with = "EntryField")]
    field: String,
    #[serde(default)]
    #[schemars(extend("minimum" = 1, "maximum" = MAX_BUCKETS, "default" = BUCKETS))]
    limit: Option<i64>,
    #[serde(default)]
    #[schemars(extend("minimum" = 0, "default" = 1))]
    min_count: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ExploreResponse", extend("additionalProperties" = false))]
struct Spread {
    #[schemars(extend("enum" = ["facets"]))]
    result_type: &'static str,
    #[schemars(with = "BTreeMap<String, Buckets>")]
    facets: Map<String, serde_json::Value>,
}

#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = false))]
struct Buckets {
    buckets: Vec<Bucket>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other_count: Option<usize>,
}

#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline, extend("additionalProperties" = false))]
struct Bucket {
    value: String,
    count: usize,
}

async fn answer(axum::extract::State(front): FrontState, request: Request) -> Response {
    respond(explore(front, request).await)
}

async fn explore(front: std::sync::Arc<crate::front::Front>, request: Request) -> Result<Response, Failure> {
    let (call, body) = ArdCall::enter(front, request)?;
    let wanted: ExploreRequest = call.read(body).await?;
    let asked = CheckedQuery::check(wanted.query)?;
    let facets = wanted.result_type.facets;
    if facets.is_empty() || facets.len() > MAX_FACETS {
        return Err(bad(format!("resultType.facets: name 1 to {MAX_FACETS} facets")));
    }
    let paths = facets.iter().map(checked).collect::<Result<Vec<_>, Failure>>()?;
    let found = matched(&call, &asked, usize::MAX).await?;
    let entries: Vec<Entry> = found.into_iter().flat_map(|one| one.forms).collect();
    let mut spread = Spread { result_type: "facets", facets: Map::new() };
    for (facet, (path, limit, least)) in facets.iter().zip(paths) {
        let buckets = serde_json::to_value(count(&entries, &path, limit, least)).unwrap_or_default();
        // A field that is named twice is counted as its last entry says.
        spread.facets.insert(facet.field.clone(), buckets);
    }
    json(StatusCode::OK, &spread)
}

fn checked(facet: &Facet) -> Result<(Path, usize, usize), Failure> {
    let path = Path::read(&facet.field).map_err(|error| bad(format!("resultType.facets: {error}")))?;
    let (limit, least) = (facet.limit.unwrap_or(BUCKETS), facet.min_count.unwrap_or(1));
    if !(1..=MAX_BUCKETS).contains(&limit) {
        return Err(bad(format!("resultType.facets: limit is a number from 1 to {MAX_BUCKETS}")));
    }
    let least = usize::try_from(least).map_err(|_| bad("resultType.facets: minCount is not negative"))?;
    Ok((path, usize::try_from(limit).unwrap_or_default(), least))
}

/// The fullest buckets; what lies in the others is counted in one sum.
fn count(entries: &[Entry], path: &Path, limit: usize, least: usize) -> Buckets {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for entry in entries {
        let mut texts = path.texts(&entry.members);
        texts.sort_unstable();
        texts.dedup();
        for text in texts {
            *counts.entry(text).or_default() += 1;
        }
    }
    let mut buckets: Vec<Bucket> = counts
        .into_iter()
        .filter(|(_, count)| *count >= least)
        .map(|(value, count)| Bucket { value, count })
        .collect();
    buckets
        .sort_unstable_by(|one, other| other.count.cmp(&one.count).then_with(|| one.value.cmp(&other.value)));
    let other: usize = buckets.iter().skip(limit).map(|bucket| bucket.count).sum();
    buckets.truncate(limit);
    Buckets { buckets, other_count: (other > 0).then_some(other) }
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn buckets_are_the_fullest_and_the_rest_is_summed() {
        let entry = |tags: &[&str]| Entry {
            members: json!({ "tags": tags }).as_object().unwrap().clone(),
            created: Timestamp::from_millis(0),
        };
        let entries = [entry(&["a", "a", "b"]), entry(&["a", "c"]), entry(&["b"]), entry(&["d"]), entry(&[])];
        let tags = Path::read("tags").unwrap();
        let bucket = |value: &str, count| Bucket { value: value.into(), count };
        let told = count(&entries, &tags, 2, 1);
        assert_eq!(told, Buckets { buckets: vec![bucket("a", 2), bucket("b", 2)], other_count: Some(2) });
        let told = count(&entries, &tags, 20, 2);
        assert_eq!(told, Buckets { buckets: vec![bucket("a", 2), bucket("b", 2)], other_count: None });
    }
}
