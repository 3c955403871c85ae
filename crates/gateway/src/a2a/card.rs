//! Cards: what the site and its agents say of themselves.
//!
//! Promises: the addresses in a card are those under which this caller reaches the site; a strong ETag over
//! the bytes, so that an unchanged card costs no transfer, and the time of the last change. Callers see only
//! cards of agents they may call. A card is signed unless its addresses are only the caller's word.

use std::sync::Arc;

use agentsite_protocol::{AgentCard, Caller};
use axum::extract::{Request, State};
use axum::response::Response;
use http::request::Parts;

use super::{A2aCall, named_agent};
use crate::document::{self, Reader};
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::route::caller;

/// Answers the card of an agent, or of the site itself.
pub(super) async fn answer(front: &Front, agent: Option<&str>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let card = async { show(front, &front.admit(&parts).await?, agent, &parts) };
    card.await.unwrap_or_else(|failure: Failure| failure.rest())
}

/// Answers the card of the site, for the caller that the row let in.
pub(super) async fn of_site(State(front): State<Arc<Front>>, request: Request) -> Result<Response, Failure> {
    let (mut parts, _) = request.into_parts();
    let caller = caller(&mut parts)?;
    show(&front, &caller, None, &parts)
}

fn show(front: &Front, caller: &Caller, agent: Option<&str>, parts: &Parts) -> Result<Response, Failure> {
    let base = front.base(parts);
    let card = match agent {
        Some(name) => front.site.cards().get(caller, &named_agent(name)?, &base)?,
        None => front.site.cards().of_site(caller, &base),
    };
    let card = vouched(front, parts, card);
    let changed_at = front.site.cards().changed_at();
    document::kept(parts, Reader::This(caller), "application/json", &card, changed_at)
}

/// The card that only known callers see.
pub(super) fn extended(call: &A2aCall<'_>) -> Result<AgentCard, Failure> {
    if call.caller.is_anonymous() {
        let sentence =
            "the extended card is for known callers: send Authorization: Bearer KEY, or read the public card";
        return Err(Failure::new(Fault::Unauthenticated, sentence));
    }
    let base = call.front.base(call.parts);
    let card = if call.for_site {
        call.front.site.cards().extended_of_site(&call.caller, &base)
    } else {
        call.front.site.cards().extended(&call.caller, &call.agent, &base)?
    };
    Ok(vouched(call.front, call.parts, card))
}

/// The card with the site's signatures only where its addresses are surely the site's.
fn vouched(front: &Front, parts: &Parts, mut card: AgentCard) -> AgentCard {
    if !front.owns_base(parts) {
        card.extra.remove("signatures");
    }
    card
}
