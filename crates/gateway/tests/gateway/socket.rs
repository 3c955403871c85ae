//! Programs that connect to be agents, over real sockets: a plain WebSocket client for what goes wrong, the
//! own SDK for what goes right.
//!
//! Nothing here waits for time: each story waits for what the other end says.

mod sdk;
mod shares;

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use http::header::{HeaderName, HeaderValue};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::golden::hold;
use crate::story::{Story, body, says};

/// Longest that a step of a story may take; it only turns a hang into a failure, however busy the machine is.
const HANG: Duration = Duration::from_secs(600);

/// A program at the other end.
struct Program(WebSocketStream<TcpStream>);

impl Program {
    /// Opens a socket with these headers.
    async fn knock(story: &Story, headers: &[(&str, &str)]) -> Result<Self, Error> {
        let mut request = format!("ws://{}/ws/agent", story.address).into_client_request().unwrap();
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            request.headers_mut().insert(name, HeaderValue::from_str(value).unwrap());
        }
        let stream = TcpStream::connect(story.address).await.unwrap();
        let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let (socket, _) = tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await?;
        Ok(Self(socket))
    }

    /// Opens a socket as an admin.
    async fn known(story: &Story) -> Self {
        let bearer = format!("Bearer {}", story.admin);
        Self::knock(story, &[("authorization", &bearer)]).await.unwrap()
    }

    /// A program that the site took in.
    async fn connected(story: &Story, params: Value) -> (Self, Value) {
        let mut program = Self::known(story).await;
        let answer = program.registers(params).await;
        (program, answer["result"].clone())
    }

    async fn registers(&mut self, params: Value) -> Value {
        self.says(&json!({ "jsonrpc": "2.0", "id": 1, "method": "agent/register", "params": params })).await;
        self.hears().await
    }

    async fn says(&mut self, frame: &Value) {
        self.0.send(Message::text(frame.to_string())).await.unwrap();
    }

    async fn step(&mut self, task: &Value, mut params: Value) {
        params["task"] = task.clone();
        self.says(&json!({ "jsonrpc": "2.0", "method": "task/step", "params": params })).await;
    }

    async fn ends(&mut self, task: &Value, outcome: &str) {
        let params = json!({ "task": task, "outcome": outcome });
        self.says(&json!({ "jsonrpc": "2.0", "method": "task/end", "params": params })).await;
    }

    async fn next(&mut self) -> Message {
        loop {
            let message = tokio::time::timeout(HANG, self.0.next()).await.expect("the site speaks");
            match message.expect("the socket is open").unwrap() {
                Message::Ping(_) | Message::Pong(_) => {}
                message => return message,
            }
        }
    }

    async fn hears(&mut self) -> Value {
        match self.next().await {
            Message::Text(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// The task that it is given.
    async fn work(&mut self) -> Value {
        let frame = self.hears().await;
        assert_eq!(frame["method"], "task/run", "{frame}");
        frame["params"].clone()
    }

    /// With which code and words the site closes; what it says before is passed over.
    async fn closed(&mut self) -> (u16, String) {
        loop {
            if let Message::Close(frame) = self.next().await {
                let frame = frame.expect("a reason");
                return (frame.code.into(), frame.reason.to_string());
            }
        }
    }
}

fn poet() -> Value {
    json!({ "name": "poet", "description": "Writes poems about the sea.", "visibility": "public", "skills": [{ "id": "s", "name": "Sonnet", "description": "Writes sonnets.", "tags": ["poetry"] }] })
}

fn status(refused: Result<Program, Error>) -> StatusCode {
    match refused.map(|_| ()) {
        Err(Error::Http(response)) => response.status(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_program_that_connects_is_called_like_every_agent() {
    let story = Story::begin().await;
    let (mut program, mut welcome) = Program::connected(&story, poet()).await;
    assert!(welcome["resume"].as_str().unwrap().starts_with("asl_"));
    welcome["resume"] = json!("asl_RESUME");
    hold(&story, "socket-welcome", welcome);
    let card = body(story.get("/a2a/poet/.well-known/agent-card.json").send().await.unwrap()).await;
    assert_eq!(card["skills"][0]["name"], "Sonnet");
    let asking = story.call("poet", "SendMessage", says("roses"));
    let answering = async {
        let work = program.work().await;
        assert_eq!((&work["text"], &work["attempt"]), (&json!("roses"), &json!(1)));
        let task = &work["task"];
        program.step(task, json!({ "status": "thinking" })).await;
        program.step(task, json!({ "text": "are " })).await;
        program.step(task, json!({ "text": "red" })).await;
        program.ends(task, "completed").await;
    };
    let (answer, ()) = tokio::join!(asking, answering);
    let task = &answer["result"]["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{answer}");
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "are red");
}

#[tokio::test]
async fn a_cancel_reaches_the_program_and_its_late_words_change_nothing() {
    let story = Story::begin().await;
    let (mut program, _) = Program::connected(&story, poet()).await;
    let mut params = says("roses");
    params["configuration"] = json!({ "returnImmediately": true });
    let task = story.call("poet", "SendMessage", params).await["result"]["task"]["id"].clone();
    assert_eq!(program.work().await["task"], task);
    let canceled = story.call("poet", "CancelTask", json!({ "id": task })).await;
    assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED", "{canceled}");
    let frame = program.hears().await;
    assert_eq!((&frame["method"], &frame["params"]["task"]), (&json!("task/cancel"), &task));
    program.step(&task, json!({ "text": "late" })).await;
    assert_eq!(program.hears().await["method"], "task/cancel", "it is told again");
    program.ends(&task, "completed").await;
    program.says(&json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" })).await;
    assert_eq!(program.hears().await, json!({ "jsonrpc": "2.0", "id": 9, "result": {} }));
}

#[tokio::test]
async fn a_program_that_dies_fails_its_task_and_is_shown_as_down() {
    let story = Story::begin().await;
    let (mut program, _) = Program::connected(&story, poet()).await;
    let dying = async {
        program.work().await;
        drop(program);
    };
    let (answer, ()) = tokio::join!(story.call("poet", "SendMessage", says("roses")), dying);
    let status = &answer["result"]["task"]["status"];
    assert_eq!(status["state"], "TASK_STATE_FAILED", "{answer}");
    let words = status["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(words.contains("was lost while it worked on this"), "{words}");
    let agent = body(story.get("/api/agents/poet").send().await.unwrap()).await;
    assert_eq!((&agent["health"], &agent["kind"]), (&json!("down"), &json!("connected")));
    assert!(agent["reason"].as_str().unwrap().contains("start it again"), "{agent}");
    let (_program, again) = Program::connected(&story, poet()).await;
    assert_eq!(again["name"], "poet");
}

#[tokio::test]
async fn a_second_connection_with_the_token_replaces_the_first() {
    let story = Story::begin().await;
    let (mut first, welcome) = Program::connected(&story, poet()).await;
    let mut second = Program::known(&story).await;
    let refused = second.registers(poet()).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("resume token"), "{refused}");
    assert_eq!(second.closed().await.0, 1008);
    let mut token = poet();
    token["resume"] = welcome["resume"].clone();
    let (_second, _) = Program::connected(&story, token).await;
    let (code, reason) = first.closed().await;
    assert_eq!(code, 4001);
    assert!(reason.contains("replaced this one"), "{reason}");
}

#[tokio::test]
async fn who_is_not_known_and_whose_page_is_foreign_gets_no_socket() {
    let story = Story::begin().await;
    for (headers, wanted) in [
        (&[][..], StatusCode::UNAUTHORIZED),
        (&[("origin", "https://evil.example")], StatusCode::FORBIDDEN),
        (&[("origin", "null")], StatusCode::FORBIDDEN),
        (&[("authorization", "Bearer ask_wrong")], StatusCode::UNAUTHORIZED),
        (&[("host", "evil.example")], StatusCode::FORBIDDEN),
    ] {
        assert_eq!(status(Program::knock(&story, headers).await), wanted, "{headers:?}");
    }
    let key = story.key(&["call"]).await;
    let bearer = format!("Bearer {key}");
    let foreign = [("authorization", bearer.as_str()), ("origin", "https://evil.example")];
    assert_eq!(status(Program::knock(&story, &foreign).await), StatusCode::FORBIDDEN, "no page holds a key");
    let own = format!("http://{}", story.address);
    assert!(Program::knock(&story, &[("origin", &own), ("authorization", &bearer)]).await.is_ok());
    let mut far = Program::knock(&story, &[("authorization", &bearer)]).await.unwrap();
    assert_eq!(far.registers(poet()).await["result"]["name"], "poet");
    let plain = story.get("/ws/agent").send().await.unwrap();
    assert_eq!(plain.status(), StatusCode::BAD_REQUEST);
    assert!(body(plain).await["error"]["message"].as_str().unwrap().contains("WebSocket"));
}

#[tokio::test]
async fn what_is_no_introduction_is_refused_with_a_reason() {
    let story = Story::begin().await;
    let frame =
        |params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": "agent/register", "params": params });
    for (message, code, why) in [
        (Message::text("hello"), 1007, "not valid JSON"),
        (Message::text("{}"), 1007, "JSON-RPC 2.0"),
        (Message::binary(b"{}".to_vec()), 1003, "text"),
        (Message::text(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), 4006, "agent/register"),
        (
            Message::text(frame(json!({ "name": "Not A Name", "description": "d" })).to_string()),
            1008,
            "invalid agent name",
        ),
        (Message::text(frame(json!({ "name": "x" })).to_string()), 1008, "description"),
        (
            Message::text(frame(json!({ "name": "echo", "description": "d" })).to_string()),
            1008,
            "agent of this site",
        ),
        (Message::text("x".repeat((4 << 20) + 1)), 1009, "at most"),
        (Message::text("x".repeat(5 << 20)), 1009, "at most"),
    ] {
        let mut program = Program::known(&story).await;
        // The site may close before all of a frame that is too large is written.
        let _ = program.0.send(message).await;
        let (closed, reason) = program.closed().await;
        assert_eq!(closed, code, "{reason}");
        assert!(reason.contains(why), "{reason}");
    }
}

#[tokio::test]
async fn a_site_with_no_room_answers_otherwise_than_to_a_malformed_introduction() {
    let settings = agentsite_site::SiteSettings { max_connected: 1, ..Default::default() };
    let site = crate::story::site_with(settings, agentsite_egress::Egress::default()).await;
    let story = Story::of(agentsite_gateway::GatewaySettings::default(), site).await;
    let (_first, _) = Program::connected(&story, poet()).await;
    let mut second = Program::known(&story).await;
    let full = second.registers(json!({ "name": "painter", "description": "Paints." })).await;
    let mut third = Program::known(&story).await;
    let malformed = third.registers(json!({ "name": "Not A Name", "description": "d" })).await;
    assert_eq!(full["error"]["data"][0]["reason"], "QUOTA_EXCEEDED", "{full}");
    assert_eq!(malformed["error"]["code"], -32602, "{malformed}");
    assert_ne!(full["error"]["code"], malformed["error"]["code"]);
    assert_eq!((second.closed().await.0, third.closed().await.0), (4007, 1008));
}

#[tokio::test]
async fn nonsense_about_a_task_costs_that_task_alone() {
    let story = Story::begin().await;
    let (mut program, _) = Program::connected(&story, poet()).await;
    let speaking = async {
        let work = program.work().await;
        program.step(&work["task"], json!({ "text": "a", "status": "b" })).await;
        assert_eq!(program.hears().await["method"], "task/cancel");
        program.step(&json!("no-id"), json!({ "text": "a" })).await;
        let complaint = program.hears().await;
        assert!(complaint["error"]["message"].as_str().unwrap().starts_with("task/step"), "{complaint}");
        program.says(&json!({ "jsonrpc": "2.0", "id": "q", "method": "agent/dance" })).await;
        assert_eq!(program.hears().await["error"]["code"], -32601);
    };
    let (answer, ()) = tokio::join!(story.call("poet", "SendMessage", says("roses")), speaking);
    let words = answer["result"]["task"]["status"]["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(words.contains("exactly one of text"), "{answer}");
    program.0.send(Message::text("[]")).await.unwrap();
    assert_eq!(program.closed().await.0, 1007);
}

#[tokio::test]
async fn a_flood_is_read_at_its_pace_and_all_of_it_arrives() {
    let story = Story::begin().await;
    let (mut program, _) = Program::connected(&story, poet()).await;
    let flooding = async {
        let work = program.work().await;
        for _ in 0..3_000 {
            program.step(&work["task"], json!({ "text": "x" })).await;
        }
        program.ends(&work["task"], "completed").await;
    };
    let (answer, ()) = tokio::join!(story.call("poet", "SendMessage", says("flood")), flooding);
    let parts = &answer["result"]["task"]["artifacts"][0]["parts"];
    assert_eq!(
        parts[0]["text"].as_str().map(str::len),
        Some(3_000),
        "{}",
        answer["result"]["task"]["status"]
    );
}

#[tokio::test]
async fn an_agent_is_taken_out_by_rest_and_its_program_is_told() {
    let story = Story::begin().await;
    let (mut program, _) = Program::connected(&story, poet()).await;
    let gone = story.http.delete(story.url("/api/agents/poet")).send().await.unwrap();
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
    assert_eq!(program.closed().await.0, 4003);
    assert_eq!(story.get("/api/agents/poet").send().await.unwrap().status(), StatusCode::NOT_FOUND);
    let own = story.http.delete(story.url("/api/agents/echo")).send().await.unwrap();
    assert_eq!(own.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_site_that_stops_says_so() {
    let story = Story::begin().await;
    let (mut program, _) = Program::connected(&story, poet()).await;
    let site = story.site.clone();
    let ((), (code, reason)) = tokio::join!(site.stop(), program.closed());
    assert_eq!(code, 1001, "{reason}");
}
