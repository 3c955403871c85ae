//! Every shape of this face, held against its golden file.
//!
//! `UPDATE_GOLDEN=1` writes the files anew.

use agentsite_host::ScriptedRunner;
use agentsite_protocol::Usage;
use serde_json::{Value, json};

use super::{events, says};
use crate::golden;
use crate::story::{Story, body};

/// Replaces what differs from run to run inside of ids, and times.
fn steady(value: &mut Value) {
    match value {
        Value::String(text) => {
            for (at, _) in text.clone().match_indices('-').collect::<Vec<_>>() {
                let id =
                    at.checked_sub(8).and_then(|start| text.get(start..start + 36)).map(ToOwned::to_owned);
                if let Some(id) = id.filter(|id| id.parse::<agentsite_protocol::TaskId>().is_ok()) {
                    *text = text.replace(&id, "ID");
                }
            }
            if text.starts_with("resp_m_ID_") {
                *text = "resp_m_ID_CONTEXT".into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(steady),
        Value::Object(members) => {
            for (name, member) in members {
                let is_time = ["created", "created_at", "completed_at"].contains(&name.as_str());
                if is_time && member.is_number() { *member = json!(0) } else { steady(member) }
            }
        }
        _ => {}
    }
}

fn hold(story: &Story, name: &str, mut found: Value) {
    steady(&mut found);
    golden::hold(story, name, found);
}

async fn stream(story: &Story, path: &str, mut asked: Value) -> Value {
    asked["stream"] = json!(true);
    let response = story.post(path).json(&asked).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    events(&response.text().await.unwrap()).into()
}

/// An agent that says two words and counts its tokens, for as often as it is asked.
fn talker() -> ScriptedRunner {
    let usage = Usage { input_tokens: 7, output_tokens: 2, turns: 1, calls: 0 };
    // One commit for each chunk, so that the chunks of the stream are always the same.
    ScriptedRunner::new().status("thinking").chunk("Hello there").used(usage)
}

#[tokio::test]
async fn the_shapes_of_models_are_those_in_the_files() {
    let story = Story::begin().await;
    let get = async |path: &str| body(story.get(path).send().await.unwrap()).await;
    hold(&story, "openai_models", get("/v1/models").await);
    hold(&story, "openai_model", get("/v1/models/echo").await);
    hold(&story, "openai_no_model", get("/v1/models/nobody").await);
    hold(&story, "openai_no_path", get("/v1/embeddings").await);
}

#[tokio::test]
async fn the_shapes_of_chats_are_those_in_the_files() {
    let story = Story::begin().await;
    story.scripted("talker", talker());
    story.scripted("broken", ScriptedRunner::new().fail("out of order"));
    hold(&story, "openai_chat", story.chat(says("talker", "hi")).await);
    hold(&story, "openai_chat_message", story.chat(says("parrot", "hi")).await);
    hold(&story, "openai_chat_failed", story.chat(says("broken", "hi")).await);
    let path = "/v1/chat/completions";
    let mut asked = says("talker", "hi");
    hold(&story, "openai_chat_stream", stream(&story, path, asked.clone()).await);
    asked["stream_options"] = json!({ "include_usage": true });
    hold(&story, "openai_chat_stream_usage", stream(&story, path, asked).await);
    hold(&story, "openai_chat_stream_failed", stream(&story, path, says("broken", "hi")).await);
}

#[tokio::test]
async fn the_shapes_of_responses_are_those_in_the_files() {
    let story = Story::begin().await;
    story.scripted("talker", talker());
    story.scripted("broken", ScriptedRunner::new().fail("out of order"));
    story.scripted("asker", ScriptedRunner::new().ask("Which colour?"));
    let asked = |model: &str| json!({ "model": model, "input": "hi", "instructions": "Be kind.", "metadata": { "mine": "1" } });
    let response = story.response(asked("talker")).await;
    let path = format!("/v1/responses/{}", response["id"].as_str().unwrap());
    hold(&story, "openai_response", response);
    hold(&story, "openai_response_read", body(story.get(&path).send().await.unwrap()).await);
    hold(
        &story,
        "openai_response_deleted",
        body(story.http.delete(story.url(&path)).send().await.unwrap()).await,
    );
    hold(&story, "openai_no_response", body(story.get(&path).send().await.unwrap()).await);
    hold(&story, "openai_response_message", story.response(asked("parrot")).await);
    hold(&story, "openai_response_question", story.response(asked("asker")).await);
    hold(&story, "openai_response_failed", story.response(asked("broken")).await);
    let path = "/v1/responses";
    hold(&story, "openai_response_stream", stream(&story, path, asked("talker")).await);
    hold(&story, "openai_response_stream_failed", stream(&story, path, asked("broken")).await);
}
