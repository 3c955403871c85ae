//! Any bytes read as the filter expression of `GET /agents`, and tried on an entry.
//!
//! Promises: no input panics, hangs or takes memory without bound.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| agentsite_gateway::fuzz_ard_filter(data));
