//! `find_agents`: the agents that fit a request, told to a model with the reasons.
//!
//! Promises: an agent of this site is told by the name by which it is called, one from elsewhere with where
//! its card is. What is wrong with the query is a result that a model can mend.

use agentsite_host::Exchange;
use agentsite_protocol::mcp::ToolResult;
use agentsite_protocol::{Filter, Match, Query, Reach};
use serde_json::{Value, json};

use super::describe::short;
use crate::SiteError;
use crate::site::toolkit::parts::ToolkitParts;

/// Finds agents.
pub(super) async fn find(
    site: &ToolkitParts,
    exchange: &Exchange,
    arguments: &Value,
    most: usize,
) -> Result<ToolResult, SiteError> {
    let filter = match &arguments["filter"] {
        Value::Null => Filter::default(),
        given => serde_json::from_value(given.clone())
            .map_err(|error| SiteError::BadMessage(format!("the filter is not right: {error}")))?,
    };
    let text = arguments["query"].as_str().unwrap_or_default().to_owned();
    let reach = if arguments["reach"] == "upstreams" { Reach::Upstreams } else { Reach::Here };
    let query = Query { text, filter, reach, limit: Some(most), ..Query::default() };
    let found = site.search.find(&exchange.caller, &query, "").await?;
    let rows: Vec<Value> = found.matches.iter().map(|one| row(site, one)).collect();
    let lines: Vec<String> = found.matches.iter().map(line).collect();
    let mut told = json!({ "agents": rows });
    if let Some(without) = found.without {
        told["without"] = without.into();
    }
    if let Some(coverage) = found.coverage {
        told["coverage"] = json!(coverage);
    }
    if let Some(cells) = found.cells {
        told["cells"] = json!(cells);
    }
    let words = if lines.is_empty() {
        "No agent fits; say it otherwise, or list the agents.".to_owned()
    } else {
        lines.join("\n")
    };
    Ok(ToolResult { structured_content: Some(told), ..ToolResult::text(words) })
}

fn line(one: &Match) -> String {
    format!("{}: {} ({}; score {:.3})", one.name, one.description, one.why(), one.score)
}

/// A match for programs. What depends on the address of the site is left out: whoever asks is there already.
fn row(site: &ToolkitParts, one: &Match) -> Value {
    let own = one.name.parse().ok().and_then(|name| site.local.get(&name)).filter(|_| one.local);
    let mut row = match own {
        Some(entry) => short(&entry),
        None => json!({ "name": one.name, "description": one.description, "id": one.id, "card": one.card }),
    };
    row["local"] = one.local.into();
    if let Some(source) = &one.source {
        row["source"] = json!(source);
    }
    row["score"] = one.score.into();
    row["why"] = one.why().into();
    row["reason"] = json!(one.reason);
    row
}
