//! Cells of a session: the machine of `mesh` next to the catalogue, which keeps its records.
//!
//! While there is one cell, the catalogue spreads everything as ever, and cells only watch how full it is.
//! From the first split on the catalogue compares sites, leases and splits with everybody, and agents are
//! spread by cells: the catalogue keeps those of the cells that this site keeps, so they are on disk, listed,
//! and gone with the lease of their site like all others.
//!
//! Promises: nothing is taken that its site did not sign and the catalogue would not keep. What others ask is
//! answered from what is kept. It decides nothing: [`Cells`] does.

mod networks;
mod searches;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agentsite_mesh::cells::{
    CellEffect, CellEntry, CellInput, CellMessage, CellSettings, Cells, EntryKey, KnownSite, KnownSites,
};
use agentsite_mesh::{
    Body, Candidate, Catalogue, CellFrame, Claim, Input, Message, Record, RecordKey, SiteId, Subject,
};
use agentsite_protocol::Timestamp;
use tokio::task::spawn_blocking;

use super::MeshSession;
use crate::batch::RecordChanges;
use crate::error::PeersError;

use networks::Networks;
use searches::Searches;

/// How often the effects of effects are followed before other events have their turn.
const MAX_ROUNDS: usize = 16;

/// Frames that wait; a peer that sends faster loses them, and they are sent again.
const MAX_ARRIVED: usize = 256;

/// The cells of a session.
#[derive(Debug)]
pub(super) struct SessionCells {
    cells: Cells,
    networks: Networks,
    known: Vec<KnownSite>,
    /// What changed among the records, and was not told to the cells yet.
    changed: RecordChanges,
    arrived: Vec<(SiteId, CellFrame)>,
    /// What is left to be done.
    effects: Vec<CellEffect>,
    searches: Searches,
    is_parted: bool,
    /// Whether cells came or went, so that any record may be in none.
    has_moved: bool,
    /// Records that came for a cell, and may belong to none of those that are kept.
    placed: Vec<RecordKey>,
    pub(super) wake: Option<Timestamp>,
}

impl SessionCells {
    pub(super) fn new(site: SiteId, settings: CellSettings, networks: BTreeMap<String, String>) -> Self {
        let settings = CellSettings { root_is_replicated: true, ..settings };
        Self {
            cells: Cells::new(site, settings),
            networks: Networks::restored(networks),
            known: Vec::new(),
            changed: RecordChanges::new(),
            arrived: Vec::new(),
            effects: Vec::new(),
            searches: Searches::default(),
            is_parted: false,
            has_moved: false,
            placed: Vec::new(),
            wake: None,
        }
    }

    /// Records were stored or removed.
    pub(super) fn records_changed(&mut self, changes: &RecordChanges) {
        let kinds = |key: &RecordKey| matches!(key.subject, Subject::Agent(_) | Subject::Split(_));
        let changes = changes.iter().filter(|(key, _)| kinds(key));
        self.changed.extend(changes.map(|(key, record)| (key.clone(), record.clone())));
    }

    /// A peer sent a message about cells.
    pub(super) fn arrived(&mut self, peer: SiteId, frame: CellFrame) {
        if self.arrived.len() < MAX_ARRIVED {
            self.arrived.push((peer, frame));
        }
    }

    /// What a changed record means to the cells.
    fn input_of(key: &RecordKey, record: Option<&Arc<Record>>, own: SiteId) -> Option<CellInput> {
        match (&key.subject, record) {
            (Subject::Split(cell), record) => {
                let split = match record.map(|record| record.body()) {
                    Some(Body::Split(split)) => Some(Arc::new(split)),
                    _ => None,
                };
                Some(CellInput::Support { signer: key.site, cell: *cell, split })
            }
            (Subject::Agent(_), Some(record)) => {
                let entry = Arc::new(CellEntry::of(record)?);
                Some(if key.site == own { CellInput::Own(entry) } else { CellInput::Listed(entry) })
            }
            _ => None,
        }
    }
}

impl MeshSession {
    /// Makes the cells of what the catalogue has restored.
    pub(super) async fn restore_cells(&mut self) -> Result<(), PeersError> {
        let Some(settings) = self.shared.settings.cell_settings() else { return Ok(()) };
        let networks = self.kept.state.networks.clone();
        let mut cells = SessionCells::new(self.site, settings, networks);
        let known = cells.networks.known_sites(self.catalogue()?, self.site);
        let (mut supports, mut own, mut listed) = (Vec::new(), Vec::new(), Vec::new());
        for record in self.catalogue()?.records() {
            match (record.subject(), record.body()) {
                (Subject::Split(cell), Body::Split(split)) => {
                    supports.push((record.site(), *cell, Arc::new(split)));
                }
                (Subject::Agent(_), _) => {
                    let entry = CellEntry::of(record).map(Arc::new);
                    if record.site() == self.site { own.extend(entry) } else { listed.extend(entry) }
                }
                _ => {}
            }
        }
        let (now, rng) = (self.shared.ids.clock().now(), self.shared.ids.rng().clone());
        cells.known.clone_from(&known);
        let known = Arc::new(KnownSites::new(known));
        let restored = CellInput::Restored { known, supports, own };
        cells.effects.extend(cells.cells.apply(restored, now, rng.as_ref()));
        for entry in listed {
            cells.effects.extend(cells.cells.apply(CellInput::Listed(entry), now, rng.as_ref()));
        }
        self.cells = Some(cells);
        self.settle_cells().await
    }

    /// Tells the cells what changed, and carries out what they want, until there is nothing left.
    pub(super) async fn settle_cells(&mut self) -> Result<(), PeersError> {
        for _ in 0..MAX_ROUNDS {
            let arrived =
                self.cells.as_mut().map(|cells| std::mem::take(&mut cells.arrived)).unwrap_or_default();
            for (peer, frame) in arrived {
                self.take_frame(peer, frame).await?;
            }
            let Some(cells) = &mut self.cells else { return Ok(()) };
            let (now, rng) = (self.shared.ids.clock().now(), self.shared.ids.rng().clone());
            for (key, record) in std::mem::take(&mut cells.changed) {
                if let Some(input) = SessionCells::input_of(&key, record.as_ref(), self.site) {
                    cells.effects.extend(cells.cells.apply(input, now, rng.as_ref()));
                }
            }
            let effects = std::mem::take(&mut cells.effects);
            if effects.is_empty() {
                return self.evict_unplaced().await;
            }
            for effect in effects {
                self.act_on_cells(effect).await?;
            }
            self.follow_codebook().await?;
        }
        self.evict_unplaced().await
    }

    /// Gives an input to the cells; what follows is done by [`Self::settle_cells`].
    pub(super) fn apply_to_cells(&mut self, input: CellInput) {
        let (now, rng) = (self.shared.ids.clock().now(), self.shared.ids.rng().clone());
        if let Some(cells) = &mut self.cells {
            cells.effects.extend(cells.cells.apply(input, now, rng.as_ref()));
        }
    }

    /// Wakes the cells, if they asked for it.
    pub(super) fn tick_cells(&mut self) {
        let now = self.shared.ids.clock().now();
        if let Some(cells) = &mut self.cells
            && cells.wake.is_some_and(|at| at <= now)
        {
            cells.wake = None;
            self.apply_to_cells(CellInput::Tick);
        }
    }

    /// Tells the cells which sites there are.
    pub(super) async fn look_for_servers(&mut self) -> Result<(), PeersError> {
        let Some(cells) = &mut self.cells else { return Ok(()) };
        let (peers, addresses) = (self.overlay.peers().await, &self.addresses);
        cells.networks.saw(&peers, (self.site, addresses));
        let Some(catalogue) = &self.catalogue else { return Ok(()) };
        let known = cells.networks.known_sites(catalogue, self.site);
        if known != cells.known {
            cells.known.clone_from(&known);
            self.kept.state.networks = cells.networks.written();
            self.apply_to_cells(CellInput::Known(Arc::new(KnownSites::new(known))));
        }
        self.settle_cells().await
    }

    /// Reads a message of a peer, and takes in what it holds.
    async fn take_frame(&mut self, peer: SiteId, frame: CellFrame) -> Result<(), PeersError> {
        if self.banned.contains(&peer) || !self.connected.contains(&peer) {
            return Ok(());
        }
        let prove = |candidate: &Candidate| {
            let record = Claim::decode(candidate.bytes()).and_then(Claim::verify).ok()?;
            record.to().is_none().then(|| Arc::new(record))
        };
        let read = spawn_blocking(move || frame.read(prove)).await;
        let read = read.map_err(|_| PeersError::NotHere("the site is stopping".into()))?;
        let Some((message, records)) = read else {
            return self.apply(vec![(Input::Unreadable { peer }, None)]).await;
        };
        let message = match message {
            CellMessage::Put { cell, entries, confirm } => {
                let keeps = self.cells.as_ref().is_some_and(|cells| cells.cells.keeps(cell));
                if !keeps {
                    return Ok(());
                }
                let entries = self.place(records, entries).await?;
                CellMessage::Put { cell, entries, confirm }
            }
            answer @ CellMessage::Answer { .. } => {
                if let Some(cells) = &mut self.cells {
                    cells.searches.remember(records);
                }
                answer
            }
            other => other,
        };
        self.apply_to_cells(CellInput::Received { peer, message });
        Ok(())
    }

    /// Gives records to the catalogue, and the entries back that it holds.
    async fn place(
        &mut self,
        records: Vec<Arc<Record>>,
        mut entries: Vec<Arc<CellEntry>>,
    ) -> Result<Vec<Arc<CellEntry>>, PeersError> {
        if let Some(cells) = &mut self.cells {
            cells.placed.extend(records.iter().map(|record| record.key().clone()));
        }
        self.apply(vec![(Input::Placed(records), None)]).await?;
        let catalogue = self.catalogue()?;
        entries.retain(|entry| catalogue.get(&entry.key).is_some_and(|held| held.id() == entry.id));
        Ok(entries)
    }

    async fn act_on_cells(&mut self, effect: CellEffect) -> Result<(), PeersError> {
        match effect {
            CellEffect::Keep(_) | CellEffect::Drop(_) => {
                if let Some(cells) = &mut self.cells {
                    cells.has_moved = true;
                }
            }
            CellEffect::Endorse { cell, split } => {
                let split = Some((*split).clone());
                self.apply(vec![(Input::Endorse { cell, split }, None)]).await?;
            }
            CellEffect::Send { peer, message } => self.send_frames(peer, message).await?,
            CellEffect::Found { search, hits, coverage } => self.found(search, hits, coverage).await?,
            CellEffect::Omitted { peer } => {
                tracing::info!(%peer, "A site left an agent out of its answer that another one returned.");
            }
            CellEffect::WakeAt(at) => {
                if let Some(cells) = &mut self.cells {
                    cells.wake = Some(at);
                }
            }
        }
        Ok(())
    }

    async fn send_frames(&mut self, peer: SiteId, message: CellMessage) -> Result<(), PeersError> {
        if peer == self.site {
            return Ok(());
        }
        let catalogue = self.catalogue()?;
        let record = |entry: &CellEntry| record_of(catalogue, entry);
        for frame in CellFrame::of(message, record) {
            self.shared.metrics.sent();
            if let Err(error) = self.overlay.send(peer, Message::Cell(frame)).await {
                tracing::debug!(%peer, %error, "A message about cells was not sent.");
            }
        }
        Ok(())
    }

    /// Spreads agents by cells from the first split on, and by the catalogue before.
    async fn follow_codebook(&mut self) -> Result<(), PeersError> {
        let Some(cells) = &mut self.cells else { return Ok(()) };
        let is_parted = cells.cells.is_parted();
        if is_parted == cells.is_parted {
            return Ok(());
        }
        cells.is_parted = is_parted;
        self.shared.set_parted(is_parted);
        let cells = cells.cells.codebook().leaves().len();
        tracing::info!(cells, "The catalogue of the mesh is kept in cells.");
        self.apply(vec![(Input::Parted(is_parted), None)]).await
    }

    /// Removes agents from the catalogue that are in no cell that this site keeps.
    async fn evict_unplaced(&mut self) -> Result<(), PeersError> {
        let Some(cells) = &mut self.cells else { return Ok(()) };
        let (has_moved, placed) = (std::mem::take(&mut cells.has_moved), std::mem::take(&mut cells.placed));
        let Some(catalogue) = self.catalogue.as_ref().filter(|_| cells.is_parted) else { return Ok(()) };
        let is_unplaced = |key: &RecordKey| cells.cells.holds(EntryKey::of(key)).is_none();
        let unplaced: BTreeSet<RecordKey> = if has_moved {
            let foreign = catalogue.records().map(|record| record.key()).filter(|key| key.site != self.site);
            let agents = foreign.filter(|key| matches!(key.subject, Subject::Agent(_)));
            agents.filter(|key| is_unplaced(key)).cloned().collect()
        } else {
            placed.into_iter().filter(is_unplaced).collect()
        };
        if unplaced.is_empty() {
            return Ok(());
        }
        self.apply(vec![(Input::Evict(unplaced.into_iter().collect()), None)]).await
    }
}

/// The record of an entry, if the catalogue has this version.
fn record_of(catalogue: &Catalogue, entry: &CellEntry) -> Option<Arc<Record>> {
    catalogue.get(&entry.key).filter(|record| record.id() == entry.id).cloned()
}
