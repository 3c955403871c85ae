//! `/api/agents`: the agents a caller may see, their logs, and the tools of those that are tool servers.
//!
//! Promises: an agent that is not for this caller answers like one that does not exist. Agents are changed through their
//! folders, not here; only the approval of tools is given here.

use std::sync::Arc;

use agentsite_protocol::AgentName;
use agentsite_site::{AgentView, BrokenAgent, LogLine, PinnedTool, SiteError};
use axum::extract::{Path, State};
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{Answer, Asking, Given, Wanted, json};
use crate::failure::Failure;
use crate::front::Front;

/// Log lines when the caller names no number: a screenful and some.
const LINES: usize = 100;

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

/// A name that cannot be one answers like an agent that is not there.
fn named(name: &str) -> Result<AgentName, Failure> {
    name.parse()
        .map_err(|_| SiteError::NoSuchAgent(name.chars().take(agentsite_protocol::MAX_NAME).collect()).into())
}
