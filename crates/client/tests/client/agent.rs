//! Stories of calling an agent: the requests byte by byte, the answers as captured, and what goes wrong.
//!
//! What we send is compared with `golden/requests.txt`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentsite_client::{
    A2aClient, A2aLimits, ClientError, Egress, EgressError, Reply, SendOptions, StreamItem, Token,
};
use agentsite_protocol::{Message, Role, TaskState};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::{StreamExt, TryStreamExt};
use tokio::net::TcpListener;
use url::Url;

const TASK: &str = r#"{"result":{"task":{"id":"7d51388f-4273-46e8-82ae-f0d7fd6243e5","contextId":"bb821263-7f1b-4d9e-95d8-696ed233a118","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-11-15T21:14:31.059497Z"},"artifacts":[{"artifactId":"shout","name":"shout","parts":[{"text":"HELLO "},{"text":"THERE"}]}],"history":[{"messageId":"bb140e42-97a4-4209-bf9a-79c6b4c8346b","contextId":"bb821263-7f1b-4d9e-95d8-696ed233a118","taskId":"7d51388f-4273-46e8-82ae-f0d7fd6243e5","role":"ROLE_USER","parts":[{"text":"hello there"}]}]}},"id":"bd91891d-7e12-4104-9054-11b975ac07fe","jsonrpc":"2.0"}"#;
const BARE_TASK: &str = r#"{"result":{"id":"t1","contextId":"c","status":{"state":"TASK_STATE_CANCELED"}},"id":1,"jsonrpc":"2.0"}"#;
const STREAM: &str = concat!(
    "data: {\"result\": {\"task\": {\"id\": \"7ae1\", \"contextId\": \"407e\", \"status\": {\"state\": \"TASK_STATE_SUBMITTED\"}}}, \"id\": \"1\", \"jsonrpc\": \"2.0\"}\r\n\r\n",
    ": ping - 2026-11-15 21:14:32\r\n\r\n",
    "data: {\"result\": {\"statusUpdate\": {\"taskId\": \"7ae1\", \"contextId\": \"407e\", \"status\": {\"state\": \"TASK_STATE_WORKING\", \"timestamp\": \"2026-11-15T21:14:32.451753Z\"}}}, \"id\": \"1\", \"jsonrpc\": \"2.0\"}\r\n\r\n",
    "data: {\"result\": {\"artifactUpdate\": {\"taskId\": \"7ae1\", \"contextId\": \"407e\", \"artifact\": {\"artifactId\": \"shout\", \"name\": \"shout\", \"parts\": [{\"text\": \"HELLO \"}]}}}, \"id\": \"1\", \"jsonrpc\": \"2.0\"}\r\n\r\n",
    "data: {\"result\": {\"artifactUpdate\": {\"taskId\": \"7ae1\", \"contextId\": \"407e\", \"artifact\": {\"artifactId\": \"shout\", \"name\": \"shout\", \"parts\": [{\"text\": \"THERE\"}]}, \"append\": true, \"lastChunk\": true}}, \"id\": \"1\", \"jsonrpc\": \"2.0\"}\r\n\r\n",
);
const LAST: &str = "data: {\"result\": {\"statusUpdate\": {\"taskId\": \"7ae1\", \"contextId\": \"407e\", \"status\": {\"state\": \"TASK_STATE_COMPLETED\", \"timestamp\": \"2026-11-15T21:14:32.451934Z\"}}}, \"id\": \"1\", \"jsonrpc\": \"2.0\"}\r\n\r\n";

type Answers = Arc<dyn Fn(&str) -> Response + Send + Sync>;

/// An agent with scripted answers for each method, which records its requests.
#[derive(Clone)]
struct Remote {
    answers: Answers,
    asked: Arc<Mutex<Vec<(HeaderMap, String)>>>,
}

async fn answer(State(remote): State<Remote>, headers: HeaderMap, body: String) -> Response {
    let method =
        body.split("\"method\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    let answer = (remote.answers)(method);
    remote.asked.lock().unwrap().push((headers, body));
    answer
}

async fn serve(router: impl FnOnce(&str) -> Router) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/", listener.local_addr().unwrap());
    let router = router(&base);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Url::parse(&base).unwrap()
}

fn card(base: &str) -> String {
    format!(
        r#"{{"name":"Troupe","description":"Shouts","supportedInterfaces":[{{"url":"{base}","protocolBinding":"JSONRPC","protocolVersion":"1.0"}}],"version":"1.0.0","capabilities":{{"streaming":true}},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[]}}"#
    )
}

async fn remote(answers: impl Fn(&str) -> Response + Send + Sync + 'static) -> (A2aClient, Remote) {
    let remote = Remote { answers: Arc::new(answers), asked: Arc::default() };
    let state = remote.clone();
    let url = serve(|base| {
        let card = card(base);
        let well_known = get(|| async move { card });
        Router::new()
            .route("/", post(answer))
            .route("/.well-known/agent-card.json", well_known)
            .with_state(state)
    })
    .await;
    let egress = Egress::default().trusting(&url);
    let client = A2aClient::resolve(&egress, &url, Some(Token::new("secret"))).await.unwrap();
    (client, remote)
}

fn json(text: &'static str) -> Response {
    ([("content-type", "application/json")], text).into_response()
}

fn events(text: impl Into<Body>) -> Response {
    ([("content-type", "text/event-stream; charset=utf-8")], text.into()).into_response()
}

fn hello() -> Message {
    Message::text("m1".parse().unwrap(), Role::User, "hello there")
}

#[tokio::test]
async fn requests_are_those_of_the_golden_file() {
    let (client, remote) = remote(|method| match method {
        "SendMessage" => json(TASK),
        "GetTask" | "CancelTask" => json(BARE_TASK),
        _ => events(format!("{STREAM}{LAST}")),
    })
    .await;
    let trace = HeaderValue::from_static("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    let headers = HeaderMap::from_iter([(HeaderName::from_static("traceparent"), trace)]);
    client
        .send(
            &hello(),
            SendOptions { return_immediately: true, history_length: Some(0), headers, timeout: None },
        )
        .await
        .unwrap();
    let mut further = hello();
    further.context_id = Some("c1".parse().unwrap());
    further.task_id = Some("t1".into());
    client.stream(&further, &SendOptions::default()).try_collect::<Vec<_>>().await.unwrap();
    client.get_task("t1", Some(0)).await.unwrap();
    client.cancel_task("t1").await.unwrap();
    client.subscribe("t1").try_collect::<Vec<_>>().await.unwrap();

    let shown = ["accept", "cache-control", "a2a-version", "authorization", "content-type", "traceparent"];
    let mut requests = Vec::new();
    for (headers, body) in remote.asked.lock().unwrap().iter() {
        let method = body.split('"').nth(11).unwrap();
        let mut lines = vec![method.to_owned()];
        for name in shown {
            lines.extend(headers.get(name).map(|value| format!("{name}: {}", value.to_str().unwrap())));
        }
        lines.push(format!("{body}\n"));
        requests.push(lines.join("\n"));
    }
    assert_eq!(requests.join("\n"), include_str!("../golden/requests.txt"));
}

#[tokio::test]
async fn a_reply_is_a_task_or_a_message() {
    let (client, _) = remote(|_| json(TASK)).await;
    let Reply::Task(task) = client.send(&hello(), SendOptions::default()).await.unwrap() else {
        panic!("a task")
    };
    assert_eq!((task.status.state, task.artifacts[0].parts.len()), (TaskState::Completed, 2));
    let words = r#"{"result":{"message":{"messageId":"71258686","role":"ROLE_AGENT","parts":[{"text":"REPLY HI"}]}},"id":1,"jsonrpc":"2.0"}"#;
    let (client, _) = remote(move |_| json(words)).await;
    let Reply::Message(message) = client.send(&hello(), SendOptions::default()).await.unwrap() else {
        panic!("words")
    };
    assert_eq!(message.plain_text(), "REPLY HI");
}

#[tokio::test]
async fn a_stream_gives_its_items_in_order_and_ends_with_the_task() {
    // The server never closes: the client knows by itself that nothing follows.
    let (client, _) = remote(|_| {
        let open = futures::stream::iter([format!("{STREAM}{LAST}")]).chain(futures::stream::pending());
        events(Body::from_stream(open.map(Ok::<_, std::convert::Infallible>)))
    })
    .await;
    let items: Vec<StreamItem> =
        client.stream(&hello(), &SendOptions::default()).try_collect().await.unwrap();
    assert_eq!(items.len(), 5);
    assert!(matches!(&items[0], StreamItem::Task(task) if task.id == "7ae1"));
    assert!(matches!(items[3], StreamItem::Artifact { append: true, last_chunk: true, .. }));
    assert_eq!(items[4].state(), Some(TaskState::Completed));
}

#[tokio::test]
async fn a_stream_that_ends_early_is_an_error() {
    let (client, _) = remote(|_| events(STREAM)).await;
    let items: Vec<_> = client.stream(&hello(), &SendOptions::default()).collect().await;
    assert_eq!(items.len(), 5);
    assert!(matches!(items[4], Err(ClientError::Cut { .. })), "{:?}", items[4]);
}

#[tokio::test]
async fn an_error_instead_of_a_stream_is_told_in_its_own_words() {
    let plain = r#"{"error":{"code":-32001,"message":"Task x not found","data":[]},"id":8,"jsonrpc":"2.0"}"#;
    let (client, _) = remote(move |_| json(plain)).await;
    let items: Vec<_> = client.stream(&hello(), &SendOptions::default()).collect().await;
    let [Err(error)] = &items[..] else { panic!("{items:?}") };
    assert!(error.is_unknown_task(), "{error}");
    let (client, _) = remote(move |_| events(format!("event: error\ndata: {plain}\n\n"))).await;
    let items: Vec<_> = client.subscribe("x").collect().await;
    assert!(matches!(&items[..], [Err(error)] if error.is_unknown_task()), "{items:?}");
}

#[tokio::test]
async fn hostile_streams_end_with_an_error() {
    let small = A2aLimits {
        max_event: 1_000,
        max_stream: 5_000,
        idle_timeout: Duration::from_millis(200),
        ..A2aLimits::default()
    };
    let endless = || futures::stream::repeat(Ok::<_, std::convert::Infallible>("data: x\n"));
    let (client, _) = remote(move |_| events(Body::from_stream(endless()))).await;
    let items: Vec<_> = client.with_limits(small).stream(&hello(), &SendOptions::default()).collect().await;
    assert!(matches!(items[..], [Err(ClientError::TooLarge(_))]), "{items:?}");

    let pings = || futures::stream::repeat(Ok::<_, std::convert::Infallible>(": ping\n\n"));
    let (client, _) = remote(move |_| events(Body::from_stream(pings()))).await;
    let items: Vec<_> = client.with_limits(small).stream(&hello(), &SendOptions::default()).collect().await;
    assert!(matches!(items[..], [Err(ClientError::TooLarge(_))]), "{items:?}");

    let silent = || futures::stream::pending::<Result<String, std::convert::Infallible>>();
    let (client, _) = remote(move |_| events(Body::from_stream(silent()))).await;
    let items: Vec<_> = client.with_limits(small).stream(&hello(), &SendOptions::default()).collect().await;
    assert!(matches!(items[..], [Err(ClientError::TimedOut(_))]), "{items:?}");

    let (client, _) = remote(|_| events("data: {\"result\":{\"task\":7}}\n\ndata: more\n\n")).await;
    let items: Vec<_> = client.stream(&hello(), &SendOptions::default()).collect().await;
    assert!(matches!(items[..], [Err(ClientError::BadAnswer { .. })]), "{items:?}");
}

async fn resolve(card: String) -> ClientError {
    let url =
        serve(|_| Router::new().route("/.well-known/agent-card.json", get(|| async move { card }))).await;
    A2aClient::resolve(&Egress::default().trusting(&url), &url, None).await.unwrap_err()
}

#[tokio::test]
async fn bad_cards_are_refused_with_a_clear_word() {
    assert!(resolve("<html>".into()).await.to_string().contains("not JSON"));
    assert!(resolve("[]".into()).await.to_string().contains("no agent card"));
    assert!(resolve("[".repeat(10_000)).await.to_string().contains("nests deeper"));
    assert!(matches!(resolve(" ".repeat(2 << 20)).await, ClientError::TooLarge(_)));
    assert!(
        resolve(r#"{"name":"n","description":"d","version":"1"}"#.into())
            .await
            .to_string()
            .contains("offers no interface")
    );
    let inside = resolve(card("http://127.0.0.1:1/")).await;
    assert!(
        matches!(inside, ClientError::Egress(EgressError::Private { .. })),
        "a card cannot lead inside: {inside}"
    );
    let url = serve(|_| Router::new()).await;
    let nothing = A2aClient::resolve(&Egress::default().trusting(&url), &url, None).await.unwrap_err();
    assert!(nothing.to_string().contains("there is no agent card at"), "{nothing}");
}
