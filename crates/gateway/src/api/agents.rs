//! `/api/agents`: the agents a caller may see, their logs, and the tools of those that are tool servers.
//!
//! Promises: an agent that is not for this caller answers like one that does not exist. Making and changing
//! agents is `workshop`'s matter; the approval of tools and the logins to their servers are given here.

use std::sync::Arc;

use agentsite_protocol::{AgentName, Timestamp};
use agentsite_site::{AgentView, BrokenAgent, LogLine, PinnedTool, SiteError};
use axum::extract::{Path, State};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::request::{Admitted, JsonBody, Params, REST, RestResult};
use crate::document::json;
use crate::failure::Failure;
use crate::front::Front;
use crate::route::{Route, Shape};
use crate::written::{self, Address, Moment};

/// Log lines when the caller names no number: a screenful and some.
const LINES: usize = 100;

/// Days of a report of usage when the caller names no number.
const DAYS: u32 = 30;

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        REST.get("/api/agents", list)
            .operation("listAgents", "The agents of the site that you may call")
            .gives(Shape::of::<Agents>()),
        REST.get("/api/agents/{name}", show).operation("getAgent", "One agent").gives("Agent"),
        REST.get("/api/agents/{name}/logs", logs)
            .admin()
            .operation("getAgentLog", "The last lines of an agent's log")
            .query(&[("lines", "integer", "100 when left out")])
            .gives(Shape::of::<Log>()),
        REST.get("/api/agents/{name}/usage", usage)
            .operation("getAgentUsage", "Calls, failures, time and tokens of each of the last days")
            .query(&[("days", "integer", "30 when left out, at most 31")])
            .gives("Usage"),
        REST.get("/api/agents/{name}/tools", tools)
            .admin()
            .operation("listAgentTools", "The tools of an agent that is a tool server")
            .gives(Shape::of::<Tools>()),
        REST.post("/api/agents/{name}/tools/approve", approve)
            .admin()
            .operation("approveAgentTools", "Approve tools as they are now")
            .takes(Shape::of::<ApprovalGiven>())
            .gives(Shape::of::<Approved>()),
        REST.post("/api/agents/{name}/login", begin_login)
            .admin()
            .operation("beginLogin", "Begin the login of an agent whose tool server wants one")
            .takes(Shape::of::<LoginGiven>())
            .gives(Shape::of::<Login>()),
        REST.post("/api/agents/{name}/login/answer", finish_login)
            .admin()
            .operation("finishLogin", "Finish a login with the address that it led to")
            .takes(Shape::of::<LoginAnswered>())
            .gives(Shape::of::<LoggedIn>()),
        REST.post("/api/agents/{name}/logout", logout)
            .admin()
            .operation("logout", "Forget the login of an agent")
            .gives(Shape::of::<LoggedOut>()),
    ]
}

#[derive(Serialize, JsonSchema)]
struct Agents {
    #[schemars(with = "Vec<written::Agent>")]
    agents: Vec<AgentView>,
    #[schemars(with = "Vec<written::BrokenAgent>")]
    broken: Vec<BrokenAgent>,
}

async fn list(State(front): State<Arc<Front>>, admitted: Admitted) -> RestResult {
    let agents = Agents {
        agents: front.site.agents().list(&admitted.caller),
        broken: front.site.agents().broken(&admitted.caller),
    };
    json(StatusCode::OK, &agents)
}

async fn show(State(front): State<Arc<Front>>, admitted: Admitted, Path(name): Path<String>) -> RestResult {
    json(StatusCode::OK, &front.site.agents().get(&admitted.caller, &named(&name)?)?)
}

#[derive(Deserialize)]
struct LogsParams {
    lines: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
struct Log {
    lines: Vec<LogLine>,
}

async fn logs(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(name): Path<String>,
    Params(params): Params<LogsParams>,
) -> RestResult {
    let lines = front.site.agents().log(&admitted.caller, &named(&name)?, params.lines.unwrap_or(LINES))?;
    json(StatusCode::OK, &Log { lines })
}

#[derive(Deserialize)]
struct UsageParams {
    days: Option<u64>,
}

async fn usage(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(name): Path<String>,
    Params(params): Params<UsageParams>,
) -> RestResult {
    let days = params.days.map_or(DAYS, |days| u32::try_from(days).unwrap_or(u32::MAX));
    json(StatusCode::OK, &front.site.agents().usage(&admitted.caller, &named(&name)?, days).await?)
}

#[derive(Serialize, JsonSchema)]
struct Tools {
    tools: Vec<PinnedTool>,
}

async fn tools(State(front): State<Arc<Front>>, admitted: Admitted, Path(name): Path<String>) -> RestResult {
    json(StatusCode::OK, &Tools { tools: front.site.agents().tools(&admitted.caller, &named(&name)?)? })
}

/// Which tools are approved; all of them when none is named.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Approval")]
struct ApprovalGiven {
    #[serde(default)]
    #[schemars(extend("about" = "All of them when left out"))]
    tools: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Approved {
    approved: Vec<String>,
}

async fn approve(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(name): Path<String>,
    JsonBody(given): JsonBody<ApprovalGiven>,
) -> RestResult {
    let approved = front.site.agents().approve_tools(&admitted.caller, &named(&name)?, &given.tools)?;
    json(StatusCode::OK, &Approved { approved })
}

/// Where the person comes back to who logs in.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LoginGiven {
    #[schemars(with = "Address")]
    redirect: Url,
}

#[derive(Serialize, JsonSchema)]
struct Login {
    #[schemars(with = "String")]
    url: Url,
    #[schemars(with = "Moment")]
    until: Timestamp,
}

async fn begin_login(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(name): Path<String>,
    JsonBody(given): JsonBody<LoginGiven>,
) -> RestResult {
    let begun = front.site.logins().begin(&admitted.caller, &named(&name)?, &given.redirect).await?;
    json(StatusCode::OK, &Login { url: begun.address, until: begun.until })
}

/// The address to which the person was sent back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LoginAnswer")]
struct LoginAnswered {
    #[schemars(with = "Address")]
    url: Url,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LoggedIn {
    logged_in: bool,
}

async fn finish_login(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(name): Path<String>,
    JsonBody(given): JsonBody<LoginAnswered>,
) -> RestResult {
    front.site.logins().finish(&admitted.caller, &named(&name)?, &given.url).await?;
    json(StatusCode::OK, &LoggedIn { logged_in: true })
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LoggedOut {
    was_logged_in: bool,
}

async fn logout(State(front): State<Arc<Front>>, admitted: Admitted, Path(name): Path<String>) -> RestResult {
    let was_logged_in = front.site.logins().forget(&admitted.caller, &named(&name)?).await?;
    json(StatusCode::OK, &LoggedOut { was_logged_in })
}

/// A name that cannot be one answers like an agent that is not there.
pub(super) fn named(name: &str) -> Result<AgentName, Failure> {
    name.parse()
        .map_err(|_| SiteError::NoSuchAgent(name.chars().take(agentsite_protocol::MAX_NAME).collect()).into())
}
