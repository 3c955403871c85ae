//! Stories of calling an agent by HTTP+JSON, by JSON-RPC of A2A 0.3, and of going from one interface to the
//! next.
//!
//! What we send by HTTP+JSON is compared with `golden/rest_requests.txt`.

use std::time::Duration;

use agentsite_client::{
    A2aLimits, Binding, Circuits, ClientError, ListTasks, Reply, SendOptions, StreamItem,
};
use agentsite_protocol::PushConfig;
use agentsite_protocol::{Message, Rng, Role, TaskState};
use axum::body::Body;
use axum::response::Response;
use futures::{StreamExt, TryStreamExt};

use crate::remote::{ReceivedRequest, Remote, card, typed};

const TASK: &str = r#"{"id":"t1","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}"#;
const WORKING: &str = "data: {\"task\": {\"id\": \"t1\", \"contextId\": \"c\", \"status\": {\"state\": \"TASK_STATE_WORKING\"}}}\r\n\r\n";
const LAST: &str = "data: {\"statusUpdate\": {\"taskId\": \"t1\", \"status\": {\"state\": \"TASK_STATE_COMPLETED\"}}}\r\n\r\n";

fn hello() -> Message {
    Message::text("m1".parse().unwrap(), Role::User, "hello there")
}

fn json(body: impl Into<Body>) -> Response {
    typed("application/json", body)
}

fn events(body: impl Into<Body>) -> Response {
    typed("text/event-stream", body)
}

fn status(status: u16, body: &'static str) -> Response {
    let mut response = json(body);
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap();
    response
}

fn by_rest(base: &str) -> String {
    card(&[(&format!("{base}v1/"), "HTTP+JSON")])
}

fn everything(asked: &ReceivedRequest) -> Response {
    match asked.line.split(' ').nth(1).unwrap() {
        "/v1/message:send" => json(format!("{{\"task\":{TASK}}}")),
        "/v1/message:stream" | "/v1/tasks/t1:subscribe" => events(format!("{WORKING}{LAST}")),
        path if path.contains("pushNotificationConfigs") && asked.line.starts_with("DELETE") => json(""),
        path if path.ends_with("pushNotificationConfigs") && asked.line.starts_with("GET") => {
            json(r#"{"configs":[{"id":"p","taskId":"t1","url":"https://h/"}]}"#)
        }
        path if path.contains("pushNotificationConfigs") => {
            json(r#"{"id":"p","taskId":"t1","url":"https://h/"}"#)
        }
        path if path.starts_with("/v1/tasks?") => {
            json(format!(r#"{{"tasks":[{TASK}],"nextPageToken":"n","totalSize":9}}"#))
        }
        "/v1/extendedAgentCard" => json(card(&[])),
        _ => json(TASK),
    }
}

#[tokio::test]
async fn every_operation_has_its_address() {
    let remote = Remote::start(by_rest, everything).await;
    let client = remote.client().await;
    let options =
        || SendOptions { return_immediately: true, history_length: Some(0), ..SendOptions::default() };
    assert!(matches!(client.send(&hello(), options()).await.unwrap(), Reply::Task(task) if task.id == "t1"));
    let items: Vec<StreamItem> = client.stream(&hello(), &options()).try_collect().await.unwrap();
    assert_eq!(items.len(), 2);
    assert_eq!(client.get_task("t1", Some(3)).await.unwrap().status.state, TaskState::Completed);
    let wanted = ListTasks { page_size: Some(5), status: Some(TaskState::Working), ..ListTasks::default() };
    let page = client.list_tasks(&wanted).await.unwrap();
    assert_eq!((page.tasks.len(), page.next_page_token.as_str(), page.total_size), (1, "n", 9));
    client.cancel_task("t1").await.unwrap();
    assert_eq!(client.subscribe("t1").try_collect::<Vec<_>>().await.unwrap().len(), 2);
    let config = PushConfig { task_id: "t1".into(), url: "https://h/".into(), ..PushConfig::default() };
    assert_eq!(client.create_push_config(&config).await.unwrap().id, "p");
    client.push_config("t1", "p").await.unwrap();
    assert_eq!(client.push_configs("t1").await.unwrap().len(), 1);
    client.delete_push_config("t1", "p").await.unwrap();
    assert_eq!(client.extended_card().await.unwrap().name, "Troupe");

    let lines: Vec<String> = remote
        .asked()
        .iter()
        .map(|asked| format!("{} {}", asked.line, String::from_utf8_lossy(&asked.body)).trim().to_owned())
        .collect();
    assert_eq!(lines.join("\n") + "\n", include_str!("../golden/rest_requests.txt"));
    assert!(remote.asked().iter().all(|asked| {
        asked.headers["a2a-version"] == "1.0" && asked.headers["authorization"] == "Bearer secret"
    }));
}

#[tokio::test]
async fn refusals_are_told_in_the_agents_own_words() {
    let body = r#"{"error":{"code":404,"status":"NOT_FOUND","message":"Task t1 was not found","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}"#;
    let remote = Remote::start(by_rest, move |_| status(404, body)).await;
    let error = remote.client().await.get_task("t1", None).await.unwrap_err();
    assert!(error.is_unknown_task() && error.to_string() == "Task t1 was not found", "{error}");
    let remote =
        Remote::start(by_rest, move |_| events(format!("{WORKING}event: error\ndata: {body}\n\n"))).await;
    let items: Vec<_> = remote.client().await.subscribe("t1").collect().await;
    assert!(matches!(&items[..], [Ok(_), Err(error)] if error.is_unknown_task()), "{items:?}");
}

#[tokio::test]
async fn hostile_answers_end_with_an_error() {
    let small = A2aLimits {
        max_answer: 1_000,
        max_event: 1_000,
        max_stream: 5_000,
        idle_timeout: Duration::from_millis(200),
        ..A2aLimits::default()
    };
    let endless = || futures::stream::repeat(Ok::<_, std::convert::Infallible>("data: x\n"));
    let remote = Remote::start(by_rest, move |_| events(Body::from_stream(endless()))).await;
    let client = remote.client().await.with_limits(small);
    let items: Vec<_> = client.stream(&hello(), &SendOptions::default()).collect().await;
    assert!(matches!(items[..], [Err(ClientError::TooLarge(_))]), "{items:?}");
    let error = client.get_task("t1", None).await.unwrap_err();
    assert!(matches!(error, ClientError::TooLarge(_)), "{error}");

    let remote = Remote::start(by_rest, |_| typed("text/html", "<html>sign in</html>")).await;
    let client = remote.client().await;
    let items: Vec<_> = client.stream(&hello(), &SendOptions::default()).collect().await;
    assert!(matches!(items[..], [Err(ClientError::BadAnswer { .. })]), "{items:?}");
    let error = client.send(&hello(), SendOptions::default()).await.unwrap_err();
    assert!(matches!(error, ClientError::BadAnswer { .. }), "{error}");

    let remote = Remote::start(by_rest, |_| events(WORKING)).await;
    let items: Vec<_> = remote.client().await.stream(&hello(), &SendOptions::default()).collect().await;
    assert!(matches!(items[..], [Ok(_), Err(ClientError::Cut { .. })]), "{items:?}");
}

#[tokio::test]
async fn a_numbered_stream_that_is_cut_goes_on_without_gap_or_repeat() {
    let piece = |number: u32| {
        format!(
            "id: {number}\ndata: {{\"artifactUpdate\":{{\"taskId\":\"t1\",\"artifact\":{{\"artifactId\":\"a\",\"parts\":[{{\"text\":\"{number}\"}}]}}}}}}\n\n"
        )
    };
    let first = format!("id: 1\n{WORKING}");
    let remote = Remote::start(by_rest, move |asked| {
        let seen = asked.headers.get("last-event-id").map(|id| id.to_str().unwrap().to_owned());
        events(match seen.as_deref() {
            None => format!("{first}{}", piece(2)),
            Some("2") => piece(3),
            Some("3") => String::new(),
            Some(other) => panic!("{other}"),
        })
    })
    .await;
    let items: Vec<_> = remote.client().await.stream(&hello(), &SendOptions::default()).collect().await;
    let told: Vec<String> = items
        .iter()
        .filter_map(|item| match item {
            Ok(StreamItem::Artifact { artifact, .. }) => Some(artifact.plain_text()),
            _ => None,
        })
        .collect();
    assert_eq!(told, ["2", "3"]);
    assert!(matches!(items.last(), Some(Err(ClientError::Cut { .. }))), "it is not followed for ever");
}

#[tokio::test]
async fn an_agent_of_the_older_version_is_called_in_its_own_words() {
    let old = |base: &str| {
        format!(
            r#"{{"name":"Old","description":"d","version":"1","url":"{base}","preferredTransport":"JSONRPC","protocolVersion":"0.3.0","capabilities":{{"streaming":true}},"skills":[]}}"#
        )
    };
    let remote = Remote::start(old, |asked| {
        let task = r#"{"kind":"task","id":"t1","contextId":"c","status":{"state":"working"}}"#;
        let done = r#"{"kind":"status-update","taskId":"t1","contextId":"c","final":true,"status":{"state":"completed"}}"#;
        let body = String::from_utf8_lossy(&asked.body).into_owned();
        let wrapped = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":"1","result":{result}}}"#);
        if body.contains("message/stream") {
            return events(format!("data: {}\n\ndata: {}\n\n", wrapped(task), wrapped(done)));
        }
        json(wrapped(task))
    })
    .await;
    let client = remote.client().await;
    let items: Vec<StreamItem> =
        client.stream(&hello(), &SendOptions::default()).try_collect().await.unwrap();
    assert_eq!(items.last().unwrap().state(), Some(TaskState::Completed));
    assert_eq!(client.get_task("t1", None).await.unwrap().status.state, TaskState::Working);
    let unknown = client.list_tasks(&ListTasks::default()).await.unwrap_err();
    assert!(unknown.to_string().contains("A2A 0.3"), "{unknown}");
    let bodies: Vec<String> =
        remote.asked().iter().map(|asked| String::from_utf8_lossy(&asked.body).into_owned()).collect();
    assert!(
        bodies[0].contains(r#""method":"message/stream""#) && bodies[0].contains(r#""kind":"text""#),
        "{bodies:?}"
    );
    assert!(bodies[1].contains(r#""method":"tasks/get""#), "{bodies:?}");
}

#[tokio::test]
async fn a_message_goes_to_the_next_interface_only_when_it_surely_did_not_arrive() {
    let both = |base: &str| {
        let (first, second) = (format!("{base}first"), format!("{base}v1"));
        card(&[("http://127.0.0.1:9/", "JSONRPC"), (&first, "HTTP+JSON"), (&second, "HTTP+JSON")])
    };
    for (first, arrives) in [(503, true), (502, false), (504, false), (500, false)] {
        let remote = Remote::start(both, move |asked| {
            if asked.line.contains("/first/") { status(first, "{}") } else { everything(asked) }
        })
        .await;
        let egress = agentsite_client::Egress::unguarded();
        let client = agentsite_client::A2aClient::resolve(&egress, &remote.url, None).await.unwrap();
        let sent = client.send(&hello(), SendOptions::default()).await;
        assert_eq!(sent.is_ok(), arrives, "{first}: {sent:?}");
        let followed: Vec<_> = client.stream(&hello(), &SendOptions::default()).collect().await;
        assert_eq!(followed.last().unwrap().is_ok(), arrives, "{first}: {followed:?}");
        // A question does no harm when it is asked twice.
        assert_eq!(client.get_task("t1", None).await.is_ok(), first != 500, "{first}");
    }
}

#[derive(Debug)]
struct Always;

impl Rng for Always {
    fn fill(&self, buffer: &mut [u8]) {
        buffer.fill(0xff);
    }
}

#[tokio::test]
async fn an_endpoint_that_fails_is_left_alone_for_all_clients_that_share_it() {
    let remote = Remote::start(by_rest, |_| status(503, "")).await;
    let circuits = Circuits::new(std::sync::Arc::new(Always));
    let one = remote.client().await.with_circuits(circuits.clone());
    let other = remote.client().await.with_circuits(circuits.clone());
    for _ in 0..3 {
        assert_eq!(one.resting(), None);
        one.get_task("t1", None).await.unwrap_err();
    }
    let refused = other.get_task("t1", None).await.unwrap_err();
    assert!(matches!(refused, ClientError::Resting { .. }) && refused.may_pass(), "{refused}");
    assert!(other.resting().unwrap().contains("503"));
    assert_eq!((remote.asked().len(), circuits.open_now()), (3, 1), "nothing more was sent");
}

#[tokio::test]
async fn a_binding_can_be_chosen_if_it_is_offered() {
    let remote = Remote::start(by_rest, everything).await;
    let client = remote.client().await;
    assert!(client.clone().only(Binding::Rest).is_ok());
    let refused = client.only(Binding::Grpc).unwrap_err();
    assert!(refused.to_string().contains("it offers HTTP+JSON 1.0"), "{refused}");
}

#[tokio::test]
async fn an_agent_that_takes_a_message_once_may_get_it_twice() {
    let both = |base: &str| {
        let (first, second) = (format!("{base}first"), format!("{base}v1"));
        let card = card(&[(&first, "HTTP+JSON"), (&second, "HTTP+JSON")]);
        let extension = format!(
            r#""streaming":true,"extensions":[{{"uri":"{}"}}]"#,
            agentsite_protocol::extension::SEND_ONCE
        );
        card.replace(r#""streaming":true"#, &extension)
    };
    let remote = Remote::start(both, |asked| {
        if asked.line.contains("/first/") { status(502, "{}") } else { everything(asked) }
    })
    .await;
    assert!(remote.client().await.send(&hello(), SendOptions::default()).await.is_ok());
    assert_eq!(remote.asked().len(), 2);
}
