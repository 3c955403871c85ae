//! `/api/names`: names that were given up and are reserved for their previous owners.
//!
//! Promises: for admins only. Ending a reservation gives no caller the tasks of an earlier holder of the
//! name.

use std::sync::Arc;

use agentsite_site::ReleasedName;
use axum::extract::{Path, State};
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::request::{Admitted, REST, RestResult};
use crate::document::{json, nothing};
use crate::front::Front;
use crate::route::{Route, Shape};
use crate::written;

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        REST.get("/api/names", list)
            .admin()
            .operation("listReleasedNames", "Names that are reserved for their previous owners")
            .gives(Shape::of::<Names>()),
        REST.delete("/api/names/{name}", release)
            .admin()
            .operation("releaseName", "End the reservation of a name, so that anybody may take it"),
    ]
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReleasedNames")]
struct Names {
    #[schemars(with = "Vec<written::ReleasedName>")]
    names: Vec<ReleasedName>,
}

async fn list(State(front): State<Arc<Front>>, admitted: Admitted) -> RestResult {
    json(StatusCode::OK, &Names { names: front.site.names().list(&admitted.caller)? })
}

async fn release(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(name): Path<String>,
) -> RestResult {
    front.site.names().release(&admitted.caller, &name).await?;
    Ok(nothing())
}
