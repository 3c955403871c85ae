//! `/.well-known/jwks.json`, `/.well-known/did.json`, `/.well-known/agentsite.json` and
//! `/.well-known/agentsite-challenge/WORD`: how others know the site.
//!
//! Promises: needs no credential, for these are what strangers need first; former keys stay published with
//! the records by which they named their successors. The document of the `did:web` names only the present
//! keys. A challenge is served only where an operator added its word, and never kept by others. It signs
//! nothing.

use std::sync::Arc;

use agentsite_protocol::did_web;
use agentsite_site::{IdentityView, SiteError};
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::{HeaderValue, header};
use serde_json::{Value, json};

use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::metrics::Face;
use crate::route::{Access, Route, RouteDefaults};

/// How long keys may be kept by others: short, so that a rotation is seen soon.
const CACHE: &str = "public, max-age=300";

/// Letters of an unknown challenge that an error shows.
const MAX_WORD_SHOWN: usize = 64;

/// The routes of this face.
pub(crate) fn routes() -> Vec<Route> {
    let defaults = RouteDefaults::new(Face::A2a, Access::Address);
    vec![
        defaults.get("/.well-known/jwks.json", key_set),
        defaults.get("/.well-known/did.json", document),
        defaults.get("/.well-known/agentsite.json", mesh_document),
        defaults.get("/.well-known/agentsite-challenge/{word}", challenge),
    ]
}

async fn key_set(State(front): State<Arc<Front>>) -> Response {
    let identity = front.site.cards().identity();
    let set = json!({ "keys": identity.jwks["keys"], "rotations": identity.rotations });
    published("application/jwk-set+json", &set)
}

async fn document(State(front): State<Arc<Front>>, request: Request) -> Result<Response, Failure> {
    let (parts, _) = request.into_parts();
    let did = did_web(&front.base(&parts))
        .ok_or_else(|| Failure::new(Fault::BadRequest, "the request names no host; send a Host header"))?;
    Ok(published("application/did+json", &did_document(&did, &front.site.cards().identity())))
}

/// Who the site is in the mesh; a site that is not there says nothing.
async fn mesh_document(State(front): State<Arc<Front>>) -> Result<Response, Failure> {
    let document = front.site.peers().document().await;
    let document = document.and_then(|document| serde_json::to_value(document).ok());
    let document = document.ok_or_else(|| SiteError::NotFound("this site is not in the mesh".into()))?;
    Ok(published("application/json", &document))
}

/// The answer for a challenge that the site does not serve.
pub(crate) fn not_served(word: &str) -> Failure {
    let word: String = word.chars().take(MAX_WORD_SHOWN).collect();
    SiteError::NotFound(format!("the challenge `{word}` is not served here")).into()
}

async fn challenge(State(front): State<Arc<Front>>, Path(word): Path<String>) -> Result<Response, Failure> {
    if !front.site.challenges().serves(&word) {
        return Err(not_served(&word));
    }
    let mut response = Response::new(Body::from(word));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}

/// The document of a `did:web`.
fn did_document(did: &str, identity: &IdentityView) -> Value {
    let present = |key: &&Value| identity.kids.iter().any(|kid| key["kid"] == kid.as_str());
    let keys = identity.jwks["keys"].as_array().into_iter().flatten().filter(present);
    let methods: Vec<Value> = keys
        .map(|key| {
            let name = key["kid"].as_str().and_then(|kid| kid.strip_prefix("did:key:")).unwrap_or_default();
            json!({ "id": format!("{did}#{name}"), "type": "JsonWebKey2020", "controller": did, "publicKeyJwk": key })
        })
        .collect();
    let ids: Vec<&Value> = methods.iter().map(|method| &method["id"]).collect();
    json!({
        "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/jws-2020/v1"],
        "id": did,
        "alsoKnownAs": identity.kids,
        "verificationMethod": methods,
        "assertionMethod": ids,
        "authentication": ids,
    })
}

fn published(media: &'static str, value: &Value) -> Response {
    let mut response = Response::new(Body::from(value.to_string()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(CACHE));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}
