//! An ACP agent with every behaviour that the stories need, as a separate process.
//!
//! It is a test that is ignored by the harness and does nothing unless `ACTOR` names its role. Each prompt is
//! answered on a thread, so that cancels and answers are still received.

#![expect(clippy::disallowed_methods, reason = "it is a program of its own, which the stories start")]

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

#[derive(Default)]
struct Stage {
    role: String,
    signed_in: AtomicBool,
    sessions: AtomicU64,
    requests: AtomicU64,
    /// Where the answers to our requests go.
    asked: Mutex<HashMap<u64, SyncSender<Value>>>,
    turns: Mutex<HashMap<String, Arc<AtomicBool>>>,
    prompts: Mutex<HashMap<String, u64>>,
}

#[test]
// tidy: skipped because it is the program that other tests start, not a test
#[ignore = "the stories start it as a program"]
fn acts() {
    let role = std::env::var("ACTOR").expect("the story that starts it names its part");
    let stage = Arc::new(Stage { role, ..Stage::default() });
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line.unwrap()) else { continue };
        stage.clone().hear(message);
    }
    std::process::exit(0);
}

fn write(message: &Value) {
    let mut out = std::io::stdout().lock();
    // One write for each line: the harness may print between two.
    let _ = out.write_all(format!("{message}\n").as_bytes());
    let _ = out.flush();
}

fn log(text: &str) {
    let _ = std::io::stderr().lock().write_all(format!("{text}\n").as_bytes());
}

impl Stage {
    fn hear(self: Arc<Self>, message: Value) {
        let (id, params) = (message["id"].clone(), message["params"].clone());
        let done = |result: Value| write(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
        let refuse = |code: i64, why: &str| {
            write(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}}));
        };
        match message["method"].as_str() {
            None => {
                let asked = id.as_u64().and_then(|id| self.asked.lock().unwrap().remove(&id));
                asked.map(|sender| sender.send(message));
            }
            Some("initialize") => done(self.hello()),
            Some("authenticate") => {
                self.signed_in.store(true, Ordering::Relaxed);
                done(json!({}));
            }
            Some("session/new") if self.role == "locked" && !self.signed_in.load(Ordering::Relaxed) => {
                refuse(-32000, "Authentication required");
            }
            Some("session/new") => {
                let number = self.sessions.fetch_add(1, Ordering::Relaxed) + 1;
                done(json!({"sessionId": format!("session {number}")}));
            }
            Some("session/load") => {
                let old = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "old news"}});
                update(params["sessionId"].as_str().unwrap(), &old);
                done(Value::Null);
            }
            Some("session/close") => {
                log(&format!("closed {}", params["sessionId"].as_str().unwrap()));
                done(json!({}));
            }
            Some("session/cancel") => {
                let turns = self.turns.lock().unwrap();
                if let Some(turn) = turns.get(params["sessionId"].as_str().unwrap()) {
                    turn.store(true, Ordering::Relaxed);
                }
            }
            Some("session/prompt") => {
                std::thread::spawn(move || self.play(&id, &params));
            }
            Some(_) => refuse(-32601, "unknown"),
        }
    }

    fn hello(&self) -> Value {
        json!({
            "protocolVersion": if self.role == "modern" { 2 } else { 1 },
            "agentCapabilities": {
                "loadSession": self.role == "loading",
                "sessionCapabilities": {"close": {}}
            },
            "authMethods": if self.role == "locked" { json!([{"id": "key", "name": "Key"}]) } else { json!([]) }
        })
    }

    fn play(&self, id: &Value, params: &Value) {
        let session = params["sessionId"].as_str().unwrap();
        let cancelled = Arc::new(AtomicBool::new(false));
        self.turns.lock().unwrap().insert(session.to_owned(), cancelled.clone());
        let texts: Vec<&str> =
            params["prompt"].as_array().unwrap().iter().filter_map(|block| block["text"].as_str()).collect();
        let text = texts.last().copied().unwrap_or_default();
        let prompts = {
            let mut prompts = self.prompts.lock().unwrap();
            let count = prompts.entry(session.to_owned()).or_default();
            *count += 1;
            *count
        };
        let say = |text: &str| {
            update(
                session,
                &json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}),
            );
        };
        let stopped = || cancelled.load(Ordering::Relaxed);
        let mut reason = "end_turn".to_owned();
        match text.split_once(' ').unwrap_or((text, "")) {
            ("wait" | "talk", _) => {
                say("begun");
                while !stopped() {
                    if text == "talk" {
                        say(&"x".repeat(1_000));
                    } else {
                        // tidy: waits because a silent agent is what it plays
                        std::thread::sleep(std::time::Duration::from_millis(2));
                    }
                }
            }
            ("ask", _) => {
                say("May I? ");
                let answer = self.ask(
                    session,
                    "session/request_permission",
                    json!({
                        "toolCall": {"toolCallId": "1", "title": "Erase the disk", "kind": "delete"},
                        "options": [
                            {"optionId": "o-yes", "name": "Allow", "kind": "allow_once"},
                            {"optionId": "o-no", "name": "Reject", "kind": "reject_once"}
                        ]
                    }),
                );
                match answer["result"]["outcome"]["optionId"].as_str() {
                    Some(chosen) => say(&format!("You chose {chosen}.")),
                    None => cancelled.store(true, Ordering::Relaxed),
                }
            }
            ("read", path) => {
                let answer = self.ask(session, "fs/read_text_file", json!({"path": path}));
                say(answer["result"]["content"].as_str().or(answer["error"]["message"].as_str()).unwrap());
            }
            ("die", _) => std::process::exit(7),
            ("end", why) => reason = why.to_owned(),
            ("count", _) => say(&format!("{session}, prompt {prompts}")),
            ("recall", _) => say(&texts.join("\n")),
            ("refuse", _) => {
                return write(
                    &json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "Not today"}}),
                );
            }
            _ => {
                let (begin, rest) = text.split_at(text.floor_char_boundary(text.len() / 2));
                say(&begin.to_uppercase());
                say(&rest.to_uppercase());
            }
        }
        if stopped() {
            log("the turn was cancelled");
            reason = "cancelled".into();
        }
        write(&json!({"jsonrpc": "2.0", "id": id, "result": {"stopReason": reason}}));
    }

    fn ask(&self, session: &str, method: &str, mut params: Value) -> Value {
        let (sender, receiver): (SyncSender<Value>, Receiver<Value>) = sync_channel(1);
        let id = self.requests.fetch_add(1, Ordering::Relaxed);
        self.asked.lock().unwrap().insert(id, sender);
        params["sessionId"] = json!(session);
        write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        receiver.recv().unwrap_or(Value::Null)
    }
}

fn update(session: &str, update: &Value) {
    write(
        &json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": update}}),
    );
}
