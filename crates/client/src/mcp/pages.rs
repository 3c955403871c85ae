//! Pages: a list of a tool server, fetched whole.
//!
//! Promises: a list ends: after so many pages, items or bytes with an error that says so, and at once when a
//! server sends the same page again. It does not keep lists.

use agentsite_protocol::mcp::{Prompt, Resource, ResourceTemplate, Tool};
use rmcp::model::{
    ClientRequest, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest,
    PaginatedRequestParams,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Connection, McpError};

pub(super) async fn tools(connection: &Connection) -> Result<Vec<Tool>, McpError> {
    let page = |cursor| ClientRequest::ListToolsRequest(ListToolsRequest::with_param(cursor));
    whole(connection, "tools", page).await
}

pub(super) async fn resources(connection: &Connection) -> Result<Vec<Resource>, McpError> {
    let page = |cursor| ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(cursor));
    whole(connection, "resources", page).await
}

pub(super) async fn templates(connection: &Connection) -> Result<Vec<ResourceTemplate>, McpError> {
    let page = |cursor| {
        ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest::with_param(cursor))
    };
    whole(connection, "resourceTemplates", page).await
}

pub(super) async fn prompts(connection: &Connection) -> Result<Vec<Prompt>, McpError> {
    let page = |cursor| ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(cursor));
    whole(connection, "prompts", page).await
}

async fn whole<T: DeserializeOwned>(
    connection: &Connection,
    field: &'static str,
    page: impl Fn(PaginatedRequestParams) -> ClientRequest,
) -> Result<Vec<T>, McpError> {
    let limits = connection.options.limits;
    let (mut items, mut bytes, mut cursor) = (Vec::new(), 0_usize, None::<String>);
    for _ in 0..limits.pages {
        let asked = cursor.clone();
        let mut answer: Value =
            connection.ask(field, page(PaginatedRequestParams::default().with_cursor(asked))).await?;
        let Some(Value::Array(found)) = answer.get_mut(field).map(Value::take) else {
            return Err(McpError::BadAnswer(format!("there is no list of {field}")));
        };
        bytes += found.iter().map(|item| item.to_string().len()).sum::<usize>();
        if items.len() + found.len() > limits.items || bytes > limits.list {
            let (items, list) = (limits.items, limits.list);
            return Err(McpError::TooLarge(format!(
                "the tool server has more than {items} {field}, or {list} bytes of them"
            )));
        }
        for item in found {
            items.push(serde_json::from_value(item).map_err(|error| McpError::BadAnswer(error.to_string()))?);
        }
        let next = answer.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        if next.is_none() {
            return Ok(items);
        }
        if next == cursor {
            return Err(McpError::BadAnswer(format!("the same page of {field} comes repeatedly")));
        }
        cursor = next;
    }
    Err(McpError::TooLarge(format!("the tool server has more than {} pages of {field}", limits.pages)))
}
