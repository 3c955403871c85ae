//! The real driver of the mesh under virtual time: many sites in one process, on a network in memory.
//!
//! Everything above plain bytes is the product: noise, yamux, identify, ping, the DHT, gossipsub, the driver
//! and the catalogue. Below it is a network with a latency for each pair of sites and with sites that become
//! black holes: what is sent to them vanishes, and no connection is closed.
//!
//! Promises: no socket is opened, and no second passes that is not simulated. A seed determines keys,
//! latencies and every choice of a scenario. It does not determine the choices inside of libp2p, whose
//! randomness comes from the system (neighbours in gossip, ephemeral keys, the order of hash maps): a run
//! repeats in kind and not step by step. Start reading at [`World`].

#![forbid(unsafe_code)]

mod network;
mod pipe;
mod scenario;
mod site;
mod transport;
mod world;

pub use network::Network;
pub use scenario::{Figures, LookUps, Spread, Times, measure, measure_memory};
pub use site::{Order, SimSite};
pub use world::{Setting, World, run};
