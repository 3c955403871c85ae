//! The JSON-RPC binding: one address per agent, the operation in the body.
//!
//! Promises: all answers but those that HTTP itself must see have status 200, as the official clients read
//! them. A request of A2A 0.3 becomes one of 1.0 here, and its answer goes back in the form of 0.3. It does
//! not know what an operation does.

use std::sync::Arc;

use agentsite_protocol::legacy::{self, NotLegacy};
use axum::extract::Request;
use axum::response::Response;
use http::request::Parts;
use tracing::Instrument;

use super::binding::Binding;
use super::operation::Operation;
use super::version::Version;
use super::{A2aCall, answer, bad_params, call_span, check_media_type, tenant, violation};
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::jsonrpc::{self, Id};

/// Answers one request to an agent, or to the site itself.
pub(super) async fn answer(front: &Arc<Front>, agent: Option<&str>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let refuse = |failure: &Failure| failure.rpc(Id::NULL.as_json());
    let caller = match front.admit(&parts).await {
        Ok(caller) => caller,
        Err(failure) => return refuse(&failure),
    };
    if let Err(failure) = check_media_type(&parts.headers) {
        return refuse(&failure);
    }
    let body = match front.body(body).await {
        Ok(body) => body,
        Err(failure) => return refuse(&failure),
    };
    let request = match jsonrpc::decode(&body) {
        Ok(request) => request,
        Err(refused) => return refused.failure.rpc(refused.id.as_json()),
    };
    let span = call_span("jsonrpc", &request.method, agent, &parts.headers);
    let (binding, operation) = read(&parts, &request);
    let operation = match operation {
        Ok(operation) => operation,
        Err(failure) => return binding.refuse(&failure),
    };
    let answer = async {
        let tenant = tenant::in_json(request.params)?;
        let mut call = A2aCall::new(front, &parts, caller, tenant::agreed(agent, tenant.as_deref())?)?;
        call.as_old = binding.is_old();
        Ok(answer::respond(operation.perform(&call).await?, &call, &binding))
    };
    answer.instrument(span).await.unwrap_or_else(|failure: Failure| binding.refuse_done(&failure))
}

/// What is asked, and how it is answered: in the version in which it was asked.
fn read<'r>(parts: &Parts, request: &jsonrpc::Request<'r>) -> (Binding<'r>, Result<Operation, Failure>) {
    let id = request.id.as_json();
    let current = |operation| (Binding::JsonRpc(id.into()), operation);
    let version = match Version::asked(parts) {
        Ok(version) => version,
        Err(failure) => return current(Err(failure)),
    };
    if !version.is_old_for(&request.method) {
        return current(Operation::named(&request.method, request.params));
    }
    let method = legacy::modern_method(&request.method).unwrap_or_default();
    (Binding::OldJsonRpc { id: id.into(), method }, upgraded(&request.method, request.params))
}

/// The operation that a request of A2A 0.3 stands for.
fn upgraded(method: &str, params: &str) -> Result<Operation, Failure> {
    let params = serde_json::from_str(params)
        .map_err(|error| Failure::new(Fault::NotJson, format!("the request is not JSON: {error}")))?;
    let (modern, params) = legacy::upgrade_request(method, params).map_err(|error| match error {
        NotLegacy::Field { field, wrong } => bad_params("", vec![violation(&field, wrong)]),
        NotLegacy::Method | NotLegacy::Answer => no_such_method(method),
    })?;
    Operation::named(modern, &params.to_string())
}

fn no_such_method(method: &str) -> Failure {
    let known = legacy::METHODS.map(|(_, old)| old);
    let mut failure = jsonrpc::no_such_method(method, &known);
    failure.sentence = format!("{} (A2A 0.3; for 1.0 send A2A-Version: 1.0)", failure.sentence).into();
    failure
}
