//! Stories of the client against servers that send exactly what the official Python SDK was observed to send.
//!
//! The servers are real and listen on free ports; their answers are the captured bytes.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

mod agent;
mod grpc;
mod remote;
mod rest;
mod signer;
mod site;
