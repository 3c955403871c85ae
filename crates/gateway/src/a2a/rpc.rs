//! The JSON-RPC binding: one address per agent, the operation in the body.
//!
//! Promises: all answers but those that HTTP itself must see have status 200, as the official clients read them. It does not know
//! what an operation does.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use tracing::Instrument;

use super::binding::Binding;
use super::operation::Operation;
use super::{Call, call_span, check_media_type, check_version};
use crate::failure::Failure;
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
    let binding = Binding::JsonRpc(request.id.as_json().into());
    let span = call_span("jsonrpc", &request.method, agent);
    let answer = async {
        check_version(&parts)?;
        let call = Call::new(front, &parts, caller, agent)?;
        Operation::named(&request.method, request.params)?.perform(&call, &binding).await
    };
    answer.instrument(span).await.unwrap_or_else(|failure| binding.refuse(&failure))
}
