//! Troupe: an A2A agent in this process that plays what the first word of a message names.
//!
//! `ask` asks back, `reply` answers with a message, `fail` fails, `refuse` answers with an error, `wait`
//! works until it is cancelled, `talk` makes chunks without end, `cut` breaks its stream, `vanish` forgets
//! the task, `busy` is refused the first time; anything else is shouted. It keeps every request, and knows
//! how many tasks still work.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use agentsite_protocol::extension::SEND_ONCE;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures::{Stream, StreamExt, stream};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

#[derive(Clone)]
pub(super) struct Troupe {
    place: String,
    streaming: bool,
    /// Whether it promises to take each message only once.
    once: bool,
    asked: Arc<Mutex<Vec<Value>>>,
    tasks: Arc<Mutex<HashMap<String, Value>>>,
    working: Arc<watch::Sender<usize>>,
}

type Items = Vec<Value>;

impl Troupe {
    /// A troupe on a free port.
    pub(super) async fn perform(streaming: bool) -> Self {
        Self::promising(streaming, false).await
    }

    /// A troupe that promises to take each message only once, or does not.
    pub(super) async fn promising(streaming: bool, once: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = listener.local_addr().unwrap().to_string();
        let (working, _) = watch::channel(0);
        let troupe = Self {
            place,
            streaming,
            once,
            asked: Arc::default(),
            tasks: Arc::default(),
            working: Arc::new(working),
        };
        let router = Router::new()
            .route("/.well-known/agent-card.json", get(card))
            .route("/", post(answer))
            .with_state(troupe.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        troupe
    }

    pub(super) fn place(&self) -> String {
        self.place.clone()
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.place)
    }

    /// The requests of this method, or all.
    pub(super) fn asked(&self, method: &str) -> Vec<Value> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|call| method.is_empty() || call["method"] == method).cloned().collect()
    }

    /// Comes when no task works any more.
    pub(super) async fn idle(self) {
        self.working.subscribe().wait_for(|working| *working == 0).await.unwrap();
    }

    fn send(&self, params: &Value) -> Response {
        let message = &params["message"];
        let text: String =
            message["parts"].as_array().unwrap().iter().filter_map(|part| part["text"].as_str()).collect();
        let word = if message["taskId"].is_string() { "" } else { text.split(' ').next().unwrap() };
        let id = message["taskId"]
            .as_str()
            .map_or_else(|| format!("t{}", self.tasks.lock().unwrap().len() + 1), str::to_owned);
        let begun = task(&id, "WORKING", &json!([]));
        if let Some(further) = message["taskId"].as_str() {
            let known = self.tasks.lock().unwrap().get(further).cloned();
            match known {
                None => return error(-32001, "Task not found"),
                // What a hasty caller sees: the task before it has read the message.
                Some(known) if params["configuration"]["returnImmediately"] == true => {
                    return self.answer_with(vec![json!({"task": known})]);
                }
                Some(_) => {}
            }
        }
        let shout = json!([{"artifactId": "shout", "parts": [{"text": text.to_uppercase()}]}]);
        self.keep(
            &id,
            if word == "wait" || word == "talk" { begun.clone() } else { task(&id, "COMPLETED", &shout) },
        );
        match word {
            "busy" if self.asked.lock().unwrap().len() == 1 => StatusCode::SERVICE_UNAVAILABLE.into_response(),
            "refuse" => error(-32603, "not today"),
            "reply" => self.answer_with(vec![json!({"message": {"messageId": "r", "role": "ROLE_AGENT", "parts": [{"text": text.to_uppercase()}]}})]),
            "ask" => {
                let question = status(&id, "INPUT_REQUIRED", "What shall I shout?");
                let mut waiting = begun.clone();
                waiting["status"] = question["statusUpdate"]["status"].clone();
                self.keep(&id, waiting);
                self.answer_with(vec![json!({"task": begun}), question])
            }
            "fail" => self.answer_with(vec![json!({"task": begun}), status(&id, "FAILED", "I was told to fail.")]),
            "cut" => self.answer_with(vec![json!({"task": begun}), chunk(&id, "CU", false)]),
            "vanish" => {
                self.tasks.lock().unwrap().remove(&id);
                self.answer_with(vec![json!({"task": begun})])
            }
            "wait" => self.work(vec![json!({"task": begun}), status(&id, "WORKING", "at it")], stream::pending()),
            "talk" => {
                let more = (0..).map(move |number| chunk(&id, &"x".repeat(10_000), number > 0));
                self.work(vec![json!({"task": begun})], stream::iter(more))
            }
            _ if self.streaming => self.answer_with(shouted(&id, &text)),
            _ if message["taskId"].is_string() => self.answer_with(vec![json!({"task": task(&id, "COMPLETED", &shout)})]),
            _ => self.answer_with(vec![json!({"task": begun})]),
        }
    }

    fn work(&self, first: Items, then: impl Stream<Item = Value> + Send + 'static) -> Response {
        self.working.send_modify(|working| *working += 1);
        // A little at a time, so that one thread can play both sides.
        events(stream::iter(first).chain(then.then(|item| async {
            tokio::task::yield_now().await;
            item
        })))
    }

    fn answer_with(&self, items: Items) -> Response {
        if self.streaming {
            events(stream::iter(items))
        } else {
            Json(json!({"jsonrpc": "2.0", "id": 1, "result": items[0]})).into_response()
        }
    }

    fn keep(&self, id: &str, task: Value) {
        self.tasks.lock().unwrap().insert(id.into(), task);
    }

    fn task(&self, id: &Value) -> Response {
        match self.tasks.lock().unwrap().get(id.as_str().unwrap()) {
            Some(task) => Json(json!({"jsonrpc": "2.0", "id": 1, "result": task})).into_response(),
            None => error(-32001, "Task not found"),
        }
    }

    fn cancel(&self, id: &Value) -> Response {
        let text = id.as_str().unwrap();
        let was_working = self
            .tasks
            .lock()
            .unwrap()
            .get(text)
            .is_some_and(|task| task["status"]["state"] == "TASK_STATE_WORKING");
        if was_working {
            self.keep(text, task(text, "CANCELED", &json!([])));
            self.working.send_modify(|working| *working -= 1);
        }
        self.task(id)
    }
}

async fn card(State(troupe): State<Troupe>) -> Json<Value> {
    let interface = json!({"url": troupe.url(), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
    let extensions = if troupe.once { json!([{"uri": SEND_ONCE}]) } else { json!([]) };
    Json(json!({
        "name": "Troupe", "description": "Plays", "version": "1", "supportedInterfaces": [interface],
        "capabilities": {"streaming": troupe.streaming, "extensions": extensions}, "skills": [],
    }))
}

async fn answer(State(troupe): State<Troupe>, Json(call): Json<Value>) -> Response {
    troupe.asked.lock().unwrap().push(call.clone());
    let params = &call["params"];
    match call["method"].as_str().unwrap() {
        "SendMessage" | "SendStreamingMessage" => troupe.send(params),
        "GetTask" => troupe.task(&params["id"]),
        "CancelTask" => troupe.cancel(&params["id"]),
        _ => error(-32601, "Method not found"),
    }
}

fn task(id: &str, state: &str, artifacts: &Value) -> Value {
    json!({"id": id, "contextId": "c1", "status": {"state": format!("TASK_STATE_{state}")}, "artifacts": artifacts})
}

fn status(id: &str, state: &str, words: &str) -> Value {
    let message = json!({"messageId": words, "role": "ROLE_AGENT", "parts": [{"text": words}]});
    let status = json!({"state": format!("TASK_STATE_{state}"), "message": message});
    json!({"statusUpdate": {"taskId": id, "contextId": "c1", "status": status}})
}

fn chunk(id: &str, text: &str, append: bool) -> Value {
    let artifact = json!({"artifactId": "shout", "parts": [{"text": text}]});
    json!({"artifactUpdate": {"taskId": id, "contextId": "c1", "artifact": artifact, "append": append}})
}

fn shouted(id: &str, text: &str) -> Items {
    let mut items = vec![json!({"task": task(id, "SUBMITTED", &json!([]))})];
    let words = text.to_uppercase();
    items.extend(words.split_inclusive(' ').enumerate().map(|(at, word)| chunk(id, word, at > 0)));
    items.push(json!({"statusUpdate": {"taskId": id, "contextId": "c1", "status": {"state": "TASK_STATE_COMPLETED"}}}));
    items
}

fn events(items: impl Stream<Item = Value> + Send + 'static) -> Response {
    let written = items.map(|item| {
        Ok::<_, Infallible>(format!("data: {}\r\n\r\n", json!({"jsonrpc": "2.0", "id": 1, "result": item})))
    });
    ([("content-type", "text/event-stream")], Body::from_stream(written)).into_response()
}

fn error(code: i64, message: &str) -> Response {
    Json(json!({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": message}})).into_response()
}
