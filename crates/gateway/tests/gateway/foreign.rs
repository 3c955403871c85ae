//! Every way in, tried by somebody whose task it is not.
//!
//! The methods of JSON-RPC and the paths of the REST face come from the gateway itself, so that a new one is
//! tried without being named here; those of HTTP+JSON and gRPC are written out, because each takes its own
//! form of request. Wherever a task is named, somebody else's answers exactly like one that never was: the
//! same status, the same words.

use agentsite_gateway::{a2a_methods, api_paths};
use agentsite_protocol::proto;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::grpc::{Grpc, get_task, message};
use crate::story::{Story, says};

/// A well-formed id that no task has.
const NEVER: &str = "01234567-89ab-7def-8123-456789abcdef";

/// Stands for the id of a task in what is compared; no answer has it by chance.
const MARK: &str = "<the task>";

/// A place for everything that a method may want to know, all of it about this task.
fn about(task: &str) -> Value {
    let mut params = says("more");
    params["message"]["messageId"] = json!("foreign");
    params["message"]["taskId"] = json!(task);
    for name in ["id", "taskId"] {
        params[name] = json!(task);
    }
    params["url"] = json!("https://example.org/hook");
    params
}

/// What somebody else is told, with the id taken out.
async fn told(request: reqwest::RequestBuilder, key: &str, task: &str) -> (StatusCode, String) {
    let response = request.header("a2a-version", "1.0").bearer_auth(key).send().await.unwrap();
    (response.status(), response.text().await.unwrap().replace(task, MARK))
}

#[tokio::test]
async fn by_json_rpc_a_foreign_task_is_one_that_never_was() {
    let story = Story::begin().await;
    let (task, other) = (story.long_task().await, story.key(&["call"]).await);
    let mut tried = 0;
    for method in a2a_methods() {
        for agent in ["long", ""] {
            let ask = async |task: &str| told(story.rpc(agent, method, about(task)), &other, task).await;
            let (foreign, never) = (ask(&task).await, ask(NEVER).await);
            if ["ListTasks", "GetExtendedAgentCard"].contains(method) {
                assert!(!foreign.1.contains(MARK), "{method}: {}", foreign.1);
                continue;
            }
            assert_eq!(foreign, never, "{method}");
            assert!(foreign.1.contains("TASK_NOT_FOUND"), "{method}: {}", foreign.1);
            tried += 1;
        }
    }
    assert_eq!(tried, 2 * 9);
}

#[tokio::test]
async fn by_http_json_a_foreign_task_is_one_that_never_was() {
    let story = Story::begin().await;
    let (task, other) = (story.long_task().await, story.key(&["call"]).await);
    for agent in ["/long", ""] {
        for (method, path) in [
            (Method::POST, "/message:send"),
            (Method::POST, "/message:stream"),
            (Method::GET, "/tasks/{id}"),
            (Method::POST, "/tasks/{id}:cancel"),
            (Method::GET, "/tasks/{id}:subscribe"),
            (Method::POST, "/tasks/{id}:subscribe"),
            (Method::GET, "/tasks/{id}/pushNotificationConfigs"),
            (Method::POST, "/tasks/{id}/pushNotificationConfigs"),
            (Method::GET, "/tasks/{id}/pushNotificationConfigs/1"),
            (Method::DELETE, "/tasks/{id}/pushNotificationConfigs/1"),
        ] {
            let ask = async |task: &str| {
                let url = story.url(&format!("/a2a{agent}{}", path.replace("{id}", task)));
                let request = story.http.request(method.clone(), url);
                let request = if method == Method::POST { request.json(&about(task)) } else { request };
                told(request, &other, task).await
            };
            let foreign = ask(&task).await;
            assert_eq!(foreign.0, StatusCode::NOT_FOUND, "{method} {path}: {}", foreign.1);
            assert_eq!(foreign, ask(NEVER).await, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn by_the_rest_face_a_foreign_task_is_one_that_never_was() {
    let story = Story::begin().await;
    let (task, other) = (story.long_task().await, story.key(&["call"]).await);
    let mut tried = 0;
    for path in api_paths().into_iter().filter(|path| path.contains("/tasks/{id}")) {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            let ask = async |task: &str| {
                let url = story.url(&path.replace("{id}", task));
                told(story.http.request(method.clone(), url).json(&says("more")), &other, task).await
            };
            let foreign = ask(&task).await;
            if foreign.0 != StatusCode::METHOD_NOT_ALLOWED {
                assert_eq!(foreign.0, StatusCode::NOT_FOUND, "{method} {path}: {}", foreign.1);
                assert_eq!(foreign, ask(NEVER).await, "{method} {path}");
                tried += 1;
            }
        }
    }
    assert!(tried >= 3, "{tried}");
}

/// What a stranger is told by gRPC about this task, for each method that names one.
async fn told_by_grpc(grpc: &Grpc, agent: &str, task: &str) -> Vec<(&'static str, tonic::Status)> {
    let (tenant, id) = (agent.to_owned(), task.to_owned());
    let mut more = message(agent, "more");
    let said = more.message.as_mut().unwrap();
    (said.task_id, said.message_id) = (id.clone(), "foreign".into());
    let get = get_task(agent, task);
    let cancel = proto::CancelTaskRequest { tenant: tenant.clone(), id: id.clone(), metadata: None };
    let subscribe = proto::SubscribeToTaskRequest { tenant: tenant.clone(), id: id.clone() };
    let url = "https://example.org/hook".into();
    let create = proto::TaskPushNotificationConfig {
        tenant: tenant.clone(),
        task_id: id.clone(),
        url,
        ..Default::default()
    };
    let read = proto::GetTaskPushNotificationConfigRequest {
        tenant: tenant.clone(),
        task_id: id.clone(),
        id: "1".into(),
    };
    let list = proto::ListTaskPushNotificationConfigsRequest {
        tenant: tenant.clone(),
        task_id: id.clone(),
        ..Default::default()
    };
    let delete = proto::DeleteTaskPushNotificationConfigRequest { tenant, task_id: id, id: "1".into() };
    vec![
        ("SendMessage", grpc.refused("SendMessage", more.clone()).await),
        ("SendStreamingMessage", grpc.refused("SendStreamingMessage", more).await),
        ("GetTask", grpc.refused("GetTask", get).await),
        ("CancelTask", grpc.refused("CancelTask", cancel).await),
        ("SubscribeToTask", grpc.refused("SubscribeToTask", subscribe).await),
        ("CreateTaskPushNotificationConfig", grpc.refused("CreateTaskPushNotificationConfig", create).await),
        ("GetTaskPushNotificationConfig", grpc.refused("GetTaskPushNotificationConfig", read).await),
        ("ListTaskPushNotificationConfigs", grpc.refused("ListTaskPushNotificationConfigs", list).await),
        ("DeleteTaskPushNotificationConfig", grpc.refused("DeleteTaskPushNotificationConfig", delete).await),
    ]
}

#[tokio::test]
async fn by_grpc_a_foreign_task_is_one_that_never_was() {
    let story = Story::begin().await;
    let (task, other) = (story.long_task().await, story.key(&["call"]).await);
    let stranger = Grpc::to(&story).await.saying("authorization", format!("Bearer {other}"));
    for agent in ["long", ""] {
        let foreign = told_by_grpc(&stranger, agent, &task).await;
        let never = told_by_grpc(&stranger, agent, NEVER).await;
        for ((method, foreign), (_, never)) in foreign.into_iter().zip(never) {
            assert_eq!(foreign.code(), tonic::Code::NotFound, "{method}: {foreign}");
            assert_eq!(foreign.message().replace(&task, NEVER), never.message(), "{method}");
        }
    }
}
