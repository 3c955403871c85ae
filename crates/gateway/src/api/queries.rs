//! `/api/queries`: queries that are kept, so that whoever asked is told when an agent appears that fits.
//!
//! Promises: a query of another caller answers like one that does not exist. Following resumes after `Last-Event-ID` or `?after=`; a stream ends when the
//! query is forgotten.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use agentsite_protocol::{PushConfig, Query};
use agentsite_site::{KeptQuery, QueryWatch};
use axum::extract::{Path, State};
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::tasks::{last_seen, wants_stream};
use super::{Answer, Asking, Given, Wanted, json, nothing};
use crate::front::Front;
use crate::sse;

/// A query to keep.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct QueryGiven {
    query: Query,
    #[serde(default)]
    min_score: Option<f64>,
    /// Who is told, as A2A names a receiver.
    #[serde(default)]
    push: Option<PushConfig>,
}

#[derive(Serialize)]
struct Queries {
    queries: Vec<KeptQuery>,
}

pub(super) async fn keep(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Given(given): Given<QueryGiven>,
) -> Answer {
    let base = front.base(&asking.parts);
    let QueryGiven { query, min_score, push } = given;
    json(StatusCode::CREATED, &front.site.keep_query(&asking.caller, query, min_score, push, &base).await?)
}

pub(super) async fn list(State(front): State<Arc<Front>>, asking: Asking) -> Answer {
    json(StatusCode::OK, &Queries { queries: front.site.kept_queries(&asking.caller) })
}

pub(super) async fn show(State(front): State<Arc<Front>>, asking: Asking, Path(id): Path<String>) -> Answer {
    json(StatusCode::OK, &front.site.kept_query(&asking.caller, &id)?)
}

pub(super) async fn forget(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
) -> Answer {
    front.site.forget_query(&asking.caller, &id).await?;
    Ok(nothing())
}

#[derive(Deserialize)]
pub(super) struct EventsWanted {
    after: Option<u64>,
}

pub(super) async fn events(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
    Wanted(wanted): Wanted<EventsWanted>,
) -> Answer {
    let headers = &asking.parts.headers;
    let after = last_seen(headers, wanted.after);
    if wants_stream(headers) {
        let watch = front.site.follow_query(&asking.caller, &id, after)?;
        let place = front.open_stream(&asking.parts)?;
        return Ok(sse::respond(&front, place, Vec::new(), Following(watch)));
    }
    let mut kept = front.site.kept_query(&asking.caller, &id)?;
    kept.matches.retain(|one| one.seq > after);
    json(StatusCode::OK, &serde_json::json!({ "matches": kept.matches }))
}

/// The agents that appear.
struct Following(QueryWatch);

impl sse::Source for Following {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + '_>> {
        Box::pin(async {
            let mut out = Vec::new();
            for one in self.0.next().await? {
                let written = sse::event(&mut out, Some(one.seq), |out| serde_json::to_writer(out, &one));
                if let Err(error) = written {
                    tracing::error!(%error, "a match could not be written");
                }
            }
            Some(out)
        })
    }
}
