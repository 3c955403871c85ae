//! `POST /search`: the agents that fit a sentence, the best first.
//!
//! Promises: each agent stands once in the results, in the first of its forms that passes the filter; scores
//! are of relevance and nothing else. `auto` also asks the registries that the operator has set, `referrals`
//! names them, `none` answers from this site alone. What others found names them as its `source`; one that
//! does not answer is missing and stands in the log, for the specification has no place for it.

use agentsite_site::UpstreamMatches;
use axum::extract::Request;
use axum::response::Response;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::entry::{foreign, referral};
use super::matched::{Matched, matched};
use super::query::{CheckedQuery, SentQuery};
use super::{ARD, ArdCall, FrontState, bad, page_size, respond};
use crate::document::json;
use crate::failure::Failure;
use crate::route::{Route, Shape};
use crate::written::{Entry, SearchQuery, SearchResult};

/// Results when the caller names no number, as the specification has it.
const RESULTS: usize = 10;

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        ARD.post("/search", answer)
            .operation("searchAgents", "Agents that fit a sentence, the best first")
            .takes(Shape::of::<SearchRequest>())
            .gives(Shape::of::<Results>()),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SearchRequest {
    #[schemars(with = "SearchQuery")]
    query: SentQuery,
    #[serde(default)]
    #[schemars(extend("default" = "auto"))]
    federation: Federation,
    #[serde(default)]
    #[schemars(extend("minimum" = 1, "maximum" = 100, "default" = RESULTS))]
    page_size: Option<i64>,
    #[serde(default)]
    #[schemars(extend("about" = "pageToken of the page before"))]
    page_token: Option<String>,
}

/// Whether other registries are asked, named or left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Federation {
    #[default]
    Auto,
    Referrals,
    None,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SearchResponse", extend("additionalProperties" = false))]
struct Results {
    #[schemars(with = "Vec<SearchResult>")]
    results: Vec<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Entry>>")]
    referrals: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_token: Option<String>,
}

async fn answer(axum::extract::State(front): FrontState, request: Request) -> Response {
    respond(search(front, request).await)
}

async fn search(front: std::sync::Arc<crate::front::Front>, request: Request) -> Result<Response, Failure> {
    let (call, body) = ArdCall::enter(front, request)?;
    let wanted: SearchRequest = call.read(body).await?;
    let size = page_size(wanted.page_size, RESULTS)?;
    let asked = CheckedQuery::check(wanted.query)?;
    if asked.text.is_none() {
        return Err(bad("query.text: say in a sentence what you look for; GET /agents lists without it"));
    }
    let bond = asked.bond();
    let begin = match bond.place(wanted.page_token.as_deref())? {
        None => 0,
        Some(place) => place
            .first()
            .and_then(|number| number.parse::<usize>().ok())
            .ok_or_else(|| bad("pageToken: send the one of the page before"))?,
    };
    let end = begin.saturating_add(size);
    // One more than the page, to know whether another one follows.
    let own = matched(&call, &asked, end.saturating_add(1));
    let elsewhere = elsewhere(&call, &asked, wanted.federation);
    let (own, elsewhere) = futures::future::try_join(own, elsewhere).await?;
    let base = &call.voice.base;
    let own = own.into_iter().map(|one| (f64::from(one.score) / 100.0, result(one, base))).collect();
    let found = elsewhere.beside(own, |one| {
        Some(foreign(&one)).filter(|entry| asked.may_admit(entry)).map(|entry| entry.members)
    });
    let page_token = (found.len() > end).then(|| bond.token(&[end.to_string()]));
    let results = found.into_iter().skip(begin).take(size).collect();
    let referrals = (wanted.federation == Federation::Referrals)
        .then(|| call.front.site.settings().site.upstreams.iter().map(|url| referral(url)).collect());
    json(StatusCode::OK, &Results { results, referrals, page_token })
}

/// What the registries know that the operator has set, where they are to be asked.
async fn elsewhere(
    call: &ArdCall,
    asked: &CheckedQuery,
    federation: Federation,
) -> Result<UpstreamMatches, Failure> {
    if federation != Federation::Auto {
        return Ok(UpstreamMatches::default());
    }
    Ok(call.front.site.search().find_elsewhere(&asked.elsewhere(), &call.voice.base).await?)
}

/// An entry with its score. Queries serve indexing, not choosing, so they are left out.
fn result(found: Matched, base: &str) -> Map<String, Value> {
    let mut members = found.forms.into_iter().next().map(|form| form.members).unwrap_or_default();
    members.remove("representativeQueries");
    members.insert("score".into(), found.score.into());
    members.insert("source".into(), base.into());
    members
}
