//! Chat completions as OpenAI, Ollama (`/v1`), vLLM, llama.cpp and many others implement them.
//!
//! Promises: pure; turns a request into a body and each event of the stream into a further piece of the
//! draft. Accepts what servers are known to send outside the specification: null contents, empty choices,
//! errors within the stream, whole answers where a stream was asked for. It does no IO.

use serde_json::{Value, json};
use url::Url;

use super::draft::Draft;
use super::fault::{Complaint, Flaw};
use super::model::{ChatMessage, ChatRequest, EndReason, ToolCall, ToolSpec};

/// The only server that refuses `max_tokens` for its newer models and requires `max_completion_tokens`
/// instead.
const OPENAI_HOST: &str = "api.openai.com";

/// Where chats go, below the base address; `/v1` is added to an address without a path.
pub(super) fn address(base: &Url) -> Url {
    let mut url = base.clone();
    let path = base.path().trim_end_matches('/');
    url.set_path(&format!("{}/chat/completions", if path.is_empty() { "/v1" } else { path }));
    url
}

/// The body of a request.
pub(super) fn body(request: &ChatRequest, model: &str, base: &Url) -> Value {
    let system = Some(&request.system).filter(|words| !words.is_empty());
    let system = system.map(|words| json!({"role": "system", "content": words}));
    let messages: Vec<Value> = system.into_iter().chain(request.messages.iter().map(message)).collect();
    let mut body = json!({
        "model": model,
        "messages": messages,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    let most = if base.host_str() == Some(OPENAI_HOST) { "max_completion_tokens" } else { "max_tokens" };
    body[most] = request.max_tokens.into();
    if let Some(heat) = request.temperature {
        body["temperature"] = rounded(heat);
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    body
}

/// A temperature as it was written: 0.7, not 0.699999988079071.
pub(super) fn rounded(heat: f32) -> Value {
    let exact = (f64::from(heat) * 1_000.0).round() / 1_000.0;
    exact.into()
}

fn message(message: &ChatMessage) -> Value {
    match message {
        ChatMessage::User(text) => json!({"role": "user", "content": text}),
        ChatMessage::Assistant { text, calls } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        ChatMessage::Assistant { text, calls } => {
            let calls: Vec<Value> = calls.iter().map(call).collect();
            json!({"role": "assistant", "content": text, "tool_calls": calls})
        }
        ChatMessage::Tool { call, text, failed } => {
            let text = if *failed { format!("error: {text}") } else { text.clone() };
            json!({"role": "tool", "tool_call_id": call, "content": text})
        }
    }
}

fn call(call: &ToolCall) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments});
    json!({"id": call.id, "type": "function", "function": function})
}

fn tool(tool: &ToolSpec) -> Value {
    let function = json!({"name": tool.name, "description": tool.description, "parameters": tool.schema});
    json!({"type": "function", "function": function})
}

/// Takes one event of the stream; gives the text in it.
pub(super) fn take(draft: &mut Draft, data: &str) -> Result<Option<String>, Flaw> {
    if data.trim() == "[DONE]" {
        draft.done = true;
        return Ok(None);
    }
    let chunk: Value =
        serde_json::from_str(data).map_err(|error| Flaw::Garbage(format!("no JSON: {error}")))?;
    if let Some(complaint) = Complaint::find(&chunk) {
        return Err(Flaw::Complaint(complaint));
    }
    let Some(choices) = chunk.get("choices") else {
        return Err(Flaw::Garbage("an event without choices".into()));
    };
    take_usage(draft, &chunk["usage"]);
    let choice = &choices[0];
    // A server that does not stream sends the message whole.
    let delta = if choice["delta"].is_object() { &choice["delta"] } else { &choice["message"] };
    for piece in delta["tool_calls"].as_array().into_iter().flatten() {
        take_call(draft, piece)?;
    }
    if let Some(reason) = choice["finish_reason"].as_str() {
        draft.end = Some(end(reason));
    }
    Ok(words(&delta["content"]).and_then(|text| draft.words(text)))
}

fn take_usage(draft: &mut Draft, usage: &Value) {
    draft.read = usage["prompt_tokens"].as_u64().or(draft.read);
    draft.written = usage["completion_tokens"].as_u64().or(draft.written);
}

fn take_call(draft: &mut Draft, piece: &Value) -> Result<(), Flaw> {
    let id = piece["id"].as_str().unwrap_or_default();
    let index = piece["index"].as_u64().unwrap_or_else(|| draft.last_index());
    let call = draft.call(index, id)?;
    let function = &piece["function"];
    call.name.push_str(function["name"].as_str().unwrap_or_default());
    match &function["arguments"] {
        Value::String(more) => call.arguments.push_str(more),
        Value::Null => {}
        whole => call.arguments.push_str(&whole.to_string()),
    }
    Ok(())
}

/// Text, or the text of a list of parts.
fn words(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => Some(parts.iter().filter_map(|part| part["text"].as_str()).collect()),
        _ => None,
    }
}

fn end(reason: &str) -> EndReason {
    match reason {
        "stop" => EndReason::Stop,
        "tool_calls" | "function_call" => EndReason::ToolCalls,
        "length" => EndReason::Length,
        "content_filter" => EndReason::Filtered,
        other => EndReason::Other(other.chars().take(40).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::ModelEvent;
    use super::*;

    #[test]
    fn an_address_without_a_path_gets_v1() {
        for (base, url) in [
            ("http://127.0.0.1:11434", "http://127.0.0.1:11434/v1/chat/completions"),
            ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            ("https://x.example/openai/v1/", "https://x.example/openai/v1/chat/completions"),
        ] {
            assert_eq!(address(&base.parse().unwrap()).as_str(), url);
        }
    }

    #[test]
    fn the_body_has_the_conversation_in_order() {
        let call =
            ToolCall { id: "c1".into(), name: "ask_calc".into(), arguments: "{\"message\":\"1\"}".into() };
        let request = ChatRequest {
            system: "Be brief.".into(),
            messages: vec![
                ChatMessage::User("hi".into()),
                ChatMessage::Assistant { text: String::new(), calls: vec![call] },
                ChatMessage::Tool { call: "c1".into(), text: "broken".into(), failed: true },
            ],
            tools: vec![ToolSpec {
                name: "ask_calc".into(),
                description: "d".into(),
                schema: json!({"type": "object"}),
            }],
            temperature: Some(0.7),
            max_tokens: 9,
        };
        let body = body(&request, "m", &"http://127.0.0.1:8080".parse().unwrap());
        let roles: Vec<&str> =
            body["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool"]);
        assert_eq!(body["messages"][3]["content"], "error: broken");
        assert_eq!(body["temperature"].to_string(), "0.7");
        assert_eq!(body["max_tokens"], 9);
        assert_eq!(body["tools"][0]["function"]["name"], "ask_calc");
    }

    #[test]
    fn openai_itself_gets_the_newer_name_of_the_limit() {
        let body = body(&ChatRequest::default(), "m", &"https://api.openai.com/v1".parse().unwrap());
        assert!(body.get("max_tokens").is_none() && body.get("max_completion_tokens").is_some());
    }

    #[test]
    fn a_whole_answer_in_place_of_a_stream_is_taken() {
        let mut draft = Draft::default();
        let whole = r#"{"choices":[{"message":{"role":"assistant","content":"Hi"},"finish_reason":"length"}],
            "usage":{"prompt_tokens":5,"completion_tokens":1}}"#;
        assert_eq!(take(&mut draft, whole).unwrap().as_deref(), Some("Hi"));
        assert_eq!(draft.finish(0).last(), Some(&ModelEvent::End(EndReason::Length)));
    }

    #[test]
    fn an_error_within_the_stream_is_a_complaint() {
        let flaw =
            take(&mut Draft::default(), r#"{"error":{"message":"out of memory","code":500}}"#).unwrap_err();
        assert!(matches!(flaw, Flaw::Complaint(Complaint { status: 500, .. })), "{flaw:?}");
    }
}
