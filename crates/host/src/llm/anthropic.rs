//! The messages API of Anthropic, version 2023-06-01.
//!
//! Promises: pure; turns a request into a body and each event of the stream into a further piece of the
//! draft. Events and blocks of kinds it does not know, thinking among them, are passed over. It does no IO.

use serde_json::{Value, json};
use url::Url;

use super::draft::Draft;
use super::fault::{Complaint, Flaw};
use super::model::{ChatMessage, ChatRequest, EndReason, ToolCall, ToolSpec};
use super::openai::rounded;

/// The version of the API that this file implements.
pub(super) const VERSION: &str = "2023-06-01";

/// The highest temperature that the API takes.
const HOTTEST: f32 = 1.0;

/// Where chats go, below the base address.
pub(super) fn address(base: &Url) -> Url {
    let mut url = base.clone();
    let path = base.path().trim_end_matches('/').trim_end_matches("/v1").to_owned();
    url.set_path(&format!("{path}/v1/messages"));
    url
}

/// The body of a request.
pub(super) fn body(request: &ChatRequest, model: &str) -> Value {
    let mut body = json!({
        "model": model,
        "max_tokens": request.max_tokens,
        "messages": messages(&request.messages),
        "stream": true,
    });
    if !request.system.is_empty() {
        body["system"] = request.system.as_str().into();
    }
    if let Some(heat) = request.temperature {
        body["temperature"] = rounded(heat.min(HOTTEST));
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    body
}

/// The conversation; results of calls that belong together are in one message, as the API requires.
fn messages(messages: &[ChatMessage]) -> Vec<Value> {
    let mut written: Vec<Value> = Vec::new();
    let mut after_result = false;
    for message in messages {
        let (role, blocks) = blocks(message);
        let is_result = matches!(message, ChatMessage::Tool { .. });
        match written.last_mut().and_then(|last| last["content"].as_array_mut()) {
            Some(content) if is_result && after_result => content.extend(blocks),
            _ => written.push(json!({"role": role, "content": blocks})),
        }
        after_result = is_result;
    }
    written
}

fn blocks(message: &ChatMessage) -> (&'static str, Vec<Value>) {
    match message {
        ChatMessage::User(text) => ("user", vec![json!({"type": "text", "text": text})]),
        ChatMessage::Assistant { text, calls } => {
            // The API refuses empty text blocks.
            let text =
                Some(text).filter(|text| !text.is_empty()).map(|text| json!({"type": "text", "text": text}));
            ("assistant", text.into_iter().chain(calls.iter().map(call)).collect())
        }
        ChatMessage::Tool { call, text, failed } => (
            "user",
            vec![json!({"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed})],
        ),
    }
}

fn call(call: &ToolCall) -> Value {
    let input: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
}

fn tool(tool: &ToolSpec) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema})
}

/// Takes one event of the stream; gives the text in it.
pub(super) fn take(draft: &mut Draft, data: &str) -> Result<Option<String>, Flaw> {
    let event: Value =
        serde_json::from_str(data).map_err(|error| Flaw::Garbage(format!("no JSON: {error}")))?;
    match event["type"].as_str() {
        Some("message_start") => take_usage(draft, &event["message"]["usage"]),
        Some("content_block_start") => begin_block(draft, &event)?,
        Some("content_block_delta") => return take_delta(draft, &event),
        Some("message_delta") => {
            take_usage(draft, &event["usage"]);
            draft.end = event["delta"]["stop_reason"].as_str().map(end).or(draft.end.take());
        }
        Some("message_stop") => draft.done = true,
        Some("error") => return Err(Flaw::Complaint(Complaint::find(&event).unwrap_or_default())),
        Some(_) => {}
        None => match Complaint::find(&event) {
            Some(complaint) => return Err(Flaw::Complaint(complaint)),
            None => return Err(Flaw::Garbage("an event without type".into())),
        },
    }
    Ok(None)
}

/// Counts what was read, cached or not. The numbers of later events replace those of earlier ones.
fn take_usage(draft: &mut Draft, usage: &Value) {
    if usage["input_tokens"].is_u64() {
        let kinds = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
        let counts = kinds.iter().filter_map(|kind| usage[*kind].as_u64());
        draft.read = Some(counts.fold(0, u64::saturating_add));
    }
    draft.written = usage["output_tokens"].as_u64().or(draft.written);
}

fn begin_block(draft: &mut Draft, event: &Value) -> Result<(), Flaw> {
    let block = &event["content_block"];
    if block["type"] != "tool_use" {
        return Ok(());
    }
    let index = event["index"].as_u64().unwrap_or_default();
    let call = draft.call(index, block["id"].as_str().unwrap_or_default())?;
    call.name.push_str(block["name"].as_str().unwrap_or_default());
    // The input is empty here and follows in pieces, unless the server sends it whole.
    if block["input"].as_object().is_some_and(|input| !input.is_empty()) {
        call.arguments = block["input"].to_string();
    }
    Ok(())
}

fn take_delta(draft: &mut Draft, event: &Value) -> Result<Option<String>, Flaw> {
    let delta = &event["delta"];
    match delta["type"].as_str() {
        Some("text_delta") => {
            let text = delta["text"].as_str().unwrap_or_default().to_owned();
            return Ok(draft.words(text));
        }
        Some("input_json_delta") => {
            let call = draft.call(event["index"].as_u64().unwrap_or_default(), "")?;
            call.arguments.push_str(delta["partial_json"].as_str().unwrap_or_default());
        }
        _ => {}
    }
    Ok(None)
}

fn end(reason: &str) -> EndReason {
    match reason {
        "end_turn" | "stop_sequence" => EndReason::Stop,
        "tool_use" => EndReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => EndReason::Length,
        "refusal" => EndReason::Filtered,
        other => EndReason::Other(other.chars().take(40).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_the_same_with_and_without_v1() {
        for base in
            ["https://api.anthropic.com", "https://api.anthropic.com/v1", "https://api.anthropic.com/v1/"]
        {
            assert_eq!(address(&base.parse().unwrap()).as_str(), "https://api.anthropic.com/v1/messages");
        }
        let proxied = address(&"https://x.example/anthropic".parse().unwrap());
        assert_eq!(proxied.as_str(), "https://x.example/anthropic/v1/messages");
    }

    #[test]
    fn results_of_one_turn_stand_in_one_message() {
        let call = |id: &str| ToolCall { id: id.into(), name: "t".into(), arguments: "{}".into() };
        let result = |id: &str| ChatMessage::Tool { call: id.into(), text: "4".into(), failed: false };
        let request = ChatRequest {
            messages: vec![
                ChatMessage::User("hi".into()),
                ChatMessage::Assistant { text: String::new(), calls: vec![call("a"), call("b")] },
                result("a"),
                result("b"),
            ],
            temperature: Some(1.8),
            ..ChatRequest::default()
        };
        let body = body(&request, "m");
        assert_eq!(body["messages"].as_array().unwrap().len(), 3);
        assert_eq!(body["messages"][2]["content"].as_array().unwrap().len(), 2);
        assert_eq!(body["messages"][1]["content"][0]["type"], "tool_use");
        assert_eq!(body["temperature"], 1.0);
        assert!(body.get("system").is_none());
    }

    #[test]
    fn cached_tokens_were_read_too() {
        let mut draft = Draft::default();
        let start = r#"{"type":"message_start","message":{"usage":{"input_tokens":3,"cache_read_input_tokens":40,"output_tokens":1}}}"#;
        take(&mut draft, start).unwrap();
        take(
            &mut draft,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}"#,
        )
        .unwrap();
        assert_eq!((draft.read, draft.written), (Some(43), Some(15)));
    }

    #[test]
    fn unknown_events_and_blocks_are_passed_over() {
        let mut draft = Draft::default();
        for event in [
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
            r#"{"type":"tomorrow"}"#,
        ] {
            assert_eq!(take(&mut draft, event), Ok(None));
        }
    }
}
