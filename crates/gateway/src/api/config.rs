//! `/api/config` and `/api/doctor`: the configuration of the site, and a look at everything it needs.
//!
//! Promises: admins only; the program around the site ([`crate::Operator`]) does the work, and a change is
//! written into the journal. A configuration that is wrong, or whose file somebody else changed meanwhile, is
//! never saved.

use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::{Admitted, JsonBody, REST, RestResult};
use crate::document::json;
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::operator::{ConfigVerdict, ConfigView, Examined, Operator};
use crate::route::{Route, Shape};
use crate::written::Moment;

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        REST.get("/api/config", show)
            .admin()
            .operation("getConfig", "The configuration in force, where each value came from, and its file")
            .gives(Shape::of::<ConfigView>()),
        REST.post("/api/config", save)
            .admin()
            .operation(
                "saveConfig",
                "Write the configuration file, unless it is wrong or has changed meanwhile",
            )
            .takes(Shape::of::<Saving>())
            .gives(Shape::of::<ConfigVerdict>()),
        REST.post("/api/config/check", check)
            .admin()
            .operation("checkConfig", "What would come of a text as the configuration file")
            .takes(Shape::of::<Draft>())
            .gives(Shape::of::<ConfigVerdict>()),
        REST.get("/api/doctor", last_examination)
            .admin()
            .operation("getDoctor", "What the last look at everything that a site needs has found")
            .gives(Shape::of::<Doctor>()),
        REST.post("/api/doctor", examine)
            .admin()
            .operation("runDoctor", "Look at everything that a site needs, now")
            .gives(Shape::of::<Doctor>()),
    ]
}

fn operator(front: &Front) -> Result<&Arc<dyn Operator>, Failure> {
    let sentence = "this site runs inside another program, which keeps its configuration to itself";
    front.settings.operator.as_ref().ok_or_else(|| Failure::new(Fault::Unsupported, sentence))
}

async fn show(State(front): State<Arc<Front>>) -> RestResult {
    json(StatusCode::OK, &operator(&front)?.config().await?)
}

/// A text that may become the file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ConfigDraft")]
struct Draft {
    text: String,
}

async fn check(State(front): State<Arc<Front>>, JsonBody(given): JsonBody<Draft>) -> RestResult {
    json(StatusCode::OK, &operator(&front)?.check(given.text).await)
}

/// A text that is to become the file, and the mark of the one that it replaces.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ConfigSaving")]
struct Saving {
    text: String,
    #[schemars(extend("about" = "The digest of the text that it replaces"))]
    was: String,
}

async fn save(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    JsonBody(given): JsonBody<Saving>,
) -> RestResult {
    let saved = operator(&front)?.save(given.text, given.was).await?;
    let keys = if saved.changed.is_empty() { "nothing that counts".into() } else { saved.changed.join(", ") };
    front.site.operations().note(&admitted.caller, format!("changed the configuration: {keys}")).await?;
    json(StatusCode::OK, &saved)
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Doctor {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Moment>")]
    ran_at: Option<agentsite_protocol::Timestamp>,
    checks: Vec<Examined>,
}

async fn last_examination(State(front): State<Arc<Front>>) -> RestResult {
    let told = match operator(&front)?.last_examination() {
        Some(last) => Doctor { ran_at: Some(last.ran_at), checks: last.checks },
        None => Doctor { ran_at: None, checks: Vec::new() },
    };
    json(StatusCode::OK, &told)
}

async fn examine(State(front): State<Arc<Front>>) -> RestResult {
    let found = operator(&front)?.examine().await;
    json(StatusCode::OK, &Doctor { ran_at: Some(found.ran_at), checks: found.checks })
}
