//! Route: one row per method of a path, from which everything about it follows.
//!
//! Promises: a row yields the handler in the router, the operation in `/openapi.json`, the label in the
//! metrics, the limit on the time of an answer, and who may call. Access is checked here, before the handler
//! runs; a handler gets its caller only from that check. Rows live beside their handlers; `router` joins
//! them. It does not know any face.
//!
//! No tower layer is involved: a row wraps its handler directly, and one whose protocol checks access itself
//! costs a single look into the request.

mod access;
mod operation;
mod shape;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, any};
use futures::future::BoxFuture;
use http::{HeaderMap, StatusCode};
use utoipa::openapi::path::HttpMethod;

use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::metrics::Face;
use crate::visit::Visit;

pub(crate) use access::{Access, caller, loads_page, wants_html};
pub(crate) use operation::{DocumentPart, OperationDoc, Query, STREAM};
pub(crate) use shape::{Shape, Shapes};

/// Writes a refusal in the form of a face; the headers are those of the request.
pub(crate) type Refuse = fn(&Failure, &HeaderMap) -> Response;

/// The methods of all rows of one path.
type Methods = MethodRouter<Arc<Front>>;

/// What the rows of one face have in common. Each row may differ.
#[derive(Clone, Copy)]
pub(crate) struct RouteDefaults {
    face: Face,
    access: Access,
    /// Whether an answer has a time limit; false where the time is the agent's.
    is_timed: bool,
    refuse: Refuse,
    part: DocumentPart,
}

impl RouteDefaults {
    /// Rows of this face, with the limit on the time of an answer, refused as the REST face does.
    pub(crate) const fn new(face: Face, access: Access) -> Self {
        Self { face, access, is_timed: true, refuse: |failure, _| failure.rest(), part: DocumentPart::Rest }
    }

    /// The form of refusals.
    pub(crate) const fn refused_by(mut self, refuse: Refuse) -> Self {
        self.refuse = refuse;
        self
    }

    /// The part of the document that describes the rows.
    pub(crate) const fn part(mut self, part: DocumentPart) -> Self {
        self.part = part;
        self
    }

    /// Answers take as long as an agent may; the handler limits the rest by itself.
    pub(crate) const fn untimed(mut self) -> Self {
        self.is_timed = false;
        self
    }

    pub(crate) fn get<H, T>(self, path: &'static str, handler: H) -> Route
    where
        H: Handler<T, Arc<Front>, Future = BoxFuture<'static, Response>>,
        T: 'static,
    {
        self.on(HttpMethod::Get, Some(MethodFilter::GET), path, untyped(handler))
    }

    pub(crate) fn post<H, T>(self, path: &'static str, handler: H) -> Route
    where
        H: Handler<T, Arc<Front>, Future = BoxFuture<'static, Response>>,
        T: 'static,
    {
        self.on(HttpMethod::Post, Some(MethodFilter::POST), path, untyped(handler))
    }

    pub(crate) fn put<H, T>(self, path: &'static str, handler: H) -> Route
    where
        H: Handler<T, Arc<Front>, Future = BoxFuture<'static, Response>>,
        T: 'static,
    {
        self.on(HttpMethod::Put, Some(MethodFilter::PUT), path, untyped(handler))
    }

    pub(crate) fn patch<H, T>(self, path: &'static str, handler: H) -> Route
    where
        H: Handler<T, Arc<Front>, Future = BoxFuture<'static, Response>>,
        T: 'static,
    {
        self.on(HttpMethod::Patch, Some(MethodFilter::PATCH), path, untyped(handler))
    }

    pub(crate) fn delete<H, T>(self, path: &'static str, handler: H) -> Route
    where
        H: Handler<T, Arc<Front>, Future = BoxFuture<'static, Response>>,
        T: 'static,
    {
        self.on(HttpMethod::Delete, Some(MethodFilter::DELETE), path, untyped(handler))
    }

    /// A row for every method: the handler looks at the method itself.
    pub(crate) fn any<H, T>(self, path: &'static str, handler: H) -> Route
    where
        H: Handler<T, Arc<Front>, Future = BoxFuture<'static, Response>>,
        T: 'static,
    {
        self.on(HttpMethod::Get, None, path, untyped(handler))
    }

    fn on(
        self,
        method: HttpMethod,
        filter: Option<MethodFilter>,
        path: &'static str,
        handler: Untyped,
    ) -> Route {
        Route { path, method, filter, defaults: self, operation: None, handler }
    }

    /// Whether nothing is left to check before the handler.
    fn is_direct(self) -> bool {
        self.access == Access::PerAgent && !self.is_timed
    }
}

/// A handler without its type. The check of a row and the router would otherwise be compiled for each of the
/// more than a hundred handlers.
type Untyped = Arc<dyn Fn(Request, Arc<Front>) -> BoxFuture<'static, Response> + Send + Sync>;

fn untyped<H, T>(handler: H) -> Untyped
where
    H: Handler<T, Arc<Front>, Future = BoxFuture<'static, Response>>,
    T: 'static,
{
    Arc::new(move |request, front| handler.clone().call(request, front))
}

/// One method of one path.
pub(crate) struct Route {
    path: &'static str,
    /// The method that the document names.
    method: HttpMethod,
    /// The method that the router sends to it; `None` is all.
    filter: Option<MethodFilter>,
    defaults: RouteDefaults,
    operation: Option<OperationDoc>,
    handler: Untyped,
}

impl Route {
    /// Where it is.
    pub(crate) const fn path(&self) -> &'static str {
        self.path
    }

    /// Who may use it.
    #[cfg(test)]
    pub(crate) const fn allows(&self) -> Access {
        self.defaults.access
    }

    /// What the document says of it; `None` where another specification describes it.
    pub(crate) const fn described(&self) -> Option<&OperationDoc> {
        self.operation.as_ref()
    }

    /// Requires another access than the rest of the face.
    pub(crate) fn access(mut self, access: Access) -> Self {
        self.defaults.access = access;
        if let Some(operation) = &mut self.operation {
            operation.needs_key = access.needs_key();
        }
        self
    }

    /// For admins only.
    pub(crate) fn admin(self) -> Self {
        self.access(Access::Admin)
    }

    /// Describes the row in the document.
    pub(crate) fn operation(mut self, id: &'static str, summary: &'static str) -> Self {
        let Self { path, ref method, defaults: RouteDefaults { part, access, .. }, .. } = self;
        self.operation =
            Some(OperationDoc::new(part, method.clone(), path, (id, summary), access.needs_key()));
        self
    }

    /// Parameters in the query.
    pub(crate) fn query(self, query: Query) -> Self {
        self.describe(|operation| operation.query = query)
    }

    /// Shape of the request.
    pub(crate) fn takes(self, body: impl Into<Shape>) -> Self {
        let body = body.into();
        self.describe(|operation| operation.body = Some(body))
    }

    /// Shape of the answer.
    pub(crate) fn gives(self, answer: impl Into<Shape>) -> Self {
        let answer = answer.into();
        self.describe(|operation| operation.answer = Some(answer))
    }

    /// Status of the answer.
    pub(crate) fn status(self, status: &'static str) -> Self {
        self.describe(|operation| operation.status = status)
    }

    /// Media types of the answer, the usual one first, separated by `|`.
    pub(crate) fn media(self, media: &'static str) -> Self {
        self.describe(|operation| operation.media = media)
    }

    fn describe(mut self, change: impl FnOnce(&mut OperationDoc)) -> Self {
        debug_assert!(self.operation.is_some(), "{}: the operation comes before its shapes", self.path);
        self.operation.as_mut().map(change);
        self
    }
}

/// A router of all rows. A path answers a method that it has no row for in the form of its face.
pub(crate) fn mount(routes: Vec<Route>) -> Router<Arc<Front>> {
    let mut paths: BTreeMap<&'static str, Methods> = BTreeMap::new();
    for Route { path, filter, defaults: guard, handler, .. } in routes {
        let known = paths.remove(path).unwrap_or_else(|| no_method(guard));
        let handler = Checked { handler, guard };
        let methods = match filter {
            Some(filter) => known.on(filter, handler),
            None => any(handler),
        };
        paths.insert(path, methods);
    }
    paths.into_iter().fold(Router::new(), |router, (path, methods)| router.route(path, methods))
}

/// A path without rows yet, and what it answers to the methods that it will have none for.
fn no_method(defaults: RouteDefaults) -> Methods {
    MethodRouter::new().fallback(async move |request: Request| {
        mark(&request, defaults.face);
        let failure = Failure::wrong_method(request.method());
        let mut response = (defaults.refuse)(&failure, request.headers());
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        response
    })
}

/// Notes the face of a request for the metrics.
fn mark(request: &Request, face: Face) {
    if let Some(visit) = request.extensions().get::<Arc<Visit>>() {
        visit.reach(face);
    }
}

/// A handler behind the check of its row.
#[derive(Clone)]
struct Checked {
    handler: Untyped,
    guard: RouteDefaults,
}

impl Handler<(), Arc<Front>> for Checked {
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, front: Arc<Front>) -> Self::Future {
        mark(&request, self.guard.face);
        if self.guard.is_direct() {
            return (self.handler)(request, front);
        }
        Box::pin(async move {
            let answer = self.admitted(request, &front);
            if !self.guard.is_timed {
                return answer.await;
            }
            let limit = front.settings.limits.answer_time;
            tokio::time::timeout(limit, answer).await.unwrap_or_else(|_| {
                let sentence = "the site took too long; it may be overloaded, try again later";
                Failure::new(Fault::TimedOut, sentence).rest()
            })
        })
    }
}

impl Checked {
    /// Checks access, then answers.
    async fn admitted(&self, request: Request, front: &Arc<Front>) -> Response {
        let (mut parts, body) = request.into_parts();
        match self.guard.access.admit(front, &mut parts).await {
            Ok(()) => (self.handler)(Request::from_parts(parts, body), Arc::clone(front)).await,
            Err(failure) => (self.guard.refuse)(&failure, &parts.headers),
        }
    }
}
