//! `/rpc`: the hub by JSON-RPC 2.0, for programs that look for agents: `agents.find`, `agents.get`,
//! `agents.list`.
//!
//! Promises: one request at a time, batches are refused; everybody may ask, and what a caller may not see
//! does not exist. Errors are those of the one table. Agents are called by A2A or MCP, not here.

use std::sync::Arc;

use agentsite_protocol::listing::Listing;
use agentsite_protocol::{Caller, Query};
use agentsite_site::SiteError;
use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderValue, header};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::hub;
use crate::jsonrpc::{self, Id};
use crate::metrics::Face;
use crate::route::{Access, DocumentPart, Route, RouteDefaults, caller};

/// The methods.
const METHODS: [&str; 3] = ["agents.find", "agents.get", "agents.list"];

/// Agents of a page when the caller names no number, and most of them.
const PAGE: (usize, usize) = (50, 500);

/// Longest excerpt of a foreign id that an error repeats.
const EXCERPT: usize = 200;

/// The routes of this face.
pub(crate) fn routes() -> Vec<Route> {
    let defaults = RouteDefaults::new(Face::Api, Access::Caller).part(DocumentPart::Rpc);
    let summary = "Find, get and list agents by JSON-RPC 2.0: agents.find, agents.get, agents.list";
    vec![
        defaults
            .refused_by(|failure, _| failure.rpc(Id::NULL.as_json()))
            .post("/rpc", answer)
            .operation("callHub", summary)
            .takes("RpcRequest")
            .gives("RpcResponse"),
    ]
}

async fn answer(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let read = async {
        let caller = caller(&mut parts)?;
        Ok::<_, Failure>((caller, front.body(body).await?))
    };
    let (caller, bytes) = match read.await {
        Ok(read) => read,
        Err(failure) => return failure.rpc(Id::NULL.as_json()),
    };
    let request = match jsonrpc::decode(&bytes) {
        Ok(request) => request,
        Err(refused) => return refused.failure.rpc(refused.id.as_json()),
    };
    let base = front.base(&parts);
    match call(&front, &caller, &base, &request.method, request.params).await {
        Ok(result) => written(request.id, &result),
        Err(failure) => failure.rpc(request.id.as_json()),
    }
}

async fn call(
    front: &Front,
    caller: &Caller,
    base: &str,
    method: &str,
    params: &str,
) -> Result<Value, Failure> {
    match method {
        "agents.find" => {
            let query: Query = given(params)?;
            value(&front.site.search().find(caller, &query, base).await?)
        }
        "agents.get" => {
            let AgentParams { id } = given(params)?;
            let missing = || SiteError::NoSuchAgent(id.chars().take(EXCERPT).collect());
            value(&hub::one(&front.site, caller, &id, base).await?.ok_or_else(missing)?)
        }
        "agents.list" => list(front, caller, base, &given(params)?).await,
        other => Err(jsonrpc::no_such_method(other, &METHODS)),
    }
}

/// Which agent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentParams {
    id: String,
}

/// Which page of the list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PageParams {
    /// Continues after this id.
    #[serde(default)]
    after: String,
    limit: Option<usize>,
}

#[derive(Serialize)]
struct Agents {
    agents: Vec<Listing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

async fn list(front: &Front, caller: &Caller, base: &str, wanted: &PageParams) -> Result<Value, Failure> {
    let most = wanted.limit.unwrap_or(PAGE.0).clamp(1, PAGE.1);
    let after = Some(wanted.after.as_str()).filter(|after| !after.is_empty());
    // One more than wanted, to see whether there are more.
    let mut agents = front.site.search().page(caller, base, after, most + 1).await?;
    let more = agents.len() > most;
    agents.truncate(most);
    let next = agents.last().filter(|_| more).map(|agent| agent.id.to_string());
    value(&Agents { agents, next })
}

fn given<T: DeserializeOwned>(params: &str) -> Result<T, Failure> {
    serde_json::from_str(params)
        .map_err(|error| Failure::new(Fault::BadParams, format!("the params are not right: {error}")))
}

fn value(result: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(result).map_err(|error| {
        tracing::error!(%error, "an answer could not be written");
        Failure::new(Fault::Internal, "the answer could not be written; the log of the site says why")
    })
}

fn written(id: Id<'_>, result: &Value) -> Response {
    let mut body = Vec::new();
    if let Err(error) = jsonrpc::write_result(&mut body, id.as_json(), result) {
        tracing::error!(%error, "an answer could not be written");
        return Failure::new(Fault::Internal, "the answer could not be written").rpc(id.as_json());
    }
    let mut response = Response::new(body.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
