//! MeshSession: the one task that owns the catalogue while a site takes part in the mesh under one identity.
//!
//! Promises: inputs are taken in batches; what they change is committed before anything leaves the site, and
//! gossip is judged after that. What was kept is restored at the start, and entries whose records are gone
//! are withdrawn. A stop ends the site's lease, so that others need not wait. Checking signatures never
//! holds up the runtime.

mod carry;
mod cells;
mod confide;
mod own;
mod vectors;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use agentsite_mesh::catalogue::{Identity, Moment, Saved};
use agentsite_mesh::overlay::OverlayEvents;
use agentsite_mesh::{Catalogue, GossipTicket, Input, Message, Overlay, OverlayEvent, SiteId, Verdict};
use agentsite_protocol::{JournalLine, SigningKey, Timestamp};
use agentsite_store::Change;
use agentsite_tasks::Worker;
use futures::{FutureExt as _, StreamExt as _};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::batch::Batch;
use crate::dialing::keep_dialing;
use crate::error::PeersError;
use crate::kept::{Kept, NodeState};
use crate::kinds;
use crate::network::JoinedNetwork;
use crate::probing::keep_probing;
use crate::shared::{Running, Shared};
use crate::transport::OverlayPlan;
use cells::SessionCells;
use confide::Confidences;
use vectors::SessionVectors;

/// Events that are taken at once: a commit costs a sync of the disk, however many records are in it.
const MAX_EVENTS: usize = 64;

/// How often is looked for what comes without a signal: a change of keys, the end of a ban.
const LOOK: Duration = Duration::from_secs(5);

/// With every so manieth look the cards of all agents are read again: an agent elsewhere may have learned a
/// skill.
const READ_CARDS: u32 = 12;

/// Longest sleep until the time that the catalogue asked for: the wall clock may be set meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// How long a stop waits for the end of the lease to leave: gossip is batched for some tens of milliseconds.
const FAREWELL: Duration = Duration::from_millis(300);

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionEnd {
    /// The site stops, or another process continues.
    Stopped,
    /// The key or the network is another one: a new session begins.
    Changed,
}

/// What happened, for the catalogue; gossip with its ticket.
type Inputs = Vec<(Input, Option<GossipTicket>)>;

/// One participation in the mesh.
pub(crate) struct MeshSession {
    shared: Arc<Shared>,
    overlay: Arc<dyn Overlay>,
    site: SiteId,
    key: SigningKey,
    /// Moved to another thread and back with each batch.
    catalogue: Option<Catalogue>,
    kept: Kept,
    connected: BTreeSet<SiteId>,
    /// The sites that are banned as far as the overlay knows.
    banned: BTreeSet<SiteId>,
    addresses: Vec<String>,
    vectors: SessionVectors,
    confidences: Confidences,
    /// None when the mesh is not parted into cells.
    cells: Option<SessionCells>,
    wake: Option<Timestamp>,
}

impl MeshSession {
    /// Starts the overlay, restores the catalogue and publishes the site's agents.
    pub(crate) async fn open(
        shared: Arc<Shared>,
        network: JoinedNetwork,
    ) -> Result<(Self, OverlayEvents), PeersError> {
        let key = shared.local.key();
        let bad_key =
            |error| PeersError::Bad(format!("the key of the site cannot be used in the mesh: {error}"));
        let site = SiteId::of(&key.public()).map_err(bad_key)?;
        let (kept, wire) = Kept::load(&shared.store).await?;
        let transport = shared.transport.clone().ok_or(PeersError::Off)?;
        let JoinedNetwork { name, key: secret } = network.clone();
        let plan = OverlayPlan { key: key.clone(), network: name, network_key: secret };
        let (overlay, events) = transport.start(plan).await?;
        shared.reach.begin();
        let running = Running { overlay: overlay.clone(), site, network };
        let addresses = overlay.addresses().await;
        let mut vectors = SessionVectors::new(shared.local.clone(), shared.ids.clock().now());
        for (site, known) in shared.known.all().iter() {
            known.value.distrusted_until.into_iter().for_each(|until| vectors.distrust(*site, until));
        }
        let mut session = Self {
            shared: shared.clone(),
            overlay,
            site,
            key,
            catalogue: None,
            kept,
            connected: BTreeSet::new(),
            banned: BTreeSet::new(),
            addresses,
            vectors,
            confidences: Confidences::default(),
            cells: None,
            wake: None,
        };
        if let Err(error) = session.restore(wire).await {
            session.overlay.stop().await;
            return Err(error);
        }
        shared.set_running(Some(running));
        Ok((session, events))
    }

    /// Makes the catalogue of what was kept.
    async fn restore(&mut self, wire: Vec<Vec<u8>>) -> Result<(), PeersError> {
        let (limits, rng) = (self.shared.settings.limits(), self.shared.ids.rng().clone());
        let moment = Moment::of(self.shared.ids.clock().as_ref());
        let (site, key, state) = (self.site, self.key.clone(), self.kept.state.clone());
        let records = if self.offered().is_empty() { own::without_site(wire, site) } else { wire };
        let is_new = state.site != site.to_string();
        let made = spawn_blocking(move || {
            let work = state.work(&site, limits.work_bits);
            let identity = Identity::new(key, work.nonce).ok()?;
            let saved = Saved { at: state.at.unwrap_or(moment.now), records };
            let (catalogue, effects) = Catalogue::restore(identity, limits, &saved, moment, rng.as_ref());
            Some((catalogue, effects, work.nonce))
        });
        let made = made.await.map_err(|_| PeersError::NotHere("the site is stopping".into()))?;
        let (catalogue, effects, nonce) =
            made.ok_or_else(|| PeersError::Bad("the mesh needs an Ed25519 key".into()))?;
        self.catalogue = Some(catalogue);
        let networks = self.kept.state.networks.clone();
        let state = NodeState { site: site.to_string(), nonce, at: Some(moment.now), networks };
        if is_new {
            let text = format!("joined the mesh as {site}");
            let line = JournalLine::new(kinds::MESH_JOINED, moment.now, "site", text);
            let edits = self.kept.edits(&Default::default(), Some(&state))?;
            self.shared.store.commit(Change::new(line).edits(edits.clone())).await?;
            self.kept.committed(&edits, Some(state));
        }
        self.follow_bans().await?;
        let mut batch = Batch::default();
        batch.add(effects);
        self.carry_out(batch).await?;
        self.withdraw_unknown().await?;
        self.restore_cells().await?;
        self.tell_of_own().await
    }

    /// Takes part until `stop`, or until key or network change.
    pub(crate) async fn run(
        mut self,
        mut events: OverlayEvents,
        worker: &Worker,
        stop: &CancellationToken,
    ) -> Result<SessionEnd, PeersError> {
        let (shared, overlay, site) = (self.shared.clone(), self.overlay.clone(), self.site);
        let ended = tokio::select! {
            ended = self.take_part(&mut events, worker, stop) => ended,
            () = keep_dialing(&shared, overlay.as_ref(), site) => Ok(SessionEnd::Changed),
            () = keep_probing(&shared, overlay.as_ref(), site) => Ok(SessionEnd::Changed),
        };
        if ended.is_ok() {
            self.say_farewell(stop).await;
        }
        self.overlay.stop().await;
        ended
    }

    async fn take_part(
        &mut self,
        events: &mut OverlayEvents,
        worker: &Worker,
        stop: &CancellationToken,
    ) -> Result<SessionEnd, PeersError> {
        let (mut agents, mut peers) = (self.shared.local.changes(), self.shared.known.changes());
        let (mut look, mut looks) = (tokio::time::interval(LOOK), 0_u32);
        let shared = self.shared.clone();
        let mut searches = shared.asked.lock().await;
        loop {
            self.settle_cells().await?;
            let wake = self.until_wake();
            let patience = self.vectors.patience(shared.ids.clock().now());
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(SessionEnd::Stopped),
                () = shared.restart.notified() => return Ok(SessionEnd::Changed),
                event = events.next() => {
                    let Some(event) = event else {
                        return Err(PeersError::NotHere("the overlay ended; the log says why".into()));
                    };
                    self.take_events(event, events).await?;
                }
                // The senders live as long as the site.
                _ = agents.changed() => self.tell_of_own().await?,
                _ = peers.changed() => {
                    self.follow_bans().await?;
                    self.show_to_peers().await?;
                }
                encoded = self.vectors.next() => self.take_vectors(encoded).await?,
                () = tokio::time::sleep(patience.unwrap_or_default()), if patience.is_some() => {
                    self.tell_of_own().await?;
                }
                Some(search) = searches.recv() => self.begin_search(search).await?,
                () = tokio::time::sleep(wake) => {
                    self.tick_cells();
                    self.apply(vec![(Input::Tick, None)]).await?;
                }
                _ = look.tick() => {
                    if self.has_other_key() {
                        return Ok(SessionEnd::Changed);
                    }
                    looks = looks.wrapping_add(1);
                    if looks.is_multiple_of(READ_CARDS) {
                        self.tell_of_own().await?;
                    }
                    self.follow_bans().await?;
                    self.show_to_peers().await?;
                    self.expire_confided().await?;
                    self.look_for_servers().await?;
                    self.end_visits().await?;
                    self.report(worker).await?;
                }
            }
        }
    }

    /// How long until the catalogue is to be woken.
    fn until_wake(&self) -> Duration {
        let now = self.shared.ids.clock().now();
        let cells = self.cells.as_ref().and_then(|cells| cells.wake);
        let first = [self.wake, cells].into_iter().flatten().min();
        first.map_or(LONGEST_SLEEP, |at| at.since(now).min(LONGEST_SLEEP))
    }

    fn has_other_key(&self) -> bool {
        self.shared.local.key().public() != self.key.public()
    }

    /// Takes an event in, and those that wait behind it.
    async fn take_events(
        &mut self,
        first: OverlayEvent,
        events: &mut OverlayEvents,
    ) -> Result<(), PeersError> {
        let (mut inputs, mut has_moved, mut has_new_peer) = (Inputs::new(), false, false);
        let mut next = Some(first);
        while let Some(event) = next.take() {
            has_moved |= matches!(event, OverlayEvent::Addresses(_));
            has_new_peer |= matches!(event, OverlayEvent::Connected { .. });
            inputs.extend(self.input_of(event));
            if inputs.len() < MAX_EVENTS {
                next = events.next().now_or_never().flatten();
            }
        }
        self.apply(inputs).await?;
        self.take_confidences().await?;
        if has_new_peer {
            self.show_to_peers().await?;
        }
        if has_moved { self.tell_of_own().await } else { Ok(()) }
    }

    /// What an event means to the catalogue; what does not concern it is done here.
    fn input_of(&mut self, event: OverlayEvent) -> Option<(Input, Option<GossipTicket>)> {
        let input = match event {
            OverlayEvent::Connected { peer } => {
                self.connected.insert(peer);
                self.shared.reach.connected(peer, self.shared.ids.clock().now());
                Input::Connected { peer }
            }
            OverlayEvent::Gone { peer } => {
                self.connected.remove(&peer);
                self.confidences.gone(&peer);
                self.shared.reach.gone(peer, self.shared.ids.clock().now());
                Input::Gone { peer }
            }
            OverlayEvent::Received { peer, message } => {
                self.shared.metrics.received();
                if let Message::Confide { batch, left } = message {
                    self.confidences.arrived(peer, left, batch);
                    return None;
                }
                if let Message::Cell(frame) = message {
                    self.cells.iter_mut().for_each(|cells| cells.arrived(peer, frame.clone()));
                    return None;
                }
                Input::Received { peer, message }
            }
            OverlayEvent::Unreadable { peer } => Input::Unreadable { peer },
            OverlayEvent::Gossip { peer, message, ticket } => {
                self.shared.metrics.received();
                return Some((Input::Received { peer, message }, Some(ticket)));
            }
            OverlayEvent::Stream { peer, stream } => {
                if self.shared.check_not_banned(&peer).is_ok() {
                    self.shared.hand_over(peer, stream);
                }
                return None;
            }
            OverlayEvent::Addresses(addresses) => {
                self.addresses = addresses;
                return None;
            }
        };
        Some((input, None))
    }

    /// Applies inputs to the catalogue on a thread of its own, and carries their effects out.
    async fn apply(&mut self, inputs: Inputs) -> Result<(), PeersError> {
        if inputs.is_empty() {
            return Ok(());
        }
        let stopping = || PeersError::NotHere("the site is stopping".into());
        let mut catalogue = self.catalogue.take().ok_or_else(stopping)?;
        let (clock, rng) = (self.shared.ids.clock().clone(), self.shared.ids.rng().clone());
        let applied = spawn_blocking(move || {
            let mut batch = Batch::default();
            for (input, ticket) in inputs {
                let effects = catalogue.apply(input, Moment::of(clock.as_ref()), rng.as_ref());
                batch.verdicts.extend(ticket.map(|ticket| (ticket, Verdict::of(&effects))));
                batch.add(effects);
            }
            (catalogue, batch)
        });
        let (catalogue, batch) = applied.await.map_err(|_| stopping())?;
        self.catalogue = Some(catalogue);
        self.carry_out(batch).await
    }

    fn catalogue(&self) -> Result<&Catalogue, PeersError> {
        self.catalogue.as_ref().ok_or_else(|| PeersError::NotHere("the site is stopping".into()))
    }

    /// Ends the lease, unless another process of the site continues with it.
    async fn say_farewell(&mut self, stop: &CancellationToken) {
        if self.shared.is_shared && stop.is_cancelled() {
            return;
        }
        match self.apply(vec![(Input::Retire, None)]).await {
            Ok(()) => tokio::time::sleep(FAREWELL).await,
            Err(error) => {
                tracing::debug!(%error, "The end of the lease was not published; it ends by itself.");
            }
        }
    }
}
