//! What gRPC callers are told when something is wrong: the code, the reason and the fields; and hostile
//! bytes, which hurt nobody.
//!
//! The whole table of errors is held against a golden file where it is written; here is that the wire carries
//! it.

use std::time::Duration;

use agentsite_gateway::{GatewaySettings, HttpLimits, Rate, Rates};
use agentsite_protocol::proto::{self, BadRequest, ErrorInfo, RetryInfo};
use prost::Message as _;
use reqwest::{Response, StatusCode};
use tonic::{Code, Status};

use super::{Grpc, get_task, message, task};
use crate::story::Story;

/// What stands in the details of a status.
struct Told {
    info: ErrorInfo,
    fields: Vec<String>,
    retry: Option<Duration>,
}

fn told(status: &Status) -> Told {
    let details = proto::Status::decode(status.details()).unwrap();
    assert_eq!((details.code, details.message.as_str()), (status.code() as i32, status.message()));
    let mut told = Told { info: ErrorInfo::default(), fields: Vec::new(), retry: None };
    for any in details.details {
        match any.type_url.as_str() {
            "type.googleapis.com/google.rpc.ErrorInfo" => {
                told.info = ErrorInfo::decode(any.value.as_slice()).unwrap();
            }
            "type.googleapis.com/google.rpc.BadRequest" => {
                let wrong = BadRequest::decode(any.value.as_slice()).unwrap().field_violations;
                told.fields = wrong.into_iter().map(|wrong| wrong.field).collect();
            }
            "type.googleapis.com/google.rpc.RetryInfo" => {
                let wait = RetryInfo::decode(any.value.as_slice()).unwrap().retry_delay.unwrap();
                told.retry = Some(wait.try_into().unwrap());
            }
            other => panic!("{other}"),
        }
    }
    told
}

#[tokio::test]
async fn each_refusal_has_its_code_and_its_reason() {
    let story = Story::begin().await;
    let grpc = Grpc::to(&story).await;
    let done = task(grpc.send("echo", "hi").await.unwrap()).id;
    let follow = |id: &str| proto::SubscribeToTaskRequest { tenant: "echo".into(), id: id.into() };
    let cancel = proto::CancelTaskRequest { tenant: "echo".into(), id: done.clone(), metadata: None };
    let mut more = message("echo", "more");
    more.message.as_mut().unwrap().task_id = done.clone();
    let old = grpc.saying("a2a-version", "0.3");
    let cases = [
        (grpc.ask::<_, ()>("GetTask", get_task("echo", "x")).await, Code::NotFound, "TASK_NOT_FOUND"),
        (grpc.ask("GetTask", get_task("nobody", "x")).await, Code::NotFound, "TASK_NOT_FOUND"),
        (grpc.ask("SendMessage", message("nobody", "x")).await, Code::NotFound, "AGENT_NOT_FOUND"),
        (grpc.ask("SendMessage", message("No/body", "x")).await, Code::NotFound, "AGENT_NOT_FOUND"),
        (grpc.ask("CancelTask", cancel).await, Code::FailedPrecondition, "TASK_NOT_CANCELABLE"),
        (grpc.ask("SubscribeToTask", follow(&done)).await, Code::FailedPrecondition, "UNSUPPORTED_OPERATION"),
        (grpc.ask("SendMessage", more).await, Code::FailedPrecondition, "UNSUPPORTED_OPERATION"),
        (grpc.ask("GetTask", get_task("echo", "")).await, Code::InvalidArgument, "INVALID_PARAMS"),
        (
            old.ask("GetTask", get_task("echo", &done)).await,
            Code::FailedPrecondition,
            "VERSION_NOT_SUPPORTED",
        ),
    ];
    for (at, (answer, code, reason)) in cases.into_iter().enumerate() {
        let status = answer.unwrap_err();
        assert_eq!(status.code(), code, "{at} {status:?}");
        let info = told(&status).info;
        let ours = reason == "AGENT_NOT_FOUND";
        let domain = if ours { "agentsite" } else { "a2a-protocol.org" };
        assert_eq!((info.reason.as_str(), info.domain.as_str()), (reason, domain), "{at} {status:?}");
    }
    // Who says no version has said it by the path.
    let silent = Grpc { metadata: Vec::new(), ..grpc };
    assert!(silent.send("echo", "hi").await.is_ok());
}

#[tokio::test]
async fn what_is_not_offered_is_refused_by_its_own_reason() {
    let story = crate::push::without_push().await;
    let grpc = Grpc::to(&story).await;
    let tenant = || "echo".to_owned();
    let push = "PUSH_NOTIFICATION_NOT_SUPPORTED";
    let mut wants_push = message("echo", "x");
    wants_push.configuration = Some(proto::SendMessageConfiguration {
        task_push_notification_config: Some(proto::TaskPushNotificationConfig::default()),
        ..Default::default()
    });
    let create = proto::TaskPushNotificationConfig { tenant: tenant(), ..Default::default() };
    let get = proto::GetTaskPushNotificationConfigRequest { tenant: tenant(), ..Default::default() };
    let list = proto::ListTaskPushNotificationConfigsRequest { tenant: tenant(), ..Default::default() };
    let delete = proto::DeleteTaskPushNotificationConfigRequest { tenant: tenant(), ..Default::default() };
    for answer in [
        grpc.ask::<_, ()>("SendMessage", wants_push).await,
        grpc.ask("CreateTaskPushNotificationConfig", create).await,
        grpc.ask("GetTaskPushNotificationConfig", get).await,
        grpc.ask("ListTaskPushNotificationConfigs", list).await,
        grpc.ask("DeleteTaskPushNotificationConfig", delete).await,
    ] {
        let status = answer.unwrap_err();
        assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
        assert_eq!(told(&status).info.reason, push);
    }
    let unknown = grpc.ask::<(), ()>("Sing", ()).await.unwrap_err();
    assert_eq!(unknown.code(), Code::Unimplemented);
    assert!(unknown.message().contains("SubscribeToTask"), "{unknown:?}");
}

#[tokio::test]
async fn fields_that_are_wrong_are_named_all_at_once() {
    let story = Story::begin().await;
    let grpc = Grpc::to(&story).await;
    let sent = |message| proto::SendMessageRequest { tenant: "echo".into(), message, ..Default::default() };
    let sound = message("echo", "x").message.unwrap();
    let long = proto::Message { message_id: "x".repeat(200), ..sound.clone() };
    let history = proto::SendMessageRequest {
        configuration: Some(proto::SendMessageConfiguration {
            history_length: Some(-1),
            ..Default::default()
        }),
        ..sent(Some(sound))
    };
    let list = |page_size, status| proto::ListTasksRequest { page_size, status, ..Default::default() };
    for (answer, fields) in [
        (grpc.ask::<_, ()>("SendMessage", sent(None)).await, &["message"][..]),
        (
            grpc.ask("SendMessage", sent(Some(proto::Message::default()))).await,
            &["message.messageId", "message.role", "message.parts"],
        ),
        (grpc.ask("SendMessage", sent(Some(long))).await, &["message.messageId"]),
        (grpc.ask("SendMessage", history).await, &["configuration.historyLength"]),
        (grpc.ask("GetTask", get_task("echo", "")).await, &["id"]),
        (grpc.ask("ListTasks", list(Some(0), 0)).await, &["pageSize"]),
        (grpc.ask("ListTasks", list(Some(101), 0)).await, &["pageSize"]),
        (grpc.ask("ListTasks", list(None, 99)).await, &["status"]),
    ] {
        let status = answer.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
        assert_eq!(told(&status).fields, fields, "{status:?}");
    }
}

#[tokio::test]
async fn who_asks_too_often_is_told_when_to_come_back() {
    let rates = Rates { admin: Rate { per_second: 1, burst: 1 }, ..Rates::default() };
    let story = Story::with(GatewaySettings { rates, ..GatewaySettings::default() }).await;
    let grpc = Grpc::to(&story).await;
    assert!(grpc.send("echo", "one").await.is_ok());
    let refused = grpc.send("echo", "two").await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    let told = told(&refused);
    assert_eq!(told.info.reason, "RATE_LIMITED");
    assert!(told.retry.unwrap() <= Duration::from_secs(1));
}

#[tokio::test]
async fn a_message_that_is_too_large_is_refused() {
    let limits = HttpLimits { body: 4096, ..HttpLimits::default() };
    let story = Story::with(GatewaySettings { limits, ..GatewaySettings::default() }).await;
    let grpc = Grpc::to(&story).await;
    let refused = grpc.send("echo", &"x".repeat(100_000)).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    assert_eq!(told(&refused).info.reason, "REQUEST_TOO_LARGE");
    assert!(grpc.send("echo", "still here").await.is_ok());
}

/// Bytes as no gRPC client would send them.
async fn raw(story: &Story, method: &str, media: &str, body: Vec<u8>) -> Response {
    let http2 = reqwest::Client::builder().http2_prior_knowledge().no_proxy().build().unwrap();
    let url = story.url(&format!("/{}/{method}", proto::SERVICE));
    http2.post(url).header("content-type", media).body(body).send().await.unwrap()
}

#[tokio::test]
async fn hostile_bytes_get_a_clear_status() {
    let story = Story::begin().await;
    let framed = |message: &[u8]| {
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        [&[0], &length[..], message].concat()
    };
    let deep = (0..20_000).fold(Vec::new(), |inner: Vec<u8>, _| {
        let mut outer = vec![0x12];
        prost::encoding::encode_varint(inner.len() as u64, &mut outer);
        [outer, inner].concat()
    });
    for (body, code) in [
        (Vec::new(), "3"),
        (b"\0\0\0".to_vec(), "3"),
        (b"\0\0\0\0\x09x".to_vec(), "3"),
        (b"\x01\0\0\0\x01x".to_vec(), "12"),
        (framed(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "3"),
        (framed(b"{\"message\":{}}"), "3"),
        (framed(&deep), "3"),
        ([framed(b""), framed(b"")].concat(), "3"),
        (framed(&[b"\x12\xc0\x9a\x0c", &b"\x2a\x00".repeat(100_000)[..]].concat()), "3"),
    ] {
        let name = format!("{:?}", &body[..body.len().min(12)]);
        let answer = raw(&story, "SendMessage", "application/grpc", body).await;
        assert_eq!(answer.status(), StatusCode::OK, "{name}");
        assert_eq!(answer.headers()["content-type"], "application/grpc");
        assert_eq!(answer.headers()["grpc-status"], code, "{name} {:?}", answer.headers());
    }
    for (method, media) in [("SendMessage", "application/json"), ("SendMessage", "application/grpc-web")] {
        let answer = raw(&story, method, media, b"{}".to_vec()).await;
        assert_eq!(answer.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    let path = format!("/{}/GetTask", proto::SERVICE);
    let old = story.post(&path).header("content-type", "application/grpc").body("").send().await.unwrap();
    assert_eq!(old.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE, "HTTP/1.1 has no place for a status");
    assert_eq!(story.get(&path).send().await.unwrap().status(), StatusCode::METHOD_NOT_ALLOWED);
    assert!(Grpc::to(&story).await.send("echo", "still here").await.is_ok());
}

#[tokio::test]
async fn calls_are_counted_by_their_outcome() {
    let story = Story::begin().await;
    let grpc = Grpc::to(&story).await;
    grpc.send("echo", "hi").await.unwrap();
    grpc.send("nobody", "hi").await.unwrap_err();
    let text = story.get("/metrics").send().await.unwrap().text().await.unwrap();
    assert!(text.contains(r#"http_requests_total{face="a2a",outcome="ok"} 1"#), "{text}");
    assert!(text.contains(r#"http_requests_total{face="a2a",outcome="refused"} 1"#), "{text}");
}
