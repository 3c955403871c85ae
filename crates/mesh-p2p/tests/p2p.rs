//! The overlay on libp2p, with real sockets on the loopback interface.
//!
//! Ports are free ones, and every wait has a deadline.

mod p2p {
    mod contract;
    mod hostile;
    mod network;
    mod support;
}
