//! How the copies of one cell become equal: its publishers send to the sites nearest to it until enough of
//! them confirm, and the copies are compared from time to time.
//!
//! Promises: a change that three servers confirmed reaches all others by comparing, whatever gets lost; one
//! that was not confirmed is sent again. Nothing is kept of a comparison between two frames.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::Timestamp;

use super::entry::{CellEntry, EntryKey};
use super::event::{CellEffect, CellMessage};
use super::placement::SUBSTITUTES;
use super::{CellTurn, Cells};
use crate::cell_id::CellId;
use crate::limits::{MAX_BATCH, MAX_IDS};
use crate::reconcile;
use crate::record::RecordId;
use crate::site_id::SiteId;

/// How many servers of a cell must confirm an entry of this site, or all when there are fewer.
const CONFIRMATIONS: usize = 3;
/// How often copies are compared, give or take a fifth.
pub(super) const COMPARE_INTERVAL: Duration = Duration::from_secs(30);
/// When an entry without enough confirmations is sent again the first time; then after twice as long each
/// time, because the servers may have no room.
pub(super) const RESEND_INTERVAL: Duration = Duration::from_secs(10);
/// How often the time until the next sending doubles: to 11 minutes.
const MAX_DOUBLINGS: u32 = 6;

/// An entry of this site on its way to a cell.
#[derive(Debug)]
pub(super) struct Unconfirmed {
    pub(super) seq: u64,
    pub(super) by: BTreeSet<SiteId>,
    /// How often it was sent, and when it is sent again.
    sent: u32,
    again_at: Timestamp,
}

impl Cells {
    /// Sends an entry of this site to the servers of a cell.
    pub(super) fn send_own(&mut self, cell: CellId, entry: &Arc<CellEntry>, turn: &mut CellTurn<'_>) {
        if self.is_replicated(cell) {
            return;
        }
        let again_at = turn.now.plus(RESEND_INTERVAL);
        let unconfirmed = Unconfirmed { seq: entry.seq, by: BTreeSet::new(), sent: 1, again_at };
        self.unconfirmed.insert((cell, entry.hash), unconfirmed);
        self.resend_at = Some(self.resend_at.map_or(again_at, |at| at.min(again_at)));
        self.put_to_servers((cell, self.settings.replicas), std::slice::from_ref(entry), turn);
    }

    /// Whether something else spreads this cell.
    fn is_replicated(&self, cell: CellId) -> bool {
        self.settings.root_is_replicated && cell == CellId::ROOT
    }

    fn put_to_servers(
        &self,
        (cell, count): (CellId, usize),
        entries: &[Arc<CellEntry>],
        turn: &mut CellTurn<'_>,
    ) {
        for server in self.known.nearest(cell, count) {
            if server.site != self.site {
                let message = CellMessage::Put { cell, entries: entries.to_vec(), confirm: true };
                turn.push(CellEffect::Send { peer: server.site, message });
            }
        }
    }

    /// Sends again what was not confirmed by enough servers.
    pub(super) fn resend(&mut self, turn: &mut CellTurn<'_>) {
        let mut cells: std::collections::BTreeMap<CellId, Vec<Arc<CellEntry>>> = Default::default();
        for ((cell, key), waiting) in &mut self.unconfirmed {
            if waiting.again_at > turn.now {
                continue;
            }
            let pause = RESEND_INTERVAL * 2_u32.pow(waiting.sent.min(MAX_DOUBLINGS));
            (waiting.sent, waiting.again_at) = (waiting.sent.saturating_add(1), turn.now.plus(pause));
            if let Some((entry, _)) = self.own.get(key) {
                cells.entry(*cell).or_default().push(entry.clone());
            }
        }
        for (cell, entries) in cells {
            for piece in entries.chunks(MAX_BATCH) {
                // Substitutes, too: those who should keep the cell may have no room for it.
                self.put_to_servers((cell, self.settings.replicas * SUBSTITUTES), piece, turn);
            }
        }
        self.resend_at = self.unconfirmed.values().map(|waiting| waiting.again_at).min();
    }

    /// A server keeps entries of this site.
    pub(super) fn confirmed(&mut self, peer: SiteId, cell: CellId, entries: &[(EntryKey, u64)]) {
        let servers = self.known.nearest(cell, self.settings.replicas);
        let others = servers.iter().filter(|server| server.site != self.site).count();
        for (key, seq) in entries {
            let Some(waiting) = self.unconfirmed.get_mut(&(cell, *key)) else { continue };
            if waiting.seq <= *seq {
                waiting.by.insert(peer);
            }
            if waiting.by.len() >= CONFIRMATIONS.min(others) {
                self.unconfirmed.remove(&(cell, *key));
            }
        }
    }

    /// Entries came for a cell.
    pub(super) fn received_entries(
        &mut self,
        peer: SiteId,
        (cell, confirm): (CellId, bool),
        entries: Vec<Arc<CellEntry>>,
        turn: &mut CellTurn<'_>,
    ) {
        if !self.shelves.contains_key(&cell) {
            return;
        }
        let kept: Vec<(EntryKey, u64)> = entries.iter().map(|entry| (entry.hash, entry.seq)).collect();
        entries.into_iter().for_each(|entry| self.put_into(cell, entry, turn));
        if confirm {
            turn.push(CellEffect::Send { peer, message: CellMessage::Stored { cell, entries: kept } });
        }
    }

    /// Puts an entry into a cell that is kept, if it belongs there.
    pub(super) fn put_into(&mut self, cell: CellId, entry: Arc<CellEntry>, turn: &mut CellTurn<'_>) {
        let parts = self.parts_in(cell, &entry);
        let Some(shelf) = self.shelves.get_mut(&cell) else { return };
        if parts == 0 && !entry.is_removed() {
            shelf.take(entry.hash);
        } else if shelf.put(entry, parts) {
            self.consider_split(cell, turn);
        }
    }

    /// Compares each kept cell with the copy of one of its other servers.
    pub(super) fn compare(&mut self, turn: &mut CellTurn<'_>) {
        for (cell, shelf) in self.shelves.iter().filter(|(cell, _)| !self.is_replicated(**cell)) {
            let servers = self.known.nearest(*cell, self.settings.replicas);
            let others: Vec<SiteId> =
                servers.iter().map(|server| server.site).filter(|site| *site != self.site).collect();
            if let Some(place) = turn.random().checked_rem(others.len() as u64) {
                let peer = others[usize::try_from(place).unwrap_or(0)];
                let message = CellMessage::Compare { cell: *cell, frame: reconcile::open(shelf.set()) };
                turn.push(CellEffect::Send { peer, message });
            }
        }
    }

    pub(super) fn compared(&mut self, peer: SiteId, cell: CellId, frame: &[u8], turn: &mut CellTurn<'_>) {
        let Some(shelf) = self.shelves.get(&cell) else { return };
        if let Ok(frame) = reconcile::answer(shelf.set(), frame) {
            turn.push(CellEffect::Send { peer, message: CellMessage::Differ { cell, frame } });
        }
    }

    /// Asks for what only the other has, and sends what only we have.
    pub(super) fn differs(&mut self, peer: SiteId, cell: CellId, frame: &[u8], turn: &mut CellTurn<'_>) {
        let Some(shelf) = self.shelves.get(&cell) else { return };
        let Ok(progress) = reconcile::advance(shelf.set(), frame) else { return };
        for ids in progress.need.chunks(MAX_IDS) {
            let message = CellMessage::Fetch { cell, ids: ids.to_vec() };
            turn.push(CellEffect::Send { peer, message });
        }
        Self::give(peer, cell, &shelf.by_ids(&progress.have), turn);
        if let Some(frame) = progress.next {
            turn.push(CellEffect::Send { peer, message: CellMessage::Compare { cell, frame } });
        }
    }

    pub(super) fn fetched(&self, peer: SiteId, cell: CellId, ids: &[RecordId], turn: &mut CellTurn<'_>) {
        if let Some(shelf) = self.shelves.get(&cell).filter(|_| ids.len() <= MAX_IDS) {
            Self::give(peer, cell, &shelf.by_ids(ids), turn);
        }
    }

    fn give(peer: SiteId, cell: CellId, entries: &[Arc<CellEntry>], turn: &mut CellTurn<'_>) {
        for piece in entries.chunks(MAX_BATCH) {
            let message = CellMessage::Put { cell, entries: piece.to_vec(), confirm: false };
            turn.push(CellEffect::Send { peer, message });
        }
    }
}
