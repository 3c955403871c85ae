//! `/healthz`, `/readyz` and `/metrics`: for supervisors and graphs.
//!
//! Promises: health needs no credential and tells nothing but the state; a site whose disk has no space for
//! new work is healthy but not ready; metrics are for admins and local callers unless the operator opened
//! them. It does not judge agents: one that is down does not make the site unready.

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::Caller;
use agentsite_site::{DiskState, TaskFilter};
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};

use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::metrics::Face;
use crate::route::{Access, Route, RouteDefaults};

/// How long the store may take to answer before the site counts as not ready; supervisors ask every few
/// seconds.
const STORE_PATIENCE: Duration = Duration::from_secs(2);

/// The media type of what Prometheus scrapes.
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The routes of this face.
pub(crate) fn routes() -> Vec<Route> {
    let defaults = RouteDefaults::new(Face::Operations, Access::Open);
    vec![
        defaults.get("/healthz", health),
        defaults.get("/readyz", ready),
        defaults.get("/metrics", metrics).access(Access::Metrics),
    ]
}

async fn health() -> Response {
    plain(StatusCode::OK, "ok\n")
}

async fn ready(State(front): State<Arc<Front>>) -> Response {
    if front.stop.is_cancelled() || front.site.is_stopping() {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "stopping\n");
    }
    // One row of an index: cheap enough to be asked by anybody, and it needs a store that answers.
    let asking = Caller::admin();
    let look = front.site.tasks().list(&asking, TaskFilter::default(), None, 1);
    match tokio::time::timeout(STORE_PATIENCE, look).await {
        Ok(Ok(_)) => if_disk_has_space(&front).await,
        Ok(Err(error)) => {
            tracing::warn!(%error, "The site is not ready: its store refuses.");
            plain(StatusCode::SERVICE_UNAVAILABLE, "the store refuses\n")
        }
        Err(_) => plain(StatusCode::SERVICE_UNAVAILABLE, "the store does not answer\n"),
    }
}

/// Ready, unless the disk has no space for new work; what is there can be read either way.
async fn if_disk_has_space(front: &Front) -> Response {
    let state = match tokio::time::timeout(STORE_PATIENCE, front.site.operations().disk()).await {
        Ok(Ok(disk)) => disk.state,
        Ok(Err(_)) | Err(_) => {
            return plain(StatusCode::SERVICE_UNAVAILABLE, "the store does not take changes\n");
        }
    };
    match state {
        DiskState::Ample => plain(StatusCode::OK, "ready\n"),
        DiskState::Low => plain(
            StatusCode::SERVICE_UNAVAILABLE,
            "the disk is nearly full: new work is refused, reading and deleting work; free some space\n",
        ),
        DiskState::Full => plain(
            StatusCode::SERVICE_UNAVAILABLE,
            "the disk is full: writes fail, reading and deleting work; free some space\n",
        ),
    }
}

async fn metrics(State(front): State<Arc<Front>>) -> Result<Response, Failure> {
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &front.registry).map_err(|error| {
        tracing::error!(%error, "The metrics could not be written.");
        Failure::new(Fault::Internal, "the metrics could not be written; the site's log says why")
    })?;
    let mut response = plain(StatusCode::OK, "");
    *response.body_mut() = Body::from(text);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(METRICS_TYPE));
    Ok(response)
}

fn plain(status: StatusCode, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
