//! `/api/identity/challenges` and `/api/identity/answer`: how a site proves to another hub that its agents
//! are its own.
//!
//! Promises: admins only; everything is the site's own judgement. Where words are served is `identity`; keys
//! are shown and changed in `operation`.

use std::sync::Arc;

use agentsite_site::ServedChallenge;
use axum::extract::{Path, State};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::{Admitted, JsonBody, REST, RestResult};
use crate::document::{json, nothing};
use crate::front::Front;
use crate::identity::not_served;
use crate::route::{Route, Shape};
use crate::written;

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        REST.get("/api/identity/challenges", list)
            .admin()
            .operation("listChallenges", "The challenges of other hubs that the site serves")
            .gives(Shape::of::<Served>()),
        REST.post("/api/identity/challenges", serve)
            .admin()
            .operation("serveChallenge", "Serve the challenge of another hub for an hour")
            .takes(Shape::of::<ToServe>())
            .status("201")
            .gives("ServedChallenge"),
        REST.delete("/api/identity/challenges/{word}", withdraw)
            .admin()
            .operation("withdrawChallenge", "Serve a challenge no longer"),
        REST.post("/api/identity/answer", answer)
            .admin()
            .operation("answerChallenge", "Sign the challenge of an entry in another hub")
            .takes(Shape::of::<ToAnswer>())
            .gives("SignedAnswer"),
    ]
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ServedChallenges")]
struct Served {
    #[schemars(with = "Vec<written::ServedChallenge>")]
    challenges: Vec<ServedChallenge>,
}

async fn list(State(front): State<Arc<Front>>, admitted: Admitted) -> RestResult {
    json(StatusCode::OK, &Served { challenges: front.site.challenges().list(&admitted.caller)? })
}

/// The word to serve.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ChallengeToServe")]
struct ToServe {
    #[schemars(extend("pattern" = "^[A-Za-z0-9_-]{1,128}$"))]
    word: String,
}

async fn serve(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    JsonBody(given): JsonBody<ToServe>,
) -> RestResult {
    json(StatusCode::CREATED, &front.site.challenges().serve(&admitted.caller, &given.word).await?)
}

async fn withdraw(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(word): Path<String>,
) -> RestResult {
    if front.site.challenges().withdraw(&admitted.caller, &word).await? {
        return Ok(nothing());
    }
    Err(not_served(&word))
}

/// The word to sign, and the entry that it is for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ChallengeToAnswer")]
struct ToAnswer {
    #[schemars(extend("pattern" = "^[A-Za-z0-9_-]{1,128}$"))]
    word: String,
    #[schemars(length(min = 1, max = 512))]
    entry: String,
}

async fn answer(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    JsonBody(given): JsonBody<ToAnswer>,
) -> RestResult {
    json(StatusCode::OK, &front.site.challenges().answer(&admitted.caller, &given.entry, &given.word)?)
}
