//! The REST face under `/api`: what the command line and the pages need of a site.
//!
//! Promises: JSON in camelCase; every route but the session refuses callers of whom nothing is known before it looks at anything else; errors are
//! `{"error":{"code","message"}}`. It is ours and may change with the program; other agents use the A2A face.

mod agents;
mod config;
mod conversations;
mod find;
mod hub;
mod identity;
mod keys;
mod logs;
mod names;
mod operation;
mod outbox;
mod queries;
mod session;
mod tasks;
mod workshop;

use std::sync::Arc;

use agentsite_protocol::{Caller, Nesting};
use axum::Router;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::response::Response;
use axum::routing::{MethodRouter, delete, get, post};
use http::header;
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::document::{json, nothing};
use crate::failure::{Failure, Fault};
use crate::front::Front;

type Handlers = fn() -> MethodRouter<Arc<Front>>;

/// Every route of this face. The walk through the routes in the tests reads the same table.
const ROUTES: [(&str, Handlers); 63] = [
    ("/api/agents", || get(agents::list).post(workshop::create)),
    ("/api/agents/{name}", || get(agents::show).delete(agents::remove)),
    ("/api/agents/{name}/logs", || get(agents::logs)),
    ("/api/agents/{name}/usage", || get(agents::usage)),
    ("/api/agents/{name}/manifest", || get(workshop::manifest).put(workshop::write)),
    ("/api/agents/{name}/manifest/check", || post(workshop::check)),
    ("/api/agents/{name}/suspend", || post(workshop::suspend)),
    ("/api/agents/{name}/resume", || post(workshop::resume)),
    ("/api/agents/{name}/tools", || get(agents::tools)),
    ("/api/agents/{name}/tools/approve", || post(agents::approve)),
    ("/api/agents/{name}/login", || post(agents::begin_login)),
    ("/api/agents/{name}/login/answer", || post(agents::finish_login)),
    ("/api/agents/{name}/logout", || post(agents::logout)),
    ("/api/workshop", || get(workshop::show)),
    ("/api/workshop/draft", || post(workshop::draft)),
    ("/api/find", || post(find::find)),
    ("/api/queries", || get(queries::list).post(queries::keep)),
    ("/api/queries/{id}", || get(queries::show).delete(queries::forget)),
    ("/api/queries/{id}/events", || get(queries::events)),
    ("/api/hub", || get(hub::list).post(hub::register)),
    ("/api/hub/import", || post(hub::import)),
    ("/api/hub/{id}", || get(hub::show).patch(hub::update).delete(hub::remove)),
    ("/api/hub/{id}/verify", || post(hub::prove)),
    ("/api/hub/{id}/refresh", || post(hub::refresh)),
    ("/api/hub/{id}/suspend", || post(hub::suspend)),
    ("/api/hub/{id}/resume", || post(hub::resume)),
    ("/api/hub/{id}/open", || post(hub::open)),
    ("/api/conversations", || get(conversations::list).post(conversations::begin)),
    ("/api/conversations/events", || get(conversations::all_events)),
    ("/api/conversations/{id}", || {
        get(conversations::show).patch(conversations::edit).delete(conversations::remove)
    }),
    ("/api/conversations/{id}/turns", || get(conversations::turns).post(conversations::say)),
    ("/api/conversations/{id}/events", || get(conversations::events)),
    ("/api/conversations/{id}/export", || get(conversations::export)),
    ("/api/tasks", || get(tasks::list)),
    ("/api/tasks/{id}", || get(tasks::show).delete(tasks::forget)),
    ("/api/tasks/{id}/events", || get(tasks::events)),
    ("/api/tasks/{id}/cancel", || post(tasks::cancel)),
    ("/api/tasks/{id}/retry", || post(tasks::retry)),
    ("/api/tasks/{id}/graph", || get(tasks::graph)),
    ("/api/names", || get(names::list)),
    ("/api/names/{name}", || delete(names::release)),
    ("/api/keys", || get(keys::list).post(keys::make)),
    ("/api/keys/{id}", || delete(keys::revoke)),
    ("/api/admin-token", || post(keys::replace_admin_token)),
    ("/api/signin-links", || post(keys::sign_in_link)),
    ("/api/session", || get(session::show).post(session::begin).delete(session::end)),
    ("/api/outbox", || get(outbox::list)),
    ("/api/outbox/{id}", || get(outbox::show).delete(outbox::forget)),
    ("/api/outbox/{id}/retry", || post(outbox::send_again)),
    ("/api/identity", || get(operation::identity)),
    ("/api/identity/rotate", || post(operation::rotate_identity)),
    ("/api/identity/challenges", || get(identity::list).post(identity::serve)),
    ("/api/identity/challenges/{word}", || delete(identity::withdraw)),
    ("/api/identity/answer", || post(identity::answer)),
    ("/api/status", || get(operation::status)),
    ("/api/charts", || get(operation::charts)),
    ("/api/logs", || get(logs::list)),
    ("/api/config", || get(config::show).post(config::save)),
    ("/api/config/check", || post(config::check)),
    ("/api/doctor", || get(config::last_examination).post(config::examine)),
    ("/api/journal", || get(operation::journal)),
    ("/api/backup", || post(operation::backup)),
    ("/api/reload", || post(operation::reload)),
];

/// The routes of this face.
pub(crate) fn routes() -> Router<Arc<Front>> {
    ROUTES.iter().fold(Router::new(), |router, (path, handlers)| router.route(path, handlers()))
}

/// The paths of the REST face, for the test that walks them.
#[doc(hidden)]
#[must_use]
pub fn api_paths() -> Vec<&'static str> {
    ROUTES.iter().map(|(path, _)| *path).collect()
}

/// What a handler answers.
type Answer = Result<Response, Failure>;

/// The caller of a request of whom something is known, with the head of the request. Always the first argument after the
/// state, so that nothing else is looked at before.
struct Asking {
    caller: Caller,
    parts: Parts,
}

impl FromRequestParts<Arc<Front>> for Asking {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, front: &Arc<Front>) -> Result<Self, Failure> {
        let caller = front.admit_known(parts).await?;
        Ok(Self { caller, parts: parts.clone() })
    }
}

/// The query of a request, read into its type.
struct Wanted<T>(T);

impl<T: DeserializeOwned> FromRequestParts<Arc<Front>> for Wanted<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Front>) -> Result<Self, Failure> {
        let read = Query::try_from_uri(&parts.uri);
        read.map(|Query(wanted)| Self(wanted))
            .map_err(|error| bad(format!("the query is not right: {error}")))
    }
}

/// The JSON body of a request, read into its type.
struct Given<T>(T);

impl<T: DeserializeOwned> FromRequest<Arc<Front>> for Given<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, front: &Arc<Front>) -> Result<Self, Failure> {
        let (parts, body) = request.into_parts();
        let media =
            parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !media.trim_start().to_ascii_lowercase().starts_with("application/json") {
            return Err(Failure::new(
                Fault::ContentType,
                "send the request as Content-Type: application/json",
            ));
        }
        let bytes = front.body(body).await?;
        Nesting::REQUEST.check(&bytes).map_err(|error| Failure::new(Fault::BadRequest, error.to_string()))?;
        serde_json::from_slice(&bytes).map(Self).map_err(|error| {
            let fault = if error.is_data() { Fault::BadParams } else { Fault::NotJson };
            Failure::new(fault, format!("the body is not right: {error}"))
        })
    }
}

/// Refuses whoever does not run this site, before anything is looked at.
fn admin_only(asking: &Asking) -> Result<(), Failure> {
    if asking.caller.is_admin() {
        return Ok(());
    }
    let sentence = "only the people who run this site may do that; use a key with the scope admin";
    Err(Failure::new(Fault::Forbidden, sentence))
}

fn bad(sentence: String) -> Failure {
    Failure::new(Fault::BadParams, sentence)
}

/// Reads something a caller wrote; `what` is how the refusal calls it.
fn parse<T: std::str::FromStr<Err: std::fmt::Display>>(what: &str, text: &str) -> Result<T, Failure> {
    text.parse().map_err(|error: T::Err| bad(format!("{what}: {error}")))
}
