//! Any text read as tokens of the sentence encoder.
//!
//! Promises: no input panics or hangs; tokens are bounded and known.
#![no_main]

use agentsite_search::WordPiece;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let tokens = WordPiece::ours().tokens(&text, 256);
    assert!((2..=256).contains(&tokens.len()) && tokens.iter().all(|token| (100..30_522).contains(token)));
});
