//! The router: every face on one port, and what is counted around each request.
//!
//! Promises: each request is counted once by face and outcome; what does not wait for an agent is answered within the time limit.
//! No layers lie between the server and a handler, because each would cost every request.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use futures::StreamExt as _;
use http_body_util::{BodyStream, StreamBody};
use hyper::body::Incoming;
use tokio::time::Instant;
use tower::Service;

use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::leftover::{Connection, Leftover};
use crate::line::Line;
use crate::metrics::{Face, Outcome, Refusal};
use crate::unread::Guarded;
use crate::visit::Visit;
use crate::{
    a2a, api, ard, arriving, authority, identity, mcp, oauth, openai, openapi, operations, pages, rpc,
    servers, socket,
};

/// Bytes of an answer above which it counts as one that is worth holding for.
const LARGE_ANSWER: u64 = 64 << 10;

/// Joins the faces.
pub(crate) fn join(front: &Arc<Front>) -> Router {
    a2a::routes()
        .merge(api::routes())
        .merge(ard::routes())
        .merge(identity::routes())
        .merge(mcp::routes(&front.site))
        .merge(oauth::routes())
        .merge(openai::routes())
        .merge(openapi::routes())
        .merge(operations::routes())
        .merge(pages::routes())
        .merge(rpc::routes())
        .merge(servers::routes())
        .merge(socket::routes())
        .fallback(pages::nothing_here)
        .method_not_allowed_fallback(pages::wrong_method)
        .with_state(Arc::clone(front))
}

/// Answers one request that came over `line`.
pub(crate) async fn answer(
    front: &Front,
    router: Router,
    line: &Arc<Line>,
    request: hyper::Request<Incoming>,
) -> Response {
    let begun = Instant::now();
    let face = Face::of(request.uri().path());
    let at_work = line.begin();
    let (connection, leftover) = (Connection::of(&request), Leftover::default());
    let mut response = match authority::check(request.version(), request.uri(), request.headers()) {
        Ok(()) => route(front, router, line, request, &leftover, (face, begun)).await,
        Err(wrong) => {
            leftover.leave(request.into_body());
            front.settings.metrics.refused(Refusal::Host);
            Failure::from(wrong).rest()
        }
    };
    leftover.settle(connection, &mut response).await;
    let outcome = response.extensions().get().copied().unwrap_or_else(|| Outcome::of(response.status()));
    let took = begun.elapsed();
    front.settings.metrics.count(face, outcome, took);
    tracing::debug!(?face, status = response.status().as_u16(), ?took, "answered");
    drop(at_work);
    response
}

async fn route(
    front: &Front,
    mut router: Router,
    line: &Arc<Line>,
    request: hyper::Request<Incoming>,
    leftover: &Leftover,
    (face, begun): (Face, Instant),
) -> Response {
    let (visit, version) = (Visit::new(line), request.version());
    let limits = &front.settings.limits;
    let mut request =
        request.map(|body| arriving::body(body, &visit, &front.bodies, limits, begun, leftover));
    request.extensions_mut().insert(Arc::clone(&visit));
    let challenge = oauth::Challenge::of(front, &request);
    let answer = router.call(request);
    let response = match face {
        // Waiting for an agent takes as long as the agent may; the face limits the rest by itself.
        Face::A2a | Face::Mcp | Face::OpenAi => answer.await,
        _ => within(front.settings.limits.answer_time, answer).await,
    };
    let mut response = response.unwrap_or_else(|never| match never {});
    if let Some(challenge) = challenge {
        challenge.put(&mut response);
    }
    if version == http::Version::HTTP_2 { held_while_sent(response, visit) } else { response }
}

/// Keeps the share of a request for as long as a large answer takes to be read. HTTP/1 needs none of this: there a caller that does not
/// read blocks its connection, which is ended.
fn held_while_sent(response: Response, visit: Arc<Visit>) -> Response {
    if hyper::body::Body::size_hint(response.body()).lower() <= LARGE_ANSWER {
        return response;
    }
    response.map(|body| {
        let line = Arc::clone(&visit.line);
        let frames = BodyStream::new(body).inspect(move |_| {
            let _held = &visit;
        });
        Body::new(StreamBody::new(Guarded::new(&line, frames)))
    })
}

async fn within<E>(
    limit: Duration,
    answer: impl Future<Output = Result<Response, E>>,
) -> Result<Response, E> {
    match tokio::time::timeout(limit, answer).await {
        Ok(answer) => answer,
        Err(_) => {
            Ok(Failure::new(Fault::TimedOut, "the site took too long; it may be overloaded, try again later")
                .rest())
        }
    }
}
