//! Answer: what a request led to, and how each era writes it.
//!
//! Promises: written once, straight into the buffer that is sent. The stateless revisions say with each
//! result what kind it is and, for lists and what is read, how long it may be kept; sessions say neither. It
//! does not perform anything.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentsite_protocol::mcp::{
    Completions, Contents, InputRequest, Prompt, PromptText, Resource, ResourceTemplate, Tool, ToolResult,
};
use agentsite_site::ToolTask;
use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, header};
use serde::Serialize;
use serde_json::{Value, json};

use super::page::{self, Page};
use super::task::Shown;
use crate::failure::{Era, Failure, Fault};

/// How long lists and the description of a server may be kept. Short: agents come and go with the files of
/// their folder.
const LIST_TTL_MS: u64 = 10_000;

/// Space for the answer of a small call, so that its buffer grows at most once.
const SMALL_ANSWER: usize = 512;

/// What a request led to.
#[derive(Debug)]
pub(super) enum Answer {
    Tools(Arc<[Tool]>, Option<String>),
    Resources(Vec<Resource>, Option<String>),
    Templates(Vec<ResourceTemplate>, Option<String>),
    Prompts(Vec<Prompt>, Option<String>),
    Called(ToolResult),
    Read(Vec<Contents>),
    Prompt(PromptText),
    Completions(Completions),
    /// Questions, with the sealed state.
    Questions(BTreeMap<String, InputRequest>, Option<String>),
    /// A call that became a task.
    Handle(Box<ToolTask>),
    /// A task as it stands.
    Task(Box<ToolTask>),
    /// What the server is; each era has its own form.
    Server(Value),
    Nothing,
}

impl Answer {
    /// Writes the JSON-RPC response.
    pub(super) fn response(&self, era: Era, id: &str) -> Result<Vec<u8>, Failure> {
        let mut out = Vec::with_capacity(SMALL_ANSWER);
        out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        out.extend_from_slice(id.as_bytes());
        out.extend_from_slice(br#","result":"#);
        self.result(era, &mut out)?;
        out.push(b'}');
        Ok(out)
    }

    fn result(&self, era: Era, out: &mut Vec<u8>) -> Result<(), Failure> {
        let complete = |out: &mut Vec<u8>, value: &dyn ErasedJson| write(out, kind(era, "complete"), value);
        match self {
            Self::Tools(list, cursor) => {
                let Page { items, next } = page::cut(list, cursor.as_deref(), |tool| &tool.name)?;
                complete(out, &Listed { kept: CacheHint::list(era), next, items: Items::Tools(items) })
            }
            Self::Resources(list, cursor) => {
                let Page { items, next } = page::cut(list, cursor.as_deref(), |resource| &resource.uri)?;
                complete(out, &Listed { kept: CacheHint::list(era), next, items: Items::Resources(items) })
            }
            Self::Templates(list, cursor) => {
                let Page { items, next } =
                    page::cut(list, cursor.as_deref(), |template| &template.uri_template)?;
                complete(
                    out,
                    &Listed { kept: CacheHint::list(era), next, items: Items::ResourceTemplates(items) },
                )
            }
            Self::Prompts(list, cursor) => {
                let Page { items, next } = page::cut(list, cursor.as_deref(), |prompt| &prompt.name)?;
                complete(out, &Listed { kept: CacheHint::list(era), next, items: Items::Prompts(items) })
            }
            Self::Called(result) => complete(out, result),
            Self::Read(contents) => complete(out, &ReadOut { kept: CacheHint::read(era), contents }),
            Self::Prompt(text) => complete(out, text),
            Self::Completions(values) => complete(out, &json!({ "completion": values })),
            Self::Task(task) => complete(out, &Shown::whole(task)),
            Self::Server(value) => complete(out, value),
            Self::Nothing => complete(out, &json!({})),
            Self::Handle(task) => write(out, kind(era, "task"), &Shown::handle(task)),
            Self::Questions(requests, state) => write(
                out,
                kind(era, "input_required"),
                &Questions { input_requests: requests, request_state: state },
            ),
        }
    }
}

/// What can be written as JSON, whatever it is.
trait ErasedJson {
    fn write_to(&self, out: &mut Vec<u8>) -> serde_json::Result<()>;
}

impl<T: Serialize> ErasedJson for T {
    fn write_to(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(out, self)
    }
}

/// The kind of a result, where the era says it.
fn kind(era: Era, kind: &'static str) -> Option<&'static str> {
    (era == Era::Stateless).then_some(kind)
}

/// Writes an object, with its kind as the first member.
fn write(out: &mut Vec<u8>, kind: Option<&str>, value: &dyn ErasedJson) -> Result<(), Failure> {
    if let Some(kind) = kind {
        out.extend_from_slice(br#"{"resultType":""#);
        out.extend_from_slice(kind.as_bytes());
        out.push(b'"');
    }
    let begin = out.len();
    value.write_to(out).map_err(|error| {
        tracing::error!(%error, "an answer could not be written");
        Failure::new(Fault::Internal, "the answer could not be written; the site's log says why")
    })?;
    if kind.is_some() {
        // The opening brace of the object becomes the comma behind its kind.
        match out.get(begin + 1) {
            Some(b'}') => drop(out.remove(begin)),
            _ => out[begin] = b',',
        }
    }
    Ok(())
}

/// How long a result may be kept, and by whom.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CacheHint {
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_scope: Option<&'static str>,
}

impl CacheHint {
    fn new(era: Era, ttl_ms: u64) -> Self {
        // What is shown depends on who asks.
        let said = era == Era::Stateless;
        Self { ttl_ms: said.then_some(ttl_ms), cache_scope: said.then_some("private") }
    }

    fn list(era: Era) -> Self {
        Self::new(era, LIST_TTL_MS)
    }

    /// What is read may have changed the next moment.
    fn read(era: Era) -> Self {
        Self::new(era, 0)
    }
}

/// Adds how long the description of a server may be kept.
pub(super) fn kept(description: &mut Value) {
    description["ttlMs"] = LIST_TTL_MS.into();
    description["cacheScope"] = "private".into();
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    #[serde(flatten)]
    kept: CacheHint,
    #[serde(rename = "nextCursor", skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    #[serde(flatten)]
    items: Items<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum Items<'a> {
    Tools(&'a [Tool]),
    Resources(&'a [Resource]),
    ResourceTemplates(&'a [ResourceTemplate]),
    Prompts(&'a [Prompt]),
}

#[derive(Debug, Serialize)]
struct ReadOut<'a> {
    #[serde(flatten)]
    kept: CacheHint,
    contents: &'a [Contents],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Questions<'a> {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    input_requests: &'a BTreeMap<String, InputRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_state: &'a Option<String>,
}

/// A response of this JSON.
pub(super) fn json_response(body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(answer: &Answer, era: Era) -> String {
        String::from_utf8(answer.response(era, "1").unwrap()).unwrap()
    }

    #[test]
    fn the_kind_of_a_result_comes_first_and_only_where_it_is_said() {
        assert_eq!(
            written(&Answer::Nothing, Era::Stateless),
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}"#
        );
        assert_eq!(written(&Answer::Nothing, Era::Sessions), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        assert_eq!(
            written(&Answer::Called(ToolResult::text("hi")), Era::Stateless),
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"hi"}]}}"#
        );
        assert_eq!(
            written(&Answer::Read(Vec::new()), Era::Stateless),
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","contents":[]}}"#
        );
    }
}
