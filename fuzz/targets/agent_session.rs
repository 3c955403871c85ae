//! Any bytes read as a frame of a program that connects, and as one of a site.
//!
//! Promises: no input panics, hangs or takes memory without bound; what is understood is written so that it
//! is understood as the same again.
#![no_main]

use agentsite_protocol::agent_session::{FromAgent, FromSite};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(frame) = FromAgent::read(data) {
        let _ = FromAgent::read(frame.write().as_bytes());
    }
    if let Ok(frame) = FromSite::read(data)
        && let Some(text) = frame.write()
    {
        let _ = FromSite::read(text.as_bytes());
    }
});
