//! A conversation as a page has it, with the real binary: a model that remembers, branches, a kill in the
//! middle of a turn, and the end of it all.
//!
//! What the model was shown is read from the requests that the scripted server got; the agent that is killed
//! waits at a gate, so that the kill meets it at work.

use std::io::Write;

use reqwest::Method;
use serde_json::{Value, json};

use super::scripted_model::{Line, ScriptedModel};
use crate::site::{TestSite, eventually, exec_agent, gate};

/// Waits at its gate, then repeats its message.
const TURNSTILE: [&str; 3] = ["sh", "-c", "read x; echo begun >> begun; read go < gate; echo $x"];

impl TestSite {
    async fn ask(&self, method: Method, path: &str, sent: Option<Value>) -> Value {
        let request = self.http.request(method, format!("{}{path}", self.url));
        let request = match sent {
            Some(sent) => request.json(&sent),
            None => request,
        };
        let text = request.send().await.unwrap().text().await.unwrap();
        serde_json::from_str(&text).unwrap_or(Value::String(text))
    }

    /// Says something and waits for the answer by the stream of the task.
    async fn say(&self, conversation: &str, sent: Value) -> Value {
        let path = format!("/api/conversations/{conversation}/turns");
        let turn = self.ask(Method::POST, &path, Some(sent)).await;
        self.settled(&turn).await;
        turn
    }

    async fn settled(&self, turn: &Value) {
        let url = format!(
            "{}/api/tasks/{}/events",
            self.url,
            turn["id"].as_str().unwrap_or_else(|| panic!("{turn}"))
        );
        let stream = self.http.get(url).header("accept", "text/event-stream").send().await.unwrap();
        assert!(stream.text().await.unwrap().contains("event: settled"));
    }
}

/// What the model was shown in its last request, without its instructions.
fn shown(model: &ScriptedModel) -> Vec<String> {
    let heard = model.heard().pop().unwrap();
    let messages = heard["messages"].as_array().unwrap().iter().filter(|one| one["role"] != "system");
    messages.map(|one| one["content"].as_str().unwrap_or_default().replace('\n', " ")).collect()
}

const MODEL: &str =
    "name = \"model\"\ndescription = \"Talks\"\n[runtime]\nkind = \"llm\"\nprompt = \"Talk.\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_remembers_branches_survives_a_kill_and_is_forgotten() {
    let says = |words: &'static str| Line::Says(vec![words]);
    let model =
        ScriptedModel::start([says("Ada, noted."), says("Ada."), says("Grace."), says("Still here.")]).await;
    let mut site = TestSite::trusting()
        .agent("model", MODEL)
        .agent("turnstile", &exec_agent("turnstile", &TURNSTILE, "[limits]\nretry = 1"));
    let mut gate = gate(&site.path().join("agents/turnstile/gate"));
    site.write("agentsite.toml", &format!("[models.script]\nbase_url = \"{}\"\n", model.url));
    site.start();

    let begun = json!({ "agent": "model", "message": "My name is Ada" });
    let begun = site.ask(Method::POST, "/api/conversations", Some(begun)).await;
    site.settled(&begun["turn"]).await;
    let id = begun["conversation"]["id"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    let second = site.say(&id, json!({ "message": "Who am I?" })).await;
    assert_eq!(shown(&model), ["My name is Ada", "Ada, noted.", "Who am I?"]);
    let branch =
        site.say(&id, json!({ "instead": begun["turn"]["id"], "message": "My name is Grace" })).await;
    assert_eq!(shown(&model), ["My name is Grace"], "the branch that was left is not remembered");

    let path = format!("/api/conversations/{id}");
    let asked = json!({ "agent": "turnstile", "message": "a lighthouse", "messageId": "m-kill" });
    let running = site.ask(Method::POST, &format!("{path}/turns"), Some(asked.clone())).await;
    let mark = site.path().join("agents/turnstile/begun");
    let at_work = async |times| {
        eventually("the agent is at work", async || {
            let lines = std::fs::read_to_string(&mark).unwrap_or_default().lines().count();
            (lines == times).then_some(())
        })
        .await;
    };
    at_work(1).await;
    site.kill();
    site.start();
    let repeat = site.ask(Method::POST, &format!("{path}/turns"), Some(asked)).await;
    assert_eq!(repeat["id"], running["id"], "the page asks again and gets the same turn");
    at_work(2).await;
    gate.write_all(b"go\n").unwrap();
    site.settled(&running).await;
    let turns = site.get(&format!("{path}/turns")).await;
    let ids: Vec<&Value> = turns["turns"].as_array().unwrap().iter().map(|turn| &turn["id"]).collect();
    assert_eq!(ids, [&branch["id"], &running["id"]]);
    assert_eq!(turns["turns"][1]["answer"].as_str().unwrap().trim(), "a lighthouse");
    site.say(&id, json!({ "message": "And now?" })).await;
    let heard = shown(&model).join(" | ");
    assert!(heard.contains("| a lighthouse  [turnstile answered] a lighthouse"), "{heard}");

    let found = site.get("/api/conversations?text=lightho").await;
    assert_eq!(found["conversations"][0]["id"], id);
    assert_eq!(found["conversations"][0]["passage"]["turn"], running["id"]);
    let text = site.ask(Method::GET, &format!("{path}/export?format=md"), None).await;
    assert!(text.as_str().unwrap().contains("## turnstile\n\na lighthouse"), "{text}");
    let whole = site.get(&format!("{path}/export?format=json")).await;
    assert_eq!(whole["turns"].as_array().unwrap().len(), 5, "every branch");

    site.ask(Method::DELETE, &path, None).await;
    for turn in [&second, &running] {
        let gone = site.get(&format!("/api/tasks/{}", turn["id"].as_str().unwrap())).await;
        assert_eq!(gone["error"]["code"], "no_such_task");
    }
    assert_eq!(site.get("/api/conversations?text=lightho").await["conversations"], json!([]));
}
