//! `POST /api/find`: the agents that fit a request in plain language, with the reasons.
//!
//! Promises: the body is a query as `protocol` has it, an unknown member is refused; what the caller may not
//! see is not among the matches. Ranking is the site's matter.

use std::sync::Arc;

use agentsite_protocol::Query;
use axum::extract::State;
use http::StatusCode;

use super::request::{Admitted, JsonBody, REST, RestResult};
use crate::document::json;
use crate::front::Front;
use crate::route::Route;

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        REST.post("/api/find", find)
            .operation("findAgents", "Find the right agents for a need in plain language")
            .takes("Query")
            .gives("Matches"),
    ]
}

async fn find(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    JsonBody(query): JsonBody<Query>,
) -> RestResult {
    let found = front.site.search().find(&admitted.caller, &query, &front.base(&admitted.parts)).await?;
    json(StatusCode::OK, &found)
}
