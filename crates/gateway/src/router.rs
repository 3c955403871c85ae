//! The router: every face on one port, and what is counted around each request.
//!
//! Promises: it joins the rows of all faces; each request is counted once by face and outcome. No layers lie
//! between the server and a handler, because each would cost every request: what a row requires is checked by
//! `route`.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use futures::StreamExt as _;
use http_body_util::{BodyStream, StreamBody};
use hyper::body::Incoming;
use tokio::time::Instant;
use tower::Service;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::front::Front;
use crate::leftover::{KeepAlive, Leftover};
use crate::metrics::{Face, Outcome, RefusalReason};
use crate::route::{self, OperationDoc, Route};
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
    let mut rows = without_site();
    rows.extend(mcp::routes(&front.site));
    route::mount(rows).fallback(pages::nothing_here).with_state(Arc::clone(front))
}

/// The rows of all faces that need no site to be made.
fn without_site() -> Vec<Route> {
    let mut rows = described();
    rows.extend(openapi::routes(operations_of(&rows)));
    rows.extend(a2a::routes());
    rows.extend(identity::routes());
    rows.extend(oauth::routes());
    rows.extend(openai::routes());
    rows.extend(operations::routes());
    rows.extend(pages::routes());
    rows.extend(socket::routes());
    rows
}

/// The rows of the faces that `/openapi.json` describes.
fn described() -> Vec<Route> {
    [ard::routes(), api::routes(), rpc::routes(), servers::routes()].into_iter().flatten().collect()
}

fn operations_of(rows: &[Route]) -> Vec<OperationDoc> {
    rows.iter().filter_map(Route::described).cloned().collect()
}

/// Answers one request that came over `connection`.
pub(crate) async fn answer(
    front: &Front,
    router: Router,
    connection: &Arc<Connection>,
    request: hyper::Request<Incoming>,
) -> Response {
    let begun = Instant::now();
    let at_work = connection.begin();
    let (keep_alive, leftover) = (KeepAlive::of(&request), Leftover::default());
    let (face, mut response) = match authority::check(request.version(), request.uri(), request.headers()) {
        Ok(()) => reach(front, router, connection, request, &leftover, begun).await,
        Err(wrong) => {
            leftover.leave(request.into_body());
            front.settings.metrics.refused(RefusalReason::Host);
            // It reached no face; such requests are counted with those to addresses where nothing is.
            (Face::Pages, Failure::from(wrong).rest())
        }
    };
    leftover.settle(keep_alive, &mut response).await;
    let outcome = response.extensions().get().copied().unwrap_or_else(|| Outcome::of(response.status()));
    let took = begun.elapsed();
    front.settings.metrics.count(face, outcome, took);
    tracing::debug!(?face, status = response.status().as_u16(), ?took, "answered");
    drop(at_work);
    response
}

/// Gives the request its visit and the router; also tells which face answered.
async fn reach(
    front: &Front,
    mut router: Router,
    connection: &Arc<Connection>,
    request: hyper::Request<Incoming>,
    leftover: &Leftover,
    begun: Instant,
) -> (Face, Response) {
    let (visit, version) = (Visit::new(connection), request.version());
    let limits = &front.settings.limits;
    let mut request =
        request.map(|body| arriving::body(body, &visit, &front.bodies, limits, begun, leftover));
    request.extensions_mut().insert(Arc::clone(&visit));
    let challenge = oauth::Challenge::of(front, &request);
    let mut response = router.call(request).await.unwrap_or_else(|never| match never {});
    if let Some(challenge) = challenge {
        challenge.put(&mut response);
    }
    let face = visit.face();
    let response = if version == http::Version::HTTP_2 { held_while_sent(response, visit) } else { response };
    (face, response)
}

/// Keeps the share of a request for as long as a large answer takes to be read. HTTP/1 needs none of this:
/// there a caller that does not read blocks its connection, which is ended.
fn held_while_sent(response: Response, visit: Arc<Visit>) -> Response {
    if hyper::body::Body::size_hint(response.body()).lower() <= LARGE_ANSWER {
        return response;
    }
    response.map(|body| {
        let connection = Arc::clone(&visit.connection);
        let frames = BodyStream::new(body).inspect(move |_| {
            let _held = &visit;
        });
        Body::new(StreamBody::new(Guarded::new(&connection, frames)))
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::route::Access;

    /// Every operation that the document describes.
    pub(crate) fn all_operations() -> Vec<OperationDoc> {
        operations_of(&described())
    }

    #[test]
    fn only_rows_that_name_an_agent_leave_the_check_of_access_to_their_handler() {
        let rows = without_site();
        let mut paths: Vec<_> =
            rows.iter().filter(|row| row.allows() == Access::PerAgent).map(Route::path).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["/a2a", "/a2a/", "/a2a/{*path}", "/lf.a2a.v1.A2AService/{method}"]);
    }
}
