//! Network: which addresses listen, how long bytes take between two of them, and who is a black hole.
//!
//! Promises: the latency of a pair of addresses is the same in both directions and for ever, between
//! [`SHORTEST`] and [`LONGEST`], determined by the seed. Nothing is lost or reordered, as on TCP; bandwidth
//! is not limited. A black hole takes bytes and gives none, without a close or an error; it lasts.

use std::collections::{HashMap, HashSet};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use agentsite_mesh::story::SeededRng;
use tokio::sync::mpsc;

use crate::pipe::PipeEnd;

/// The shortest way between two sites, in one direction.
pub(crate) const SHORTEST: Duration = Duration::from_millis(10);
/// The longest one.
pub(crate) const LONGEST: Duration = Duration::from_millis(100);
/// The first port of those that a dial leaves from.
const FIRST_PORT: u16 = 32_768;
/// Connections that wait to be accepted at one address, as in a system's backlog.
pub(crate) const BACKLOG: usize = 256;

/// A connection that arrives.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) from: SocketAddrV4,
    pub(crate) stream: PipeEnd,
}

#[derive(Debug, Default)]
struct State {
    listeners: HashMap<SocketAddrV4, mpsc::Sender<Arrival>>,
    holes: HashSet<Ipv4Addr>,
    ports: HashMap<Ipv4Addr, u16>,
    bytes: u64,
}

/// A network in memory. Clones are the same network.
#[derive(Debug, Clone)]
pub struct Network {
    seed: u64,
    state: Arc<Mutex<State>>,
}

impl Network {
    /// A network whose latencies this seed determines.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, state: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of this lock panics")
    }

    /// How long bytes take from one address to another.
    #[must_use]
    pub fn latency(&self, one: Ipv4Addr, other: Ipv4Addr) -> Duration {
        let (low, high) = (one.to_bits().min(other.to_bits()), one.to_bits().max(other.to_bits()));
        let pair = (u64::from(low) << 32) | u64::from(high);
        let spread = (LONGEST - SHORTEST).as_micros() as u64;
        SHORTEST + Duration::from_micros(SeededRng::new(self.seed ^ pair).next() % (spread + 1))
    }

    /// Makes a black hole of an address.
    pub fn swallow(&self, ip: Ipv4Addr) {
        self.state().holes.insert(ip);
    }

    /// Whether what goes between the two vanishes.
    pub(crate) fn is_cut(&self, one: Ipv4Addr, other: Ipv4Addr) -> bool {
        let state = self.state();
        !state.holes.is_empty() && (state.holes.contains(&one) || state.holes.contains(&other))
    }

    /// Bytes that all connections carried, those of the handshakes and of encryption included.
    #[must_use]
    pub fn carried(&self) -> u64 {
        self.state().bytes
    }

    pub(crate) fn count(&self, bytes: usize) {
        self.state().bytes += bytes as u64;
    }

    pub(crate) fn listen(&self, address: SocketAddrV4) -> Option<mpsc::Receiver<Arrival>> {
        let mut state = self.state();
        let is_taken = state.listeners.get(&address).is_some_and(|listener| !listener.is_closed());
        let (sender, arrivals) = mpsc::channel(BACKLOG);
        (!is_taken).then(|| {
            state.listeners.insert(address, sender);
            arrivals
        })
    }

    /// Hands a connection to the site that listens; false when it is refused.
    pub(crate) fn arrive(&self, at: SocketAddrV4, arrival: Arrival) -> bool {
        let listener = self.state().listeners.get(&at).cloned();
        listener.is_some_and(|listener| listener.try_send(arrival).is_ok())
    }

    /// A port that a dial leaves from.
    pub(crate) fn free_port(&self, ip: Ipv4Addr) -> u16 {
        let mut state = self.state();
        let port = state.ports.entry(ip).or_insert(FIRST_PORT);
        *port = port.checked_add(1).unwrap_or(FIRST_PORT);
        *port
    }
}
