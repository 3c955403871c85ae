//! The site as a resource of OAuth 2.1: where its authorization server is, and what a caller without a good
//! token gets.
//!
//! Promises: with an authorization server configured, its metadata (RFC 9728) stand beside every face, and
//! every answer that asks for a token names them (RFC 6750). Without one nothing of this exists, and requests
//! pay nothing for it. Needs no credential: it is what a stranger needs first. It checks no token: the site
//! does.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::metrics::Face;
use crate::route::{Access, Route, RouteDefaults};

/// Where the metadata stand; the path of the resource follows.
const METADATA: &str = "/.well-known/oauth-protected-resource";

/// How long metadata may be kept by others: they change with the operator's configuration only.
const CACHE: &str = "public, max-age=300";

/// The scopes that a token may carry, beside `call:AGENT`.
const SCOPES: [&str; 2] = ["call", "admin"];

/// The routes of this face.
pub(crate) fn routes() -> Vec<Route> {
    let defaults = RouteDefaults::new(Face::A2a, Access::Address);
    vec![
        defaults.get(METADATA, metadata),
        defaults.get("/.well-known/oauth-protected-resource/{*resource}", metadata),
    ]
}

async fn metadata(State(front): State<Arc<Front>>, request: Request) -> Result<Response, Failure> {
    let (parts, _) = request.into_parts();
    let Some(issuer) = front.site.keys().issuer() else {
        let sentence = "this site takes its own API keys only; make one with `agentsite key new`";
        return Err(Failure::new(Fault::NoSuchPath, sentence));
    };
    let path = parts.uri.path().strip_prefix(METADATA).unwrap_or_default().trim_end_matches('/');
    let base = front.base(&parts);
    let scopes = if issuer.admin { &SCOPES[..] } else { &SCOPES[..1] };
    let document = json!({
        "resource": format!("{base}{path}"),
        "authorization_servers": [issuer.issuer.as_str().trim_end_matches('/')],
        "scopes_supported": scopes,
        "bearer_methods_supported": ["header"],
        "resource_name": front.site.name(),
    });
    let mut response = Response::new(Body::from(document.to_string()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(CACHE));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    Ok(response)
}

/// What an answer says that asks for a token, or for a better one.
#[derive(Debug)]
pub(crate) struct Challenge {
    metadata: String,
    had_token: bool,
}

impl Challenge {
    /// The challenge that an answer to this request would carry; `None` when there is no authorization
    /// server.
    pub(crate) fn of(front: &Front, request: &Request) -> Option<Self> {
        front.site.keys().issuer()?;
        let had_token = request.headers().contains_key(header::AUTHORIZATION);
        let mut parts = http::Request::new(()).into_parts().0;
        parts.uri.clone_from(request.uri());
        parts.headers.clone_from(request.headers());
        parts.extensions.clone_from(request.extensions());
        let path = request.uri().path().trim_end_matches('/');
        Some(Self { metadata: format!("{}{METADATA}{path}", front.base(&parts)), had_token })
    }

    /// Puts the challenge into an answer that needs one.
    pub(crate) fn put(&self, response: &mut Response) {
        let Self { metadata, had_token } = self;
        let error = match response.status() {
            StatusCode::UNAUTHORIZED if *had_token => r#", error="invalid_token""#,
            StatusCode::UNAUTHORIZED => "",
            StatusCode::FORBIDDEN if *had_token => r#", error="insufficient_scope""#,
            _ => return,
        };
        let words =
            format!(r#"Bearer realm="agentsite", resource_metadata="{metadata}", scope="call"{error}"#);
        if let Ok(value) = HeaderValue::from_str(&words) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
        }
    }
}
