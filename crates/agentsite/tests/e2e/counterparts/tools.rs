//! Agents of kind llm with a scripted model: tools, memory, models from the configuration, and no model at
//! all.
//!
//! The script makes the model do what a real one does only sometimes.

use serde_json::{Value, json};

use super::scripted_model::{Line, ScriptedModel};
use crate::site::{TestSite, answer, eventually, message};

const ADVISER: &str = r#"
name = "adviser"
description = "Answers with the help of calc"
[runtime]
kind = "llm"
prompt = "You ask calc for numbers."
tools = ["agent:calc"]
"#;

/// A site whose only model is the scripted one.
fn site_with(model: &ScriptedModel, manifest: &str) -> TestSite {
    let mut site = TestSite::trusting().agent("adviser", manifest);
    site.write("agentsite.toml", &format!("[models.script]\nbase_url = \"{}\"\n", model.url));
    site.start();
    site
}

fn roles(request: &Value) -> Vec<&str> {
    request["messages"].as_array().unwrap().iter().map(|one| one["role"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_asks_another_agent_and_the_task_of_that_one_names_its_parent() {
    let script = [Line::Asks { tool: "ask_calc", message: "6 * 7" }, Line::Says(vec!["It ", "is ", "42."])];
    let model = ScriptedModel::start(script).await;
    let site = site_with(&model, ADVISER);
    let reply = site.send("adviser", "what is six times seven").await;
    assert_eq!(answer(&reply), "It is 42.", "{reply}");

    let heard = model.heard();
    assert_eq!(heard.len(), 2);
    assert_eq!(heard[0]["tools"][0]["function"]["name"], "ask_calc");
    assert_eq!(roles(&heard[1]), ["system", "user", "assistant", "tool"]);
    assert_eq!(heard[1]["messages"][3]["content"], "42");

    let parent = reply["result"]["task"]["id"].as_str().unwrap();
    let children = site.get("/api/tasks?agent=calc").await;
    assert_eq!(children["tasks"].as_array().unwrap().len(), 1, "{children}");
    assert_eq!(children["tasks"][0]["parent"], parent);
    assert_eq!(children["tasks"][0]["state"], "completed");
    let usage = site.get(&format!("/api/tasks/{parent}")).await["usage"].take();
    assert_eq!(usage, json!({"inputTokens": 22, "outputTokens": 14, "turns": 2, "calls": 1}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_fails_is_told_to_the_model_and_the_task_goes_on() {
    let script = [
        Line::Asks { tool: "ask_calc", message: "1 / 0" },
        Line::Asks { tool: "ask_nobody", message: "hello" },
        Line::Says(vec!["I do not know."]),
    ];
    let model = ScriptedModel::start(script).await;
    let site = site_with(&model, ADVISER);
    assert_eq!(answer(&site.send("adviser", "divide").await), "I do not know.");
    let heard = model.heard();
    let told = |at: usize| heard[at]["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(told(1).contains("division by zero"), "{}", told(1));
    assert!(told(2).contains("there is no tool `ask_nobody`"), "{}", told(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_reaches_the_model_and_another_one_does_not() {
    let says = |words: &'static str| Line::Says(vec![words]);
    let model = ScriptedModel::start([says("Hello Ada."), says("Ada."), says("No idea.")]).await;
    let site = site_with(&model, ADVISER);
    let first = site.send("adviser", "I am Ada").await;
    let mut second = message("who am I?");
    second["contextId"] = first["result"]["task"]["contextId"].clone();
    site.rpc("adviser", "SendMessage", json!({"message": second})).await;
    site.send("adviser", "who am I?").await;
    let heard = model.heard();
    assert_eq!(roles(&heard[1]), ["system", "user", "assistant", "user"]);
    assert_eq!(heard[1]["messages"][1]["content"], "I am Ada");
    assert_eq!(heard[1]["messages"][2]["content"], "Hello Ada.");
    assert_eq!(roles(&heard[2]), ["system", "user"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_asks_too_often_is_stopped_by_the_budget() {
    let asks = || Line::Asks { tool: "ask_calc", message: "1 + 1" };
    let model = ScriptedModel::start([asks(), asks(), asks()]).await;
    let site = site_with(&model, &format!("{ADVISER}[budget]\nturns_per_task = 2\n"));
    let reply = site.send("adviser", "go on").await;
    let told = reply["result"]["task"]["status"]["message"]["parts"][0]["text"].as_str().unwrap();
    assert_eq!(reply["result"]["task"]["status"]["state"], "TASK_STATE_FAILED");
    assert!(told.contains("turns_per_task = 2") && told.contains("agents/adviser/agent.toml"), "{told}");
    assert_eq!(model.heard().len(), 2, "the third request was never sent");
}

#[tokio::test]
async fn an_agent_without_a_model_is_listed_and_says_what_to_set() {
    // Nothing listens on port 1, whatever runs on this machine.
    let mut site =
        TestSite::trusting().agent("adviser", ADVISER).variable("OLLAMA_HOST", "http://127.0.0.1:1");
    site.start();
    let reply = site.send("adviser", "hello").await;
    let told = reply["result"]["task"]["status"]["message"]["parts"][0]["text"].as_str().unwrap();
    assert_eq!(reply["result"]["task"]["status"]["state"], "TASK_STATE_FAILED");
    assert!(told.contains("OPENAI_API_KEY") && told.contains("[models."), "{told}");
    let listed = eventually("the agent is listed as one that needs something", async || {
        let agent = site.get("/api/agents/adviser").await;
        (agent["health"] == "needs-setup").then_some(agent)
    })
    .await;
    assert!(listed["reason"].as_str().unwrap().starts_with("needs a model"), "{listed}");
    let table = site.run(&["agent", "ls"]).ok();
    assert!(
        table.out().contains("needs-setup") && table.err().contains("adviser: needs a model"),
        "{table:?}"
    );
}
