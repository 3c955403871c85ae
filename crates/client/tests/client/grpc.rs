//! Stories of calling an agent by gRPC: what is sent, what comes back, and what hostile servers send.
//!
//! The server is a real one of HTTP/2; its frames are written by the test, so that they can be wrong.

use std::time::Duration;

use agentsite_client::{A2aLimits, ClientError, ListTasks, Reply, SendOptions, StreamItem};
use agentsite_protocol::PushConfig;
use agentsite_protocol::{Message, Role, TaskState, proto};
use axum::body::{Body, Bytes};
use axum::response::Response;
use futures::{StreamExt, TryStreamExt, stream};
use http::{HeaderMap, HeaderValue};
use http_body_util::StreamBody;
use prost::Message as _;

use crate::remote::{ReceivedRequest, Remote, card};

type Frame = http_body::Frame<Bytes>;

fn hello() -> Message {
    Message::text("m1".parse().unwrap(), Role::User, "hello there")
}

fn by_grpc(base: &str) -> String {
    card(&[(base.trim_start_matches("http://").trim_end_matches('/'), "GRPC")])
}

fn framed(message: &impl prost::Message) -> Bytes {
    let body = message.encode_to_vec();
    let mut whole = vec![0];
    whole.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
    whole.extend(body);
    whole.into()
}

fn trailers(pairs: &[(&'static str, &str)]) -> Frame {
    let mut trailers = HeaderMap::new();
    for (name, value) in pairs {
        trailers.insert(*name, HeaderValue::from_str(value).unwrap());
    }
    Frame::trailers(trailers)
}

/// An answer of these frames.
fn answer(frames: Vec<Frame>) -> Response {
    let frames = stream::iter(frames.into_iter().map(Ok::<_, std::convert::Infallible>));
    typed("application/grpc", Body::new(StreamBody::new(frames)))
}

fn typed(media: &'static str, body: Body) -> Response {
    Response::builder().header("content-type", media).body(body).unwrap()
}

/// A success with one message.
fn one(message: &impl prost::Message) -> Response {
    answer(vec![Frame::data(framed(message)), trailers(&[("grpc-status", "0")])])
}

fn task(state: proto::TaskState) -> proto::Task {
    let status = proto::TaskStatus { state: state.into(), ..Default::default() };
    proto::Task { id: "t1".into(), context_id: "c".into(), status: Some(status), ..Default::default() }
}

fn item(state: proto::TaskState) -> Frame {
    let payload = Some(proto::StreamItem::Task(task(state)));
    Frame::data(framed(&proto::StreamResponse { payload }))
}

fn everything(asked: &ReceivedRequest) -> Response {
    let push = || proto::TaskPushNotificationConfig {
        id: "p".into(),
        url: "https://h/".into(),
        ..Default::default()
    };
    match asked.line.rsplit('/').next().unwrap() {
        "SendMessage" => {
            let payload = Some(proto::SendPayload::Task(task(proto::TaskState::Completed)));
            one(&proto::SendMessageResponse { payload })
        }
        "SendStreamingMessage" | "SubscribeToTask" => answer(vec![
            item(proto::TaskState::Working),
            item(proto::TaskState::Completed),
            trailers(&[("grpc-status", "0")]),
        ]),
        "ListTasks" => {
            let tasks = vec![task(proto::TaskState::Working)];
            one(&proto::ListTasksResponse { tasks, total_size: 1, ..Default::default() })
        }
        "ListTaskPushNotificationConfigs" => one(&proto::ListTaskPushNotificationConfigsResponse {
            configs: vec![push()],
            ..Default::default()
        }),
        "DeleteTaskPushNotificationConfig" => one(&()),
        name if name.contains("Push") => one(&push()),
        "GetExtendedAgentCard" => one(&proto::AgentCard { name: "Troupe".into(), ..Default::default() }),
        _ => one(&task(proto::TaskState::Canceled)),
    }
}

#[tokio::test]
async fn every_operation_is_a_method_of_the_service() {
    let remote = Remote::start(by_grpc, everything).await;
    let client = remote.client().await;
    let reply = client.send(&hello(), SendOptions::default()).await.unwrap();
    assert!(matches!(reply, Reply::Task(task) if task.status.state == TaskState::Completed));
    let items: Vec<StreamItem> =
        client.stream(&hello(), &SendOptions::default()).try_collect().await.unwrap();
    assert_eq!(
        items.iter().map(StreamItem::state).collect::<Vec<_>>(),
        [Some(TaskState::Working), Some(TaskState::Completed)]
    );
    assert_eq!(client.get_task("t1", Some(0)).await.unwrap().id, "t1");
    assert_eq!(client.cancel_task("t1").await.unwrap().status.state, TaskState::Canceled);
    assert_eq!(client.list_tasks(&ListTasks::default()).await.unwrap().tasks.len(), 1);
    assert_eq!(client.subscribe("t1").try_collect::<Vec<_>>().await.unwrap().len(), 2);
    let config = PushConfig { task_id: "t1".into(), url: "https://h/".into(), ..PushConfig::default() };
    assert_eq!(client.create_push_config(&config).await.unwrap().id, "p");
    assert_eq!(client.push_config("t1", "p").await.unwrap().url, "https://h/");
    assert_eq!(client.push_configs("t1").await.unwrap().len(), 1);
    client.delete_push_config("t1", "p").await.unwrap();
    assert_eq!(client.extended_card().await.unwrap().name, "Troupe");

    let asked = remote.asked();
    assert_eq!(asked[0].line, "POST /lf.a2a.v1.A2AService/SendMessage");
    assert!(asked.iter().all(|asked| {
        let header = |name: &str| asked.headers.get(name).unwrap().to_str().unwrap().to_owned();
        header("content-type") == "application/grpc"
            && header("te") == "trailers"
            && header("a2a-version") == "1.0"
            && header("authorization") == "Bearer secret"
    }));
    let sent = proto::SendMessageRequest::decode(&asked[0].body[5..]).unwrap();
    assert_eq!(sent.message.unwrap().message_id, "m1");
}

async fn told(
    answers: impl Fn(&ReceivedRequest) -> Response + Send + Sync + 'static,
) -> (ClientError, ClientError) {
    let limits = A2aLimits {
        max_answer: 1_000,
        max_event: 1_000,
        max_stream: 5_000,
        call_timeout: Duration::from_secs(5),
        idle_timeout: Duration::from_millis(300),
    };
    let client = Remote::start(by_grpc, answers).await.client().await.with_limits(limits);
    let plain = client.get_task("t1", None).await.unwrap_err();
    let items: Vec<_> = client.subscribe("t1").collect().await;
    let last = items.into_iter().last().unwrap().unwrap_err();
    (plain, last)
}

#[tokio::test]
async fn refusals_are_told_in_the_agents_own_words() {
    let ends =
        |code: &'static str| answer(vec![trailers(&[("grpc-status", code), ("grpc-message", "no%20way")])]);
    let (plain, stream) = told(move |_| ends("5")).await;
    assert!(plain.is_unknown_task() && stream.is_unknown_task(), "{plain} {stream}");
    assert_eq!(plain.to_string(), "no way");
    // A refusal may also be the head alone.
    let (plain, stream) = told(|_| {
        let mut response = typed("application/grpc", Body::empty());
        response.headers_mut().insert("grpc-status", HeaderValue::from_static("16"));
        response
    })
    .await;
    assert!(
        matches!((&plain, &stream), (ClientError::Status { status: 401, .. }, ClientError::Status { .. })),
        "{plain}"
    );
}

#[tokio::test]
async fn hostile_answers_end_with_an_error() {
    let (plain, stream) =
        told(|_| answer(vec![Frame::data(Bytes::from_static(&[0, 0xff, 0xff, 0xff, 0xff, 1]))])).await;
    assert!(
        matches!((&plain, &stream), (ClientError::TooLarge(_), ClientError::TooLarge(_))),
        "{plain} {stream}"
    );
    let (plain, _) = told(|_| answer(vec![Frame::data(Bytes::from_static(&[1, 0, 0, 0, 1, 1]))])).await;
    assert!(plain.to_string().contains("compressed"), "{plain}");
    let (plain, stream) = told(|_| typed("text/html", Body::from("<html>"))).await;
    assert!(
        plain.to_string().contains("not gRPC") && stream.to_string().contains("not gRPC"),
        "{plain} {stream}"
    );
    let (plain, stream) = told(|_| answer(vec![item(proto::TaskState::Working)])).await;
    assert!(
        matches!((&plain, &stream), (ClientError::Cut { .. }, ClientError::Cut { .. })),
        "{plain} {stream}"
    );
    let (plain, stream) = told(|_| answer(vec![trailers(&[("grpc-status", "many")])])).await;
    assert!(
        matches!((&plain, &stream), (ClientError::BadAnswer { .. }, ClientError::BadAnswer { .. })),
        "{plain}"
    );
    let garbage = || Frame::data(Bytes::from_static(&[0, 0, 0, 0, 3, 0xff, 0xff, 0xff]));
    let (plain, stream) = told(move |_| answer(vec![garbage(), trailers(&[("grpc-status", "0")])])).await;
    assert!(
        matches!((&plain, &stream), (ClientError::BadAnswer { .. }, ClientError::BadAnswer { .. })),
        "{plain}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_or_silent_stream_is_ended() {
    let endless = || {
        let wide = proto::Task { context_id: "c".repeat(600), ..task(proto::TaskState::Working) };
        let frame = framed(&proto::StreamResponse { payload: Some(proto::StreamItem::Task(wide)) });
        let frames =
            stream::repeat_with(move || Ok::<_, std::convert::Infallible>(Frame::data(frame.clone())));
        typed("application/grpc", Body::new(StreamBody::new(frames)))
    };
    let (plain, stream) = told(move |_| endless()).await;
    assert!(matches!(stream, ClientError::TooLarge(_)), "{stream}");
    assert!(matches!(plain, ClientError::TooLarge(_)), "{plain}");
    let silent = || {
        let frames = stream::pending::<Result<Frame, std::convert::Infallible>>();
        typed("application/grpc", Body::new(StreamBody::new(frames)))
    };
    let (plain, stream) = told(move |_| silent()).await;
    assert!(
        matches!((&plain, &stream), (ClientError::TimedOut(_), ClientError::TimedOut(_))),
        "{plain} {stream}"
    );
}
