//! End to end: the real binary, real processes, real sockets, the official counterparts.
//!
//! Every test starts its own site in its own folder on a free port, so that they run side by side in any
//! order. Nothing waits for time: readiness is a line on stdout, everything else an event or an answer.

#![expect(clippy::unwrap_used, reason = "a story that cannot continue has failed")]
#![expect(clippy::print_stdout, reason = "attacks report their outcome")]

mod attack;
mod cluster;
mod command_line;
mod counterparts;
mod crash;
mod faces;
mod folder;
mod mesh;
mod misfortune;
mod namespaces;
mod pages;
mod planet;
mod proxy;
mod site;
