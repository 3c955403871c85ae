//! The contract of overlays on real sockets.
//!
//! The same stories run on the network in memory, in `agentsite-mesh`.

use agentsite_mesh::overlay::contract;

use super::support::{Real, Wire};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_overlay_keeps_the_contract_over_tcp() {
    contract::run(&Real(Wire::Tcp)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_overlay_keeps_the_contract_over_quic() {
    contract::run(&Real(Wire::Quic)).await;
}
