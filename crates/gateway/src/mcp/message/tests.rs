//! Facts about the decoder of MCP: what it tells apart, what it refuses, and that nothing makes it panic.
//! What a method does with its parameters is not told here.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::params::fuzz_mcp;
use super::*;

#[test]
fn requests_notifications_and_answers_are_told_apart() {
    let request = decode(br#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#).unwrap();
    assert!(matches!(request, Incoming::Request(ClientMessage { id: "\"a\"", params: "{}", .. })));
    let notification = decode(br#"{"jsonrpc":"2.0","method":"x","params":{"a":1}}"#).unwrap();
    assert!(matches!(notification, Incoming::Notification(ClientMessage { params: r#"{"a":1}"#, .. })));
    let answer = decode(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#).unwrap();
    assert!(matches!(answer, Incoming::Response(Answered { id: "7", outcome: Ok("{}") })));
    let error = decode(br#"{"jsonrpc":"2.0","id":7,"error":{"code":1}}"#).unwrap();
    assert!(matches!(error, Incoming::Response(Answered { outcome: Err(_), .. })));
}

#[test]
fn what_is_no_message_is_refused_with_its_id() {
    let cases: [(&[u8], Fault, Option<&str>); 8] = [
        (b"\xff", Fault::NotJson, None),
        (b"{", Fault::NotJson, None),
        (b"7", Fault::BadRequest, None),
        (b"[{}]", Fault::BadRequest, None),
        (br#"{"id":1,"method":"x"}"#, Fault::BadRequest, Some("1")),
        (br#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, Fault::BadRequest, None),
        (br#"{"jsonrpc":"2.0","id":1,"method":"x","params":[]}"#, Fault::BadParams, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"result":1,"error":2}"#, Fault::BadRequest, Some("1")),
    ];
    for (bytes, fault, id) in cases {
        let refused = decode(bytes).unwrap_err();
        assert_eq!((refused.failure.fault, refused.id), (fault, id), "{}", String::from_utf8_lossy(bytes));
    }
}

/// Any JSON value, a few levels deep.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON knows no other", |number| number.is_finite()).prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(member(), inner, 0..6)
                .prop_map(|members| members.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

/// A name of a member: often one that means something.
fn member() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "jsonrpc",
        "id",
        "method",
        "params",
        "result",
        "error",
        "_meta",
        "name",
        "arguments",
        "progressToken",
        "inputResponses",
        "requestState",
        "cursor",
        "uri",
    ]);
    prop_oneof![3 => known.prop_map(str::to_owned), 1 => "\\PC{0,8}"]
}

fn any_id() -> impl Strategy<Value = Value> {
    prop_oneof![any::<i64>().prop_map(Value::from), "\\PC{0,20}".prop_map(Value::from)]
}

fn any_object() -> impl Strategy<Value = Value> {
    prop::collection::btree_map(member(), any_json(), 0..5)
        .prop_map(|members| members.into_iter().collect::<serde_json::Map<_, _>>().into())
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzz_mcp(&bytes);
    }

    #[test]
    fn any_json_is_a_message_or_refused_with_a_sentence(json in any_json()) {
        let text = json.to_string();
        fuzz_mcp(text.as_bytes());
        if let Err(refused) = decode(text.as_bytes()) {
            let body = refused.failure.mcp_body(crate::failure::Era::Stateless, refused.id);
            let told: Value = serde_json::from_slice(&body).unwrap();
            prop_assert!(!told["error"]["message"].as_str().unwrap().is_empty());
            prop_assert!(told["error"]["code"].is_i64());
        }
    }

    #[test]
    fn anything_with_the_members_of_a_message_is_read_or_refused(
        members in prop::collection::btree_map(member(), any_json(), 0..7),
    ) {
        let mut frame: serde_json::Map<_, _> = members.into_iter().collect();
        frame.insert("jsonrpc".into(), "2.0".into());
        fuzz_mcp(Value::Object(frame).to_string().as_bytes());
    }

    #[test]
    fn a_request_is_read_as_it_was_written(id in any_id(), method in "\\PC{0,30}", params in any_object()) {
        let written = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        let Ok(Incoming::Request(asked)) = decode(written.as_bytes()) else {
            return Err(TestCaseError::fail(written));
        };
        prop_assert_eq!(value(asked.id), id);
        prop_assert_eq!(asked.method, method);
        prop_assert_eq!(value(asked.params), params);
    }

    #[test]
    fn a_notification_is_read_as_it_was_written(method in "\\PC{0,30}", params in any_object()) {
        let written = json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string();
        let Ok(Incoming::Notification(asked)) = decode(written.as_bytes()) else {
            return Err(TestCaseError::fail(written));
        };
        prop_assert_eq!((asked.id, asked.method), ("", method.into()));
        prop_assert_eq!(value(asked.params), params);
    }

    #[test]
    fn an_answer_is_read_as_it_was_written(id in any_id(), outcome in any_object(), well in any::<bool>()) {
        let member = if well { "result" } else { "error" };
        let written = json!({"jsonrpc": "2.0", "id": id, member: outcome}).to_string();
        let Ok(Incoming::Response(answered)) = decode(written.as_bytes()) else {
            return Err(TestCaseError::fail(written));
        };
        prop_assert_eq!(value(answered.id), id);
        prop_assert_eq!(answered.outcome.is_ok(), well);
        prop_assert_eq!(value(answered.outcome.unwrap_or_else(|error| error)), outcome);
    }
}
