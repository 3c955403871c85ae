//! Stories of the client against servers that speak exactly what the official Python SDK was seen to speak.
//!
//! The servers are real and listen on free ports; their answers are the captured bytes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod agent;
mod grpc;
mod remote;
mod rest;
mod signer;
mod site;
