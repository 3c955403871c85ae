//! What the handlers of the REST face read a request by: its caller, its query, its JSON body.
//!
//! Promises: the caller is the one that the route let in; a query or body that does not fit its type is
//! refused in one sentence that says where. It does not know any route.

use std::sync::Arc;

use agentsite_protocol::{Caller, Nesting};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::response::Response;
use http::header;
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::metrics::Face;
use crate::route::{Access, RouteDefaults, caller};

/// What the rows of this face have in common: callers need a key.
pub(super) const REST: RouteDefaults = RouteDefaults::new(Face::Api, Access::Known);

/// What a handler answers.
pub(super) type RestResult = Result<Response, Failure>;

/// The caller that the route let in, with the head of the request.
pub(super) struct Admitted {
    pub(super) caller: Caller,
    pub(super) parts: Parts,
}

impl FromRequestParts<Arc<Front>> for Admitted {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Front>) -> Result<Self, Failure> {
        Ok(Self { caller: caller(parts)?, parts: parts.clone() })
    }
}

/// The query of a request, read into its type.
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<Arc<Front>> for Params<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Front>) -> Result<Self, Failure> {
        let read = Query::try_from_uri(&parts.uri);
        read.map(|Query(params)| Self(params))
            .map_err(|error| bad(format!("the query is not right: {error}")))
    }
}

/// The JSON body of a request, read into its type.
pub(super) struct JsonBody<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<Front>> for JsonBody<T> {
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

/// The refusal of a parameter.
pub(super) fn bad(sentence: String) -> Failure {
    Failure::new(Fault::BadParams, sentence)
}

/// Reads something a caller wrote; `what` is how the refusal calls it.
pub(super) fn parse<T: std::str::FromStr<Err: std::fmt::Display>>(
    what: &str,
    text: &str,
) -> Result<T, Failure> {
    text.parse().map_err(|error: T::Err| bad(format!("{what}: {error}")))
}
