//! `agentsite bench mcp`: tools of MCP in both forms of the protocol, against a bare server that echoes the
//! same body.
//!
//! Promises: all figures come from one run; the agent behind the tool is the same echo as in the other
//! measurements, once without a record and once as a durable task. Memory is measured after many calls, to
//! see whether it grows.

use std::path::Path;
use std::time::Duration;

use agentsite_egress::Egress;
use http::{HeaderName, HeaderValue, header};
use serde_json::json;

use super::load::{self, Load, Request};
use super::process::Child;
use super::report::{Report, Row};
use super::{BenchPlan, phase};
use crate::bench::{BenchError, Progress};

/// In which a session is named.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Measures tools.
pub(super) async fn measure(
    plan: &BenchPlan,
    folder: &Path,
    progress: &Progress,
) -> Result<Report, BenchError> {
    let mut report = Report::default();
    let (site, bare) = (Child::start_site(folder).await?, Child::start_bare().await?);
    site.rest().await?;
    let load = Load { connections: plan.connections, time: Duration::from_secs(plan.seconds) };
    progress.note("bare axum echo");
    let floor = phase(&bare, &Request::call_tool("/", "quick"), load).await?;
    report.row(Row::of("bare axum, JSON echo of the same body", &floor, None));
    let session = begin_session(&site, "/mcp/quick").await?;
    let phases = [
        ("tools/call, echo as message", Request::call_tool("/mcp/quick", "quick")),
        ("tools/call of the whole site", Request::call_tool("/mcp", "quick")),
        ("tools/call in a session (2025-11-25)", Request::call_tool_in("/mcp/quick", "quick", &session)),
        ("tools/call, echo as durable task", Request::call_tool("/mcp/echo", "echo")),
    ];
    for (name, request) in phases {
        progress.note(name);
        report.row(Row::of(name, &phase(&site, &request, load).await?, Some(&floor)));
    }
    progress.note(&format!("{} calls", plan.messages));
    let before = site.figures()?.resident_mib;
    let request = Request::call_tool("/mcp/quick", "quick");
    load::send(site.address, &request, plan.connections, plan.messages).await?;
    let ratio = site.figures()?.resident_mib / before;
    report.figure(&format!("memory after {} calls, ratio", plan.messages), ratio, "");
    Ok(report)
}

/// Begins a session of the older form and gives its id.
async fn begin_session(site: &Child, path: &str) -> Result<String, BenchError> {
    let failed = |what: String| BenchError::error(format!("cannot begin a session of MCP: {what}"));
    let url = format!("http://{}{path}", site.address);
    let url = url.parse().map_err(|error: url::ParseError| failed(error.to_string()))?;
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"},
    });
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let request = Egress::unguarded().post(url).json(&body).map_err(|error| failed(error.to_string()))?;
    let accept = HeaderValue::from_static("application/json, text/event-stream");
    let answer = request.header(header::ACCEPT, accept).send().await;
    let answer = answer.map_err(|error| failed(error.to_string()))?;
    let session = answer.headers().get(SESSION).and_then(|value| value.to_str().ok()).map(str::to_owned);
    session.ok_or_else(|| failed(format!("the site answers {}", answer.status())))
}
