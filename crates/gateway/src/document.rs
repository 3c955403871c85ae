//! Document: a value as the JSON body of an answer that no cache keeps.
//!
//! Promises: one place for the headers of such answers; a value that cannot be written is a fault inside the site, told in the log. It does
//! not know whose face speaks.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

use crate::failure::{Failure, Fault};

/// Answers with JSON that no cache keeps.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Result<Response, Failure> {
    let body = serde_json::to_vec(value).map_err(|error| {
        tracing::error!(%error, "an answer could not be written");
        Failure::new(Fault::Internal, "the answer could not be written; the site's log says why")
    })?;
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}
