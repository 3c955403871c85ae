//! The gateway over real sockets: a site on the memory store, bound to a free port, asked by a plain HTTP
//! client.
//!
//! Each file tells the stories of one face. `story` has what they share.

#![expect(clippy::unwrap_used, reason = "a story that cannot go on has failed")]

mod a2a;
mod api;
mod ard;
mod bad_input;
mod callers;
mod conversations;
mod events;
mod extensions;
mod find;
mod foreign;
mod golden;
mod grpc;
mod hub;
mod identity;
mod mcp;
mod mesh;
mod network;
mod old_version;
mod openai;
mod openapi;
mod operation;
mod pages;
mod push;
mod rest;
mod resume;
mod rooms;
mod server;
mod servers;
mod shapes;
mod shares;
mod socket;
mod story;
mod streams;
mod workshop;
