//! `/ws/agent`: where programs connect to be agents of the site.
//!
//! Promises: only known callers get a socket, and no page of another origin; a program that does not say in
//! time who it is loses it. Each owner has a share of the sockets, of those that have not registered, and of
//! the bytes that are being received; before it has registered a program sends small messages only. It is the
//! only place that knows WebSockets at this end: what is said over them is `protocol::agent_session`'s, what
//! comes of it the site's.

mod drive;
mod frames;
mod inlet;
mod pace;

use std::sync::Arc;

use agentsite_protocol::Caller;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;

use crate::failure::{Failure, Fault};
use crate::front::{Front, visit};
use crate::meter::{FREE, Meter};
use crate::metrics::{Face, RefusalReason};
use crate::route::{Access, Route, RouteDefaults, caller};
use crate::shares::{Full, Holder, Share};
use drive::Drive;
use http::request::Parts;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::handshake::server::create_response_with_body;

/// What a socket buffers of a frame beyond its limit, so that the frame that is a little too large is
/// answered in words.
const FRAME_MARGIN: usize = 64 << 10;

/// Largest message of a program before it has registered: any introduction with a hundred skills.
const FIRST_MESSAGE: usize = 64 << 10;

/// Bytes that a socket reads at once. Most sockets are idle most of the time, and each holds this much.
const READ_BUFFER: usize = FREE;

/// Bytes that a socket gathers before it writes.
const WRITE_BUFFER: usize = 4 << 10;

/// The routes of this face.
pub(crate) fn routes() -> Vec<Route> {
    vec![RouteDefaults::new(Face::Socket, Access::Socket).get("/ws/agent", connect)]
}

async fn connect(State(front): State<Arc<Front>>, request: Request) -> Response {
    match open(&front, request) {
        Ok(response) => response,
        Err(failure) => failure.rest(),
    }
}

/// Lets a program in; what follows happens after the answer.
fn open(front: &Arc<Front>, request: Request) -> Result<Response, Failure> {
    let (mut parts, body) = request.into_parts();
    let caller = caller(&mut parts)?;
    front.site.connected().may_connect(&caller)?;
    let base = front.base(&parts);
    let holder = visit(&parts)?.holder();
    let (place, newcomer) = (place(front, &holder)?, newcomer(front, &parts, &caller, &holder)?);
    let (front, open) = (Arc::clone(front), front.settings.metrics.socket());
    let mut request = Request::from_parts(parts, body);
    let response = create_response_with_body(&request, Body::empty).map_err(|_| {
        let sentence =
            "programs connect here by WebSocket to be agents of this site; see docs/connect-agents.md";
        Failure::new(Fault::BadRequest, sentence)
    })?;
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        // A connection that ended before is none of ours.
        let Ok(connection) = upgrade.await else { return };
        let meter = Meter::new(&front.socket_memory, holder, FIRST_MESSAGE + FREE);
        let socket = inlet::open(TokioIo::new(connection), Arc::clone(&meter)).await;
        // Boxed where it begins, so that what waits for the upgrade stays small.
        Box::pin(Drive::new(front, socket, meter, newcomer).run(caller, base)).await;
        drop((place, open));
    });
    Ok(response)
}

/// The owner's place among all sockets.
fn place(front: &Front, holder: &Holder) -> Result<Share, Failure> {
    front.sockets.take(holder, 1).map_err(|full| {
        let own = "you have as many programs connected here as you may (limits.sockets_per_key)";
        let all = "as many programs are connected as this site takes (limits.sockets); try again later";
        front.no_share(RefusalReason::Sockets, full, own, all)
    })
}

/// The places among the sockets that have not registered: one of the owner's, and one of the address. Admins
/// need none.
fn newcomer(front: &Front, parts: &Parts, caller: &Caller, holder: &Holder) -> Result<Vec<Share>, Failure> {
    if caller.is_admin() {
        return Ok(Vec::new());
    }
    let refused = |full: Full| {
        let own = "you have as many sockets open here that have not registered as you may; register first";
        let all = "too many programs are about to register here; try again soon";
        front.no_share(RefusalReason::Unregistered, full, own, all)
    };
    let address = Holder::Address(front.address(parts)?.into());
    let of_owner = front.unregistered.take(holder, 1).map_err(refused)?;
    Ok(vec![of_owner, front.unregistered.take(&address, 1).map_err(refused)?])
}
