//! `/api/status`, `/api/charts`, `/api/identity`, `/api/journal`, `/api/backup`, `/api/reload`: running a site.
//!
//! Promises: admins only, but for the identity, which is public anyway; nothing here changes an agent or a task.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use agentsite_protocol::Timestamp;
use agentsite_site::{JournalQuery, StatusReport, StoredLine};
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{Answer, Asking, Given, Wanted, admin_only, bad, json, parse};
use crate::charts::Range;
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::process::Process;

/// Lines of the journal when the caller names no number.
const LINES: usize = 100;

pub(super) async fn status(State(front): State<Arc<Front>>, asking: Asking) -> Answer {
    let report = front.site.status(&asking.caller).await?;
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
pub(super) struct ChartsWanted {
    range: Option<String>,
}

pub(super) async fn charts(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Wanted(wanted): Wanted<ChartsWanted>,
) -> Answer {
    admin_only(&asking)?;
    let range: Range =
        wanted.range.as_deref().map(|word| parse("range", word)).transpose()?.unwrap_or_default();
    json(StatusCode::OK, &front.charts.draw(range, &front.site, &front.settings.metrics))
}

pub(super) async fn identity(State(front): State<Arc<Front>>, _: Asking) -> Answer {
    json(StatusCode::OK, &front.site.identity())
}

pub(super) async fn rotate_identity(State(front): State<Arc<Front>>, asking: Asking) -> Answer {
    json(StatusCode::OK, &front.site.rotate_identity(&asking.caller).await?)
}

#[derive(Deserialize)]
pub(super) struct JournalWanted {
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

pub(super) async fn journal(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Wanted(wanted): Wanted<JournalWanted>,
) -> Answer {
    let about_task = match wanted.kind.as_deref() {
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
        before: wanted.before,
        after: wanted.after,
        actor: wanted.actor.filter(|actor| !actor.is_empty()),
        about_task,
        since: time("since", wanted.since)?,
        until: time("until", wanted.until)?,
        agent: wanted.agent.as_deref().map(|name| parse("agent", name)).transpose()?,
        task: wanted.task.as_deref().map(|id| parse("task", id)).transpose()?,
        text: wanted.text,
        limit: wanted.limit.unwrap_or(LINES),
    };
    json(StatusCode::OK, &Journal { lines: front.site.journal(&asking.caller, query).await? })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(rename_all = "camelCase")]
pub(super) struct BackupGiven {
    file: PathBuf,
    /// Only the data, without agents and configuration.
    #[serde(default)]
    data_only: bool,
}

#[derive(Serialize)]
struct Written {
    file: PathBuf,
}

pub(super) async fn backup(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Given(given): Given<BackupGiven>,
) -> Answer {
    if !given.file.is_absolute() {
        return Err(bad("file: name the whole path; the site may run in another folder than you".into()));
    }
    admin_only(&asking)?;
    if let Some(operator) = &front.settings.operator {
        let made = operator.backup(given.file, given.data_only).await?;
        return json(StatusCode::CREATED, &made);
    }
    if given.file.symlink_metadata().is_ok() {
        let sentence = format!("{} exists already; name another file for the backup", given.file.display());
        return Err(Failure::new(Fault::Moved, sentence));
    }
    front.site.backup(&asking.caller, &given.file).await?;
    json(StatusCode::CREATED, &Written { file: given.file })
}

#[derive(Serialize)]
struct Reloading {
    reloading: bool,
}

pub(super) async fn reload(State(front): State<Arc<Front>>, asking: Asking) -> Answer {
    admin_only(&asking)?;
    let Some(reload) = &front.settings.reload else {
        return Err(Failure::new(Fault::Unsupported, "this site has nothing to reload"));
    };
    reload();
    json(StatusCode::ACCEPTED, &Reloading { reloading: true })
}
