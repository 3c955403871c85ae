//! Callers of A2A 0.3 by JSON-RPC: the same operations in the words of that version.
//!
//! Shapes as a whole are in `golden`; here is what such callers rely on, also those that check sites of 0.3
//! for conformance.

use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::story::{Story, body};
use crate::streams::events;

/// Parameters of a message with this text, as 0.3 has them.
pub(crate) fn says(text: &str) -> Value {
    static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let parts = json!([{ "kind": "text", "text": text }]);
    json!({ "message": { "kind": "message", "messageId": format!("old{number}"), "role": "user", "parts": parts } })
}

/// A request that names no version, as those of 0.3 do.
pub(crate) fn rpc(story: &Story, agent: &str, method: &str, params: Value) -> RequestBuilder {
    let mut request = json!({ "jsonrpc": "2.0", "id": "r1", "method": method });
    request["params"] = params;
    story.post(&format!("/a2a/{agent}")).json(&request)
}

/// The answer to such a request.
pub(crate) async fn call(story: &Story, agent: &str, method: &str, params: Value) -> Value {
    let response = rpc(story, agent, method, params).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK, "{method}");
    body(response).await
}

/// A task of `long` that stays at work.
pub(crate) async fn long_task(story: &Story) -> Value {
    let mut params = says("go on");
    params["configuration"] = json!({ "blocking": false });
    call(story, "long", "message/send", params).await["result"]["id"].clone()
}

/// The results of a stream.
async fn stream(story: &Story, agent: &str, method: &str, params: Value) -> Vec<Value> {
    let response = rpc(story, agent, method, params).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    events(&response.text().await.unwrap()).into_iter().map(|(_, _, data)| data["result"].clone()).collect()
}

#[tokio::test]
async fn a_message_becomes_a_finished_task() {
    let story = Story::begin().await;
    let answer = call(&story, "echo", "message/send", says("hello")).await;
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!("r1")));
    let task = &answer["result"];
    assert_eq!((&task["kind"], &task["status"]["state"]), (&json!("task"), &json!("completed")), "{answer}");
    assert_eq!(task["artifacts"][0]["parts"][0], json!({ "kind": "text", "text": "hello" }));
    assert_eq!(task["history"][0]["role"], "user");
    let read = call(&story, "echo", "tasks/get", json!({ "id": task["id"], "historyLength": 1 })).await;
    assert_eq!(read["result"]["id"], task["id"]);
    assert_eq!(read["result"]["history"].as_array().unwrap().len(), 1);
    let all = call(&story, "echo", "tasks/get", json!({ "id": task["id"], "historyLength": 0 })).await;
    assert!(all["result"]["history"].is_array(), "in 0.3 a length of zero means all: {all}");
}

#[tokio::test]
async fn the_version_may_be_named_too() {
    let story = Story::begin().await;
    for version in ["0.3", "0.3.0", ""] {
        let asked = rpc(&story, "echo", "message/send", says("hello")).header("a2a-version", version);
        let answer = body(asked.send().await.unwrap()).await;
        assert_eq!(answer["result"]["status"]["state"], "completed", "{version}: {answer}");
    }
    let asked = rpc(&story, "echo", "message/send", says("hello")).header("a2a-version", "1.0");
    assert_eq!(body(asked.send().await.unwrap()).await["error"]["code"], -32601, "1.0 has no such method");
    let asked = rpc(&story, "echo", "SendMessage", says("hello")).header("a2a-version", "0.3");
    let refused = body(asked.send().await.unwrap()).await;
    assert_eq!(refused["error"]["code"], -32601, "and 0.3 not the other");
    let told = refused["error"]["message"].as_str().unwrap();
    assert!(told.contains("message/send") && told.contains("A2A-Version: 1.0"), "{told}");
}

#[tokio::test]
async fn an_agent_without_a_record_answers_with_a_message() {
    let story = Story::begin().await;
    let answer = call(&story, "parrot", "message/send", says("hello")).await;
    assert_eq!(answer["result"]["kind"], "message", "{answer}");
    assert_eq!(answer["result"]["role"], "agent");
    assert_eq!(answer["result"]["parts"][0]["text"], "hello");
}

#[tokio::test]
async fn a_task_at_work_is_canceled_once() {
    let story = Story::begin().await;
    let id = long_task(&story).await;
    let canceled = call(&story, "long", "tasks/cancel", json!({ "id": id })).await;
    assert_eq!(canceled["result"]["status"]["state"], "canceled", "{canceled}");
    let again = call(&story, "long", "tasks/cancel", json!({ "id": id })).await;
    assert_eq!(again["error"]["code"], -32002, "{again}");
}

#[tokio::test]
async fn a_stream_tells_its_last_status() {
    let story = Story::begin().await;
    let items = stream(&story, "steps", "message/stream", says("go")).await;
    assert_eq!(items[0]["kind"], "task");
    let last = items.last().unwrap();
    assert_eq!(last["kind"], "status-update", "{items:?}");
    assert_eq!((&last["final"], &last["status"]["state"]), (&json!(true), &json!("completed")));
    let finals = items.iter().filter(|item| item["final"] == true).count();
    assert_eq!(finals, 1, "{items:?}");
    assert!(
        items
            .iter()
            .any(|item| item["kind"] == "artifact-update" && item["artifact"]["parts"][0]["kind"] == "text")
    );
    assert!(items.iter().all(|item| item["kind"] == "task" || item["taskId"] == items[0]["id"]));
}

#[tokio::test]
async fn a_task_that_has_ended_is_told_as_it_ended() {
    let story = Story::begin().await;
    let sent = call(&story, "echo", "message/send", says("hello")).await;
    let items = stream(&story, "echo", "tasks/resubscribe", json!({ "id": sent["result"]["id"] })).await;
    assert_eq!(items, [sent["result"].clone()]);
}

#[tokio::test]
async fn a_task_at_work_is_followed_again() {
    let story = Story::begin().await;
    let id = long_task(&story).await;
    let mut following = rpc(&story, "long", "tasks/resubscribe", json!({ "id": id })).send().await.unwrap();
    let first = following.chunk().await.unwrap().unwrap();
    let first = events(std::str::from_utf8(&first).unwrap()).remove(0).2;
    assert_eq!((&first["result"]["kind"], &first["result"]["id"]), (&json!("task"), &id));
    call(&story, "long", "tasks/cancel", json!({ "id": id })).await;
    let rest = events(&following.text().await.unwrap());
    let last = &rest.last().unwrap().2["result"];
    assert_eq!((&last["status"]["state"], &last["final"]), (&json!("canceled"), &json!(true)));
}

#[tokio::test]
async fn what_is_wrong_has_the_codes_of_0_3() {
    let story = Story::begin().await;
    let push = json!({ "taskId": "x", "pushNotificationConfig": { "url": "https://h.example" } });
    let mut video = says("hi");
    video["message"]["parts"] = json!([{ "kind": "video", "url": "x" }]);
    for (method, params, code) in [
        ("message/send", json!({}), -32602),
        ("message/send", json!({ "message": { "kind": "message" } }), -32602),
        ("message/send", json!({ "message": { "parts": "invalid" } }), -32602),
        ("message/send", json!({ "": "not_a_dict" }), -32602),
        ("message/send", json!([1]), -32602),
        ("message/send", video, -32602),
        ("message/stream", json!({ "invalid": "params" }), -32602),
        ("tasks/get", json!({}), -32602),
        ("tasks/get", json!({ "id": 7 }), -32602),
        ("tasks/get", json!({ "id": "x", "historyLength": -1 }), -32602),
        ("tasks/get", json!({ "id": "x" }), -32001),
        ("tasks/cancel", json!({ "id": "x" }), -32001),
        ("tasks/pushNotificationConfig/set", push, -32001),
        ("tasks/pushNotificationConfig/get", json!({ "id": "x" }), -32001),
        ("tasks/pushNotificationConfig/list", json!({ "id": "x" }), -32001),
        (
            "tasks/pushNotificationConfig/delete",
            json!({ "id": "x", "pushNotificationConfigId": "p" }),
            -32001,
        ),
        ("tasks/list", json!({}), -32601),
        ("nonexistent/method", json!({}), -32601),
    ] {
        let answer = call(&story, "echo", method, params.clone()).await;
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
        assert_eq!(answer["id"], "r1");
        assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
    }
}

#[tokio::test]
async fn what_push_notifications_lack_is_said_in_so_many_words() {
    let push = agentsite_site::PushSection { enabled: false, ..Default::default() };
    let settings = agentsite_site::SiteSettings { push, ..Default::default() };
    let site = crate::story::site_with(settings, agentsite_egress::Egress::default()).await;
    let story = Story::of(agentsite_gateway::GatewaySettings::default(), site).await;
    let answer = call(&story, "echo", "tasks/pushNotificationConfig/get", json!({ "id": "x" })).await;
    assert_eq!(answer["error"]["code"], -32003, "{answer}");
    let told = answer["error"]["message"].as_str().unwrap().to_lowercase();
    assert!(["push", "notification", "not", "supported"].iter().all(|word| told.contains(word)), "{told}");
}

#[tokio::test]
async fn push_configs_have_the_shape_of_0_3() {
    let story = Story::begin().await;
    let task = call(&story, "echo", "message/send", says("hi")).await["result"]["id"].clone();
    let config = json!({ "id": "p", "url": "https://h.example", "authentication": { "schemes": ["Bearer"], "credentials": "s" } });
    let whole = json!({ "taskId": task, "pushNotificationConfig": config });
    let set = call(&story, "echo", "tasks/pushNotificationConfig/set", whole.clone()).await;
    assert_eq!(set["result"], whole, "{set}");
    for wanted in [json!({ "id": task, "pushNotificationConfigId": "p" }), json!({ "id": task })] {
        let got = call(&story, "echo", "tasks/pushNotificationConfig/get", wanted).await;
        assert_eq!(got["result"], whole, "{got}");
    }
    let listed = call(&story, "echo", "tasks/pushNotificationConfig/list", json!({ "id": task })).await;
    assert_eq!(listed["result"], json!([whole]), "{listed}");
    let one = json!({ "id": task, "pushNotificationConfigId": "p" });
    let deleted = call(&story, "echo", "tasks/pushNotificationConfig/delete", one.clone()).await;
    assert!(deleted["error"].is_null() && deleted["result"].is_null(), "{deleted}");
    let gone = call(&story, "echo", "tasks/pushNotificationConfig/get", one).await;
    assert_eq!(gone["error"]["code"], -32001, "{gone}");
}

#[tokio::test]
async fn a_push_config_without_an_id_is_one_that_can_be_set_again() {
    let story = Story::begin().await;
    let task = call(&story, "echo", "message/send", says("hi")).await["result"]["id"].clone();
    for url in ["https://one.example", "https://two.example"] {
        let whole = json!({ "taskId": task, "pushNotificationConfig": { "url": url } });
        let set = call(&story, "echo", "tasks/pushNotificationConfig/set", whole).await;
        assert_eq!(set["result"]["pushNotificationConfig"]["id"], "default", "{set}");
        let wanted = json!({ "id": task, "pushNotificationConfigId": "default" });
        let got = call(&story, "echo", "tasks/pushNotificationConfig/get", wanted).await;
        assert_eq!(got["result"]["pushNotificationConfig"]["url"], url, "{got}");
    }
    let listed = call(&story, "echo", "tasks/pushNotificationConfig/list", json!({ "id": task })).await;
    assert_eq!(listed["result"].as_array().unwrap().len(), 1, "{listed}");
}

#[tokio::test]
async fn a_field_that_is_wrong_is_named_in_the_words_of_the_caller() {
    let story = Story::begin().await;
    let mut params = says("hi");
    params["message"]["role"] = json!("ROLE_USER");
    let answer = call(&story, "echo", "message/send", params).await;
    assert_eq!(answer["error"]["message"], "`message.role` must be `user` or `agent`");
    assert_eq!(answer["error"]["data"][1]["fieldViolations"][0]["field"], "message.role");
}

#[tokio::test]
async fn one_card_is_read_by_both_versions() {
    let story = Story::begin().await;
    for (path, address) in
        [("/.well-known/agent-card.json", "/a2a"), ("/a2a/echo/.well-known/agent-card.json", "/a2a/echo")]
    {
        let card = body(story.get(path).send().await.unwrap()).await;
        assert_eq!(card["protocolVersion"], "0.3.0");
        assert_eq!(
            (&card["url"], &card["preferredTransport"]),
            (&json!(story.url(address)), &json!("JSONRPC"))
        );
        assert_eq!(
            card["additionalInterfaces"],
            json!([{ "url": story.url(address), "transport": "JSONRPC" }])
        );
        assert!(card.get("securitySchemes").is_none(), "what is declared counts as required: {card}");
        let interfaces = card["supportedInterfaces"].as_array().unwrap();
        let versions: Vec<&str> =
            interfaces.iter().map(|one| one["protocolVersion"].as_str().unwrap()).collect();
        assert_eq!(versions.first(), Some(&"1.0"));
        assert_eq!(versions.last(), Some(&"0.3"), "the older one is preferred by nobody who knows the newer");
    }
}

#[tokio::test]
async fn an_agent_that_needs_a_key_says_so_in_both_versions() {
    let story = Story::begin().await;
    let card = body(story.get("/a2a/hidden").send().await.unwrap()).await;
    assert_eq!(card["security"], json!([{ "key": [] }]));
    assert_eq!(card["securityRequirements"], json!([{ "schemes": { "key": {} } }]));
    let scheme = &card["securitySchemes"]["key"];
    assert_eq!((&scheme["type"], &scheme["scheme"]), (&json!("http"), &json!("Bearer")));
    assert_eq!(scheme["httpAuthSecurityScheme"]["scheme"], "Bearer");
}

#[tokio::test]
async fn what_cannot_be_followed_is_told_in_the_stream() {
    let story = Story::begin().await;
    let asked = rpc(&story, "echo", "tasks/resubscribe", json!({ "id": "x" })).send().await.unwrap();
    assert_eq!(asked.status(), StatusCode::OK);
    assert_eq!(asked.headers()["content-type"], "text/event-stream");
    assert_eq!(asked.headers()["cache-control"], "no-cache, no-store");
    let told = events(&asked.text().await.unwrap());
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0].2["id"], &told[0].2["error"]["code"]), (&json!("r1"), &json!(-32001)));
    let unread = rpc(&story, "echo", "message/stream", json!({ "invalid": "params" })).send().await.unwrap();
    assert_eq!(
        unread.headers()["content-type"],
        "application/json",
        "what was not understood began no stream"
    );
    let nobody = rpc(&story, "nobody", "message/stream", says("hi")).send().await.unwrap();
    assert_eq!(nobody.status(), StatusCode::NOT_FOUND);
    assert_eq!(nobody.headers()["content-type"], "application/json");
}

#[tokio::test]
async fn the_address_on_the_card_gives_the_card() {
    let story = Story::begin().await;
    let card = body(story.get("/.well-known/agent-card.json").send().await.unwrap()).await;
    let again = story.http.get(card["url"].as_str().unwrap()).send().await.unwrap();
    assert_eq!(body(again).await, card);
}

#[tokio::test]
async fn the_extended_card_is_given_in_a_form_that_both_versions_read() {
    let story = Story::begin().await;
    let public = body(story.get("/a2a/echo").send().await.unwrap()).await;
    assert!(public.get("supportsAuthenticatedExtendedCard").is_none(), "it is not promised in 0.3");
    let old = call(&story, "echo", "agent/getAuthenticatedExtendedCard", json!({})).await;
    assert_eq!((&old["result"]["protocolVersion"], &old["result"]["url"]), (&json!("0.3.0"), &public["url"]));
    let modern = story.call("echo", "GetExtendedAgentCard", json!({})).await;
    assert!(modern["result"].get("url").is_none(), "1.0 has no such member, and its schema takes no others");
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "agent/getAuthenticatedExtendedCard" });
    let refused = story.guest().post("/a2a/echo").json(&body).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
}
