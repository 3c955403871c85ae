//! `/api/queries`: kept queries; their owner is notified when an agent appears that fits.
//!
//! Promises: a query of another caller answers like one that does not exist. Following resumes after
//! `Last-Event-ID` or `?after=`; a stream ends when the query is forgotten.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use agentsite_protocol::{PushConfig, Query};
use agentsite_site::{QueryMatch, QueryWatch, SavedQuery};
use axum::extract::{Path, State};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::{Admitted, JsonBody, Params, REST, RestResult};
use super::tasks::{last_seen, wants_stream};
use crate::document::{json, nothing};
use crate::front::Front;
use crate::route::{Route, Shape};
use crate::{sse, written};

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        REST.get("/api/queries", list)
            .operation("listQueries", "The queries that you keep")
            .gives(Shape::of::<Queries>()),
        REST.post("/api/queries", keep)
            .operation("keepQuery", "Keep a query, to be told when an agent appears that fits")
            .takes(Shape::of::<QueryGiven>())
            .status("201")
            .gives("KeptQuery"),
        REST.get("/api/queries/{id}", show)
            .operation("getQuery", "One kept query with the last agents that appeared")
            .gives("KeptQuery"),
        REST.delete("/api/queries/{id}", forget).operation("forgetQuery", "Forget a kept query"),
        REST.get("/api/queries/{id}/events", events)
            .operation("listAppeared", "The agents that appeared; with Accept: text/event-stream as they do")
            .query(&[("after", "integer", "Number of the last one seen")])
            .gives(Shape::of::<AppearedList>()),
    ]
}

/// A query to keep.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "QueryToKeep")]
struct QueryGiven {
    #[schemars(with = "written::QueryHere")]
    query: Query,
    #[serde(default)]
    #[schemars(extend("minimum" = 0, "maximum" = 1))]
    min_score: Option<f64>,
    /// Where matches are pushed, as A2A names a receiver.
    #[serde(default)]
    #[schemars(
        with = "written::QueryReceiver",
        extend("about" = "Where the agents that appear are pushed: a configuration as A2A has it")
    )]
    push: Option<PushConfig>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "KeptQueries")]
struct Queries {
    #[schemars(with = "Vec<written::KeptQuery>")]
    queries: Vec<SavedQuery>,
}

async fn keep(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    JsonBody(given): JsonBody<QueryGiven>,
) -> RestResult {
    let base = front.base(&admitted.parts);
    let QueryGiven { query, min_score, push } = given;
    json(
        StatusCode::CREATED,
        &front.site.queries().save(&admitted.caller, query, min_score, push, &base).await?,
    )
}

async fn list(State(front): State<Arc<Front>>, admitted: Admitted) -> RestResult {
    json(StatusCode::OK, &Queries { queries: front.site.queries().list(&admitted.caller) })
}

async fn show(State(front): State<Arc<Front>>, admitted: Admitted, Path(id): Path<String>) -> RestResult {
    json(StatusCode::OK, &front.site.queries().get(&admitted.caller, &id)?)
}

async fn forget(State(front): State<Arc<Front>>, admitted: Admitted, Path(id): Path<String>) -> RestResult {
    front.site.queries().forget(&admitted.caller, &id).await?;
    Ok(nothing())
}

#[derive(Serialize, JsonSchema)]
struct AppearedList {
    #[schemars(with = "Vec<written::Appeared>")]
    matches: Vec<QueryMatch>,
}

#[derive(Deserialize)]
struct EventsParams {
    after: Option<u64>,
}

async fn events(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(id): Path<String>,
    Params(params): Params<EventsParams>,
) -> RestResult {
    let headers = &admitted.parts.headers;
    let after = last_seen(headers, params.after);
    if wants_stream(headers) {
        let watch = front.site.queries().follow(&admitted.caller, &id, after)?;
        let place = front.open_stream(&admitted.parts)?;
        return Ok(sse::respond(&front, place, Vec::new(), MatchStream(watch)));
    }
    let mut kept = front.site.queries().get(&admitted.caller, &id)?;
    kept.matches.retain(|one| one.seq > after);
    json(StatusCode::OK, &AppearedList { matches: kept.matches })
}

/// The agents that appear.
struct MatchStream(QueryWatch);

impl sse::SseSource for MatchStream {
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
