//! The overlay on libp2p, with real sockets on the loopback interface.
//!
//! Ports are free ones, and every wait has a deadline.

#![expect(clippy::unwrap_used, reason = "a story that cannot continue has failed")]

mod p2p {
    mod contract;
    mod hostile;
    mod network;
    mod support;
}
