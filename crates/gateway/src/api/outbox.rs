//! `/api/outbox`: what has to leave the site, and what could not.
//!
//! Promises: only admins get past the site's own check; nothing secret of a receiver is shown. Sending again
//! and dropping are the only changes.

use std::sync::Arc;

use agentsite_site::{DeliveryQuery, DeliveryView};
use axum::extract::{Path, State};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::{Admitted, Params, REST, RestResult, bad, parse};
use crate::document::{json, nothing};
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::route::{Route, Shape};
use crate::written;

/// Rows of a page when the caller names no number.
const PAGE: usize = 100;

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        REST.get("/api/outbox", list)
            .admin()
            .operation("listLetters", "What has to leave the site, and what could not")
            .query(&[
                ("state", "waiting|dead", "Both when left out"),
                ("task", "uuid", "Of this task"),
                ("after", "integer", "Number of the last one seen"),
                ("limit", "integer", "100 when left out"),
            ])
            .gives(Shape::of::<Letters>()),
        REST.get("/api/outbox/{id}", show).admin().operation("getLetter", "One letter").gives("Letter"),
        REST.delete("/api/outbox/{id}", forget).admin().operation("dropLetter", "Drop a letter"),
        REST.post("/api/outbox/{id}/retry", send_again)
            .admin()
            .operation("sendLetterAgain", "Try a letter again")
            .gives("Letter"),
    ]
}

#[derive(Deserialize)]
struct DeliveryParams {
    state: Option<String>,
    task: Option<String>,
    after: Option<u64>,
    limit: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
struct Letters {
    #[schemars(with = "Vec<written::Letter>")]
    letters: Vec<DeliveryView>,
}

async fn list(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Params(params): Params<DeliveryParams>,
) -> RestResult {
    let dead = match params.state.as_deref() {
        None | Some("") => None,
        Some("dead") => Some(true),
        Some("waiting") => Some(false),
        Some(_) => return Err(bad("state: there are waiting and dead".into())),
    };
    let query = DeliveryQuery {
        id: None,
        task: params.task.as_deref().map(|id| parse("task", id)).transpose()?,
        dead,
        after: params.after,
        limit: params.limit.unwrap_or(PAGE),
    };
    json(StatusCode::OK, &Letters { letters: front.site.deliveries().list(&admitted.caller, query).await? })
}

async fn show(State(front): State<Arc<Front>>, admitted: Admitted, Path(id): Path<String>) -> RestResult {
    json(StatusCode::OK, &front.site.deliveries().get(&admitted.caller, number(&id)?).await?)
}

async fn send_again(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(id): Path<String>,
) -> RestResult {
    json(StatusCode::OK, &front.site.deliveries().retry(&admitted.caller, number(&id)?).await?)
}

async fn forget(State(front): State<Arc<Front>>, admitted: Admitted, Path(id): Path<String>) -> RestResult {
    front.site.deliveries().remove(&admitted.caller, number(&id)?).await?;
    Ok(nothing())
}

fn number(id: &str) -> Result<u64, Failure> {
    id.parse().map_err(|_| {
        Failure::new(Fault::NoSuchLetter, "letters have numbers; list the outbox to see which there are")
    })
}
