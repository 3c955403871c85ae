//! `/api/status`, `/api/charts`, `/api/identity`, `/api/backup`, `/api/reload`: running a site.
//!
//! Promises: admins only, but for the identity, which is public anyway; nothing here changes an agent or a
//! task.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use agentsite_site::StatusReport;
use axum::extract::State;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::{Admitted, JsonBody, Params, REST, RestResult, bad, parse};
use crate::charts::{Drawn, Range};
use crate::document::json;
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::operator::BackupMade;
use crate::process::Process;
use crate::route::{Route, Shape};

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        REST.get("/api/identity", identity)
            .operation("getIdentity", "Who the site is: its keys")
            .gives("Identity"),
        REST.post("/api/identity/rotate", rotate_identity)
            .admin()
            .operation("rotateIdentity", "Take new keys")
            .gives("Identity"),
        REST.get("/api/status", status).admin().operation("getStatus", "How the site fares").gives("Status"),
        REST.get("/api/charts", charts)
            .admin()
            .operation("getCharts", "How the site fared over the last minutes, the last hour or the last day")
            .query(&[("range", "15m|1h|24h", "15m when left out")])
            .gives(Shape::of::<Drawn>()),
        REST.post("/api/backup", backup)
            .admin()
            .operation("backup", "Write a copy of everything to a file on the site's machine")
            .takes(Shape::of::<BackupGiven>())
            .status("201")
            .gives(Shape::of::<BackupMade>()),
        REST.post("/api/reload", reload)
            .admin()
            .operation("reload", "Read configuration and agents again")
            .status("202")
            .gives(Shape::of::<Reloading>()),
    ]
}

async fn status(State(front): State<Arc<Front>>, admitted: Admitted) -> RestResult {
    let report = front.site.status(&admitted.caller).await?;
    let (connections, streams) = front.settings.metrics.open();
    let (sockets, refused) =
        (front.settings.metrics.open_sockets(), front.settings.metrics.refusals().collect());
    json(StatusCode::OK, &Status { report, process: Process::now(), connections, streams, sockets, refused })
}

/// How the site and the process around it fare.
#[derive(Serialize)]
struct Status {
    #[serde(flatten)]
    report: StatusReport,
    process: Process,
    /// Open connections.
    connections: u64,
    /// Open streams of events.
    streams: u64,
    /// Programs connected by WebSocket.
    sockets: u64,
    /// What was turned away since the start to keep the site fair, by reason.
    refused: BTreeMap<&'static str, u64>,
}

#[derive(Deserialize)]
struct ChartsParams {
    range: Option<String>,
}

async fn charts(State(front): State<Arc<Front>>, Params(params): Params<ChartsParams>) -> RestResult {
    let range: Range =
        params.range.as_deref().map(|word| parse("range", word)).transpose()?.unwrap_or_default();
    json(StatusCode::OK, &front.charts.draw(range, &front.site, &front.settings.metrics))
}

async fn identity(State(front): State<Arc<Front>>, _: Admitted) -> RestResult {
    json(StatusCode::OK, &front.site.cards().identity())
}

async fn rotate_identity(State(front): State<Arc<Front>>, admitted: Admitted) -> RestResult {
    json(StatusCode::OK, &front.site.cards().rotate_identity(&admitted.caller).await?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Backup")]
struct BackupGiven {
    #[schemars(
        with = "String",
        extend("pattern" = "^/", "about" = "Absolute path of a new file on the site's machine")
    )]
    file: PathBuf,
    /// Only the data, without agents and configuration.
    #[serde(default)]
    #[schemars(extend("about" = "Without agents and configuration"))]
    data_only: bool,
}

#[derive(Serialize)]
struct Written {
    file: PathBuf,
}

async fn backup(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    JsonBody(given): JsonBody<BackupGiven>,
) -> RestResult {
    if !given.file.is_absolute() {
        return Err(bad("file: name the whole path; the site may run in another folder than you".into()));
    }
    if let Some(operator) = &front.settings.operator {
        let made = operator.backup(given.file, given.data_only).await?;
        return json(StatusCode::CREATED, &made);
    }
    if given.file.symlink_metadata().is_ok() {
        let sentence = format!("{} exists already; name another file for the backup", given.file.display());
        return Err(Failure::new(Fault::Moved, sentence));
    }
    front.site.operations().backup(&admitted.caller, &given.file).await?;
    json(StatusCode::CREATED, &Written { file: given.file })
}

#[derive(Serialize, JsonSchema)]
struct Reloading {
    reloading: bool,
}

async fn reload(State(front): State<Arc<Front>>) -> RestResult {
    let Some(reload) = &front.settings.reload else {
        return Err(Failure::new(Fault::Unsupported, "this site has nothing to reload"));
    };
    reload();
    json(StatusCode::ACCEPTED, &Reloading { reloading: true })
}
