//! Many nodes in one process: a seeded scheduler, virtual time, and a network that delays, loses, doubles and
//! cuts.
//!
//! The core is general: anything that is a [`Node`], a pure state machine with messages, one timer and
//! commands, runs in a [`Simulation`]. The catalogue of the mesh is one ([`catalogue`]), its cells are
//! another ([`cells`]).
//!
//! Promises: the same seed gives the same run, step by step. After every step the node that acted is checked;
//! a failure names the seed, the step and the time, so that it can be repeated. Bytes are counted for each
//! node. It opens no socket and reads no clock.

#![forbid(unsafe_code)]

pub mod catalogue;
pub mod cells;
mod dice;
mod network;
mod node;
mod simulation;

pub use dice::Dice;
pub use network::{LinkConditions, Network};
pub use node::{Context, Event, Node, NodeId};
pub use simulation::{Simulation, Traffic};
