//! What a message may hold: each kind of content reaches the agent or is refused with an explanation, and the
//! card offers no more than that.
//!
//! A2A 1.0 and 0.3 over JSON-RPC with real programs. Which runtime takes what is held as a table by the tests
//! of the site.

use serde_json::{Value, json};

use crate::site::{TestSite, answer, exec_agent, unique};

/// The content-type error of A2A.
const CONTENT_TYPE: i64 = -32005;

/// Invalid params of JSON-RPC.
const BAD_PARAMS: i64 = -32602;

async fn sent(site: &TestSite, agent: &str, parts: Value) -> Value {
    let message = json!({"messageId": unique(), "role": "ROLE_USER", "parts": parts});
    site.rpc(agent, "SendMessage", json!({"message": message})).await
}

#[tokio::test]
async fn data_reaches_a_program_that_reads_text_and_a_file_is_refused() {
    let mut site = TestSite::new()
        .agent("cat", &exec_agent("cat", &["cat"], ""))
        .agent("whole", &exec_agent("whole", &["cat"], "stdin = \"json\""));
    site.start();
    let data = json!([{"text": "add"}, {"data": {"a": 1, "b": [2, 3]}}, {"data": 7}]);
    assert_eq!(answer(&sent(&site, "cat", data.clone()).await), "add\n{\"a\":1,\"b\":[2,3]}\n7");
    let card = site.get("/a2a/cat/.well-known/agent-card.json").await;
    assert_eq!(card["defaultInputModes"], json!(["text/plain", "application/json"]), "{card}");
    let note = json!([{"text": "see"}, {"raw": "aGk=", "filename": "note.md", "mediaType": "text/markdown"}]);
    assert_eq!(answer(&sent(&site, "cat", note).await), "see\nhi", "a text file is text");
    for file in [json!([{"raw": "/9j/4A=="}]), json!([{"text": "see"}, {"url": "https://example.org/a.pdf"}])]
    {
        let refused = sent(&site, "cat", file.clone()).await;
        assert_eq!(refused["error"]["code"], CONTENT_TYPE, "{file}: {refused}");
        let whole = sent(&site, "whole", file).await;
        assert_eq!(whole["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{whole}");
    }
}

#[tokio::test]
async fn an_agent_that_takes_words_only_offers_no_more() {
    let site = TestSite::started();
    for agent in ["calc", "clock"] {
        let card = site.get(&format!("/a2a/{agent}/.well-known/agent-card.json")).await;
        assert_eq!(card["defaultInputModes"], json!(["text/plain"]), "{card}");
        let refused = sent(&site, agent, json!([{"text": "1+1"}, {"data": {"a": 1}}])).await;
        assert_eq!(refused["error"]["code"], CONTENT_TYPE, "{refused}");
    }
}

#[tokio::test]
async fn a_skill_that_promises_more_than_reaches_its_program_is_a_fault_of_the_file() {
    let skill = "[[skills]]\nid = \"see\"\ndescription = \"Sees\"\ninput_modes = [\"image/png\"]\n";
    let site = TestSite::new().agent("blind", &exec_agent("blind", &["cat"], skill));
    let checked = site.run(&["config", "check"]);
    let said = format!("{}{}", checked.out(), checked.err());
    assert!(checked.code() != 0 && said.contains("image/png") && said.contains("stdin"), "{said}");
}

#[tokio::test]
async fn parts_of_0_3_say_what_they_are() {
    let site = TestSite::started();
    let send = async |message: Value| {
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}});
        let request = site.http.post(format!("{}/a2a/echo", site.url)).json(&body);
        request.send().await.unwrap().json::<Value>().await.unwrap()
    };
    let with =
        |part: Value| json!({"kind": "message", "messageId": unique(), "role": "user", "parts": [part]});
    let taken = send(with(json!({"kind": "text", "text": "hi"}))).await;
    assert_eq!(taken["result"]["artifacts"][0]["parts"][0]["text"], "hi", "{taken}");
    for part in [
        json!({"text": "hi"}),
        json!({"kind": "video", "text": "hi"}),
        json!({"kind": "text"}),
        json!({"kind": "file", "file": {"name": "a"}}),
        json!({"kind": "file", "file": {"bytes": "aGk=", "uri": "https://example.org/a"}}),
        json!({"kind": "data"}),
    ] {
        let refused = send(with(part.clone())).await;
        assert_eq!(refused["error"]["code"], BAD_PARAMS, "{part}: {refused}");
    }
    let text = json!([{"kind": "text", "text": "hi"}]);
    for message in [
        json!({"kind": "message", "messageId": unique(), "parts": text}),
        json!({"kind": "task", "messageId": unique(), "role": "user", "parts": text}),
        json!({"kind": "message", "messageId": unique(), "role": "robot", "parts": text}),
        json!({"kind": "message", "messageId": unique(), "role": "user", "parts": []}),
        json!({"kind": "message", "role": "user", "parts": text}),
    ] {
        let refused = send(message.clone()).await;
        assert_eq!(refused["error"]["code"], BAD_PARAMS, "{message}: {refused}");
    }
}
