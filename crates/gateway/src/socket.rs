//! `/ws/agent`: where programs connect to be agents of the site.
//!
//! Promises: only known callers get a socket, and no page of another origin; a program that does not say in time who it is loses it. It is the
//! only place that knows WebSockets at this end: what is said over them is `protocol::link`'s, what comes of it the site's.

mod drive;
mod pace;

use std::sync::Arc;

use agentsite_protocol::link::MAX_FRAME;
use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Request, State};
use axum::response::Response;
use axum::routing::get;

use crate::failure::{Failure, Fault};
use crate::front::Front;
use drive::Drive;

/// What a socket buffers of a frame beyond its limit, so that the frame that is a little too large is answered in words.
const ROOM: usize = 64 << 10;

/// The routes of this face.
pub(crate) fn routes() -> Router<Arc<Front>> {
    Router::new().route("/ws/agent", get(connect))
}

async fn connect(State(front): State<Arc<Front>>, request: Request) -> Response {
    match open(&front, request).await {
        Ok(response) => response,
        Err(failure) => failure.rest(),
    }
}

/// Lets a program in; what follows happens after the answer.
async fn open(front: &Arc<Front>, request: Request) -> Result<Response, Failure> {
    let (mut parts, _) = request.into_parts();
    let caller = front.admit_socket(&parts).await?;
    front.site.may_connect(&caller)?;
    let base = front.base(&parts);
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, front).await.map_err(|_| {
        let sentence =
            "programs connect here by WebSocket to be agents of this site; see docs/connect-agents.md";
        Failure::new(Fault::BadRequest, sentence)
    })?;
    let place = Arc::clone(&front.sockets).try_acquire_owned().map_err(|_| {
        Failure::new(Fault::TooMany, "as many programs are connected as this site takes; try again later")
    })?;
    let front = Arc::clone(front);
    let upgrade = upgrade.max_message_size(MAX_FRAME + ROOM).max_frame_size(MAX_FRAME + ROOM);
    Ok(upgrade.on_upgrade(move |socket| async move {
        Drive::new(front, socket).run(caller, base).await;
        drop(place);
    }))
}
