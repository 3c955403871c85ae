//! Foreign JSON put through every translation between A2A 0.3 and 1.0.
//!
//! Promises: no input panics, hangs or takes memory without bound, and what was added to a card for readers
//! of 0.3 can be taken out again.
#![no_main]

use agentsite_protocol::{Nesting, legacy};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if Nesting::REQUEST.check(bytes).is_err() {
        return;
    }
    if let Ok(value) = serde_json::from_slice(bytes) {
        legacy::survive(&value);
    }
});
