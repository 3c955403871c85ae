//! `/api/outbox`: what has to leave the site, and what could not.
//!
//! Promises: only admins get past the site's own check; nothing secret of a receiver is shown. Sending again and dropping are the only
//! changes.

use std::sync::Arc;

use agentsite_site::{Letter, OutboxQuery};
use axum::extract::{Path, State};
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{Answer, Asking, Wanted, bad, json, nothing, parse};
use crate::failure::{Failure, Fault};
use crate::front::Front;

/// Rows of a page when the caller names no number.
const PAGE: usize = 100;

#[derive(Deserialize)]
pub(super) struct LettersWanted {
    state: Option<String>,
    task: Option<String>,
    after: Option<u64>,
    limit: Option<usize>,
}

#[derive(Serialize)]
struct Letters {
    letters: Vec<Letter>,
}

pub(super) async fn list(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Wanted(wanted): Wanted<LettersWanted>,
) -> Answer {
    let dead = match wanted.state.as_deref() {
        None | Some("") => None,
        Some("dead") => Some(true),
        Some("waiting") => Some(false),
        Some(_) => return Err(bad("state: there are waiting and dead".into())),
    };
    let query = OutboxQuery {
        id: None,
        task: wanted.task.as_deref().map(|id| parse("task", id)).transpose()?,
        dead,
        after: wanted.after,
        limit: wanted.limit.unwrap_or(PAGE),
    };
    json(StatusCode::OK, &Letters { letters: front.site.letters(&asking.caller, query).await? })
}

pub(super) async fn show(State(front): State<Arc<Front>>, asking: Asking, Path(id): Path<String>) -> Answer {
    json(StatusCode::OK, &front.site.letter(&asking.caller, number(&id)?).await?)
}

pub(super) async fn send_again(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
) -> Answer {
    json(StatusCode::OK, &front.site.send_letter_again(&asking.caller, number(&id)?).await?)
}

pub(super) async fn forget(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
) -> Answer {
    front.site.drop_letter(&asking.caller, number(&id)?).await?;
    Ok(nothing())
}

fn number(id: &str) -> Result<u64, Failure> {
    id.parse().map_err(|_| {
        Failure::new(Fault::NoSuchLetter, "letters have numbers; list the outbox to see which there are")
    })
}
