//! Any bytes read as an OpenAPI document, in JSON or YAML.
//!
//! Promises: no input panics, hangs or takes memory without bound, neither in the reader nor where schemas
//! are made from it; a document that is refused is refused with a sentence.
#![no_main]

use agentsite_host::openapi::examine;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = examine(bytes) {
        assert!(!error.to_string().is_empty());
    }
});
