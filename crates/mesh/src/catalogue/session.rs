//! Sessions: how two copies become equal.
//!
//! An initiator compares frames with a peer (`Query`, `Answer`), asks for what it lacks (`Want`, `Give`), and
//! offers what the peer lacks (`Have`, `Want`, `Give`), a piece at a time; only then goes the next frame out.
//!
//! Promises: after a complete session both sides hold the union, as far as each takes it. Records come in a
//! session because the side that gets them asked for them, at most [`MAX_IDS`] at a time; others count as
//! pushed. A responder keeps nothing between two messages but what it asked for. A session that stalls is
//! given up and costs nothing but its time.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentsite_protocol::Timestamp;

use super::admission::Way;
use super::{Catalogue, Effect, Offence, Turn};
use crate::limits::{MAX_IDS, SESSION_STALL, SYNC_INTERVAL};
use crate::reconcile;
use crate::record::{Record, RecordId};
use crate::site_id::SiteId;
use crate::wire::{Batch, Message, batches};

/// A frame beyond the rate counts as so many records: it costs up to some milliseconds.
const QUERY_COST: usize = 100;

/// What the initiator waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The answer to a frame.
    Answer,
    /// Records that were asked for.
    Give,
    /// Which of the offered records are wanted.
    Want,
}

/// A session that this site began.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) peer: SiteId,
    phase: Phase,
    /// When it is given up.
    pub(super) deadline: Timestamp,
    /// What we still lack of the last frame.
    need: Vec<RecordId>,
    /// What the peer still lacks of it.
    have: Vec<RecordId>,
    /// The frame that follows.
    next: Option<Vec<u8>>,
    /// What was asked for last.
    asked: BTreeSet<RecordId>,
    /// How many records came of those.
    given: usize,
}

impl Catalogue {
    /// Takes in a message of a peer.
    pub(super) fn message(&mut self, peer: SiteId, message: Message, turn: &mut Turn<'_>) {
        // What a banned or unknown peer had in progress counts no more.
        if self.peers.get_mut(&peer).is_none() {
            return;
        }
        match message {
            Message::Push(batch) => self.pushed(peer, batch, turn),
            Message::Query(frame) => self.query(peer, &frame, turn),
            Message::Answer(frame) => self.answer(peer, &frame, turn),
            Message::Have(ids) => self.offered(peer, ids, turn),
            Message::Want(ids) => self.wanted(peer, &ids, turn),
            Message::Give { batch, total } => self.given(peer, batch, total, turn),
            // Not for the catalogue: the driver gives these to others.
            Message::Confide { .. } | Message::Cell(_) => {}
        }
    }

    /// Asks a new peer at once when we know nothing yet; else one of the two does, so that both become equal.
    pub(super) fn sync_with_new_peer(&mut self, peer: SiteId, turn: &mut Turn<'_>) {
        if self.session.is_none() && (!self.synced || self.site() < peer) {
            self.begin_session(peer, turn);
        }
    }

    /// Gives up a session that stalls, and begins one when it is time.
    pub(super) fn tick_session(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now();
        if self.session.as_ref().is_some_and(|session| session.deadline <= now) {
            self.session = None;
        }
        if self.session.is_none()
            && self.next_sync <= now
            && let Some(peer) = self.peers.pick(turn.random())
        {
            self.begin_session(peer, turn);
        }
    }

    fn begin_session(&mut self, peer: SiteId, turn: &mut Turn<'_>) {
        let frame = reconcile::open(self.holdings.set());
        self.session = Some(Session {
            peer,
            phase: Phase::Answer,
            deadline: turn.now().plus(SESSION_STALL),
            need: Vec::new(),
            have: Vec::new(),
            next: None,
            asked: BTreeSet::new(),
            given: 0,
        });
        self.next_sync = turn.now().plus(turn.jittered(SYNC_INTERVAL));
        turn.push(Effect::Send { peer, message: Message::Query(frame) });
    }

    /// Sends the next piece of the session, or ends it.
    fn continue_session(&mut self, turn: &mut Turn<'_>) {
        let Some(session) = &mut self.session else { return };
        let peer = session.peer;
        session.deadline = turn.now().plus(SESSION_STALL);
        let (holdings, refused, now) = (&self.holdings, &self.refused, turn.now());
        session.need.retain(|id| !holdings.has(id) && !refused.contains(id, now));
        let piece = |ids: &mut Vec<RecordId>| ids.split_off(ids.len().saturating_sub(MAX_IDS));
        let message = if !session.need.is_empty() {
            session.phase = Phase::Give;
            session.given = 0;
            let ids = piece(&mut session.need);
            session.asked = ids.iter().copied().collect();
            if let Some(state) = self.peers.get_mut(&peer) {
                state.wanted = ids.iter().copied().collect();
            }
            Message::Want(ids)
        } else if !session.have.is_empty() {
            session.phase = Phase::Want;
            Message::Have(piece(&mut session.have))
        } else if let Some(frame) = session.next.take() {
            session.phase = Phase::Answer;
            Message::Query(frame)
        } else {
            self.session = None;
            self.synced = true;
            self.next_sync = now.plus(turn.jittered(SYNC_INTERVAL));
            return turn.push(Effect::Synced { peer });
        };
        turn.push(Effect::Send { peer, message });
    }

    fn in_phase(&self, peer: SiteId, phase: Phase) -> bool {
        self.session.as_ref().is_some_and(|session| session.peer == peer && session.phase == phase)
    }

    fn pushed(&mut self, peer: SiteId, batch: Batch, turn: &mut Turn<'_>) {
        let count = batch.len();
        let (rate, burst) = (self.limits.pushes_per_second.saturating_mul(60), self.limits.push_burst);
        let Some(state) = self.peers.get_mut(&peer) else { return };
        if !state.pushes.take(count, rate, burst, turn.now()) {
            return self.count_excess(peer, count, turn);
        }
        self.oversized(peer, &batch, turn);
        batch.records.into_iter().for_each(|record| self.admit(record, peer, Way::Pushed, turn));
    }

    fn query(&mut self, peer: SiteId, frame: &[u8], turn: &mut Turn<'_>) {
        let rate = self.limits.queries_per_minute;
        let Some(state) = self.peers.get_mut(&peer) else { return };
        if !state.queries.take(1, rate, rate, turn.now()) {
            return self.count_excess(peer, QUERY_COST, turn);
        }
        match reconcile::answer(self.holdings.set(), frame) {
            Ok(frame) => turn.push(Effect::Send { peer, message: Message::Answer(frame) }),
            Err(_) => self.punish(peer, Offence::Unreadable, turn),
        }
    }

    fn answer(&mut self, peer: SiteId, frame: &[u8], turn: &mut Turn<'_>) {
        if !self.in_phase(peer, Phase::Answer) {
            return;
        }
        let Ok(progress) = reconcile::advance(self.holdings.set(), frame) else {
            self.session = None;
            return self.punish(peer, Offence::Unreadable, turn);
        };
        if let Some(session) = &mut self.session {
            (session.need, session.have, session.next) = (progress.need, progress.have, progress.next);
        }
        self.continue_session(turn);
    }

    /// A peer offers records: we say which we want, also when it is none.
    fn offered(&mut self, peer: SiteId, mut ids: Vec<RecordId>, turn: &mut Turn<'_>) {
        let (holdings, refused, now) = (&self.holdings, &self.refused, turn.now());
        // What the peer was asked for already is on its way.
        let asked =
            self.session.as_ref().filter(|session| session.peer == peer).map(|session| &session.asked);
        let is_asked = |id: &RecordId| asked.is_some_and(|asked| asked.contains(id));
        ids.retain(|id| !holdings.has(id) && !refused.contains(id, now) && !is_asked(id));
        ids.truncate(MAX_IDS);
        let Some(state) = self.peers.get_mut(&peer) else { return };
        // Ids of two offers at most: one of its session, and one of news.
        if state.accepted.len() > MAX_IDS {
            state.accepted.clear();
        }
        state.accepted.extend(&ids);
        turn.push(Effect::Send { peer, message: Message::Want(ids) });
    }

    /// A peer asks for records.
    fn wanted(&mut self, peer: SiteId, ids: &[RecordId], turn: &mut Turn<'_>) {
        let (rate, burst) = (self.limits.gives_per_minute, self.limits.give_burst);
        let Some(state) = self.peers.get_mut(&peer) else { return };
        let allowed = state.gives.take(ids.len(), rate, burst, turn.now());
        let records = if allowed {
            ids.iter().filter_map(|id| self.holdings.by_id(id).cloned()).collect()
        } else {
            Vec::new()
        };
        if !ids.is_empty() {
            Self::give(peer, records, turn);
        }
        if !allowed {
            self.count_excess(peer, ids.len(), turn);
        }
        if self.in_phase(peer, Phase::Want) {
            self.continue_session(turn);
        }
    }

    /// Answers a question with these records, in as many messages as they take.
    fn give(peer: SiteId, records: Vec<Arc<Record>>, turn: &mut Turn<'_>) {
        let total = records.len();
        let mut batches = batches(records);
        if batches.is_empty() {
            batches.push(Batch::default());
        }
        for batch in batches {
            turn.push(Effect::Send { peer, message: Message::Give { batch, total } });
        }
    }

    fn given(&mut self, peer: SiteId, batch: Batch, total: usize, turn: &mut Turn<'_>) {
        let count = batch.len();
        // A peer that is in a session of its own with us gives what it offered there, too.
        let is_of = |session: &Session| {
            batch.records.is_empty()
                || batch.records.iter().any(|record| session.asked.contains(&record.id()))
        };
        let is_answer = self.session.as_ref().is_some_and(is_of);
        self.oversized(peer, &batch, turn);
        for record in batch.records {
            let (rate, burst) = (self.limits.pushes_per_second.saturating_mul(60), self.limits.push_burst);
            let Some(state) = self.peers.get_mut(&peer) else { return };
            // Both, because each side may have a session of its own.
            if state.wanted.remove(&record.id()) | state.accepted.remove(&record.id()) {
                self.admit(record, peer, Way::Asked, turn);
            } else if state.pushes.take(1, rate, burst, turn.now()) {
                // The question was given up meanwhile, or never asked: then it is a push.
                self.admit(record, peer, Way::Pushed, turn);
            } else {
                self.count_excess(peer, 1, turn);
            }
        }
        if !is_answer || !self.in_phase(peer, Phase::Give) {
            return;
        }
        if let Some(session) = &mut self.session {
            session.given += count;
            session.deadline = turn.now().plus(SESSION_STALL);
        }
        // Messages may overtake each other: the question is answered when all have come.
        if self.session.as_ref().is_some_and(|session| session.given >= total) {
            self.continue_session(turn);
        }
    }

    fn oversized(&mut self, peer: SiteId, batch: &Batch, turn: &mut Turn<'_>) {
        for _ in 0..batch.oversized {
            self.punish(peer, Offence::Unreadable, turn);
        }
    }
}
