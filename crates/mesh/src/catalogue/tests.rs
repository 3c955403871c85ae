//! Stories of one catalogue and of two that talk.
//!
//! One file for each part of the machine; what they share is here.

mod convergence;
mod hostile;
mod own;
mod records;
mod sessions;

use std::sync::Arc;

use agentsite_protocol::Timestamp;

use super::*;
use crate::record::Candidate;
use crate::story::{STORY_WORK, SeededRng, Site};
use crate::wire::{Batch, Message, batches};

/// Limits of stories: the usual ones, but little work.
fn limits() -> Limits {
    Limits { work_bits: STORY_WORK, ..Limits::default() }
}

/// A catalogue with the effects of its last input, and checked after every input.
struct Story {
    catalogue: Catalogue,
    site: Site,
    rng: SeededRng,
    now: Timestamp,
}

impl Story {
    fn new(number: u64) -> Self {
        Self::with(number, limits())
    }

    fn with(number: u64, limits: Limits) -> Self {
        let site = Site::new(number);
        let identity = Identity::new(site.key.clone(), site.work.nonce).unwrap();
        let (rng, now) = (SeededRng::new(number), crate::story::at(0));
        Self { catalogue: Catalogue::new(identity, limits), site, rng, now }
    }

    fn apply(&mut self, input: Input) -> Vec<Effect> {
        let effects = self.catalogue.apply(input, Moment::exact(self.now), &self.rng);
        // Looking at every record after every input would take most of the time of a large story.
        let checked =
            if self.catalogue.len() < 200 { self.catalogue.audit() } else { self.catalogue.within_limits() };
        checked.unwrap_or_else(|broken| panic!("{broken}"));
        effects
    }

    fn connect(&mut self, peer: &Site) -> Vec<Effect> {
        self.apply(Input::Connected { peer: peer.id })
    }

    /// A peer pushes records, as bytes.
    fn push(&mut self, peer: &Site, records: &[Arc<Record>]) -> Vec<Effect> {
        let mut effects = Vec::new();
        for batch in batches(records.to_vec()) {
            let message = Message::decode(&Message::Push(batch).encode()).unwrap();
            effects.extend(self.apply(Input::Received { peer: peer.id, message }));
        }
        effects
    }

    /// A time passes, and the catalogue wakes.
    fn pass(&mut self, seconds: u64) -> Vec<Effect> {
        self.now = self.now.plus(std::time::Duration::from_secs(seconds));
        self.apply(Input::Tick)
    }

    fn lists(&self, site: &Site, name: &str) -> bool {
        self.catalogue.lists(&RecordKey::agent(site.id, name.parse().unwrap()))
    }

    fn holds(&self, record: &Record) -> bool {
        self.catalogue.get(record.key()).is_some_and(|held| held.id() == record.id())
    }
}

fn offences(effects: &[Effect]) -> Vec<Offence> {
    let offence =
        |effect: &Effect| if let Effect::Score { offence, .. } = effect { Some(*offence) } else { None };
    effects.iter().filter_map(offence).collect()
}

fn forwarded(effects: &[Effect]) -> usize {
    effects.iter().filter(|effect| matches!(effect, Effect::Forward { .. })).count()
}

fn is_disconnected(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Disconnect { .. }))
}

fn candidate(record: &Arc<Record>) -> Candidate {
    Candidate::Proven(record.clone())
}
