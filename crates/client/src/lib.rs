//! The Rust SDK: use agents from programs, and be one.
//!
//! Promises: every request goes through an [`Egress`]. It speaks A2A ([`A2aClient`]: 1.0 by JSON-RPC,
//! HTTP+JSON and gRPC, 0.3 by JSON-RPC, with failover and a circuit for each endpoint), MCP
//! ([`mcp::McpClient`]) and the REST interface of a site ([`SiteClient`]), verifies who signed a card
//! ([`verify_card`]), and makes a program an agent of a site by connecting to it ([`agent::Agent`]). It opens
//! no port and does not store anything.
//!
//! The types of `agentsite-egress` that a program needs are exported here, so that it depends on one crate.

#![forbid(unsafe_code)]

mod a2a;
pub mod agent;
mod embeddings;
mod failure;
pub mod mcp;
mod signer;
mod site;
mod sse;
mod token;

pub use agentsite_egress::{AllowedTarget, Circuits, Egress, EgressError, EgressSettings};

pub use a2a::{
    A2aClient, A2aLimits, Binding, Dialect, Endpoint, ListTasks, RemoteStatus, RemoteTask, Reply,
    SendOptions, StreamItem, TaskPage, TaskStream, UnknownBinding, card_url,
};
pub use embeddings::{Embeddings, EmbeddingsSection, MAX_DIMENSIONS};
pub use failure::ClientError;
pub use signer::{
    CardRefusal, KnownBy, KnownKeys, SignedCard, Signer, did_web_of, key_set_url, verify_card, verify_card_at,
};
pub use site::SiteClient;
pub use token::Token;
