//! Any text read as an `agent.toml`.
//!
//! Promises: no input panics, hangs or takes memory without bound; a file that is refused is refused with a
//! sentence.
#![no_main]

use agentsite_host::Manifest;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = Manifest::read(text) {
        assert!(!error.to_string().is_empty());
    }
});
