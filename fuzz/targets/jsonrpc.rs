//! Any bytes read as a JSON-RPC request, as the A2A face reads them.
//!
//! Promises: no input panics, hangs or takes memory without bound; what is refused gets an answer that can be
//! written, and the id of what is taken is JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| agentsite_gateway::fuzz_decode(data));
