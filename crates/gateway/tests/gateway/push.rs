//! Push configs in both bindings, what receivers get, and the outbox as admins see it.
//!
//! The receiver is real and listens on a free port of the loopback, which the operator of these stories has
//! allowed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentsite_egress::{Egress, EgressSettings};
use agentsite_gateway::GatewaySettings;
use agentsite_protocol::proto;
use agentsite_site::{PushSection, SiteSettings};
use axum::Router;
use axum::http::HeaderMap;
use axum::routing::post;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::grpc::{Grpc, message, task};
use crate::story::{Story, body, says, site_with};
use crate::{events, old_version};

const HOOK: &str = "https://example.org/hook";

/// What came to a receiver.
#[derive(Default)]
struct Inbox {
    came: Mutex<Vec<(HeaderMap, Value)>>,
    status: Mutex<u16>,
    bell: Notify,
}

impl Inbox {
    /// The kinds of the first so many that came, waiting for them.
    async fn kinds(&self, number: usize) -> Vec<String> {
        loop {
            let bell = self.bell.notified();
            let kinds: Vec<String> = {
                let came = self.came.lock().unwrap();
                came.iter()
                    .map(|(_, body)| body.as_object().unwrap().keys().next().unwrap().clone())
                    .collect()
            };
            if kinds.len() >= number {
                return kinds;
            }
            tokio::time::timeout(Duration::from_secs(20), bell).await.expect("something comes");
        }
    }
}

/// A story with a receiver that its site may tell.
async fn with_receiver() -> (Story, String, Arc<Inbox>) {
    let inbox = Arc::new(Inbox { status: Mutex::new(200), ..Inbox::default() });
    let keep = inbox.clone();
    let take = post(move |headers: HeaderMap, body: String| async move {
        keep.came.lock().unwrap().push((headers, serde_json::from_str(&body).unwrap()));
        keep.bell.notify_waiters();
        StatusCode::from_u16(*keep.status.lock().unwrap()).unwrap()
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/hook", take)).await });
    let allow = vec![place.parse().unwrap()];
    let egress = Egress::new(EgressSettings { allow, ..EgressSettings::default() }).unwrap();
    let site = site_with(SiteSettings::default(), egress).await;
    (Story::of(GatewaySettings::default(), site).await, format!("http://{place}/hook"), inbox)
}

async fn ask(story: &Story, method: Method, path: &str, sent: Option<Value>) -> (StatusCode, Value) {
    let request = story.http.request(method, story.url(path)).header("a2a-version", "1.0");
    let request = match sent {
        Some(sent) => request.json(&sent),
        None => request,
    };
    let response = request.send().await.unwrap();
    (response.status(), body(response).await)
}

async fn echo_task(story: &Story) -> String {
    let sent = story.call("echo", "SendMessage", says("hi")).await;
    sent["result"]["task"]["id"].as_str().unwrap().to_owned()
}

fn full(task: &str) -> Value {
    json!({
        "id": "c1", "taskId": task, "url": HOOK, "token": "t0ken",
        "authentication": { "scheme": "Bearer", "credentials": "cr3d" }
    })
}

#[tokio::test]
async fn a_config_is_created_read_listed_and_deleted_in_both_bindings() {
    let story = Story::begin().await;
    let task = echo_task(&story).await;
    let configs = format!("/a2a/echo/tasks/{task}/pushNotificationConfigs");
    let rpc = async |method: &str, params: Value| story.call("echo", method, params).await["result"].clone();
    let one = json!({ "taskId": task, "id": "c1" });

    assert_eq!(rpc("CreateTaskPushNotificationConfig", full(&task)).await, full(&task));
    assert_eq!(rpc("GetTaskPushNotificationConfig", one.clone()).await, full(&task));
    assert_eq!(ask(&story, Method::GET, &format!("{configs}/c1"), None).await, (StatusCode::OK, full(&task)));
    let listed = json!({ "configs": [full(&task)] });
    assert_eq!(rpc("ListTaskPushNotificationConfigs", json!({ "taskId": task })).await, listed);
    assert_eq!(ask(&story, Method::GET, &configs, None).await, (StatusCode::OK, listed));

    // The same id replaces; one without an id gets one.
    let (status, replaced) =
        ask(&story, Method::POST, &configs, Some(json!({ "id": "c1", "url": HOOK }))).await;
    assert_eq!((status, replaced), (StatusCode::OK, json!({ "id": "c1", "taskId": task, "url": HOOK })));
    let made =
        rpc("CreateTaskPushNotificationConfig", json!({ "taskId": task, "url": HOOK, "id": "" })).await;
    let made = made["id"].as_str().unwrap().to_owned();
    assert!(!made.is_empty());

    for _ in 0..2 {
        let path = format!("{configs}/c1");
        assert_eq!(ask(&story, Method::DELETE, &path, None).await, (StatusCode::OK, json!({})));
        assert_eq!(
            rpc("DeleteTaskPushNotificationConfig", json!({ "taskId": task, "id": made })).await,
            json!({})
        );
    }
    let gone = story.call("echo", "GetTaskPushNotificationConfig", one).await;
    assert_eq!(gone["error"]["code"], -32001, "{gone}");
    assert_eq!(ask(&story, Method::GET, &format!("{configs}/c1"), None).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn pages_of_configs_join_without_gap_or_repeat() {
    let story = Story::begin().await;
    let task = echo_task(&story).await;
    let configs = format!("/a2a/echo/tasks/{task}/pushNotificationConfigs");
    for id in ["d", "b", "e é", "a", "c"] {
        let made = ask(&story, Method::POST, &configs, Some(json!({ "id": id, "url": HOOK }))).await;
        assert_eq!(made.0, StatusCode::OK, "{}", made.1);
    }
    let (mut ids, mut token) = (Vec::new(), String::new());
    loop {
        let params = json!({ "taskId": task, "pageSize": 2, "pageToken": token });
        let page = story.call("echo", "ListTaskPushNotificationConfigs", params).await["result"].clone();
        ids.extend(
            page["configs"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()),
        );
        match page["nextPageToken"].as_str() {
            Some(next) => token = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(ids, ["a", "b", "c", "d", "e é"]);
    for query in ["pageSize=-1", "pageSize=101", "pageToken=x"] {
        assert_eq!(
            ask(&story, Method::GET, &format!("{configs}?{query}"), None).await.0,
            StatusCode::BAD_REQUEST
        );
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_config_is_named() {
    let story = Story::begin().await;
    let task = echo_task(&story).await;
    for (field, spoilt) in [
        ("url", json!({ "taskId": task })),
        ("url", json!({ "taskId": task, "url": "http://127.0.0.1:9/" })),
        ("url", json!({ "taskId": task, "url": "http://example.org/" })),
        ("url", json!({ "taskId": task, "url": "https://169.254.169.254/latest" })),
        ("token", json!({ "taskId": task, "url": HOOK, "token": "a\nb" })),
        ("authentication.scheme", json!({ "taskId": task, "url": HOOK, "authentication": {} })),
        ("taskId", json!({ "url": HOOK })),
    ] {
        let refused = story.call("echo", "CreateTaskPushNotificationConfig", spoilt.clone()).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        let named = &refused["error"]["data"][1]["fieldViolations"][0]["field"];
        assert_eq!(named, field, "{refused}");
        if field != "taskId" {
            let mut sending = says("x");
            sending["configuration"] = json!({ "taskPushNotificationConfig": spoilt });
            let refused = story.call("echo", "SendMessage", sending).await;
            assert_eq!(refused["error"]["data"][1]["fieldViolations"][0]["field"], field, "{refused}");
        }
    }
    let configs = format!("/a2a/echo/tasks/{task}/pushNotificationConfigs");
    let other = json!({ "taskId": "another", "url": HOOK });
    assert_eq!(ask(&story, Method::POST, &configs, Some(other)).await.0, StatusCode::BAD_REQUEST);
    let listed = story.call("echo", "ListTasks", json!({})).await;
    assert_eq!(listed["result"]["totalSize"], 1, "what was refused opened no task");
}

#[tokio::test]
async fn a_foreign_task_has_no_configs_to_see() {
    let story = Story::begin().await;
    let (one, two) = (story.key(&["call"]).await, story.key(&["call"]).await);
    let sent =
        body(story.rpc("echo", "SendMessage", says("x")).bearer_auth(&one).send().await.unwrap()).await;
    let task = sent["result"]["task"]["id"].as_str().unwrap().to_owned();
    let never = "0198c0de-0000-7000-8000-000000000001";
    for (method, more) in [
        ("CreateTaskPushNotificationConfig", json!({ "id": "c1", "url": HOOK })),
        ("GetTaskPushNotificationConfig", json!({ "id": "c1" })),
        ("ListTaskPushNotificationConfigs", json!({})),
        ("DeleteTaskPushNotificationConfig", json!({ "id": "c1" })),
    ] {
        let call = async |key: &str, agent: &str, id: &str| {
            let mut params = more.clone();
            params["taskId"] = json!(id);
            let answer = body(story.rpc(agent, method, params).bearer_auth(key).send().await.unwrap()).await;
            answer.to_string().replace(id, "ID")
        };
        let missing = call(&two, "echo", never).await;
        assert!(missing.contains("-32001"), "{missing}");
        assert_eq!(call(&two, "echo", &task).await, missing, "{method} of somebody else's task");
        assert_eq!(call(&one, "parrot", &task).await, missing, "{method} under another agent");
        assert_ne!(call(&one, "echo", &task).await, missing, "{method} by its owner");
    }
}

#[tokio::test]
async fn a_receiver_gets_what_a_stream_shows() {
    let (story, url, inbox) = with_receiver().await;
    let receiver = json!({ "url": url, "token": "t0ken", "authentication": { "scheme": "Basic", "credentials": "eA==" } });
    let told = ["task", "statusUpdate", "artifactUpdate", "statusUpdate"];
    let telling = |text: &str| {
        let mut sending = says(text);
        sending["configuration"] = json!({ "taskPushNotificationConfig": receiver });
        sending
    };
    let sent = story.call("echo", "SendMessage", telling("one")).await;
    assert_eq!(inbox.kinds(4).await, told);
    {
        let came = inbox.came.lock().unwrap();
        let (headers, first) = &came[0];
        assert_eq!(first["task"]["id"], sent["result"]["task"]["id"]);
        assert_eq!(headers["x-a2a-notification-token"], "t0ken");
        assert_eq!(headers["authorization"], "Basic eA==");
        assert_eq!(headers["content-type"], "application/a2a+json");
        assert!(headers.contains_key("signature") && headers.contains_key("signature-input"));
        assert_eq!(came[3].1["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    }
    let listed = json!({ "taskId": sent["result"]["task"]["id"] });
    let listed = story.call("echo", "ListTaskPushNotificationConfigs", listed).await;
    assert_eq!(listed["result"]["configs"][0]["token"], "t0ken", "it was kept with the task");

    inbox.came.lock().unwrap().clear();
    let stream = story.post("/a2a/echo/message:stream").json(&telling("two")).send().await.unwrap();
    let shown: Vec<Value> = {
        let text = stream.text().await.unwrap();
        events::values(&text)
    };
    assert_eq!(inbox.kinds(4).await, told);
    let came: Vec<Value> = inbox.came.lock().unwrap().iter().map(|(_, body)| body.clone()).collect();
    assert_eq!(came[1..], shown[1..], "the same items as the stream, to the letter");

    // An agent that answers with messages has no task to tell of.
    let answer = story.call("parrot", "SendMessage", telling("three")).await;
    assert!(answer["result"]["message"].is_object(), "{answer}");
}

#[tokio::test]
async fn a_dead_letter_is_seen_sent_again_and_dropped() {
    let (story, url, inbox) = with_receiver().await;
    *inbox.status.lock().unwrap() = 410;
    let mut sending = says("one");
    sending["configuration"] =
        json!({ "taskPushNotificationConfig": { "id": "c", "url": url, "token": "t0ken" } });
    story.call("echo", "SendMessage", sending).await;
    inbox.kinds(4).await;
    let dead = async || loop {
        let (_, answer) = ask(&story, Method::GET, "/api/outbox?state=dead", None).await;
        let letters = answer["letters"].as_array().unwrap().clone();
        if letters.len() >= 4 || inbox.came.lock().unwrap().len() > 4 {
            return letters;
        }
        tokio::task::yield_now().await;
    };
    let letters = dead().await;
    let first = &letters[0];
    assert_eq!(
        (&first["state"], &first["event"], &first["attempts"]),
        (&json!("dead"), &json!(1), &json!(1))
    );
    assert!(first["error"].as_str().unwrap().contains("410"), "{first}");
    assert!(!first.to_string().contains("t0ken") && !first.to_string().contains("/hook"), "{first}");

    *inbox.status.lock().unwrap() = 204;
    let path = format!("/api/outbox/{}", first["id"]);
    assert_eq!(ask(&story, Method::GET, &path, None).await.1, *first);
    assert_eq!(ask(&story, Method::POST, &format!("{path}/retry"), None).await.0, StatusCode::OK);
    assert_eq!(inbox.kinds(5).await[4], "task");
    let ids = |came: &[(HeaderMap, Value)]| {
        (came[0].0["idempotency-key"].clone(), came[4].0["idempotency-key"].clone())
    };
    let (before, after) = ids(&inbox.came.lock().unwrap());
    assert_eq!(before, after);

    let second = format!("/api/outbox/{}", letters[1]["id"]);
    let dropped = story.http.delete(story.url(&second)).send().await.unwrap();
    assert_eq!(dropped.status(), StatusCode::NO_CONTENT);
    let (status, gone) = ask(&story, Method::GET, &second, None).await;
    assert_eq!((status, &gone["error"]["code"]), (StatusCode::NOT_FOUND, &json!("no_such_letter")));
    let key = story.key(&["call"]).await;
    for path in ["/api/outbox", second.as_str()] {
        let refused = story.get(path).bearer_auth(&key).send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{path}");
    }
}

#[tokio::test]
async fn a_receiver_of_the_older_version_is_told_whole_tasks_in_its_form() {
    let (story, hook, inbox) = with_receiver().await;
    let message = json!({ "kind": "message", "messageId": "old-1", "role": "user", "parts": [{ "kind": "text", "text": "hi" }] });
    let receiver = json!({ "url": hook, "token": "t0ken" });
    let params = json!({ "message": message, "configuration": { "pushNotificationConfig": receiver } });
    let sent = old_version::call(&story, "echo", "message/send", params).await;
    let task = &sent["result"]["id"];
    inbox.kinds(3).await;
    let came: Vec<(HeaderMap, Value)> = inbox.came.lock().unwrap().clone();
    let states: Vec<_> = came.iter().map(|(_, body)| body["status"]["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["submitted", "working", "completed"]);
    for (headers, body) in &came {
        assert_eq!((&body["kind"], &body["id"]), (&json!("task"), task));
        assert_eq!(
            (&headers["a2a-version"], &headers["content-type"]),
            (&"0.3".parse().unwrap(), &"application/json".parse().unwrap())
        );
        assert_eq!(headers["x-a2a-notification-token"], "t0ken");
    }
    assert_eq!(came[2].1["artifacts"][0]["parts"][0]["text"], "hi");
    // Whoever reads the config does not see how it is kept.
    let list = json!({ "taskId": task });
    let listed = story.call("echo", "ListTaskPushNotificationConfigs", list).await;
    assert_eq!(listed["result"]["configs"][0].get("isOld"), None, "{listed}");
}

/// A story whose site tells nobody.
pub(crate) async fn without_push() -> Story {
    let push = PushSection { enabled: false, ..PushSection::default() };
    let site = site_with(SiteSettings { push, ..SiteSettings::default() }, Egress::default()).await;
    Story::of(GatewaySettings::default(), site).await
}

#[tokio::test]
async fn by_grpc_receivers_are_added_read_listed_and_removed() {
    let (story, hook, inbox) = with_receiver().await;
    let grpc = Grpc::to(&story).await;
    let mut sending = message("echo", "hi");
    let receiver =
        proto::TaskPushNotificationConfig { id: "mine".into(), url: hook.clone(), ..Default::default() };
    sending.configuration = Some(proto::SendMessageConfiguration {
        task_push_notification_config: Some(receiver.clone()),
        ..Default::default()
    });
    let sent: proto::SendMessageResponse = grpc.ask("SendMessage", sending).await.unwrap();
    let task_id = task(sent.payload.unwrap()).id;
    assert_eq!(inbox.kinds(1).await[0], "task");

    let (tenant, id) = ("echo".to_owned(), "second".to_owned());
    let create = proto::TaskPushNotificationConfig {
        tenant: tenant.clone(),
        task_id: task_id.clone(),
        id: id.clone(),
        token: "t".into(),
        ..receiver
    };
    let made: proto::TaskPushNotificationConfig =
        grpc.ask("CreateTaskPushNotificationConfig", create).await.unwrap();
    assert_eq!((made.id.as_str(), made.url.as_str()), ("second", hook.as_str()));
    let list = proto::ListTaskPushNotificationConfigsRequest {
        tenant: tenant.clone(),
        task_id: task_id.clone(),
        ..Default::default()
    };
    let ids = async || {
        let page: proto::ListTaskPushNotificationConfigsResponse =
            grpc.ask("ListTaskPushNotificationConfigs", list.clone()).await.unwrap();
        page.configs.into_iter().map(|config| config.id).collect::<Vec<_>>()
    };
    assert_eq!(ids().await, ["mine", "second"]);
    let (tenant, id) = (|| tenant.clone(), || id.clone());
    let get =
        proto::GetTaskPushNotificationConfigRequest { tenant: tenant(), task_id: task_id.clone(), id: id() };
    let read: proto::TaskPushNotificationConfig =
        grpc.ask("GetTaskPushNotificationConfig", get).await.unwrap();
    assert_eq!(read, made);
    let delete = proto::DeleteTaskPushNotificationConfigRequest { tenant: tenant(), task_id, id: id() };
    grpc.ask::<_, ()>("DeleteTaskPushNotificationConfig", delete).await.unwrap();
    assert_eq!(ids().await, ["mine"]);
}

#[tokio::test]
async fn a_site_that_tells_nobody_refuses_all_of_it() {
    let story = without_push().await;
    let configs = "/a2a/echo/tasks/x/pushNotificationConfigs";
    for (method, path, sent) in [
        (Method::POST, configs.to_owned(), Some(json!({ "url": HOOK }))),
        (Method::GET, configs.to_owned(), None),
        (Method::GET, format!("{configs}/1"), None),
        (Method::DELETE, format!("{configs}/1"), None),
        (Method::GET, "/a2a/tasks/x/pushNotificationConfigs".to_owned(), None),
    ] {
        let (status, refused) = ask(&story, method, &path, sent).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}");
        assert_eq!(refused["error"]["details"][0]["reason"], "PUSH_NOTIFICATION_NOT_SUPPORTED");
    }
    let mut sending = says("x");
    sending["configuration"] = json!({ "taskPushNotificationConfig": { "url": HOOK } });
    assert_eq!(story.call("echo", "SendMessage", sending).await["error"]["code"], -32003);
    let card = body(story.get("/a2a/echo").send().await.unwrap()).await;
    assert_eq!(card["capabilities"]["pushNotifications"], false);
}
