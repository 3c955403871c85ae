//! `/api/agents`: the agents a caller may see, their logs, and the tools of those that are tool servers.
//!
//! Promises: an agent that is not for this caller answers like one that does not exist. Making and
//! changing agents is `workshop`'s matter; the approval of tools and the logins to their servers are given here, and agents are taken out.

use std::sync::Arc;

use agentsite_protocol::{AgentName, Timestamp};
use agentsite_site::{AgentView, BrokenAgent, LogLine, PinnedTool, SiteError};
use axum::extract::{Path, State};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use url::Url;

use super::{Answer, Asking, Given, Wanted, json, workshop};
use crate::failure::Failure;
use crate::front::Front;

/// Log lines when the caller names no number: a screenful and some.
const LINES: usize = 100;

/// Days of a report of usage when the caller names no number.
const DAYS: u32 = 30;

#[derive(Serialize)]
struct Agents {
    agents: Vec<AgentView>,
    broken: Vec<BrokenAgent>,
}

pub(super) async fn list(State(front): State<Arc<Front>>, asking: Asking) -> Answer {
    let agents =
        Agents { agents: front.site.agents(&asking.caller), broken: front.site.broken(&asking.caller) };
    json(StatusCode::OK, &agents)
}

pub(super) async fn show(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(name): Path<String>,
) -> Answer {
    json(StatusCode::OK, &front.site.agent(&asking.caller, &named(&name)?)?)
}

pub(super) async fn remove(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(name): Path<String>,
) -> Answer {
    workshop::remove(&front, &asking.caller, named(&name)?).await
}

#[derive(Deserialize)]
pub(super) struct LogsWanted {
    lines: Option<usize>,
}

#[derive(Serialize)]
struct Log {
    lines: Vec<LogLine>,
}

pub(super) async fn logs(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(name): Path<String>,
    Wanted(wanted): Wanted<LogsWanted>,
) -> Answer {
    let lines = front.site.agent_log(&asking.caller, &named(&name)?, wanted.lines.unwrap_or(LINES))?;
    json(StatusCode::OK, &Log { lines })
}

#[derive(Deserialize)]
pub(super) struct UsageWanted {
    days: Option<u64>,
}

pub(super) async fn usage(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(name): Path<String>,
    Wanted(wanted): Wanted<UsageWanted>,
) -> Answer {
    let days = wanted.days.map_or(DAYS, |days| u32::try_from(days).unwrap_or(u32::MAX));
    json(StatusCode::OK, &front.site.agent_usage(&asking.caller, &named(&name)?, days).await?)
}

#[derive(Serialize)]
struct Tools {
    tools: Vec<PinnedTool>,
}

pub(super) async fn tools(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(name): Path<String>,
) -> Answer {
    json(StatusCode::OK, &Tools { tools: front.site.pinned_tools(&asking.caller, &named(&name)?)? })
}

/// Which tools are approved; all of them when none is named.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ApprovalGiven {
    #[serde(default)]
    tools: Vec<String>,
}

#[derive(Serialize)]
struct Approved {
    approved: Vec<String>,
}

pub(super) async fn approve(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(name): Path<String>,
    Given(given): Given<ApprovalGiven>,
) -> Answer {
    let approved = front.site.approve_tools(&asking.caller, &named(&name)?, &given.tools)?;
    json(StatusCode::OK, &Approved { approved })
}

/// Where the person comes back to who logs in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LoginGiven {
    redirect: Url,
}

#[derive(Serialize)]
struct Login {
    url: Url,
    until: Timestamp,
}

pub(super) async fn begin_login(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(name): Path<String>,
    Given(given): Given<LoginGiven>,
) -> Answer {
    let begun = front.site.begin_login(&asking.caller, &named(&name)?, &given.redirect).await?;
    json(StatusCode::OK, &Login { url: begun.address, until: begun.until })
}

/// The address to which the person was sent back.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LoginAnswered {
    url: Url,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LoggedIn {
    logged_in: bool,
}

pub(super) async fn finish_login(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(name): Path<String>,
    Given(given): Given<LoginAnswered>,
) -> Answer {
    front.site.finish_login(&asking.caller, &named(&name)?, &given.url).await?;
    json(StatusCode::OK, &LoggedIn { logged_in: true })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LoggedOut {
    was_logged_in: bool,
}

pub(super) async fn logout(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(name): Path<String>,
) -> Answer {
    let was_logged_in = front.site.logout(&asking.caller, &named(&name)?).await?;
    json(StatusCode::OK, &LoggedOut { was_logged_in })
}

/// A name that cannot be one answers like an agent that is not there.
pub(super) fn named(name: &str) -> Result<AgentName, Failure> {
    name.parse()
        .map_err(|_| SiteError::NoSuchAgent(name.chars().take(agentsite_protocol::MAX_NAME).collect()).into())
}
