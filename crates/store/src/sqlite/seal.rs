//! Seals: short hashes kept in the rows, by which a flipped bit is noticed before it is believed.
//!
//! Promises: events and heads that do not fit their seal are never handed out; the same message always gives
//! the same key. SHA-256 cut short: no secret is involved, chance is the only opponent of a seal, and sixteen
//! bytes of a key leave no hope of a collision.

use agentsite_protocol::{AgentName, MessageId, Principal, TaskHead, TaskId, TaskState, Timestamp};
use sha2::{Digest, Sha256};

/// By what a repeated message is found: sixteen bytes of the hash of sender, agent and message id.
#[must_use]
pub fn sent_key(owner: &Principal, agent: &AgentName, message: &MessageId) -> [u8; 16] {
    let mut hash = Sha256::new();
    for part in [owner.as_str(), agent.as_str(), message.as_str()] {
        add_text(&mut hash, part);
    }
    let digest = hash.finalize();
    std::array::from_fn(|at| digest[at])
}

/// The seal of one row of events: over the task, the numbers, the message key and the body.
pub(super) fn events(task: TaskId, first_seq: i64, last_seq: i64, sent: Option<&[u8]>, body: &[u8]) -> i64 {
    let mut hash = Sha256::new();
    hash.update(task.as_bytes());
    hash.update(first_seq.to_le_bytes());
    hash.update(last_seq.to_le_bytes());
    hash.update(sent.unwrap_or_default());
    hash.update(body);
    first_eight(hash)
}

/// The hash of what never changes in a head.
#[must_use]
pub fn root(head: &TaskHead) -> i64 {
    let mut hash = Sha256::new();
    hash.update(head.id.as_bytes());
    hash.update(head.created_at.as_millis().to_le_bytes());
    hash.update(head.parent.as_ref().map_or(&[0; 16], TaskId::as_bytes));
    for part in [head.agent.as_str(), head.owner.as_str(), head.context.as_str()] {
        add_text(&mut hash, part);
    }
    first_eight(hash)
}

/// The seal of a head: its root, mixed with what changes. Mixing is its own inverse, so the writer can
/// compare roots without reading the texts again.
pub(super) fn head(root: i64, state: i64, updated_at: i64, seq: i64) -> i64 {
    // The finaliser of SplitMix64 after each value: every bit in changes half of the bits out.
    let mix = |mut z: u64| {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mixed = [state, updated_at, seq].into_iter().fold(0x9e37_79b9_7f4a_7c15, |sum: u64, value| {
        mix(sum.wrapping_add(value.cast_unsigned()).wrapping_add(0x9e37_79b9_7f4a_7c15))
    });
    root ^ mixed.cast_signed()
}

/// A state as its column holds it: below four it is open, from four on it has ended.
#[must_use]
pub fn state_number(state: TaskState) -> i64 {
    TaskState::ALL.iter().position(|one| *one == state).expect("ALL holds every state") as i64
}

/// A state back from its column.
#[must_use]
pub fn state(number: i64) -> Option<TaskState> {
    TaskState::ALL.get(usize::try_from(number).ok()?).copied()
}

/// A time back from its column.
pub(super) fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn add_text(hash: &mut Sha256, text: &str) {
    // The length first, so that no two lists of texts run together to the same bytes.
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text.as_bytes());
}

fn first_eight(hash: Sha256) -> i64 {
    let digest = hash.finalize();
    i64::from_le_bytes(std::array::from_fn(|at| digest[at]))
}

/// A count as SQLite holds it; no real count comes near the end.
pub(super) fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_states_are_numbered_below_four() {
        for one in TaskState::ALL {
            assert_eq!(state_number(one) >= 4, one.is_terminal(), "{one}");
            assert_eq!(state(state_number(one)), Some(one));
        }
        assert_eq!(state(8), None);
        assert_eq!(state(-1), None);
    }

    #[test]
    fn a_seal_gives_its_root_back_and_changes_with_every_value() {
        let root = 0x1234_5678_9abc;
        let sealed = head(root, 1, 1_700_000_000_000, 3);
        assert_eq!(head(sealed, 1, 1_700_000_000_000, 3), root);
        for other in [
            head(root, 0, 1_700_000_000_000, 3),
            head(root, 1, 1_700_000_000_001, 3),
            head(root, 1, 1_700_000_000_000, 2),
        ] {
            assert_ne!(sealed, other);
        }
    }

    #[test]
    fn keys_tell_apart_what_runs_together() {
        let key = |owner: &str, agent: &str| {
            sent_key(&format!("key:{owner}").parse().unwrap(), &agent.parse().unwrap(), &"m".parse().unwrap())
        };
        assert_ne!(key("a", "bc"), key("ab", "c"));
        assert_eq!(key("a", "bc"), key("a", "bc"));
    }
}
