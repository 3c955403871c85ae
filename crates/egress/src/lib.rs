//! Egress: the one way out of a site.
//!
//! Promises: everything that a site sends elsewhere goes through [`Egress`], which checks each address,
//! connects to the address that it checked, and bounds time and size. On top of it: conditional fetches of
//! documents ([`Fetched`]), questions in JSON ([`Answered`]), deliveries to receivers ([`DeliveryOutcome`]),
//! and a circuit breaker for each endpoint ([`Circuits`]).
//!
//! It implements no agent protocol (`client` does), opens no port, stores nothing and does not decide who may
//! call.

#![forbid(unsafe_code)]

mod circuit;
mod circuits;
mod delivery;
mod document;
mod egress;
mod section;

pub use circuits::{CircuitOpen, CircuitPermit, Circuits};
pub use delivery::DeliveryOutcome;
pub use document::{Answered, Fetched};
pub use egress::{
    AllowedTarget, BadTarget, BodyPiece, Egress, EgressAnswer, EgressError, EgressRequest, EgressSettings,
    EgressSocket, LINK_DOMAIN, LinkIo, Links, Network,
};
pub use section::EgressSection;
