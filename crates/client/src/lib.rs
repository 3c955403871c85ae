//! The Rust SDK: use agents from programs, and the one way out of a site.
//!
//! Promises: everything that leaves a site goes through [`Egress`]. It speaks A2A ([`A2aClient`]: 1.0 by JSON-RPC, HTTP+JSON and gRPC,
//! 0.3 by JSON-RPC, with failover and a circuit for each endpoint), MCP ([`mcp::McpClient`]) and the own interface of a site ([`SiteClient`]), tells receivers
//! about tasks ([`Receipt`]), says who signed a card ([`verify_card`]), and makes a program an agent of a site by connecting to it ([`agent::Agent`]). It opens no
//! port and does not store anything.

#![forbid(unsafe_code)]

mod a2a;
pub mod agent;
mod circuit;
mod circuits;
mod document;
mod egress;
mod embeddings;
mod failure;
pub mod mcp;
mod push;
mod signer;
mod site;
mod sse;
mod token;

pub use a2a::{
    A2aClient, A2aLimits, Binding, Dialect, Endpoint, ListTasks, RemoteStatus, RemoteTask, Reply,
    SendOptions, StreamItem, TaskPage, TaskStream, UnknownBinding, card_url,
};
pub use circuits::{Circuits, Passage};
pub use document::{Answered, Fetched};
pub use egress::{
    AllowedTarget, BadTarget, Egress, EgressAnswer, EgressError, EgressRequest, EgressSettings, Network,
};
pub use embeddings::{Embeddings, MAX_DIMENSIONS};
pub use failure::ClientError;
pub use push::Receipt;
pub use signer::{
    CardRefusal, KnownBy, KnownKeys, SignedCard, Signer, did_web_of, key_set_url, verify_card, verify_card_at,
};
pub use site::SiteClient;
pub use token::Token;
