//! The official counterparts: what others wrote and a site must get along with.
//!
//! The Python A2A SDK as client and as agent, MCP servers, a real small language model, a scripted one for
//! the paths that no real one takes on request, an OTLP receiver, a receiver of pushes, and the examples of
//! the repository. They fail where `cargo xtask test` has not set them up.

mod acp_agent;
mod agents;
mod ard_client;
pub(crate) mod conformance;
mod connected;
mod conversations;
mod elsewhere;
mod embeddings;
mod examples;
mod hosted_agent;
mod hubs;
mod js_agent;
mod library;
mod mcp_client;
mod mcp_login;
pub(crate) mod mcp_server;
mod mcp_stdio;
mod old_sdk;
mod openai_client;
mod openapi_document;
mod program;
mod push;
mod registry;
mod remote_agent;
mod rest_api;
mod rust_client;
mod scripted_model;
mod sdk_client;
mod sdk_signatures;
mod small_model;
mod tokens;
mod tool_servers;
mod tools;
mod traces;
