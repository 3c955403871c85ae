//! The overlay on libp2p, with real sockets on the loopback interface.

mod p2p {
    mod contract;
    mod hostile;
    mod network;
    mod support;
}
