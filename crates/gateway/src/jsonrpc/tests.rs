//! The decoder on good, bad and hostile requests.
//!
//! Codes are those of JSON-RPC 2.0; the fuzz target continues where the properties here end.

use proptest::prelude::*;

use super::*;

#[test]
fn a_request_is_read_without_copying() {
    let body = br#" {"method":"GetTask","params":{"id":"x"},"id":"7","jsonrpc":"2.0"}"#;
    let request = decode(body).unwrap();
    assert!(matches!(request.method, Cow::Borrowed("GetTask")));
    assert_eq!(request.params, r#"{"id":"x"}"#);
    assert_eq!(request.id.as_json(), "\"7\"");
}

#[test]
fn ids_are_echoed_as_they_were_written() {
    for id in ["1", "-3", "1.50", "\"a\\u0062\"", "null"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"M"}}"#);
        let request = decode(body.as_bytes()).unwrap();
        assert_eq!(request.id.as_json(), id);
        assert_eq!(request.params, "{}");
    }
    assert_eq!(decode(br#"{"jsonrpc":"2.0","method":"M"}"#).unwrap().id, Id::NULL);
}

#[test]
fn an_id_that_no_client_could_read_back_is_refused() {
    for id in ["-1.5e55555555555", "1e999", "\"\\ud800\""] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"M"}}"#);
        let refused = decode(body.as_bytes()).unwrap_err();
        assert_eq!(refused.id, Id::NULL, "{id}");
    }
}

#[test]
fn an_escaped_method_is_read() {
    assert_eq!(decode(br#"{"jsonrpc":"2.0","method":"Get\u0054ask"}"#).unwrap().method, "GetTask");
}

#[test]
fn what_is_wrong_gets_the_code_of_the_specification() {
    let long_id = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"M"}}"#, "x".repeat(300));
    let bomb = "[".repeat(100_000);
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"M","params":{{"a":{}}}}}"#, "[".repeat(100));
    let cases: &[(&[u8], i32, &str)] = &[
        (b"", -32700, "empty"),
        (b"  \n", -32700, "empty"),
        (b"{not json", -32700, "not a JSON-RPC request"),
        (b"{\"jsonrpc\":\"2.0\"", -32700, "EOF"),
        (b"nonsense", -32700, "not a JSON-RPC request"),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"M\"} x", -32700, "trailing"),
        (b"\xff\xfe{}", -32700, "UTF-8"),
        (b"[]", -32600, "batches"),
        (b"[{\"jsonrpc\":\"2.0\",\"method\":\"M\",\"id\":1}]", -32600, "batches"),
        (bomb.as_bytes(), -32600, "nests deeper"),
        (deep.as_bytes(), -32600, "nests deeper"),
        (b"7", -32600, "request object"),
        (b"\"text\"", -32600, "request object"),
        (b"{}", -32600, "jsonrpc"),
        (b"{\"jsonrpc\":\"1.0\",\"method\":\"M\"}", -32600, "jsonrpc"),
        (b"{\"jsonrpc\":2.0,\"method\":\"M\"}", -32600, "jsonrpc"),
        (b"{\"jsonrpc\":\"2.0\",\"jsonrpc\":\"2.0\",\"method\":\"M\"}", -32600, "duplicate"),
        (b"{\"jsonrpc\":\"2.0\"}", -32600, "method"),
        (b"{\"jsonrpc\":\"2.0\",\"method\":7}", -32600, "method"),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"M\",\"id\":true}", -32600, "id"),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"M\",\"id\":{}}", -32600, "id"),
        (long_id.as_bytes(), -32600, "id"),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"M\",\"params\":[1]}", -32602, "params"),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"M\",\"params\":\"x\"}", -32602, "params"),
    ];
    for (bytes, code, word) in cases {
        let refused = decode(bytes).unwrap_err();
        let name = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        assert_eq!(refused.failure.row().rpc, *code, "{name}");
        assert!(refused.failure.sentence.contains(word), "{name}: {}", refused.failure.sentence);
    }
}

#[test]
fn a_refusal_bears_the_id_when_it_could_be_read() {
    let refused = decode(br#"{"jsonrpc":"1.0","id":"abc","method":"M"}"#).unwrap_err();
    assert_eq!(refused.id.as_json(), "\"abc\"");
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        fuzz_decode(&bytes);
    }

    #[test]
    fn nothing_like_a_request_makes_it_panic(
        id in "[\\PC\"{}\\[\\]:,0-9]{0,12}",
        method in "[\\PC\\\\\"]{0,12}",
        params in "[\\PC\"{}\\[\\]:,]{0,24}",
    ) {
        fuzz_decode(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#).as_bytes());
    }
}
