//! `find_agents`: the agents that fit a request, told to a model with the reasons.
//!
//! Promises: an agent of this site is told by the name by which it is called, one from elsewhere with where its card is. What is wrong with the
//! query is a result that a model can mend.

use agentsite_host::Exchange;
use agentsite_protocol::mcp::ToolResult;
use agentsite_protocol::{Filter, MAX_FILTER_VALUE, MAX_FILTER_VALUES, Match, Query, Reach};
use serde_json::{Value, json};

use super::describe::short;
use crate::SiteError;
use crate::site::Site;

/// The filter as a model may write it.
pub(super) fn filter_schema() -> Value {
    let words = |about: &str| {
        let value = json!({ "type": "string", "minLength": 1, "maxLength": MAX_FILTER_VALUE });
        json!({ "type": "array", "maxItems": MAX_FILTER_VALUES, "items": value, "description": about })
    };
    json!({
        "type": "object",
        "description": "What a match must be; values of one field are alternatives",
        "properties": {
            "tags": words("Has one of these tags among its skills"),
            "protocols": words("Is called by one of these protocols: a2a, mcp"),
            "inputModes": words("Takes one of these media types"),
            "outputModes": words("Gives one of these media types"),
            "regions": words("Runs in one of these regions"),
            "owners": words("Belongs to one of these owners"),
            "live": { "type": "boolean", "description": "Answered when it was last looked at" },
            "maxPrice": { "type": "number", "minimum": 0, "description": "Costs at most this per call" },
            "minTrust": { "type": "number", "minimum": 0, "maximum": 1, "description": "Is trusted at least this much" },
        },
        "additionalProperties": false,
    })
}

/// How far to look, as a model may write it.
pub(super) fn reach_schema() -> Value {
    json!({
        "type": "string",
        "enum": ["here", "upstreams"],
        "description": "`upstreams` also asks the registries elsewhere that the operator has named; `here` when left out",
    })
}

/// Finds agents.
pub(super) async fn find(
    site: &Site,
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
    let found = site.find(&exchange.caller, &query, "").await?;
    let rows: Vec<Value> = found.matches.iter().map(|one| row(site, one)).collect();
    let lines: Vec<String> = found.matches.iter().map(line).collect();
    let mut told = json!({ "agents": rows });
    if let Some(without) = found.without {
        told["without"] = without.into();
    }
    if let Some(coverage) = found.coverage {
        told["coverage"] = json!(coverage);
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
fn row(site: &Site, one: &Match) -> Value {
    let own = one.name.parse().ok().and_then(|name| site.0.hub.get(&name)).filter(|_| one.local);
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
