//! The guards against talk that costs and says nothing: repeated utterances, and agents that only answer each
//! other. IoA spent 47 % of its communication on repetitions (ioa.md 1.5).
//!
//! Promises: only agents are guarded; memory is bounded for each member. Similarity is that of the sets of
//! three-word shingles (Jaccard). A guard refuses a message, it never ends a room.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::{Envelope, MemberId, MessageType, RoomMember};

/// How many of its own last utterances an agent's message is compared with.
const REMEMBERED: usize = 3;
/// From which similarity on two utterances are the same.
const SAME: f64 = 0.9;
/// Words of a shingle.
const SHINGLE: usize = 3;
/// Most shingles of one utterance that are kept: the smallest hashes, which are a fair sample.
const MAX_SHINGLES: usize = 256;

/// What the guards remember.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Guard {
    recent: BTreeMap<MemberId, VecDeque<BTreeSet<u64>>>,
    /// The two agents that talk with each other alone, and how many messages that has been so.
    pair: Option<(MemberId, Option<MemberId>)>,
    run: u16,
    /// Agents in a row that addressed an agent.
    depth: u16,
}

impl Guard {
    /// Whether the sender said nearly the same before.
    pub(super) fn is_repeated(&self, envelope: &Envelope) -> bool {
        let Some(recent) = self.recent.get(&envelope.sender_id) else { return false };
        let said = shingles(&envelope.plain_text());
        !said.is_empty() && recent.iter().any(|before| jaccard(before, &said) >= SAME)
    }

    /// How many messages in a row the sender and one other agent will have exchanged alone.
    pub(super) fn run_with(&self, sender: &MemberId) -> u16 {
        match &self.pair {
            Some((one, two)) if one == sender || two.as_ref().is_none_or(|two| two == sender) => {
                self.run.saturating_add(1)
            }
            _ => 1,
        }
    }

    /// Agents in a row that have addressed an agent.
    pub(super) fn depth(&self) -> u16 {
        self.depth
    }

    /// Takes note of a message that was accepted.
    pub(super) fn note(&mut self, envelope: &Envelope, members: &BTreeMap<MemberId, RoomMember>) {
        let sender = &envelope.sender_id;
        let is_agent = |id: &MemberId| members.get(id).is_some_and(RoomMember::is_agent);
        if sender.is_site() || matches!(envelope.kind, MessageType::React | MessageType::Progress) {
            return;
        }
        if envelope.kind != MessageType::Discuss || !is_agent(sender) {
            (self.pair, self.run, self.depth) = (None, 0, 0);
            return;
        }
        self.run = self.run_with(sender);
        self.pair = Some(match self.pair.take() {
            Some((one, two)) if self.run > 1 => {
                let second = two.or_else(|| (one != *sender).then(|| sender.clone()));
                (one, second)
            }
            _ => (sender.clone(), None),
        });
        let addresses_agent = envelope.to.iter().chain(&envelope.mentions).any(is_agent);
        self.depth = if addresses_agent { self.depth.saturating_add(1) } else { self.depth };
        let said = shingles(&envelope.plain_text());
        let recent = self.recent.entry(sender.clone()).or_default();
        recent.push_back(said);
        if recent.len() > REMEMBERED {
            recent.pop_front();
        }
    }

    /// Forgets a member that is gone.
    pub(super) fn forget(&mut self, member: &MemberId) {
        self.recent.remove(member);
    }

    /// Counts anew.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }
}

/// How similar two texts are, from 0 to 1: what the guard against repetitions measures.
#[must_use]
pub fn similarity(one: &str, two: &str) -> f64 {
    jaccard(&shingles(one), &shingles(two))
}

fn jaccard(one: &BTreeSet<u64>, two: &BTreeSet<u64>) -> f64 {
    let shared = one.intersection(two).count();
    let all = one.len() + two.len() - shared;
    let (shared, all) = (u32::try_from(shared).unwrap_or(u32::MAX), u32::try_from(all).unwrap_or(u32::MAX));
    if all == 0 { 0.0 } else { f64::from(shared) / f64::from(all) }
}

/// Hashes of all runs of three words, in lower case; a shorter text is one run.
fn shingles(text: &str) -> BTreeSet<u64> {
    let lower = text.to_lowercase();
    let words: Vec<&str> =
        lower.split(|letter: char| !letter.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let mut found: BTreeSet<u64> = if words.is_empty() {
        BTreeSet::new()
    } else if words.len() < SHINGLE {
        BTreeSet::from([hash(&words)])
    } else {
        words.windows(SHINGLE).map(hash).collect()
    };
    while found.len() > MAX_SHINGLES {
        found.pop_last();
    }
    found
}

/// FNV-1a, the same in every version and on every machine.
fn hash(words: &[&str]) -> u64 {
    let bytes = words.iter().flat_map(|word| word.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
