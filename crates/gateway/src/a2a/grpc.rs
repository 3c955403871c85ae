//! The gRPC binding: service `lf.a2a.v1.A2AService` on the same port as everything else.
//!
//! Promises: the same operations as by JSON, with errors as `google.rpc.Status`; a message is bounded in
//! size, time, depth and count before it is read. The tenant of a request names the agent; none means the
//! site itself. What it needs of gRPC is small (one message in, some out, a status at the end), so it is
//! written here rather than taken from a framework; see docs/decisions/0006-own-protobuf.md. It does not know
//! what an operation does, and takes no compressed messages.

mod answer;
mod frame;
mod request;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::request::Parts;
use http::{StatusCode, header};
use tracing::Instrument;

use super::extensions::RequestedExtensions;
use super::version::Version;
use super::{A2aCall, call_span, media_type};
use crate::failure::{Failure, Fault, GRPC};
use crate::front::Front;
use request::GrpcRequest;

/// Where the service is.
pub(super) const PATH: &str = "/lf.a2a.v1.A2AService/{method}";

/// Answers one call.
pub(super) async fn enter(
    State(front): State<Arc<Front>>,
    Path(method): Path<String>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    if let Some(refusal) = not_grpc(&parts) {
        return refusal;
    }
    match perform(&front, &method, &parts, body).await {
        Ok(mut response) => {
            RequestedExtensions::read(&parts.headers).confirm(&mut response);
            response
        }
        Err(failure) => failure.grpc(),
    }
}

/// The answer to a request that is not gRPC, in plain HTTP.
fn not_grpc(parts: &Parts) -> Option<Response> {
    let media = media_type(&parts.headers, &header::CONTENT_TYPE);
    let spoken = media == GRPC || media == "application/grpc+proto";
    if spoken && parts.version == http::Version::HTTP_2 {
        return None;
    }
    let sentence =
        "this address speaks gRPC: HTTP/2 and application/grpc; an agent's card names others for JSON";
    let mut response = Failure::new(Fault::ContentType, sentence).rest();
    *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    Some(response)
}

async fn perform(front: &Arc<Front>, method: &str, parts: &Parts, body: Body) -> Result<Response, Failure> {
    let caller = front.admit(parts).await?;
    let body = front.body(body).await?;
    let message = frame::only(&body)?;
    // Nothing said means 1.0, as everywhere but by JSON-RPC: version 0.3 has a service of another name
    // (`a2a.v1.A2AService`), so that a caller of this one has named the version by the path.
    Version::asked(parts)?.check_current()?;
    let GrpcRequest { agent, operation } = GrpcRequest::read(method, message)?;
    let agent = agent.as_deref();
    let done = async {
        let call = A2aCall::new(front, parts, caller, agent)?;
        answer::respond(operation.perform(&call).await?, &call)
    };
    done.instrument(call_span("grpc", method, agent, &parts.headers)).await
}
