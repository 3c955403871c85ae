//! `POST /api/find`: the agents that fit a request in plain language, with the reasons.
//!
//! Promises: the body is a query as `protocol` has it, an unknown member is refused; what the caller may not see is not among the matches. Ranking is the
//! site's matter.

use std::sync::Arc;

use agentsite_protocol::Query;
use axum::extract::State;
use http::StatusCode;

use super::{Answer, Asking, Given, json};
use crate::front::Front;

pub(super) async fn find(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Given(query): Given<Query>,
) -> Answer {
    let found = front.site.find(&asking.caller, &query, &front.base(&asking.parts)).await?;
    json(StatusCode::OK, &found)
}
