//! The twins of the pages: what a page of the interface shows, as Markdown, for agents that browse and for
//! readers without scripts.
//!
//! Promises: a page's address with `.md`, or without it for a caller that does not ask for HTML; only what
//! this caller may see; foreign text stays on its line, so that it cannot pass for a heading of ours; each
//! twin names the operation of the API behind it. It changes nothing.

mod agents;
mod network;
mod talk;
mod work;

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};

use super::{PAGES, refuse_page, respond, shell};
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::route::{Access, Route, caller, loads_page};

/// The addresses of the pages. Those of one agent, one conversation or one task take `.md` within the name.
const PATHS: [&str; 20] = [
    "/",
    "/index.md",
    "/hub",
    "/hub.md",
    "/hub/{id}",
    "/new",
    "/new.md",
    "/register",
    "/register.md",
    "/chat",
    "/chat.md",
    "/chat/{id}",
    "/tasks",
    "/tasks.md",
    "/tasks/{id}",
    "/network",
    "/network.md",
    "/ops",
    "/ops.md",
    "/ops/{id}",
];

/// The routes of the pages and their twins.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    PATHS.into_iter().map(|path| PAGES.get(path, show).access(Access::Page))
}

async fn show(State(front): State<Arc<Front>>, id: Option<Path<String>>, mut parts: Parts) -> Response {
    if loads_page(&parts) {
        return shell::page(&parts);
    }
    let id = id.map(|Path(id)| id.strip_suffix(".md").map_or(id.clone(), str::to_owned));
    match tell(&front, &mut parts, id.as_deref()).await {
        Ok(text) => {
            let mut response = respond(StatusCode::OK, "text/markdown; charset=utf-8", text);
            let vary = HeaderValue::from_static("accept, authorization, cookie, x-api-key");
            response.headers_mut().insert(header::VARY, vary);
            response
        }
        Err(failure) => refuse_page(&failure, &parts.headers),
    }
}

/// What the page at this address says.
async fn tell(front: &Front, parts: &mut Parts, id: Option<&str>) -> Result<String, Failure> {
    let caller = caller(parts)?;
    let base = front.base(parts);
    let page = parts.uri.path().trim_start_matches('/').split(['/', '.']).next().unwrap_or_default();
    match (page, id) {
        ("" | "index", _) => Ok(agents::home(front, &caller, &base)),
        ("hub", None) => agents::hub(front, &caller, &base).await,
        ("hub", Some(id)) => agents::one(front, &caller, id, &base).await,
        ("new", _) => work::create(front, &caller, &base),
        ("register", _) => Ok(work::register(&base)),
        ("chat", None) => talk::list(front, &caller, &base).await,
        ("chat", Some(id)) => talk::one(front, &caller, id, &base).await,
        ("tasks", None) => work::tasks(front, &caller, &base).await,
        ("tasks", Some(id)) => work::task(front, &caller, id, &base).await,
        ("network", _) => network::page(front, &caller, &base).await,
        ("ops", _) => work::operations(front, &caller, &base).await,
        _ => Err(Failure::new(
            Fault::NoSuchPath,
            "there is no page at this address; /index.md lists the pages",
        )),
    }
}

/// Foreign text on one line, without the marks that would make it more than text.
fn line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.replace('<', "&lt;").replace('[', "\\[").replace('|', "\\|").replace('`', "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_text() {
        assert_eq!(
            line("a\n# b <img> [x](javascript:y) | `c`"),
            "a # b &lt;img> \\[x](javascript:y) \\| 'c'"
        );
    }
}
