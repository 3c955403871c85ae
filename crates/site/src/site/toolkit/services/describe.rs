//! What agents can do, in words and for programs: a list of them, and one in detail.
//!
//! Promises: the order is that of their names, unless somebody ranked them. It tells nothing that the card of
//! the agent does not.

use std::sync::Arc;

use agentsite_host::Exchange;
use agentsite_protocol::Skill;
use agentsite_protocol::mcp::{Tool, ToolResult};
use serde_json::{Value, json};

use super::visible;
use crate::SiteError;
use crate::local_agents::Entry;
use crate::site::toolkit::offers::{described, of_agent};
use crate::site::toolkit::parts::ToolkitParts;

/// Lists the agents by name.
pub(super) fn list(site: &ToolkitParts, exchange: &Exchange, arguments: &Value, most: usize) -> ToolResult {
    let after = arguments["after"].as_str().unwrap_or_default();
    let rest = site.local.list(&exchange.caller);
    let mut rest: Vec<Arc<Entry>> =
        rest.into_iter().filter(|entry| entry.manifest.name.as_str() > after).collect();
    let more = rest.len() > most;
    rest.truncate(most);
    let next = rest.last().filter(|_| more).map(|entry| entry.manifest.name.to_string());
    agents(&rest, next)
}

/// These agents, and after which one the list goes on.
fn agents(found: &[Arc<Entry>], next: Option<String>) -> ToolResult {
    let line = |entry: &Arc<Entry>| format!("{}: {}", entry.manifest.name, entry.manifest.description);
    let lines: Vec<String> = found.iter().map(line).collect();
    let rows: Vec<Value> = found.iter().map(|entry| short(entry)).collect();
    let mut told = json!({ "agents": rows });
    if let Some(next) = next {
        told["next"] = next.into();
    }
    let words = if lines.is_empty() { "There are no more agents.".to_owned() } else { lines.join("\n") };
    ToolResult { structured_content: Some(told), ..ToolResult::text(words) }
}

pub(super) fn short(entry: &Entry) -> Value {
    let names: Vec<String> = entry.skills().into_iter().map(|skill| skill.name).collect();
    json!({
        "name": entry.manifest.name,
        "description": entry.manifest.description,
        "skills": names,
        "health": entry.runner.health().word(),
    })
}

/// Tells what one agent can do.
pub(super) async fn one(
    site: &ToolkitParts,
    exchange: &Exchange,
    arguments: &Value,
) -> Result<ToolResult, SiteError> {
    let entry = visible(site, exchange, arguments)?;
    let tools: Vec<Tool> = match entry.runner.toolbox() {
        Some(toolbox) => {
            let tools = toolbox.tools(exchange).await;
            tools.map_err(|fault| SiteError::Agent(fault.to_string()))?.to_vec()
        }
        // The first is the agent itself, for messages.
        None => of_agent(&entry).into_iter().skip(1).map(|(name, offer)| described(name, &offer)).collect(),
    };
    let talked_to = entry.runner.toolbox().is_none();
    let mut told = short(&entry);
    told["version"] = entry.manifest.version.clone().into();
    told["skills"] = entry.skills().iter().map(skill).collect();
    told["takesMessages"] = talked_to.into();
    told["tools"] = serde_json::to_value(&tools).unwrap_or_default();
    let words = serde_json::to_string_pretty(&told).unwrap_or_default();
    Ok(ToolResult { structured_content: Some(told), ..ToolResult::text(words) })
}

fn skill(skill: &Skill) -> Value {
    json!({ "id": skill.id, "name": skill.name, "description": skill.description, "examples": skill.examples })
}
