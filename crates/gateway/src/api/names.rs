//! `/api/names`: names that were given up and are reserved for their previous owners.
//!
//! Promises: for admins only. Ending a reservation gives nobody the tasks of an earlier holder of the name.

use std::sync::Arc;

use agentsite_site::ReleasedName;
use axum::extract::{Path, State};
use http::StatusCode;
use serde::Serialize;

use super::{Answer, Asking, json, nothing};
use crate::front::Front;

#[derive(Serialize)]
struct Names {
    names: Vec<ReleasedName>,
}

pub(super) async fn list(State(front): State<Arc<Front>>, asking: Asking) -> Answer {
    json(StatusCode::OK, &Names { names: front.site.released_names(&asking.caller)? })
}

pub(super) async fn release(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(name): Path<String>,
) -> Answer {
    front.site.release_name(&asking.caller, &name).await?;
    Ok(nothing())
}
