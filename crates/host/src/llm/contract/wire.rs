//! What model servers send: streams, calls, errors, and the ways in which they go wrong.
//!
//! Written from the published forms, not recorded. Only the llama.cpp stream was compared with what a running
//! server sends (SmolLM2 under xllamacpp); OpenAI, Anthropic, Ollama and vLLM were not tested themselves.

use super::{KEY, Scene};
use crate::ModelApi;

/// What a server sends in a scene.
pub(super) struct Wire {
    pub(super) status: u16,
    pub(super) retry_after: Option<&'static str>,
    pub(super) body: Body,
}

pub(super) enum Body {
    /// This text in small pieces, then the end of the body.
    Text(String),
    /// This text, then a broken connection.
    Broken(String),
    /// This text, then nothing for ever.
    Open(String),
    /// This text again and again.
    Endless(String),
    /// Not even a head.
    Never,
}

pub(super) fn wire(scene: Scene, api: ModelApi) -> Wire {
    let (plain, calls) = match api {
        ModelApi::Openai => (OPENAI_PLAIN, OPENAI_CALLS),
        ModelApi::Anthropic => (ANTHROPIC_PLAIN, ANTHROPIC_CALLS),
    };
    // Up to and with the first words.
    let begun = || {
        plain
            .find("Hel\"")
            .and_then(|at| plain[at..].find("\n\n").map(|end| plain[..at + end + 2].to_owned()))
    };
    let begun = || begun().expect("each stream says Hel first");
    let (status, retry_after, body) = match scene {
        Scene::Plain => (200, None, Body::Text(plain.into())),
        Scene::Calls => (200, None, Body::Text(calls.into())),
        Scene::Cut => (200, None, Body::Broken(begun())),
        Scene::SilentMiddle => (200, None, Body::Open(begun())),
        Scene::SilentStart => (200, None, Body::Never),
        Scene::Garbage => (200, None, Body::Text("<html>\n\ndata: hello there\n\n\u{0}".into())),
        Scene::Flood => (200, None, Body::Endless(flood(api))),
        Scene::LongLine => (200, None, Body::Endless("data: ".repeat(5_000))),
        Scene::Busy => (429, Some("7"), Body::Text(busy(api).into())),
        Scene::BadKey => (401, None, Body::Text(bad_key(api))),
        Scene::NoModel => (404, None, Body::Text(no_model(api).into())),
        Scene::ErrorInStream => (200, None, Body::Text(begun() + &error_in_stream(api))),
    };
    Wire { status, retry_after, body }
}

fn flood(api: ModelApi) -> String {
    let words = "word ".repeat(6_000);
    match api {
        ModelApi::Openai => {
            format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{words}\"}}}}]}}\n\n")
        }
        ModelApi::Anthropic => format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{words}\"}}}}\n\n"
        ),
    }
}

fn busy(api: ModelApi) -> &'static str {
    match api {
        ModelApi::Openai => {
            r#"{"error":{"message":"Rate limit reached for m1","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#
        }
        ModelApi::Anthropic => {
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit"}}"#
        }
    }
}

fn bad_key(api: ModelApi) -> String {
    match api {
        ModelApi::Openai => {
            format!(
                r#"{{"error":{{"message":"Incorrect API key provided: {KEY}.","type":"invalid_request_error","code":"invalid_api_key"}}}}"#
            )
        }
        ModelApi::Anthropic => {
            format!(
                r#"{{"type":"error","error":{{"type":"authentication_error","message":"invalid x-api-key {KEY}"}}}}"#
            )
        }
    }
}

fn no_model(api: ModelApi) -> &'static str {
    match api {
        ModelApi::Openai => {
            r#"{"error":{"message":"The model `m1` does not exist","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#
        }
        ModelApi::Anthropic => r#"{"type":"error","error":{"type":"not_found_error","message":"model: m1"}}"#,
    }
}

fn error_in_stream(api: ModelApi) -> String {
    match api {
        ModelApi::Openai => "data: {\"error\":{\"message\":\"Engine overloaded\",\"type\":\"overloaded\",\"code\":503}}\n\n".into(),
        ModelApi::Anthropic => {
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n".into()
        }
    }
}

const OPENAI_PLAIN: &str = r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m1","service_tier":"default","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m1","choices":[{"index":0,"delta":{"content":"Hel"},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m1","choices":[{"index":0,"delta":{"content":"lo"},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m1","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m1","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":2,"total_tokens":14}}

data: [DONE]

"#;

const OPENAI_CALLS: &str = r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"I ask."},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"ask_calc","arguments":""}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"mess"}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"ask_clock","arguments":""}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"age\":\"2+2\"}"}},{"index":1,"function":{"arguments":"{\"message\":\"now\"}"}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"choices":[],"usage":{"prompt_tokens":40,"completion_tokens":20,"total_tokens":60}}

data: [DONE]

"#;

const ANTHROPIC_PLAIN: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m1","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}

event: message_stop
data: {"type":"message_stop"}

"#;

const ANTHROPIC_CALLS: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[],"usage":{"input_tokens":30,"cache_read_input_tokens":10,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I ask."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c1","name":"ask_calc","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"mess"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"age\":\"2+2\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c2","name":"ask_clock","input":{"message":"now"}}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":20}}

event: message_stop
data: {"type":"message_stop"}

"#;

/// Further servers with the form of OpenAI: their name, their stream, and the tokens that they wrote or that
/// we estimate.
pub(super) const DIALECTS: [(&str, &str, u64); 4] = [
    ("llama.cpp", LLAMA_CPP, 2),
    ("a server that ignores include_usage", NO_USAGE, 2),
    ("a server without [DONE]", NO_DONE, 2),
    ("a server with carriage returns, comments and no finish_reason", CRLF, 2),
];

const LLAMA_CPP: &str = r#"data: {"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1,"id":"chatcmpl-x","model":"smollm2-135m","system_fingerprint":"b1","object":"chat.completion.chunk"}

data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"Hel"}}],"created":1,"id":"chatcmpl-x","model":"smollm2-135m","object":"chat.completion.chunk"}

data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"lo"}}],"created":1,"id":"chatcmpl-x","model":"smollm2-135m","object":"chat.completion.chunk"}

data: {"choices":[{"finish_reason":"stop","index":0,"delta":{}}],"created":1,"id":"chatcmpl-x","model":"smollm2-135m","object":"chat.completion.chunk"}

data: {"choices":[],"created":1,"id":"chatcmpl-x","model":"smollm2-135m","object":"chat.completion.chunk","usage":{"completion_tokens":2,"prompt_tokens":31,"total_tokens":33},"timings":{"prompt_n":31,"predicted_n":2}}

data: [DONE]

"#;

const NO_USAGE: &str = r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"}}]}

data: {"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}

data: [DONE]

"#;

const NO_DONE: &str = r#"data: {"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}

"#;

const CRLF: &str = ": processing\r\n\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\r\n\r\n: processing\r\n\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"}}]}\r\n\r\ndata: [DONE]\r\n\r\n";
