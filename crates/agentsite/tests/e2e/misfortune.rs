//! Whatever goes wrong around a site gets a clear sentence, and the site keeps serving.
//!
//! Promises that are tested: a start that cannot be says why and what to do, and touches nothing; an agent
//! that misbehaves harms its own tasks only; a full disk refuses new work, keeps the old, and heals by
//! itself; a remote agent cannot lead the site into its own network.

mod agents;
mod disk;
mod remote;
mod start;
mod tls;
