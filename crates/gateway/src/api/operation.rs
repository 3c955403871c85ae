//! `/api/status`, `/api/identity`, `/api/journal`, `/api/backup`, `/api/reload`: running a site.
//!
//! Promises: admins only, but for the identity, which is public anyway; nothing here changes an agent or a task.

use std::path::PathBuf;
use std::sync::Arc;

use agentsite_site::{JournalQuery, StoredLine};
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{Answer, Asking, Given, Wanted, bad, json, parse};
use crate::failure::{Failure, Fault};
use crate::front::Front;

/// Lines of the journal when the caller names no number.
const LINES: usize = 100;

pub(super) async fn status(State(front): State<Arc<Front>>, asking: Asking) -> Answer {
    json(StatusCode::OK, &front.site.status(&asking.caller).await?)
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
    before: Option<u64>,
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
    let query = JournalQuery {
        before: wanted.before,
        agent: wanted.agent.as_deref().map(|name| parse("agent", name)).transpose()?,
        task: wanted.task.as_deref().map(|id| parse("task", id)).transpose()?,
        text: wanted.text,
        limit: wanted.limit.unwrap_or(LINES),
    };
    json(StatusCode::OK, &Journal { lines: front.site.journal(&asking.caller, query).await? })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BackupGiven {
    file: PathBuf,
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
    front.site.backup(&asking.caller, &given.file).await?;
    json(StatusCode::CREATED, &Written { file: given.file })
}

#[derive(Serialize)]
struct Reloading {
    reloading: bool,
}

pub(super) async fn reload(State(front): State<Arc<Front>>, asking: Asking) -> Answer {
    if !asking.caller.is_admin() {
        let sentence = "only the people who run this site may reload it; use a key with the scope admin";
        return Err(Failure::new(Fault::Forbidden, sentence));
    }
    let Some(reload) = &front.settings.reload else {
        return Err(Failure::new(Fault::Unsupported, "this site has nothing to reload"));
    };
    reload();
    json(StatusCode::ACCEPTED, &Reloading { reloading: true })
}
