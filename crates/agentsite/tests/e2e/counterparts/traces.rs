//! Traces over OTLP, read by the official decoder.
//!
//! A call leaves a span with well-formed ids at the receiver, at the latest when the site stops. Which spans
//! there are beyond that may change with the program.

use serde_json::Value;

use super::program::Program;
use crate::site::{TestSite, answer, python};

fn is_id(value: &Value, length: usize) -> bool {
    let id = value.as_str().unwrap_or_default();
    id.len() == length
        && id.bytes().all(|byte| byte.is_ascii_hexdigit())
        && id.bytes().any(|byte| byte != b'0')
}

#[tokio::test]
async fn a_request_leaves_spans_at_the_receiver() {
    let python = python();
    let sink = Program::start(&python, "otlp_sink.py").await;
    let mut site = TestSite::trusting().flag("--otlp-endpoint").flag(&sink.url);
    site.start();
    assert_eq!(answer(&site.send("echo", "hello").await), "hello");
    assert!(site.stop().success(), "a stop sends what was collected");

    let spans: Vec<Value> = sink.end().await.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    for span in &spans {
        assert!(is_id(&span["trace_id"], 32) && is_id(&span["span_id"], 16), "{span}");
        assert_eq!(span["resource"]["service.name"], "agentsite", "{span}");
        assert!(!span["name"].as_str().unwrap().is_empty());
    }
    let names = |span: &&Value| format!("{} {}", span["name"], span["attributes"]).contains("echo");
    let of_the_call = spans.iter().find(names).unwrap_or_else(|| panic!("no span of the call: {spans:#?}"));
    assert!(of_the_call["duration_ns"].as_u64() > Some(0), "{of_the_call}");
}
