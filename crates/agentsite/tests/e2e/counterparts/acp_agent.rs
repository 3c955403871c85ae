//! An agent written with the published Python SDK of the Agent Client Protocol, hosted and called by the
//! client of the official A2A SDK.
//!
//! The agent is `tests/python/acp_agent.py`; the first word of a message picks its part. It needs the Python
//! of the MCP counterparts, in which that SDK is installed too.

use serde_json::{Value, json};

use super::sdk_client::Caller;
use crate::site::{
    TestSite, answer, eventually, mcp_python, message, python, repository, state, status_text,
};

/// A running site that hosts the agent as `coder`, with further lines of its runtime.
fn hosting(more: &str) -> TestSite {
    let python = mcp_python();
    let command = json!([python, repository("tests/python/acp_agent.py")]);
    let manifest = format!(
        "name = \"coder\"\ndescription = \"Codes\"\nvisibility = \"public\"\n[runtime]\nkind = \"acp\"\ncommand = {command}\n{more}\n"
    );
    let mut site = TestSite::trusting().agent("coder", &manifest);
    site.start();
    site
}

/// Says something in a conversation, and in a task of it.
async fn say(site: &TestSite, text: &str, context: &Value, task: &Value) -> Value {
    let mut said = message(text);
    said["contextId"] = context.clone();
    if !task.is_null() {
        said["taskId"] = task.clone();
    }
    site.rpc("coder", "SendMessage", json!({"message": said})).await
}

#[test]
fn the_sdk_client_calls_an_agent_of_the_other_sdk() {
    let (python, site) = (python(), hosting(""));
    let coder = Caller::new(&python, &site, "coder");
    let streamed = coder.plays("stream", &["--text", "good morning to you"]);
    assert_eq!(
        (&streamed["state"], &streamed["text"]),
        (&"completed".into(), &"GOOD MORNING TO YOU".into()),
        "{streamed}"
    );
    let asked = coder.plays("input", &["--text", "ask", "--answer", "Allow once"]);
    let question = asked["question"].as_str().unwrap();
    assert!(question.contains("Erase the disk\n1. Allow once\n2. Reject\n"), "{question}");
    assert_eq!(asked["text"], "You chose yes-once.");
    let canceled = coder.plays("cancel", &["--text", "slow"]);
    assert_eq!(canceled["state"], "canceled", "{canceled}");
    assert_eq!(coder.plays("send", &["--text", "and now"])["text"], "AND NOW");
}

#[tokio::test]
async fn what_the_agent_thinks_and_does_is_told_on_the_way() {
    let site = hosting("");
    let events = site.stream("coder", message("work")).await;
    let notes: Vec<&str> = events
        .iter()
        .filter_map(|event| event["statusUpdate"]["status"]["message"]["parts"][0]["text"].as_str())
        .collect();
    assert_eq!(
        notes,
        ["Thinking: Where to begin?", "Plan:\n[x] look\n[ ] leap", "Working: List files", "Done: List files"]
    );
}

#[tokio::test]
async fn two_conversations_keep_their_own_sessions() {
    let site = hosting("");
    let count = async |context: &Value| answer(&say(&site, "count", context, &Value::Null).await);
    let (ours, theirs) = (json!("ours"), json!("theirs"));
    assert_eq!(count(&ours).await, "session-1 prompt 1");
    assert_eq!(count(&theirs).await, "session-2 prompt 1");
    assert_eq!(count(&ours).await, "session-1 prompt 2");
}

#[tokio::test]
async fn an_answer_can_be_data_and_a_question_that_is_given_up_frees_the_conversation() {
    let site = hosting("");
    let context = json!("talk");
    let asked = say(&site, "ask", &context, &Value::Null).await;
    let task = asked["result"]["task"]["id"].clone();
    let options = &asked["result"]["task"]["status"]["message"]["parts"][1]["data"]["permission"]["options"];
    let mut said = message("");
    said["parts"] = json!([{"data": {"optionId": options[1]["optionId"]}}]);
    (said["taskId"], said["contextId"]) = (task, context.clone());
    let done = site.rpc("coder", "SendMessage", json!({"message": said})).await;
    assert_eq!(answer(&done), "You chose no-once.");

    let asked = say(&site, "ask", &context, &Value::Null).await;
    let canceled = site.rpc("coder", "CancelTask", json!({"id": asked["result"]["task"]["id"]})).await;
    assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED", "{canceled}");
    let next = say(&site, "and now", &context, &Value::Null).await;
    assert_eq!(answer(&next), "AND NOW", "{next}");
}

#[tokio::test]
async fn an_agent_that_dies_in_a_turn_comes_back() {
    let site = hosting("");
    let died = site.send("coder", "die").await;
    assert_eq!(state(&died["result"]["task"]), "failed");
    assert!(status_text(&died).contains("started again"), "{died}");
    let back = eventually("the agent is back", async || {
        let reply = site.send("coder", "here").await;
        (state(&reply["result"]["task"]) == "completed").then_some(reply)
    });
    assert_eq!(answer(&back.await), "HERE");
}

#[tokio::test]
async fn a_question_that_was_lost_with_the_site_is_begun_again() {
    let mut site = hosting("");
    let context = json!("talk");
    let asked = say(&site, "ask", &context, &Value::Null).await;
    let task = asked["result"]["task"]["id"].clone();
    site.kill();
    site.start();
    let lost = say(&site, "1", &context, &task).await;
    assert_eq!(state(&lost["result"]["task"]), "input_required");
    assert!(status_text(&lost).contains("is lost"), "{lost}");
    let again = say(&site, "again", &context, &task).await;
    assert!(status_text(&again).contains("Erase the disk"), "{again}");
    assert_eq!(answer(&say(&site, "yes", &context, &task).await), "You chose yes-once.");
}

#[tokio::test]
async fn files_are_given_only_with_leave() {
    let site = hosting("");
    let manifest = site.path().join("agents/coder/agent.toml");
    let read = format!("read {}", manifest.display());
    assert!(answer(&site.send("coder", &read).await).contains("does not offer"));
    let site = hosting("files = \"read\"");
    let manifest = site.path().join("agents/coder/agent.toml");
    assert!(
        answer(&site.send("coder", &format!("read {}", manifest.display())).await).contains("kind = \"acp\"")
    );
    assert!(answer(&site.send("coder", "read /etc/hostname").await).contains("is outside"));
}
