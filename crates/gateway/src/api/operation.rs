//! `/api/status`, `/api/charts`, `/api/identity`, `/api/journal`, `/api/backup`, `/api/reload`: running a
//! site.
//!
//! Promises: admins only, but for the identity, which is public anyway; nothing here changes an agent or a
//! task.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use agentsite_protocol::Timestamp;
use agentsite_site::{JournalQuery, StatusReport, StoredLine};
use axum::extract::State;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::{Admitted, JsonBody, Params, REST, RestResult, bad, parse};
use crate::charts::{Drawn, Range};
use crate::document::json;
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::process::Process;
use crate::route::{Route, Shape};

/// Lines of the journal when the caller names no number.
const LINES: usize = 100;

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
        REST.get("/api/journal", journal)
            .admin()
            .operation("listJournal", "What happened, newest first")
            .query(&[
                ("agent", "name", "About this agent"),
                ("task", "uuid", "About this task"),
                ("text", "string", "With this text"),
                ("actor", "string", "Of whoever is called so"),
                ("kind", "task|site", "About a task, or about none"),
                ("since", "moment", "From this time on, like 2026-01-31T08:00:00Z"),
                ("until", "moment", "Before this time"),
                ("before", "integer", "Before this number"),
                ("after", "integer", "After this number"),
                ("limit", "integer", "100 when left out"),
            ])
            .gives("Journal"),
        REST.post("/api/backup", backup)
            .admin()
            .operation("backup", "Write a copy of everything to a file on the site's machine")
            .takes(Shape::of::<BackupGiven>())
            .status("201")
            .gives("BackupMade"),
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

#[derive(Deserialize)]
struct JournalParams {
    agent: Option<String>,
    task: Option<String>,
    text: Option<String>,
    actor: Option<String>,
    /// task or site.
    kind: Option<String>,
    since: Option<String>,
    until: Option<String>,
    before: Option<u64>,
    after: Option<u64>,
    limit: Option<usize>,
}

#[derive(Serialize)]
struct Journal {
    lines: Vec<StoredLine>,
}

async fn journal(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Params(params): Params<JournalParams>,
) -> RestResult {
    let about_task = match params.kind.as_deref() {
        None => None,
        Some("task") => Some(true),
        Some("site") => Some(false),
        Some(_) => return Err(bad("kind: there are task and site".into())),
    };
    let time = |what: &str, text: Option<String>| {
        let read = |text: String| Timestamp::parse(&text).map_err(|error| bad(format!("{what}: {error}")));
        text.map(read).transpose()
    };
    let query = JournalQuery {
        kind: None,
        before: params.before,
        after: params.after,
        actor: params.actor.filter(|actor| !actor.is_empty()),
        about_task,
        since: time("since", params.since)?,
        until: time("until", params.until)?,
        agent: params.agent.as_deref().map(|name| parse("agent", name)).transpose()?,
        task: params.task.as_deref().map(|id| parse("task", id)).transpose()?,
        text: params.text,
        limit: params.limit.unwrap_or(LINES),
    };
    json(StatusCode::OK, &Journal { lines: front.site.operations().journal(&admitted.caller, query).await? })
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
