//! Names: no agent takes over the name of another agent, or the tasks that were opened under it.
//!
//! The attacker has a key of its own and connects over `/ws/agent` with the client of this workspace; the
//! victims are callers whose tasks wait for a further message. An attack succeeds when the attacker's program
//! is given a single word of theirs.

use std::sync::{Arc, Mutex};

use agentsite_client::Token;
use agentsite_client::agent::{Agent, News};
use agentsite_egress::Egress;
use agentsite_protocol::Visibility;
use agentsite_protocol::agent_session::{Ending, EndingWay};
use serde_json::{Value, json};

use super::report;
use crate::site::{TestSite, eventually, exec_agent, message, state};

/// What a victim says, and no attacker may read.
const SECRET: &str = "my password is swordfish";

/// Why a task whose agent is gone accepts no further message.
const REPLACED: &str = "another agent has its name now";

/// An attacker's program that is connected; everything that it is given is kept. It ends with it.
struct Program {
    seen: Arc<Mutex<Vec<String>>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Program {
    /// Connects under a name, or gives why the site will not have it.
    async fn connect(site: &TestSite, key: &str, name: &str) -> Result<Self, String> {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let (told, mut heard) = tokio::sync::mpsc::channel(1);
        let (refused, connected) = (told.clone(), told);
        let agent = Agent::new(name.parse().unwrap(), "Answers everything")
            .visibility(Visibility::Public)
            .on_news(move |news| {
                if let News::Connected(_) = news {
                    let _ = connected.try_send(Ok(()));
                }
            });
        let (url, key) = (site.url.parse().unwrap(), Token::new(key));
        let given = seen.clone();
        let serving = tokio::spawn(async move {
            let handler = move |assignment, _work| {
                given.lock().unwrap().push(format!("{assignment:?}"));
                std::future::ready(Ending::saying(EndingWay::InputRequired, "which one?"))
            };
            let end = agent.serve(&Egress::unguarded(), &url, Some(&key), handler).await;
            let _ = refused.try_send(Err(end.to_string()));
        });
        heard.recv().await.expect("the program is connected or refused").map(|()| Self { seen, serving })
    }

    fn saw(&self, text: &str) -> bool {
        self.seen.lock().unwrap().iter().any(|given| given.contains(text))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn new_key(site: &TestSite, label: &str) -> String {
    let made = site.run(&["key", "new", "--label", label, "--scope", "call", "--json"]).ok().json();
    made["secret"].as_str().unwrap().to_owned()
}

/// Sends a message with a key; with a task, as its next message.
async fn say(site: &TestSite, key: &str, agent: &str, text: &str, task: Option<&Value>) -> Value {
    let mut message = message(text);
    if let Some(task) = task {
        message["taskId"] = task["id"].clone();
    }
    let params = json!({ "message": message });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let request = site.http.post(format!("{}/a2a/{agent}", site.url)).header("a2a-version", "1.0");
    request.bearer_auth(key).json(&body).send().await.unwrap().json().await.unwrap()
}

/// Opens a task that waits for the next message of its caller.
async fn waiting_task(site: &TestSite, key: &str, agent: &str) -> Value {
    let reply = say(site, key, agent, SECRET, None).await;
    assert_eq!(state(&reply), "input_required", "{reply}");
    reply["result"]["task"].clone()
}

async fn admin(site: &TestSite, path: &str, body: &Value) -> Value {
    let request = site.http.post(format!("{}{path}", site.url)).bearer_auth(site.token()).json(body);
    request.send().await.unwrap().json().await.unwrap_or_default()
}

async fn gone(site: &TestSite, agent: &str) {
    eventually("the agent is gone", async || (site.run(&["agent", "show", agent]).code() == 6).then_some(()))
        .await;
}

fn asks_back(name: &str) -> String {
    exec_agent(name, &["sh", "-c", "cat > /dev/null; echo 'which one?'; exit 10"], "")
}

#[tokio::test]
async fn the_name_of_a_removed_agent_brings_nothing_of_its_callers() {
    let mut site = TestSite::new().agent("oracle", &asks_back("oracle"));
    site.start();
    let (victim, thief) = (new_key(&site, "victim"), new_key(&site, "thief"));
    let task = waiting_task(&site, &victim, "oracle").await;
    std::fs::remove_dir_all(site.path().join("agents/oracle")).unwrap();
    gone(&site, "oracle").await;
    let why = Program::connect(&site, &thief, "oracle").await.map(drop).unwrap_err();
    assert!(why.contains("reserved for its previous owner"), "{why}");
    // Also after a kill.
    site.kill();
    site.start();
    assert!(Program::connect(&site, &thief, "oracle").await.is_err());
    let listed = site.run(&["agent", "names", "--json"]).ok().json();
    assert_eq!(listed["names"][0]["name"], "oracle", "{listed}");

    // An admin releases the name: the tasks stay with the agent that they were opened with.
    site.run(&["agent", "release", "oracle"]).ok();
    let program = Program::connect(&site, &thief, "oracle").await.unwrap();
    let refused = say(&site, &victim, "oracle", "the first", Some(&task)).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains(REPLACED), "{refused}");
    let retry = format!("/api/tasks/{}/retry", task["id"].as_str().unwrap());
    let cancel = json!({"jsonrpc": "2.0", "id": 1, "method": "CancelTask", "params": { "id": task["id"] }});
    let request = site.http.post(format!("{}/a2a/oracle", site.url)).header("a2a-version", "1.0");
    let cancelled: Value =
        request.bearer_auth(&victim).json(&cancel).send().await.unwrap().json().await.unwrap();
    assert_eq!(cancelled["result"]["status"]["state"], "TASK_STATE_CANCELED", "{cancelled}");
    let request = site.http.post(format!("{}{retry}", site.url)).bearer_auth(&victim);
    let retried: Value = request.send().await.unwrap().json().await.unwrap();
    assert!(retried["error"]["message"].as_str().unwrap().contains(REPLACED), "{retried}");
    // A new message in the same context is a new task without history.
    let mut fresh = message("hello");
    fresh["contextId"] = task["contextId"].clone();
    fresh["referenceTaskIds"] = json!([task["id"]]);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": { "message": fresh }});
    let request = site.http.post(format!("{}/a2a/oracle", site.url)).header("a2a-version", "1.0");
    let begun: Value = request.bearer_auth(&victim).json(&body).send().await.unwrap().json().await.unwrap();
    assert_eq!(state(&begun), "input_required", "{begun}");
    assert!(program.saw("hello") && !program.saw("swordfish"), "{:?}", program.seen);
    report("names", "connect as a removed agent, follow up, retry, same context", "0 words of 1 victim");
}

#[tokio::test]
async fn the_name_of_a_detached_agent_is_its_owners() {
    let site = TestSite::started();
    let (owner, victim, thief) = (new_key(&site, "owner"), new_key(&site, "victim"), new_key(&site, "thief"));
    let program = Program::connect(&site, &owner, "poet").await.unwrap();
    let task = waiting_task(&site, &victim, "poet").await;
    site.run(&["agent", "detach", "poet"]).ok();
    drop(program);
    let why = Program::connect(&site, &thief, "poet").await.map(drop).unwrap_err();
    assert!(why.contains("reserved for its previous owner"), "{why}");
    let back = Program::connect(&site, &owner, "poet").await.unwrap();
    let reply = say(&site, &victim, "poet", "the second", Some(&task)).await;
    assert_eq!(state(&reply), "input_required", "the same owner continues: {reply}");
    assert!(back.saw("swordfish") && back.saw("the second"));
    report("names", "connect as a detached agent", "refused; its owner continues");
}

#[tokio::test]
async fn suspended_hidden_and_reserved_names_are_refused() {
    let mut site = TestSite::new().agent("oracle", &asks_back("oracle"));
    site.start();
    let (victim, thief) = (new_key(&site, "victim"), new_key(&site, "thief"));
    waiting_task(&site, &victim, "oracle").await;
    admin(&site, "/api/agents/oracle/suspend", &json!({})).await;
    gone(&site, "oracle").await;
    let _ = site.run(&["agent", "release", "oracle"]);
    let why = Program::connect(&site, &thief, "oracle").await.map(drop).unwrap_err();
    assert!(why.contains("suspended"), "{why}");
    let why = Program::connect(&site, &thief, "concierge").await.map(drop).unwrap_err();
    assert!(why.contains("belongs to an agent of this site"), "{why}");

    let card = site.get("/a2a/echo/.well-known/agent-card.json").await;
    let entry = admin(&site, "/api/hub", &json!({ "card": card })).await;
    let id = entry["id"].as_str().unwrap();
    let opened = admin(&site, &format!("/api/hub/{id}/open"), &json!({})).await;
    let far = opened["agent"].as_str().unwrap_or_else(|| panic!("{opened}"));
    for verb in ["open", "suspend", "remove"] {
        match verb {
            "suspend" => drop(admin(&site, &format!("/api/hub/{id}/suspend"), &json!({})).await),
            "remove" => drop(site.run(&["hub", "rm", id]).ok()),
            _ => {}
        }
        let why = Program::connect(&site, &thief, far).await.map(drop).unwrap_err();
        assert!(why.contains("is reserved"), "{verb}: {why}");
    }
    let made = site.run(&["agent", "new", "far-x"]);
    assert!(made.code() != 0 && made.err().contains("is reserved"), "{made:?}");
    let new = admin(&site, "/api/agents", &json!({ "name": "far-y", "template": "sh" })).await;
    assert!(new["error"]["message"].as_str().unwrap_or_default().contains("is reserved"), "{new}");
    site.write("agents/far-z/agent.toml", &asks_back("far-z"));
    eventually("the folder is refused", async || site.log().contains("far-z").then_some(())).await;
    assert_eq!(site.run(&["agent", "show", "far-z"]).code(), 6);
    report("names", "connect, make or write suspended, hidden and far- names", "9 of 9 refused");
}

#[tokio::test]
async fn an_unproven_card_does_not_block_the_domain() {
    let far = TestSite::started();
    let mut near = TestSite::new();
    near.write("agentsite.toml", "[egress]\nallow = [\"127.0.0.1\"]\n");
    near.start();
    let (squatter, owner) = (new_key(&near, "squatter"), new_key(&near, "owner"));
    let ask = async |key: &str, body: &Value| -> Value {
        let request = near.http.post(format!("{}/api/hub", near.url)).bearer_auth(key).json(body);
        request.send().await.unwrap().json().await.unwrap()
    };
    let card = far.get("/a2a/echo/.well-known/agent-card.json").await;
    let posted = ask(&squatter, &json!({ "card": card })).await;
    assert_eq!(posted["standing"], "pending", "{posted}");
    let url = json!({ "url": format!("{}/a2a/echo", far.url) });
    let proven = ask(&owner, &url).await;
    assert_eq!((&proven["id"], &proven["standing"]), (&posted["id"], &json!("active")), "{proven}");
    assert_ne!(proven["owner"], posted["owner"]);
    let again = ask(&squatter, &json!({ "card": card })).await;
    assert!(again["error"]["message"].is_string(), "{again}");
    report("names", "hold a domain's name with an unproven card", "displaced by the proven registration");
}
