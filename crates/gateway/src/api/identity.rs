//! `/api/identity/challenges` and `/api/identity/answer`: how a site proves to another hub that its agents are its own.
//!
//! Promises: admins only; everything is the site's own judgement. Where words are served is `identity`; keys are shown and changed in `operation`.

use std::sync::Arc;

use agentsite_site::{ServedChallenge, SiteError};
use axum::extract::{Path, State};
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{Answer, Asking, Given, json, nothing};
use crate::front::Front;

#[derive(Serialize)]
struct Served {
    challenges: Vec<ServedChallenge>,
}

pub(super) async fn list(State(front): State<Arc<Front>>, asking: Asking) -> Answer {
    json(StatusCode::OK, &Served { challenges: front.site.served_challenges(&asking.caller)? })
}

/// The word to serve.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToServe {
    word: String,
}

pub(super) async fn serve(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Given(given): Given<ToServe>,
) -> Answer {
    json(StatusCode::CREATED, &front.site.serve_challenge(&asking.caller, &given.word).await?)
}

pub(super) async fn withdraw(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(word): Path<String>,
) -> Answer {
    if front.site.withdraw_challenge(&asking.caller, &word).await? {
        return Ok(nothing());
    }
    Err(SiteError::NoSuchChallenge(word.chars().take(64).collect()).into())
}

/// The word to sign, and the entry that it is for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToAnswer {
    word: String,
    entry: String,
}

pub(super) async fn answer(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Given(given): Given<ToAnswer>,
) -> Answer {
    json(StatusCode::OK, &front.site.answer_challenge(&asking.caller, &given.entry, &given.word)?)
}
