//! `/api/config` and `/api/doctor`: the configuration of the site, and a look at everything it needs.
//!
//! Promises: admins only; whoever runs the process ([`crate::Operator`]) does the work, and a change is written into the journal. A configuration that is
//! wrong, or whose file somebody else changed meanwhile, is never saved.

use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{Answer, Asking, Given, admin_only, json};
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::operator::{Examined, Operator};

fn operator(front: &Front) -> Result<&Arc<dyn Operator>, Failure> {
    let sentence = "this site runs inside another program, which keeps its configuration to itself";
    front.settings.operator.as_ref().ok_or_else(|| Failure::new(Fault::Unsupported, sentence))
}

pub(super) async fn show(State(front): State<Arc<Front>>, asking: Asking) -> Answer {
    admin_only(&asking)?;
    json(StatusCode::OK, &operator(&front)?.config().await?)
}

/// A text that may become the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Draft {
    text: String,
}

pub(super) async fn check(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Given(given): Given<Draft>,
) -> Answer {
    admin_only(&asking)?;
    json(StatusCode::OK, &operator(&front)?.check(given.text).await)
}

/// A text that is to become the file, and the mark of the one that it replaces.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Saving {
    text: String,
    was: String,
}

pub(super) async fn save(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Given(given): Given<Saving>,
) -> Answer {
    admin_only(&asking)?;
    let saved = operator(&front)?.save(given.text, given.was).await?;
    let keys = if saved.changed.is_empty() { "nothing that counts".into() } else { saved.changed.join(", ") };
    front.site.write_down(&asking.caller, format!("changed the configuration: {keys}")).await?;
    json(StatusCode::OK, &saved)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Doctor {
    #[serde(skip_serializing_if = "Option::is_none")]
    ran_at: Option<agentsite_protocol::Timestamp>,
    checks: Vec<Examined>,
}

pub(super) async fn last_examination(State(front): State<Arc<Front>>, asking: Asking) -> Answer {
    admin_only(&asking)?;
    let told = match operator(&front)?.last_examination() {
        Some(last) => Doctor { ran_at: Some(last.ran_at), checks: last.checks },
        None => Doctor { ran_at: None, checks: Vec::new() },
    };
    json(StatusCode::OK, &told)
}

pub(super) async fn examine(State(front): State<Arc<Front>>, asking: Asking) -> Answer {
    admin_only(&asking)?;
    let found = operator(&front)?.examine().await;
    json(StatusCode::OK, &Doctor { ran_at: Some(found.ran_at), checks: found.checks })
}
