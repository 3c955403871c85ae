//! Conversations: how a transcript, an id or a response finds its way back to what was said before.
//!
//! The official client tells the same from outside in the end-to-end tests.

use std::sync::Arc;

use agentsite_host::ScriptedRunner;
use agentsite_site::TaskFilter;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{content, events, output, says};
use crate::story::{Story, body};

fn turns(model: &str, turns: &[(&str, &str)]) -> Value {
    let messages: Vec<Value> =
        turns.iter().map(|(role, content)| json!({ "role": role, "content": content })).collect();
    json!({ "model": model, "messages": messages })
}

#[tokio::test]
async fn a_transcript_goes_on_in_the_conversation_where_it_ended() {
    let story = Story::begin().await;
    let first = story.chat(says("echo", "one")).await;
    assert_eq!(content(&first), "one");
    let next = turns("echo", &[("user", "one"), ("assistant", "one"), ("user", "two")]);
    let second = story.chat(next.clone()).await;
    assert_eq!(content(&second), "two", "the agent hears only what is new");
    assert_eq!(second["metadata"]["context_id"], first["metadata"]["context_id"]);
    assert_ne!(second["metadata"]["task_id"], first["metadata"]["task_id"]);
    // Whoever goes back and asks again gets a conversation of its own, and the agent is told what was said.
    let again = story.chat(next).await;
    assert_ne!(again["metadata"]["context_id"], first["metadata"]["context_id"]);
    let told = content(&again);
    assert!(told.contains("User: one\n\nYou: one") && told.ends_with("two"), "{told}");
}

#[tokio::test]
async fn a_transcript_from_elsewhere_is_told_to_the_agent() {
    let story = Story::begin().await;
    let asked = turns("echo", &[("system", "Be kind."), ("user", "a"), ("assistant", "b"), ("user", "c")]);
    let answer = story.chat(asked).await;
    let told = content(&answer);
    assert!(told.contains("Instructions: Be kind.\n\nUser: a\n\nYou: b"), "{told}");
}

#[tokio::test]
async fn a_question_is_an_answer_and_the_next_message_continues_the_task() {
    let story = Story::begin().await;
    let asker = story.scripted("asker", ScriptedRunner::new().ask("Which colour?").then().echo());
    let first = story.chat(says("asker", "paint")).await;
    assert_eq!(content(&first), "Which colour?");
    assert_eq!(first["choices"][0]["finish_reason"], "stop");
    assert_eq!(first["metadata"]["state"], "input-required");
    let next = turns("asker", &[("user", "paint"), ("assistant", "Which colour?"), ("user", "blue")]);
    let second = story.chat(next).await;
    assert_eq!(content(&second), "blue");
    assert_eq!(second["metadata"]["task_id"], first["metadata"]["task_id"]);
    assert_eq!(asker.jobs().len(), 2);
}

#[tokio::test]
async fn a_chat_may_name_its_conversation_or_its_task() {
    let story = Story::begin().await;
    story.scripted("asker", ScriptedRunner::new().ask("Which colour?").then().echo());
    for name in ["context_id", "task_id"] {
        story.scripted("asker", ScriptedRunner::new().ask("Which colour?").then().echo());
        let first = story.chat(says("asker", "paint")).await;
        let mut next = says("asker", "red");
        next["metadata"] = json!({ name: first["metadata"][name] });
        let second = story.chat(next).await;
        assert_eq!(content(&second), "red", "{name}");
        assert_eq!(second["metadata"]["task_id"], first["metadata"]["task_id"]);
    }
}

#[tokio::test]
async fn a_response_continues_the_one_before() {
    let story = Story::begin().await;
    story.scripted("asker", ScriptedRunner::new().ask("Which colour?").then().echo());
    let first = story.response(json!({ "model": "asker", "input": "paint" })).await;
    assert_eq!(output(&first), "Which colour?");
    let next = json!({ "model": "asker", "input": "blue", "previous_response_id": first["id"] });
    let second = story.response(next).await;
    assert_eq!(output(&second), "blue");
    assert_eq!(second["previous_response_id"], first["id"]);
    assert_eq!(second["metadata"]["task_id"], first["metadata"]["task_id"]);
    assert_ne!(second["id"], first["id"], "each turn is a response of its own");
    for (response, said) in [(&first, "Which colour?"), (&second, "blue")] {
        let path = format!("/v1/responses/{}", response["id"].as_str().unwrap());
        assert_eq!(output(&body(story.get(&path).send().await.unwrap()).await), said);
        let again = story.get(&format!("{path}?stream=true")).send().await.unwrap().text().await.unwrap();
        assert_eq!(output(&events(&again).last().unwrap()["response"]), said);
    }
}

#[tokio::test]
async fn a_conversation_has_the_name_that_its_caller_gives_it() {
    let story = Story::begin().await;
    for conversation in [json!("my-talk"), json!({ "id": "my-talk" })] {
        let response =
            story.response(json!({ "model": "echo", "input": "hi", "conversation": conversation })).await;
        assert_eq!(response["conversation"]["id"], "my-talk");
    }
    let response = story.response(json!({ "model": "parrot", "input": "hi" })).await;
    let next = json!({ "model": "parrot", "input": "ho", "previous_response_id": response["id"] });
    assert_eq!(story.response(next).await["conversation"], response["conversation"]);
}

#[tokio::test]
async fn a_response_in_the_background_is_read_later_and_can_be_canceled() {
    let story = Story::begin().await;
    let response = story.response(json!({ "model": "long", "input": "go", "background": true })).await;
    assert!(["queued", "in_progress"].contains(&response["status"].as_str().unwrap()), "{response}");
    let path = format!("/v1/responses/{}", response["id"].as_str().unwrap());
    let refused = body(story.http.delete(story.url(&path)).send().await.unwrap()).await;
    assert_eq!(refused["error"]["code"], "task_busy");
    let canceled = body(story.post(&format!("{path}/cancel")).send().await.unwrap()).await;
    assert_eq!(canceled["status"], "cancelled", "{canceled}");
    let again = body(story.post(&format!("{path}/cancel")).send().await.unwrap()).await;
    assert_eq!(again["status"], "cancelled");
}

#[tokio::test]
async fn whoever_hangs_up_cancels_the_task() {
    let story = Story::begin().await;
    for path in ["/v1/chat/completions", "/v1/responses"] {
        let gate = Arc::new(Semaphore::new(0));
        let runner = story.scripted("waiter", ScriptedRunner::new().chunk("so far").gate(&gate));
        let mut asked = says("waiter", "go");
        asked["input"] = json!("go");
        asked["stream"] = json!(true);
        let mut stream = story.post(path).json(&asked).send().await.unwrap();
        let mut seen = String::new();
        while !seen.contains("so far") {
            seen.push_str(&String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap()));
        }
        drop(stream);
        runner.idle().await;
        asked["stream"] = json!(false);
        let request = tokio::spawn(story.post(path).json(&asked).send());
        runner.started(2).await;
        request.abort();
        runner.idle().await;
    }
    let caller = agentsite_protocol::Caller::local();
    let tasks = story.site.tasks().list(&caller, TaskFilter::default(), None, 10).await.unwrap();
    let mut states = Vec::new();
    for head in tasks.items {
        let watch = story.site.tasks().watch(&caller, head.id, 0).await.unwrap();
        states.push(watch.settled().await.head.state.word());
    }
    assert_eq!(states, ["canceled"; 4]);
}

#[tokio::test]
async fn what_is_not_to_be_stored_is_gone_when_it_was_told() {
    let story = Story::begin().await;
    let response = story.response(json!({ "model": "echo", "input": "hi", "store": false })).await;
    assert_eq!(output(&response), "hi");
    story.site.expire().await.unwrap();
    let path = format!("/v1/responses/{}", response["id"].as_str().unwrap());
    assert_eq!(story.get(&path).send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn files_and_data_reach_the_agent_and_come_back_as_text() {
    let story = Story::begin().await;
    let parts = json!([
        { "type": "text", "text": "see" },
        { "type": "file", "file": { "filename": "a.json", "file_data": "data:application/json;base64,e30=" } },
        { "type": "image_url", "image_url": { "url": "https://example.org/a.png" } },
        { "type": "data", "data": { "a": 1 } },
    ]);
    let asked = json!({ "model": "echo", "messages": [{ "role": "user", "content": parts }] });
    let answer = story.chat(asked.clone()).await;
    let expected = "see\n[a.json](data:application/json;base64,e30=)\n[file](https://example.org/a.png)\n{\n  \"a\": 1\n}";
    assert_eq!(content(&answer), expected);
    let mut asked = asked;
    asked["response_format"] = json!({ "type": "json_object" });
    assert_eq!(content(&story.chat(asked).await), r#"{"a":1}"#);
}
