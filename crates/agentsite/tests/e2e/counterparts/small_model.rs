//! A real small language model behind an agent of kind llm: streaming, usage, memory, budget.
//!
//! The model is SmolLM2-135M under llama.cpp's own server. Its words are not clever, so nothing here depends
//! on them.

use serde_json::json;

use super::program::Program;
use crate::site::{TestSite, answer, message, python};

/// An agent with a server of its own; `more` is the end of its file.
fn speaker(name: &str, base_url: &str, more: &str) -> String {
    format!(
        "name = \"{name}\"\ndescription = \"Speaks\"\n[runtime]\nkind = \"llm\"\n\
         prompt = \"You answer in one short sentence.\"\nbase_url = \"{base_url}\"\nmax_tokens = 24\ntemperature = 0.0\n{more}"
    )
}

#[tokio::test]
async fn a_real_model_answers_in_pieces_remembers_is_counted_and_is_held_to_its_budget() {
    let python = python();
    let model = Program::start(&python, "small_llm.py").await;
    let mut site = TestSite::trusting()
        .agent("speaker", &speaker("speaker", &model.url, ""))
        .agent("miser", &speaker("miser", &model.url, "[budget]\ntokens_per_task = 20\n"));
    let configured =
        "name = \"configured\"\ndescription = \"d\"\n[runtime]\nkind = \"llm\"\nmax_tokens = 8\n";
    site.write("agents/configured/agent.toml", configured);
    site.write("agentsite.toml", &format!("[models.local]\nbase_url = \"{}\"\n", model.url));
    site.start();

    let first = message("What is the capital of France?");
    let events = site.stream("speaker", first).await;
    let pieces = events.iter().filter(|event| event.get("artifactUpdate").is_some()).count();
    assert!(pieces >= 2, "the answer comes as it is made: {events:?}");
    let task = events[0]["task"].clone();
    let id = task["id"].as_str().unwrap();
    let whole = site.get(&format!("/api/tasks/{id}")).await;
    assert_eq!(whole["status"]["state"], "TASK_STATE_COMPLETED", "{whole}");
    let used = whole["usage"].clone();
    assert!(used["inputTokens"].as_u64() > Some(10) && used["outputTokens"].as_u64() > Some(1), "{used}");
    assert_eq!((&used["turns"], &used["calls"]), (&1.into(), &0.into()));

    let mut second = message("What is the capital of France?");
    second["contextId"] = task["contextId"].clone();
    let again = site.rpc("speaker", "SendMessage", json!({"message": second})).await;
    let id = again["result"]["task"]["id"].as_str().unwrap();
    let more = site.get(&format!("/api/tasks/{id}")).await["usage"]["inputTokens"].as_u64();
    assert!(more > used["inputTokens"].as_u64(), "the model read the conversation too: {more:?}, {used}");

    let refused = site.send("miser", "Tell me a long story about the sea.").await;
    let told = refused["result"]["task"]["status"]["message"]["parts"][0]["text"].as_str().unwrap();
    assert_eq!(refused["result"]["task"]["status"]["state"], "TASK_STATE_FAILED");
    assert!(told.contains("tokens_per_task = 20") && told.contains("agents/miser/agent.toml"), "{told}");

    let configured = site.send("configured", "hello").await;
    assert!(!answer(&configured).is_empty(), "{configured}");
}
