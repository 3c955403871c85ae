//! Pages for people and their twins for programs, signing in, and what is seen where nothing is.
//!
//! Promises: every page of the interface (`shell`) has a twin in Markdown (`twin`) for programs that do not
//! want HTML; the few pages that are written here hold no script, and every foreign text in them is escaped
//! by `html`. The addresses of the other faces keep their own answers.

mod for_models;
mod html;
mod shell;
mod twin;

use std::sync::Arc;

use agentsite_site::SiteError;
use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::caller::browser;
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::metrics::Face;
use crate::route::{Access, Route, RouteDefaults, caller, wants_html};
use for_models::Extent;
pub(crate) use html::Html;

/// Nothing may load but our own style sheet, nothing may frame us, no form leaves.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const STYLE: &str = include_str!("pages/style.css");

/// What the rows of this face have in common: a refusal is a page for browsers.
const PAGES: RouteDefaults = RouteDefaults::new(Face::Pages, Access::Open).refused_by(refuse_page);

/// The routes of this face.
pub(crate) fn routes() -> Vec<Route> {
    let mut routes = vec![
        PAGES.get("/signin", sign_in).access(Access::Address),
        PAGES.get("/style.css", style),
        PAGES.get("/llms.txt", short_text).access(Access::Caller),
        PAGES.get("/llms-full.txt", full_text).access(Access::Caller),
    ];
    routes.extend(shell::routes());
    routes.extend(twin::routes());
    routes
}

async fn short_text(front: State<Arc<Front>>, request: Request) -> Response {
    text_for_models(front, request, Extent::Short).await
}

async fn full_text(front: State<Arc<Front>>, request: Request) -> Response {
    text_for_models(front, request, Extent::Full).await
}

async fn text_for_models(State(front): State<Arc<Front>>, request: Request, extent: Extent) -> Response {
    let (mut parts, _) = request.into_parts();
    match caller(&mut parts) {
        Ok(caller) => {
            let agents = front.site.agents().list(&caller);
            let text = for_models::write(&front.site.settings().site, &agents, &front.base(&parts), extent);
            respond(StatusCode::OK, "text/plain; charset=utf-8", text)
        }
        Err(failure) => refuse_page(&failure, &parts.headers),
    }
}

async fn style() -> Response {
    let mut response = respond(StatusCode::OK, "text/css; charset=utf-8", STYLE.to_owned());
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    response
}

#[derive(serde::Deserialize)]
struct SignIn {
    #[serde(default)]
    token: String,
}

async fn sign_in(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    // A look at the head only would use the link up: chat programs do that to show a preview.
    if parts.method == Method::HEAD {
        return respond(StatusCode::OK, "text/html; charset=utf-8", String::new());
    }
    if parts.uri.query().is_none() {
        return shell::page(&parts);
    }
    let token = Query::<SignIn>::try_from_uri(&parts.uri).map(|Query(asked)| asked.token).unwrap_or_default();
    match front.site.keys().sign_in(&token, browser(&parts.headers)).await {
        Ok(session) => signed_in(&front, &parts, &session.secret),
        Err(SiteError::BadKey) => {
            let failure = Failure::new(
                Fault::Unauthenticated,
                "This sign-in link was used already or is too old. Make a new one with: agentsite open",
            );
            refuse_page(&failure, &parts.headers)
        }
        Err(error) => refuse_page(&error.into(), &parts.headers),
    }
}

fn signed_in(front: &Front, parts: &Parts, secret: &str) -> Response {
    let cookie = front.session_cookie(parts, secret);
    // The page is for browsers that came by a link on another site: they do not send a strict cookie along
    // with the redirect.
    let mut page = Html::page("Signed in");
    page.open("main")
        .element("h1", "Signed in")
        .open("p")
        .link("/", "Continue to the site")
        .close("p")
        .close("main");
    let mut response = respond(StatusCode::SEE_OTHER, "text/html; charset=utf-8", page.into_string());
    let headers = response.headers_mut();
    headers.insert(header::LOCATION, HeaderValue::from_static("/"));
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        headers.insert(header::SET_COOKIE, cookie);
    }
    response
}

/// What is answered where nothing is.
pub(crate) async fn nothing_here(request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let sentence =
        "there is nothing at this address; the site's agents are listed at / and under /api/agents";
    refuse_page(&Failure::new(Fault::NoSuchPath, sentence), &parts.headers)
}

/// A failure as a page for browsers, as JSON for programs.
pub(crate) fn refuse_page(failure: &Failure, headers: &HeaderMap) -> Response {
    if !wants_html(headers) {
        return failure.rest();
    }
    let status = failure.status();
    let mut page = Html::page(status.canonical_reason().unwrap_or("Sorry"));
    page.open("main")
        .element("h1", status.canonical_reason().unwrap_or("Sorry"))
        .element("p", &failure.sentence);
    if status == StatusCode::UNAUTHORIZED {
        page.element("p", "On the machine of this site, run this and open the link it prints:");
        page.element("pre", "agentsite open");
    }
    page.open("p").link("/", "Front page").close("p").close("main");
    let mut response = failure.respond(status, page.into_string());
    dress(response.headers_mut(), "text/html; charset=utf-8");
    response
}

/// A page or a text of this site, with the headers that keep it from loading or framing anything.
pub(crate) fn respond(status: StatusCode, media: &'static str, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    dress(response.headers_mut(), media);
    response
}

fn dress(headers: &mut HeaderMap, media: &'static str) {
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
}
