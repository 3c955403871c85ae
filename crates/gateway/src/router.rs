//! The router: every face on one port, and what is counted around each request.
//!
//! Promises: each request is counted once by face and outcome; what does not wait for an agent is answered within the time limit.
//! No layers lie between the server and a handler, because each would cost every request.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use tokio::time::Instant;
use tower::Service;

use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::line::Line;
use crate::metrics::{Face, Outcome};
use crate::{a2a, api, ard, identity, mcp, oauth, openai, openapi, operations, pages, rpc, servers, socket};

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
    mut router: Router,
    line: &Arc<Line>,
    mut request: Request,
) -> Response {
    let begun = Instant::now();
    let face = Face::of(request.uri().path());
    let at_work = line.begin();
    request.extensions_mut().insert(Arc::clone(line));
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
    let outcome = response.extensions().get().copied().unwrap_or_else(|| Outcome::of(response.status()));
    let took = begun.elapsed();
    front.settings.metrics.count(face, outcome, took);
    tracing::debug!(?face, status = response.status().as_u16(), ?took, "answered");
    drop(at_work);
    response
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
