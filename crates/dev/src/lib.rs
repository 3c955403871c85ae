//! What developers of agentsite run: the bench, the conformance agent, and the client of the MCP conformance
//! suite.
//!
//! Promises: the release binary links all of it, so that what is measured and checked is what users have. It
//! uses public interfaces only (HTTP, the Runner and Toolbox seams, the SDK, the index). It prints nothing
//! and reads no configuration: the binary does.

#![forbid(unsafe_code)]

pub mod bench;
pub mod conformance;
pub mod mcp_suite;
