//! Memory: what registries answered a moment ago, so that the pages of one search and the same question of
//! many are asked once.
//!
//! Promises: bounded in answers and in bytes, the oldest go first; nothing is older than [`FRESH`]. Failures
//! are not remembered here.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::Timestamp;
use sha2::{Digest, Sha256};

use super::UpstreamMatch;

/// How long an answer counts: as long as somebody turns pages.
const FRESH: Duration = Duration::from_secs(30);

/// Most answers: thirty questions of eight registries each.
const MAX_ANSWERS: usize = 256;

/// Most bytes of answers, as they were sent.
const MAX_BYTES: usize = 8 << 20;

/// The answers, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Memory {
    answers: VecDeque<Answer>,
    bytes: usize,
}

#[derive(Debug)]
struct Answer {
    question: [u8; 32],
    at: Timestamp,
    size: usize,
    found: Arc<Vec<UpstreamMatch>>,
}

impl Memory {
    /// What this registry answered to this question, if that is fresh.
    pub(super) fn recall(
        &self,
        upstream: usize,
        body: &[u8],
        now: Timestamp,
    ) -> Option<Arc<Vec<UpstreamMatch>>> {
        let wanted = question(upstream, body);
        let fresh = |answer: &&Answer| answer.question == wanted && now.since(answer.at) < FRESH;
        self.answers.iter().rev().find(fresh).map(|answer| answer.found.clone())
    }

    /// Remembers an answer of `size` bytes.
    pub(super) fn keep(
        &mut self,
        upstream: usize,
        body: &[u8],
        at: Timestamp,
        found: Arc<Vec<UpstreamMatch>>,
        size: usize,
    ) {
        self.bytes += size;
        self.answers.push_back(Answer { question: question(upstream, body), at, size, found });
        let full = |memory: &Self| {
            let stale = memory.answers.front().is_some_and(|oldest| at.since(oldest.at) >= FRESH);
            stale || memory.answers.len() > MAX_ANSWERS || memory.bytes > MAX_BYTES
        };
        while full(self)
            && let Some(gone) = self.answers.pop_front()
        {
            self.bytes -= gone.size;
        }
    }
}

fn question(upstream: usize, body: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update((upstream as u64).to_le_bytes());
    hash.update(body);
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn an_answer_is_remembered_for_its_registry_and_its_question_while_it_is_fresh() {
        let mut memory = Memory::default();
        memory.keep(0, b"one", at(0), Arc::default(), 10);
        assert!(memory.recall(0, b"one", at(29)).is_some());
        assert!(memory.recall(0, b"one", at(30)).is_none());
        assert!(memory.recall(0, b"other", at(1)).is_none());
        assert!(memory.recall(1, b"one", at(1)).is_none());
    }

    #[test]
    fn it_never_grows_beyond_its_bounds() {
        let mut memory = Memory::default();
        for number in 0_u32..1_000 {
            memory.keep(0, &number.to_le_bytes(), at(0), Arc::default(), 100);
        }
        assert_eq!((memory.answers.len(), memory.bytes), (MAX_ANSWERS, MAX_ANSWERS * 100));
        for number in 0_u32..100 {
            memory.keep(1, &number.to_le_bytes(), at(0), Arc::default(), MAX_BYTES / 4);
        }
        assert!(memory.bytes <= MAX_BYTES && memory.answers.len() == 4);
        memory.keep(2, b"later", at(60), Arc::default(), 1);
        assert_eq!((memory.answers.len(), memory.bytes), (1, 1), "what is stale goes");
    }
}
