//! Foreign JSON read as a Message, as every face of the site reads it.
//!
//! Promises: no input panics, hangs or takes memory without bound, and a Message that was read is written and
//! read again as the same value, with the fields we do not know.
#![no_main]

use agentsite_protocol::{Message, Nesting};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if Nesting::REQUEST.check(bytes).is_err() {
        return;
    }
    let Ok(message) = serde_json::from_slice::<Message>(bytes) else { return };
    let written = serde_json::to_vec(&message).expect("a message that was read can be written");
    let again: Message = serde_json::from_slice(&written).expect("a message that was written can be read");
    assert_eq!(message, again);
});
