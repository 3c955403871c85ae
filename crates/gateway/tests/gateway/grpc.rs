//! The gRPC binding, asked by tonic's client: every operation, the same as by JSON.
//!
//! The client's messages are the ones of the protocol crate; the official SDK, with messages of its own, is
//! in the end-to-end tests.

mod errors;
mod streams;

use std::str::FromStr;

use agentsite_gateway::{GatewaySettings, TlsSettings};
use agentsite_protocol::proto::{self, Content, SendPayload, to_json};
use serde_json::json;
use tonic::metadata::MetadataValue;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::story::{Story, says};

/// A caller by gRPC.
pub(crate) struct Grpc {
    channel: Channel,
    metadata: Vec<(&'static str, String)>,
}

impl Grpc {
    /// An admin.
    pub(crate) async fn to(story: &Story) -> Self {
        Self::guest_of(story).await.saying("authorization", format!("Bearer {}", story.admin))
    }

    /// A caller without a credential.
    pub(crate) async fn guest_of(story: &Story) -> Self {
        let channel = Endpoint::from_shared(story.url("")).unwrap().connect().await.unwrap();
        Self { channel, metadata: vec![("a2a-version", "1.0".into())] }
    }

    /// The same, who also says this with each call.
    pub(crate) fn saying(&self, name: &'static str, value: impl Into<String>) -> Self {
        let mut metadata = self.metadata.clone();
        metadata.retain(|(known, _)| *known != name);
        metadata.push((name, value.into()));
        Self { channel: self.channel.clone(), metadata }
    }

    fn request<M>(&self, message: M) -> Request<M> {
        let mut request = Request::new(message);
        for (name, value) in &self.metadata {
            request.metadata_mut().insert(*name, MetadataValue::from_str(value).unwrap());
        }
        request
    }

    fn path(method: &str) -> http::uri::PathAndQuery {
        format!("/{}/{method}", proto::SERVICE).parse().unwrap()
    }

    /// One message for one message.
    pub(crate) async fn ask<A, B>(&self, method: &str, message: A) -> Result<B, Status>
    where
        A: prost::Message + 'static,
        B: prost::Message + Default + 'static,
    {
        let mut grpc = tonic::client::Grpc::new(self.channel.clone());
        grpc.ready().await.unwrap();
        let answer = grpc.unary(self.request(message), Self::path(method), ProstCodec::<A, B>::new()).await;
        answer.map(tonic::Response::into_inner)
    }

    /// One message for a stream.
    pub(crate) async fn follow<A>(
        &self,
        method: &str,
        message: A,
    ) -> Result<Streaming<proto::StreamResponse>, Status>
    where
        A: prost::Message + 'static,
    {
        let mut grpc = tonic::client::Grpc::new(self.channel.clone());
        grpc.ready().await.unwrap();
        let codec = ProstCodec::<A, proto::StreamResponse>::new();
        let answer = grpc.server_streaming(self.request(message), Self::path(method), codec).await;
        answer.map(tonic::Response::into_inner)
    }

    /// The status of a call that must fail.
    pub(crate) async fn refused<A: prost::Message + 'static>(&self, method: &str, message: A) -> Status {
        self.ask::<A, ()>(method, message).await.unwrap_err()
    }

    /// Sends text to an agent and gives what it led to.
    pub(crate) async fn send(&self, agent: &str, text: &str) -> Result<SendPayload, Status> {
        let sent: proto::SendMessageResponse = self.ask("SendMessage", message(agent, text)).await?;
        Ok(sent.payload.unwrap())
    }

    /// Opens a task of `long` that stays at work, and gives its id.
    pub(crate) async fn long_task(&self) -> String {
        let mut request = message("long", "go on");
        request.configuration =
            Some(proto::SendMessageConfiguration { return_immediately: true, ..Default::default() });
        let sent: proto::SendMessageResponse = self.ask("SendMessage", request).await.unwrap();
        task(sent.payload.unwrap()).id
    }
}

/// A message with this text for an agent, or for the site itself.
pub(crate) fn message(agent: &str, text: &str) -> proto::SendMessageRequest {
    let noun: agentsite_protocol::Message = serde_json::from_value(says(text)["message"].clone()).unwrap();
    proto::SendMessageRequest {
        tenant: agent.into(),
        message: Some((&noun).try_into().unwrap()),
        ..Default::default()
    }
}

pub(crate) fn task(reply: SendPayload) -> proto::Task {
    match reply {
        SendPayload::Task(task) => task,
        SendPayload::Message(message) => panic!("a task, not {message:?}"),
    }
}

pub(crate) fn get_task(agent: &str, id: &str) -> proto::GetTaskRequest {
    proto::GetTaskRequest { tenant: agent.into(), id: id.into(), history_length: None }
}

#[tokio::test]
async fn a_message_becomes_a_task_that_is_read_and_told_as_by_json() {
    let story = Story::begin().await;
    let grpc = Grpc::to(&story).await;
    let sent = task(grpc.send("echo", "grüße 🦀").await.unwrap());
    assert_eq!(sent.status.as_ref().unwrap().state, i32::from(proto::TaskState::Completed));
    let text = &sent.artifacts[0].parts[0].content;
    assert_eq!(text, &Some(Content::Text("grüße 🦀".into())));
    let read: proto::Task = grpc.ask("GetTask", get_task("echo", &sent.id)).await.unwrap();
    assert_eq!(read, sent);
    let by_rpc = story.call("echo", "GetTask", json!({ "id": sent.id })).await;
    assert_eq!(to_json(&read).unwrap(), by_rpc["result"], "all bindings tell the same");
    let short = proto::GetTaskRequest { history_length: Some(0), ..get_task("echo", &sent.id) };
    let short: proto::Task = grpc.ask("GetTask", short).await.unwrap();
    assert!(short.history.is_empty());
    let SendPayload::Message(told) = grpc.send("parrot", "hi").await.unwrap() else { panic!("a message") };
    assert_eq!((told.role, told.parts.len()), (i32::from(proto::Role::Agent), 1));
}

#[tokio::test]
async fn all_kinds_of_parts_go_in_and_come_back() {
    let story = Story::begin().await;
    let grpc = Grpc::to(&story).await;
    let noun: agentsite_protocol::Message = serde_json::from_value(json!({
        "messageId": "parts", "role": "ROLE_USER", "extensions": ["urn:x"], "metadata": { "a": [1, null] },
        "parts": [
            { "text": "hi", "metadata": { "tone": "kind" } },
            { "data": { "n": 1, "a": [true, 0.5] } },
            { "raw": "aGk=", "mediaType": "text/plain", "filename": "a.txt" },
            { "url": "https://example.org/x" },
        ],
    }))
    .unwrap();
    let request = proto::SendMessageRequest {
        tenant: "echo".into(),
        message: Some((&noun).try_into().unwrap()),
        ..Default::default()
    };
    let sent: proto::SendMessageResponse = grpc.ask("SendMessage", request).await.unwrap();
    let mut heard = task(sent.payload.unwrap()).history.remove(0);
    (heard.context_id, heard.task_id) = (String::new(), String::new());
    assert_eq!(agentsite_protocol::Message::try_from(heard).unwrap(), noun);
}

#[tokio::test]
async fn without_a_tenant_the_site_itself_is_called() {
    let story = Story::begin().await;
    let grpc = Grpc::to(&story).await;
    grpc.send("", "echo: hello").await.unwrap();
    let sent = task(grpc.send("echo", "hello").await.unwrap());
    let read: proto::Task = grpc.ask("GetTask", get_task("", &sent.id)).await.unwrap();
    assert_eq!(read.id, sent.id, "every task of the caller is found");
    let other = grpc.ask::<_, proto::Task>("GetTask", get_task("steps", &sent.id)).await.unwrap_err();
    assert_eq!(other.code(), Code::NotFound, "a task is found only under its own agent");
}

#[tokio::test]
async fn tasks_are_listed_in_pages() {
    let story = Story::begin().await;
    let grpc = Grpc::to(&story).await;
    let mut sent = Vec::new();
    for text in ["one", "two", "three"] {
        sent.push(task(grpc.send("echo", text).await.unwrap()));
    }
    let wanted = proto::ListTasksRequest {
        tenant: "echo".into(),
        page_size: Some(2),
        include_artifacts: Some(true),
        history_length: Some(0),
        ..Default::default()
    };
    let first: proto::ListTasksResponse = grpc.ask("ListTasks", wanted.clone()).await.unwrap();
    let ids = |list: &proto::ListTasksResponse| -> Vec<String> {
        list.tasks.iter().map(|task| task.id.clone()).collect()
    };
    assert_eq!(ids(&first), [sent[2].id.clone(), sent[1].id.clone()], "the last changed first");
    assert_eq!((first.page_size, first.total_size), (2, 3));
    assert!(first.tasks.iter().all(|task| task.history.is_empty() && task.artifacts.len() == 1));
    let next = proto::ListTasksRequest { page_token: first.next_page_token, ..wanted.clone() };
    let rest: proto::ListTasksResponse = grpc.ask("ListTasks", next).await.unwrap();
    assert_eq!((ids(&rest), rest.next_page_token.as_str()), (vec![sent[0].id.clone()], ""));
    let since = |seconds| Some(prost_types::Timestamp { seconds, nanos: 0 });
    let narrowed = [
        (proto::ListTasksRequest { context_id: sent[0].context_id.clone(), ..wanted.clone() }, 1),
        (proto::ListTasksRequest { status: proto::TaskState::Completed.into(), ..wanted.clone() }, 3),
        (proto::ListTasksRequest { status: proto::TaskState::Failed.into(), ..wanted.clone() }, 0),
        (proto::ListTasksRequest { status_timestamp_after: since(1_000_000_000), ..wanted.clone() }, 3),
        (proto::ListTasksRequest { status_timestamp_after: since(32_000_000_000), ..wanted.clone() }, 0),
        (proto::ListTasksRequest { tenant: "steps".into(), ..wanted.clone() }, 0),
    ];
    for (wanted, total) in narrowed {
        let list: proto::ListTasksResponse = grpc.ask("ListTasks", wanted.clone()).await.unwrap();
        assert_eq!(list.total_size, total, "{wanted:?}");
    }
}

#[tokio::test]
async fn a_task_at_work_is_canceled_once() {
    let story = Story::begin().await;
    let grpc = Grpc::to(&story).await;
    let id = grpc.long_task().await;
    let cancel = || proto::CancelTaskRequest { tenant: "long".into(), id: id.clone(), metadata: None };
    let canceled: proto::Task = grpc.ask("CancelTask", cancel()).await.unwrap();
    assert_eq!(canceled.status.unwrap().state, i32::from(proto::TaskState::Canceled));
    let again = grpc.ask::<_, proto::Task>("CancelTask", cancel()).await.unwrap_err();
    assert_eq!(again.code(), Code::FailedPrecondition);
}

#[tokio::test]
async fn the_extended_card_is_for_known_callers() {
    let story = Story::begin().await;
    let grpc = Grpc::to(&story).await;
    let asked = |agent: &str| proto::GetExtendedAgentCardRequest { tenant: agent.into() };
    let card: proto::AgentCard = grpc.ask("GetExtendedAgentCard", asked("echo")).await.unwrap();
    assert_eq!((card.name.as_str(), card.skills.len()), ("echo", 1));
    assert!(!card.signatures.is_empty() && card.capabilities.unwrap().extensions.len() > 1);
    let site: proto::AgentCard = grpc.ask("GetExtendedAgentCard", asked("")).await.unwrap();
    assert_eq!(site.supported_interfaces[2].protocol_binding, "GRPC");
    let stranger = Grpc::guest_of(&story).await;
    let refused = stranger.ask::<_, proto::AgentCard>("GetExtendedAgentCard", asked("echo")).await;
    assert_eq!(refused.unwrap_err().code(), Code::Unauthenticated);
}

#[tokio::test]
async fn callers_are_recognised_as_in_the_other_bindings() {
    let story = Story::begin().await;
    let key = story.key(&["call:echo"]).await;
    let grpc = Grpc::to(&story).await;
    let holder = grpc.saying("authorization", format!("Bearer {key}"));
    assert!(holder.send("echo", "hi").await.is_ok());
    assert_eq!(holder.send("hidden", "hi").await.unwrap_err().code(), Code::NotFound);
    let wrong = grpc.saying("authorization", "Bearer ask_000000000000_00");
    assert_eq!(wrong.send("echo", "hi").await.unwrap_err().code(), Code::Unauthenticated);
    // A caller on this machine without a credential is as anonymous as any other.
    let stranger = Grpc::guest_of(&story).await;
    assert_eq!(stranger.send("hidden", "hi").await.unwrap_err().code(), Code::NotFound);
    let sent = task(grpc.send("echo", "mine").await.unwrap());
    let foreign = stranger.ask::<_, proto::Task>("GetTask", get_task("echo", &sent.id)).await.unwrap_err();
    let missing = stranger.ask::<_, proto::Task>("GetTask", get_task("echo", "x")).await.unwrap_err();
    assert_eq!(foreign.code(), Code::NotFound);
    assert_eq!(foreign.message().replace(&sent.id, "x"), missing.message(), "one sentence for both");
}

#[tokio::test]
async fn tls_is_spoken_too() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (cert, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let tls = TlsSettings { cert_pem: cert.clone().into(), key_pem: key.into() };
    let story = Story::with(GatewaySettings { tls: Some(tls), ..GatewaySettings::default() }).await;
    let trust = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(cert)).domain_name("localhost");
    let address = format!("https://localhost:{}", story.address.port());
    let endpoint = Endpoint::from_shared(address).unwrap().tls_config(trust).unwrap();
    let channel = endpoint.connect().await.unwrap();
    let grpc = Grpc { channel, metadata: Vec::new() };
    let sent = task(grpc.send("echo", "secret").await.unwrap());
    assert_eq!(sent.status.unwrap().state, i32::from(proto::TaskState::Completed));
}
