//! Transcripts: in which conversation of the site a transcript ended that a program tells anew each time.
//!
//! Promises: a conversation is found again by its owner, its agent and everything said in it, and by nothing
//! less; each is found once, so that a program that goes back and asks again gets a conversation of its own.
//! Memory is bounded, the oldest is forgotten first; after a restart nothing is known. It keeps hashes, not
//! words.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agentsite_protocol::{AgentName, ContextId, Part, Principal, TaskId};
use sha2::{Digest, Sha256};

/// Most transcripts that are remembered; one takes about 200 bytes.
const MAX_TRANSCRIPTS: usize = 20_000;

/// What is known of a transcript: a hash of everything in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Fingerprint([u8; 32]);

/// The hash of a transcript as it grows.
#[derive(Debug, Clone)]
pub(crate) struct Hashing(Sha256);

/// Where a conversation stands in the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thread {
    /// The conversation.
    pub(crate) context: ContextId,
    /// The task that waits for the next words of the caller.
    pub(crate) waiting: Option<TaskId>,
}

/// The conversations that may continue.
#[derive(Debug, Default)]
pub(crate) struct Transcripts(
    // A std lock: held for a look-up or an insert, never across an await.
    Mutex<Known>,
);

#[derive(Debug, Default)]
struct Known {
    threads: HashMap<Fingerprint, Thread>,
    /// In the order in which they were remembered; those that were found again are skipped.
    order: VecDeque<Fingerprint>,
}

impl Hashing {
    /// The empty transcript of this caller with this agent.
    pub(crate) fn new(owner: &Principal, agent: &AgentName) -> Self {
        Self(Sha256::new()).text(owner.as_str()).text(agent.as_str())
    }

    /// Adds what somebody said; `speaker` tells the sides apart.
    pub(crate) fn said(mut self, speaker: &str, parts: &[Part]) -> Self {
        self = self.text(speaker);
        for part in parts {
            self = match &part.text {
                // Programs trim what they show and send back.
                Some(text) => self.text(text.trim()),
                None => self.text(&serde_json::to_string(part).unwrap_or_default()),
            };
        }
        self
    }

    pub(crate) fn finish(self) -> Fingerprint {
        Fingerprint(self.0.finalize().into())
    }

    fn text(mut self, text: &str) -> Self {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text);
        self
    }
}

impl Transcripts {
    /// Takes the conversation that ended with this transcript, if it is known.
    pub(crate) fn take(&self, transcript: Fingerprint) -> Option<Thread> {
        self.lock().threads.remove(&transcript)
    }

    /// Remembers where a transcript ended.
    pub(crate) fn remember(&self, transcript: Fingerprint, thread: Thread) {
        let mut known = self.lock();
        if known.threads.insert(transcript, thread).is_none() {
            known.order.push_back(transcript);
        }
        while known.order.len() > MAX_TRANSCRIPTS {
            let oldest = known.order.pop_front();
            oldest.and_then(|oldest| known.threads.remove(&oldest));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(context: &str) -> Thread {
        Thread { context: context.parse().unwrap(), waiting: None }
    }

    fn hashing(owner: &str) -> Hashing {
        Hashing::new(&owner.parse().unwrap(), &"echo".parse().unwrap())
    }

    fn said(text: &str) -> Fingerprint {
        hashing("local").said("user", &[Part::text(text)]).finish()
    }

    #[test]
    fn a_transcript_is_found_once_and_by_all_of_it() {
        let known = Transcripts::default();
        known.remember(said("hello"), thread("c1"));
        assert_eq!(known.take(said("hello, you")), None);
        assert_eq!(known.take(hashing("key:k").said("user", &[Part::text("hello")]).finish()), None);
        assert_eq!(known.take(hashing("local").said("agent", &[Part::text("hello")]).finish()), None);
        assert_eq!(known.take(said(" hello\n")), Some(thread("c1")));
        assert_eq!(known.take(said("hello")), None);
    }

    #[test]
    fn where_words_are_parted_matters() {
        let one = hashing("local").said("user", &[Part::text("a"), Part::text("b")]).finish();
        let other = hashing("local").said("user", &[Part::text("ab")]).finish();
        assert_ne!(one, other);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let known = Transcripts::default();
        for number in 0..MAX_TRANSCRIPTS + 5 {
            known.remember(said(&number.to_string()), thread("c"));
        }
        assert_eq!(known.lock().threads.len(), MAX_TRANSCRIPTS);
        assert_eq!(known.take(said("4")), None);
        assert!(known.take(said("5")).is_some());
        known.remember(said("5"), thread("c"));
        assert!(known.lock().order.len() <= MAX_TRANSCRIPTS);
    }
}
