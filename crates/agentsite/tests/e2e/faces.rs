//! The faces of a running site, over plain HTTP as a foreign client uses them.
//!
//! Promises that are tested: the A2A methods end to end, clear errors for everything malformed, callers kept
//! apart, health and metrics, and a crowd that is served or told when to come back.

mod a2a;
mod bad_input;
mod callers;
mod content;
mod crowd;
mod operations;
pub(crate) mod resume;
