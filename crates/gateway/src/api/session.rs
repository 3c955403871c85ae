//! `/api/session`: who a browser is, signing in with a key, and signing out.
//!
//! Promises: strangers learn the name of the site and that they are strangers, nothing else; the secret of a
//! session is in its cookie only, which no script reads. What a caller may do is the site's matter.

use std::sync::Arc;

use agentsite_protocol::Caller;
use agentsite_site::{SignedIn, SiteError};
use axum::extract::State;
use axum::response::Response;
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::{Admitted, JsonBody, REST, RestResult};
use crate::caller::{browser, session};
use crate::document::{json, nothing};
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::route::{Access, Route, Shape};
use crate::written;

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        REST.get("/api/session", show)
            .access(Access::Caller)
            .operation("getSession", "Who you are to the site")
            .gives(Shape::of::<Session<'_>>()),
        REST.post("/api/session", begin)
            .access(Access::Address)
            .operation("signIn", "Sign a browser in with a key; the session is a cookie")
            .takes(Shape::of::<SigningIn>())
            .gives(Shape::of::<Session<'_>>()),
        REST.delete("/api/session", end).operation("signOut", "End the session of a browser"),
    ]
}

/// Who asks, as pages tell it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Session<'a> {
    #[schemars(extend("enum" = ["admin", "user", "guest"]))]
    role: &'static str,
    owner: &'a str,
    signed_in: bool,
    /// As whom, when a browser is signed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "Option<written::Presence>",
        extend("about" = "As whom the browser is signed in")
    )]
    presence: Option<SignedIn>,
    site: SiteTold<'a>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct SiteTold<'a> {
    name: &'a str,
    description: &'a str,
    version: &'a str,
    concierge: String,
}

/// What a browser signs in with.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SigningIn {
    key: String,
}

async fn show(State(front): State<Arc<Front>>, admitted: Admitted) -> RestResult {
    let presence =
        session(&admitted.parts.headers).and_then(|secret| front.site.keys().presence(secret).ok());
    told(&front, &admitted.caller, presence)
}

/// A page of another origin cannot send this: a request with JSON needs a permission beforehand, which no
/// answer gives. Its route counts requests by address, which slows down a caller that tries keys out.
async fn begin(
    State(front): State<Arc<Front>>,
    parts: Parts,
    JsonBody(given): JsonBody<SigningIn>,
) -> RestResult {
    let begun = match front.site.keys().begin_session(given.key.trim(), browser(&parts.headers)).await {
        Err(SiteError::BadKey) => {
            let sentence =
                "this key is not known here; ask an admin of the site for one (`agentsite key new`)";
            return Err(Failure::new(Fault::Unauthenticated, sentence));
        }
        begun => begun?,
    };
    let caller = front.site.keys().caller_by_session(&begun.secret).await?;
    let mut response = told(&front, &caller, front.site.keys().presence(&begun.secret).ok())?;
    put_cookie(&mut response, &front.session_cookie(&parts, &begun.secret));
    Ok(response)
}

async fn end(State(front): State<Arc<Front>>, admitted: Admitted) -> RestResult {
    if let Some(secret) = session(&admitted.parts.headers) {
        match front.site.keys().end_session(secret).await {
            Ok(()) | Err(SiteError::BadKey) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let mut response = nothing();
    put_cookie(&mut response, &format!("{}; Max-Age=0", front.session_cookie(&admitted.parts, "")));
    Ok(response)
}

fn told(front: &Front, caller: &Caller, presence: Option<SignedIn>) -> RestResult {
    let role = match (caller.is_admin(), caller.is_anonymous()) {
        (true, _) => "admin",
        (false, true) => "guest",
        (false, false) => "user",
    };
    let introduction = &front.site.settings().site;
    let site = SiteTold {
        name: &introduction.name,
        description: &introduction.description,
        version: env!("CARGO_PKG_VERSION"),
        concierge: front.site.agents().concierge().to_string(),
    };
    let signed_in = presence.is_some();
    json(StatusCode::OK, &Session { role, owner: caller.owner().as_str(), signed_in, presence, site })
}

fn put_cookie(response: &mut Response, cookie: &str) {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
}
