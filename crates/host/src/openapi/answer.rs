//! Answer: what an API answers, as the result of a tool.
//!
//! Promises: JSON is returned as structure and as text, text as text, everything else as bytes with its media
//! type. An error status is a result with the beginning of its body, so that a model can try something else.
//! Bounded by the reader.

use agentsite_egress::{EgressAnswer, EgressError};
use agentsite_protocol::mcp::{Content, Contents, ToolResult};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::base64;
use super::operation::{Operation, is_json};

/// How much of the body of an error is shown.
const BEGINNING: usize = 2_000;

/// Reads an answer to its end.
///
/// # Errors
/// [`EgressError`] when it is too large, too slow or cut off.
pub(super) async fn read(operation: &Operation, answer: EgressAnswer) -> Result<ToolResult, EgressError> {
    let status = answer.status();
    let media_type =
        answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (media_type, url) = (media_type.to_owned(), answer.url().clone());
    let body = answer.bytes().await?;
    if !status.is_success() {
        let beginning: String = String::from_utf8_lossy(&body).chars().take(BEGINNING).collect();
        let words = match beginning.trim() {
            "" => format!("the API answered {status}"),
            beginning => format!("the API answered {status}: {beginning}"),
        };
        return Ok(ToolResult::error(words));
    }
    Ok(result(operation, &media_type, body, url.path()))
}

fn result(operation: &Operation, media_type: &str, body: Bytes, path: &str) -> ToolResult {
    if body.is_empty() {
        return ToolResult::text("Done; the API returned nothing.");
    }
    let kind = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if is_json(&kind)
        && let Ok(value) = serde_json::from_slice::<Value>(&body)
    {
        return structured(operation, value);
    }
    if kind.starts_with("image/") {
        return ToolResult { content: vec![Content::image(base64(&body), kind)], ..ToolResult::default() };
    }
    if kind.starts_with("audio/") {
        return ToolResult { content: vec![Content::audio(base64(&body), kind)], ..ToolResult::default() };
    }
    match String::from_utf8(body.into()) {
        Ok(text) => ToolResult::text(text),
        Err(error) => {
            let blob = Some(base64(error.as_bytes()));
            let contents = Contents {
                uri: format!("openapi:{path}"),
                mime_type: Some(kind),
                blob,
                ..Contents::default()
            };
            ToolResult { content: vec![Content::resource(contents)], ..ToolResult::default() }
        }
    }
}

/// Structure is always an object: clients of older revisions take nothing else.
fn structured(operation: &Operation, value: Value) -> ToolResult {
    let words = value.to_string();
    let value = if operation.wrapped || !value.is_object() { json!({"result": value}) } else { value };
    ToolResult { structured_content: Some(value), ..ToolResult::text(words) }
}
