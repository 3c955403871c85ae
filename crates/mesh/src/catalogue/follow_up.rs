//! Follow-up: news is offered to some peers once more, a moment after it was pushed.
//!
//! An overlay pushes to a few random neighbours, which misses a node now and then; that node would wait for
//! its next session. Offering the ids finds it within a second.
//!
//! Promises: at most [`MAX_IDS`] ids at a time; what is beyond comes with a session. Renewed leases are not
//! offered: the next one follows in minutes. It does not transfer records: a peer asks for what it lacks.

use agentsite_protocol::Timestamp;

use super::{Catalogue, Effect, Turn};
use crate::limits::{FOLLOW_UP_DELAY, FOLLOW_UP_PEERS, MAX_IDS};
use crate::record::{Claim, RecordId, Subject};
use crate::wire::Message;

/// News that is offered once more.
#[derive(Debug, Default)]
pub(super) struct FollowUp {
    ids: Vec<RecordId>,
    at: Option<Timestamp>,
}

impl FollowUp {
    /// When the news is offered.
    pub(super) const fn due(&self) -> Option<Timestamp> {
        self.at
    }

    pub(super) const fn len(&self) -> usize {
        self.ids.len()
    }

    /// Remembers a record that is new here; `held` is the one that it replaces.
    pub(super) fn add(&mut self, record: &Claim, held: Option<&Claim>, now: Timestamp) {
        let was_there = held.is_some_and(|held| !held.is_removed());
        let is_renewal = *record.subject() == Subject::Lease && !record.is_removed() && was_there;
        if !is_renewal && self.ids.len() < MAX_IDS {
            self.ids.push(record.id());
            self.at.get_or_insert(now.plus(FOLLOW_UP_DELAY));
        }
    }
}

impl Catalogue {
    /// Offers what is new to some peers.
    pub(super) fn offer_news(&mut self, turn: &mut Turn<'_>) {
        if self.follow_up.at.is_none_or(|at| turn.now() < at) {
            return;
        }
        let FollowUp { mut ids, .. } = std::mem::take(&mut self.follow_up);
        ids.retain(|id| self.holdings.has(id));
        if ids.is_empty() {
            return;
        }
        for peer in self.peers.some(FOLLOW_UP_PEERS, || turn.random()) {
            turn.push(Effect::Send { peer, message: Message::Have(ids.clone()) });
        }
    }
}
