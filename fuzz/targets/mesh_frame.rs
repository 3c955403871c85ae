//! Bytes read as a frame of a reconciliation, by both sides and with sets of several sizes.
//!
//! Promises: no input panics, hangs or takes memory without bound; what is answered is a frame within its
//! limit, which the other side can read.
#![no_main]

use std::sync::LazyLock;

use agentsite_mesh::RecordId;
use agentsite_mesh::reconcile::{Item, MAX_FRAME, RangeSet, advance, answer};
use libfuzzer_sys::fuzz_target;

/// No item, a list, one split, several splits with many items of one time.
static SETS: LazyLock<[RangeSet; 4]> = LazyLock::new(|| [0, 20, 100, 3_000].map(set));

fn set(size: u64) -> RangeSet {
    let mut set = RangeSet::default();
    for number in 0..size {
        set.insert(Item { at: 1_000 + number / 7, id: RecordId::of(&number.to_be_bytes()) });
    }
    set
}

fuzz_target!(|bytes: &[u8]| {
    for set in SETS.iter() {
        if let Ok(reply) = answer(set, bytes) {
            assert!(reply.len() <= MAX_FRAME);
            advance(set, &reply).expect("an answer is a frame");
        }
        if let Ok(progress) = advance(set, bytes)
            && let Some(next) = progress.next
        {
            assert!(next.len() <= MAX_FRAME);
            answer(set, &next).expect("a query is a frame");
        }
    }
});
