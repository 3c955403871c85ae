//! Any bytes read as a stream of server-sent events.
//!
//! Promises: no input panics or hangs; what is held stays within the limits; cutting the bytes anywhere gives
//! the same items.
#![no_main]

use agentsite_client::sse::{SseDecoder, SseError, SseEvent, SseLimits};
use libfuzzer_sys::fuzz_target;

/// Small, so that inputs of a few hundred bytes reach it.
const LIMITS: SseLimits = SseLimits { line: 64, event: 96 };

fn decode<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Result<SseEvent, SseError>> {
    let mut decoder = SseDecoder::new(LIMITS);
    let mut items = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        while let Some(item) = decoder.next_event() {
            let is_end = item.is_err();
            items.push(item);
            if is_end {
                return items;
            }
        }
    }
    items
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, body)) = bytes.split_first() else { return };
    let whole = decode(std::iter::once(body));
    assert_eq!(decode(body.chunks(1 + usize::from(first % 16))), whole);
    for event in whole.into_iter().flatten() {
        assert!(event.data.map_or(0, |data| data.len()) <= LIMITS.event);
    }
});
