//! The HTTP+JSON binding of A2A 1.0: an address for each operation, errors in the form of AIP-193.
//!
//! Promises: ids and tenants of others are written into paths so that they stay one segment; a refusal is
//! read by its reason, not by its status. It sends nothing.

use agentsite_egress::{Egress, EgressError, EgressRequest};
use http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use url::Url;

use super::endpoint::Endpoint;
use super::jsonrpc::{VERSION, VERSION_HEADER, read_json};
use super::operation::Operation;
use super::reason;
use crate::ClientError;

/// The body of an error.
#[derive(Debug, Deserialize)]
struct RefusalBody {
    error: Fault,
}

#[derive(Debug, Deserialize)]
struct Fault {
    #[serde(default)]
    code: Option<u16>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    details: Option<Value>,
}

/// The path of an operation, and what is sent with it.
#[derive(Debug, PartialEq)]
struct RestRequest<'a> {
    method: Method,
    /// Segments of the path; the last is written as it is when it is a verb.
    path: Vec<&'a str>,
    /// Appended to the last segment, such as `:cancel`.
    verb: &'static str,
    /// Whether the parameters that are not in the path go into the body; else into the query.
    in_body: bool,
}

fn place<'a>(operation: &Operation<'a>) -> RestRequest<'a> {
    let (method, path, verb, in_body) = match *operation {
        Operation::Send(_) => (Method::POST, vec!["message"], ":send", true),
        Operation::Stream(_) => (Method::POST, vec!["message"], ":stream", true),
        Operation::Get { id, .. } => (Method::GET, vec!["tasks", id], "", false),
        Operation::List(_) => (Method::GET, vec!["tasks"], "", false),
        Operation::Cancel { id } => (Method::POST, vec!["tasks", id], ":cancel", true),
        Operation::Subscribe { id } => (Method::POST, vec!["tasks", id], ":subscribe", true),
        Operation::CreatePush(config) => {
            (Method::POST, vec!["tasks", config.task_id.as_str(), "pushNotificationConfigs"], "", true)
        }
        Operation::ListPush { task_id } => {
            (Method::GET, vec!["tasks", task_id, "pushNotificationConfigs"], "", false)
        }
        Operation::GetPush { task_id, id } => {
            (Method::GET, vec!["tasks", task_id, "pushNotificationConfigs", id], "", false)
        }
        Operation::DeletePush { task_id, id } => {
            (Method::DELETE, vec!["tasks", task_id, "pushNotificationConfigs", id], "", false)
        }
        Operation::ExtendedCard {} => (Method::GET, vec!["extendedAgentCard"], "", false),
    };
    RestRequest { method, path, verb, in_body }
}

/// The request for an operation.
pub(super) fn request(
    egress: &Egress,
    endpoint: &Endpoint,
    operation: &Operation<'_>,
) -> Result<EgressRequest, ClientError> {
    let place = place(operation);
    let mut url = address(endpoint, &place);
    if place.in_body {
        let request = egress.request(place.method, url).header(VERSION_HEADER, VERSION);
        return Ok(request.json(operation)?);
    }
    let params = serde_json::to_value(operation).map_err(|error| EgressError::Settings(error.to_string()))?;
    for (name, value) in query(&params, &place.path) {
        url.query_pairs_mut().append_pair(&name, &value);
    }
    Ok(egress.request(place.method, url).header(VERSION_HEADER, VERSION))
}

/// The address below the endpoint's own, with the tenant in front.
fn address(endpoint: &Endpoint, place: &RestRequest<'_>) -> Url {
    let mut url = endpoint.url.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(endpoint.tenant.as_deref());
        segments.extend(&place.path);
    }
    if !place.verb.is_empty() {
        let path = format!("{}{}", url.path(), place.verb);
        url.set_path(&path);
    }
    url
}

/// Parameters outside the path.
fn query(params: &Value, path: &[&str]) -> Vec<(String, String)> {
    let none = Map::new();
    let params = params.as_object().unwrap_or(&none);
    let in_path = |name: &str| matches!(name, "id" | "taskId") && path.len() > 1;
    params
        .iter()
        .filter(|(name, _)| !in_path(name))
        .map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect()
}

/// Reads the body of a success. An empty body counts as an empty object: some servers answer a deletion so.
pub(super) fn read_answer<T: DeserializeOwned>(from: &str, bytes: &[u8]) -> Result<T, ClientError> {
    let bytes = if bytes.trim_ascii().is_empty() { b"{}" } else { bytes };
    read_json(from, bytes)
}

/// Reads one event of a stream, which may be an error.
pub(super) fn read_item<T: DeserializeOwned>(from: &str, bytes: &[u8]) -> Result<T, ClientError> {
    let value: Value = read_json(from, bytes)?;
    if value.get("error").is_some() {
        return Err(read_status(from, 500, bytes));
    }
    let bad =
        |error: serde_json::Error| ClientError::BadAnswer { from: from.to_owned(), what: error.to_string() };
    serde_json::from_value(value).map_err(bad)
}

/// Reads an answer with an error status.
pub(super) fn read_status(from: &str, status: u16, bytes: &[u8]) -> ClientError {
    let Ok(RefusalBody { error }) = read_json::<RefusalBody>(from, bytes) else {
        return reason::of_status(from, status, "");
    };
    match error.details.as_ref().and_then(reason::number_in) {
        Some(code) => reason::refused(code, &error.message, error.details),
        None => reason::of_status(from, error.code.unwrap_or(status), &error.message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2a::endpoint::Dialect;
    use crate::a2a::operation::ListTasks;
    use agentsite_protocol::TaskState;

    fn url(base: &str, tenant: Option<&str>, operation: &Operation<'_>) -> String {
        let endpoint = Endpoint {
            dialect: Dialect::Rest,
            url: Url::parse(base).unwrap(),
            tenant: tenant.map(Into::into),
        };
        address(&endpoint, &place(operation)).into()
    }

    #[test]
    fn ids_of_others_stay_one_segment() {
        let cancel = |id| Operation::Cancel { id };
        assert_eq!(url("http://h", None, &cancel("t1")), "http://h/tasks/t1:cancel");
        assert_eq!(url("http://h/a/", None, &cancel("t1")), "http://h/a/tasks/t1:cancel");
        assert_eq!(url("http://h/a", Some("x"), &cancel("t1")), "http://h/a/x/tasks/t1:cancel");
        assert_eq!(url("http://h", None, &cancel("../a?b#c")), "http://h/tasks/..%2Fa%3Fb%23c:cancel");
        let get = Operation::GetPush { task_id: "t/1", id: "c" };
        assert_eq!(url("http://h", None, &get), "http://h/tasks/t%2F1/pushNotificationConfigs/c");
    }

    #[test]
    fn what_is_not_in_the_path_is_in_the_query() {
        let list = ListTasks {
            context_id: Some("c&d".into()),
            status: Some(TaskState::Completed),
            page_size: Some(7),
            include_artifacts: Some(true),
            ..ListTasks::default()
        };
        let params = serde_json::to_value(Operation::List(&list)).unwrap();
        let mut pairs = query(&params, &["tasks"]);
        pairs.sort();
        let told: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            told,
            ["contextId=c&d", "includeArtifacts=true", "pageSize=7", "status=TASK_STATE_COMPLETED"]
        );
        let get = Operation::Get { id: "t", history_length: Some(0) };
        let params = serde_json::to_value(get).unwrap();
        assert_eq!(query(&params, &["tasks", "t"]), [("historyLength".to_owned(), "0".to_owned())]);
    }

    #[test]
    fn a_refusal_is_read_by_its_reason() {
        let body = br#"{"error":{"code":404,"status":"NOT_FOUND","message":"Task not found","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{}}]}}"#;
        assert!(read_status("h", 404, body).is_unknown_task());
        assert!(read_item::<Value>("h", body).unwrap_err().is_unknown_task());
        let plain = read_status("h", 503, b"<html>");
        assert!(matches!(plain, ClientError::Status { status: 503, .. }) && plain.never_arrived());
        let unknown = read_status("h", 404, br#"{"error":{"message":"what?"}}"#);
        assert!(unknown.to_string().contains("what?") && !unknown.is_unknown_task(), "{unknown}");
        assert_eq!(read_answer::<Value>("h", b"").unwrap(), serde_json::json!({}));
    }
}
