//! Any text read as tokens of the sentence encoder, and summed to a vector of the static table.
//!
//! Promises: no input panics or hangs; tokens are bounded and known, and each text has a direction of finite
//! numbers.
#![no_main]

use std::sync::LazyLock;

use agentsite_search::{Static, WordPiece};
use libfuzzer_sys::fuzz_target;

static TABLE: LazyLock<Static> = LazyLock::new(Static::load);

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let tokens = WordPiece::ours().tokens(&text, 256);
    assert!((2..=256).contains(&tokens.len()) && tokens.iter().all(|token| (100..30_522).contains(token)));
    assert!(TABLE.encode(&text).values.iter().all(|value| value.is_finite()));
});
