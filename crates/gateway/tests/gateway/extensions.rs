//! What goes beyond the specification: the declared extensions, and the extended card.
//!
//! Each is asked for as another maker's client would: by its name on the card, in headers and in metadata.

use agentsite_gateway::{AnonymousAccess, GatewaySettings};
use agentsite_host::Manifest;
use agentsite_protocol::extension::{
    LIMITS, RESUME, RESUME_AFTER, RESUME_SEQUENCE, TASK_AUTH_CREDENTIAL, TASK_TTL, TASK_TTL_EXPIRES_AT,
    TASK_TTL_SECONDS,
};
use serde_json::{Value, json};

use crate::story::{Story, body, says};
use crate::streams::events;

fn declared(card: &Value) -> Vec<String> {
    let extensions = card["capabilities"]["extensions"].as_array().unwrap();
    extensions.iter().map(|one| one["uri"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn every_card_declares_the_extensions_and_answers_confirm_them() {
    let story = Story::begin().await;
    for path in ["/.well-known/agent-card.json", "/a2a/echo/.well-known/agent-card.json"] {
        let card = body(story.get(path).send().await.unwrap()).await;
        assert!(declared(&card).contains(&RESUME.to_owned()), "{card}");
    }
    let asked = format!("urn:unknown:x, {RESUME},{TASK_TTL}");
    let response =
        story.rpc("echo", "SendMessage", says("hi")).header("a2a-extensions", asked).send().await.unwrap();
    assert_eq!(response.headers()["a2a-extensions"], format!("{RESUME},{TASK_TTL}"));
    let response = story.rpc("echo", "SendMessage", says("hi")).send().await.unwrap();
    assert!(!response.headers().contains_key("a2a-extensions"));
}

#[tokio::test]
async fn events_carry_their_numbers_when_that_is_asked_for() {
    let story = Story::begin().await;
    let request = story.rpc("steps", "SendStreamingMessage", says("go")).header("a2a-extensions", RESUME);
    let all = events(&request.send().await.unwrap().text().await.unwrap());
    for (seq, _, data) in &all {
        let item = data["result"].as_object().unwrap().values().next().unwrap();
        assert_eq!(item["metadata"][RESUME_SEQUENCE].as_u64(), *seq, "{item}");
    }
    let plain = story.rpc("steps", "SendStreamingMessage", says("go")).send().await.unwrap();
    assert!(!plain.text().await.unwrap().contains(RESUME_SEQUENCE));
}

#[tokio::test]
async fn a_stream_goes_on_after_the_number_in_the_request() {
    let story = Story::begin().await;
    let mut params = says("go");
    let all = story.rpc("steps", "SendStreamingMessage", params.clone()).send().await.unwrap();
    let all = events(&all.text().await.unwrap());
    let id = all[0].2["result"]["task"]["id"].as_str().unwrap();
    let seen = all[1].0.unwrap();
    let expected: Vec<_> = all.iter().map(|(seq, ..)| *seq).filter(|seq| *seq > Some(seen)).collect();
    let metadata = json!({ RESUME_AFTER: seen });

    let subscribed =
        story.rpc("steps", "SubscribeToTask", json!({ "id": id, "metadata": metadata })).send().await;
    let rest = story.get(&format!("/a2a/steps/tasks/{id}:subscribe?after={seen}")).send().await;
    params["metadata"] = metadata;
    let again = story.rpc("steps", "SendStreamingMessage", params).send().await;
    for response in [subscribed, rest, again] {
        let went_on = events(&response.unwrap().text().await.unwrap());
        assert_eq!(went_on.iter().map(|(seq, ..)| *seq).collect::<Vec<_>>(), expected);
    }
    let wrong = json!({ "id": id, "metadata": { RESUME_AFTER: "soon" } });
    assert_eq!(story.call("steps", "SubscribeToTask", wrong).await["error"]["code"], -32602);
}

#[tokio::test]
async fn a_task_says_when_it_will_be_removed() {
    let story = Story::begin().await;
    let mut params = says("hi");
    params["metadata"] = json!({ TASK_TTL_SECONDS: 60 });
    let task = story.call("echo", "SendMessage", params).await["result"]["task"].clone();
    assert!(
        task["metadata"][TASK_TTL_EXPIRES_AT].as_str().unwrap()
            > task["status"]["timestamp"].as_str().unwrap()
    );
    let mut params = says("hi");
    params["metadata"] = json!({ TASK_TTL_SECONDS: -1 });
    let refused = story.call("echo", "SendMessage", params).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

#[tokio::test]
async fn a_credential_reaches_the_agent_and_is_not_kept() {
    let story = Story::begin().await;
    let script = r#"
        name = "vault"
        description = "Opens for a token"
        visibility = "public"
        [runtime]
        kind = "exec"
        command = ["sh", "-c", "test \"$AGENTSITE_CREDENTIAL\" = s3cret-token && echo open || { echo 'Which token?'; exit 11; }"]
    "#;
    story.site.agents().install(Manifest::read(script).unwrap(), None).await.unwrap();
    let asked = story.call("vault", "SendMessage", says("open")).await["result"]["task"].clone();
    assert_eq!(asked["status"]["state"], "TASK_STATE_AUTH_REQUIRED");
    assert_eq!(asked["status"]["message"]["parts"][0]["text"], "Which token?");
    let mut answer = says("here it is");
    answer["message"]["taskId"] = asked["id"].clone();
    answer["message"]["metadata"] = json!({ TASK_AUTH_CREDENTIAL: "s3cret-token" });
    let done = story.call("vault", "SendMessage", answer).await["result"]["task"].clone();
    assert_eq!(done["status"]["state"], "TASK_STATE_COMPLETED", "{done}");
    assert_eq!(done["history"].as_array().unwrap().last().unwrap()["parts"][0]["text"], "here it is");
    let id = done["id"].as_str().unwrap();
    for path in [format!("/api/tasks/{id}"), format!("/api/tasks/{id}/events?after=0"), "/api/journal".into()]
    {
        let text = story.get(&path).send().await.unwrap().text().await.unwrap();
        assert!(!text.contains("s3cret-token"), "{path}: {text}");
    }
}

#[tokio::test]
async fn the_extended_card_tells_known_callers_more() {
    let story = Story::begin().await;
    let agent = r#"
        name = "shop"
        description = "Sells things"
        visibility = "public"
        [[skills]]
        id = "sell"
        description = "Sells"
        [[skills]]
        id = "discount"
        description = "Sells for less"
        visibility = "peers"
        [runtime]
        kind = "builtin"
        builtin = "echo"
    "#;
    story.site.agents().install(Manifest::read(agent).unwrap(), None).await.unwrap();
    let public = body(story.get("/a2a/shop/.well-known/agent-card.json").send().await.unwrap()).await;
    assert_eq!(public["capabilities"]["extendedAgentCard"], true);
    assert_eq!(public["skills"].as_array().unwrap().len(), 1);
    let by_rpc = story.call("shop", "GetExtendedAgentCard", json!({})).await["result"].clone();
    let by_rest = body(story.get("/a2a/shop/extendedAgentCard").send().await.unwrap()).await;
    assert_eq!(by_rpc, by_rest);
    assert_eq!(by_rpc["skills"][1]["id"], "discount");
    assert!(declared(&by_rpc).contains(&LIMITS.to_owned()));
    assert!(by_rpc["signatures"].is_array());
    let site = story.call("", "GetExtendedAgentCard", json!({})).await;
    assert!(site["result"]["skills"].is_array(), "{site}");
}

#[tokio::test]
async fn strangers_get_no_extended_card() {
    let settings = GatewaySettings { anonymous: AnonymousAccess::Public, ..GatewaySettings::default() };
    let story = Story::with(settings).await;
    let request = story.guest().get("/a2a/echo/extendedAgentCard");
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 401);
    assert_eq!(body(response).await["error"]["details"][0]["reason"], "UNAUTHENTICATED");
}
