//! Any bytes read as a document of the hub: a card, an entry of a catalogue, a server file, a line of an
//! export, an answer of another registry.
//!
//! Promises: no input panics, hangs or takes memory without bound; what is read is within the bounds of an
//! entry.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| agentsite_site::fuzz_registry_draft(data));
