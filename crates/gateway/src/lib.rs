//! Every face of a site spoken over HTTP: A2A, MCP, the OpenAI-style face, discovery, the REST face, pages
//! and operations.
//!
//! Promises: the only crate that knows axum, HTTP statuses and JSON-RPC codes; one table in `failure` maps
//! the errors of the site to all of them. Every request is recognised (`caller`), bounded (`limits`,
//! `shares`) and counted (`metrics`) before the site hears of it. No foreign bytes make it panic.
//!
//! It decides nothing about agents and tasks, and reads no file and no environment variable.

#![forbid(unsafe_code)]

mod a2a;
mod api;
mod ard;
mod arriving;
mod authority;
mod caller;
mod charts;
mod connection;
mod connections;
mod cursor;
mod document;
mod failure;
mod front;
mod hub;
mod identity;
mod jsonrpc;
mod leftover;
mod limits;
mod logbook;
mod mcp;
mod meter;
mod metrics;
mod oauth;
mod openai;
mod openapi;
mod operations;
mod operator;
mod pages;
mod process;
mod route;
mod router;
mod rpc;
mod server;
mod servers;
mod settings;
mod shares;
mod socket;
mod sse;
mod throttle;
mod tls;
mod trace;
mod transcripts;
mod unanswered;
mod unread;
mod visit;
mod wire;
mod workshop;
mod written;

pub use a2a::a2a_methods;
pub use api::api_paths;
pub use ard::fuzz_ard_filter;
pub use jsonrpc::fuzz_decode;
pub use logbook::{LogBook, LogRecord, Loudness};
pub use mcp::fuzz_mcp;
pub use metrics::GatewayMetrics;
pub use operator::{
    BackupMade, ConfigProblem, ConfigValue, ConfigVerdict, ConfigView, Doing, Examination, Examined,
    Operator, OperatorError,
};
pub use server::{Gateway, GatewayError};
pub use settings::{
    AnonymousAccess, BadNetwork, DEFAULT_PORT, Division, GatewaySettings, HttpLimits, LimitsSection, Network,
    Rate, Rates, ReloadHook, TlsSettings,
};
pub use tls::TlsError;
pub use unanswered::Unanswered;
pub use workshop::{
    DraftFile, ManifestFile, NewAgent, Problem, SuspendedAgent, Template, Worked, Workshop, WorkshopError,
};
