//! Driver: the one task that owns the swarm.
//!
//! Promises: commands, events of the network and reports of its own tasks are taken one at a time, and
//! nothing here waits for a peer or for the site. That a peer came or went reaches the site always;
//! messages wait with their readers while the site is busy, gossip and streams beyond what fits are
//! dropped. When it ends, so do all of its tasks and connections.

mod backoff;
pub(crate) mod command;
mod dialing;
mod gossiping;
mod listening;
mod network;
mod peer;
mod relays;
mod room;
mod seek;
mod sync;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use agentsite_mesh::{OverlayError, OverlayEvent, PeerStatus, SiteId};
use agentsite_protocol::{Clock, SigningKey, Timestamp};
use futures::StreamExt as _;
use libp2p::identity::Keypair;
use libp2p::swarm::Config;
use libp2p::{PeerId, Swarm, relay};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tokio_util::sync::CancellationToken;

use self::command::{Command, Report};
use self::dialing::Dialing;
use self::peer::ConnectedSite;
use self::relays::Relays;
use self::seek::Seeks;
use crate::address::{self, AddressPolicy, is_relayed};
use crate::batch::{Gossiped, Outgoing};
use crate::behaviour::Behaviour;
use crate::identity;
use crate::settings::P2pSettings;
use crate::status::P2pStatus;
use crate::streams::SYNC;
use crate::traffic::Traffic;
use crate::transport::{self, StreamTransport};

/// How often the driver looks whether something is due.
const TICK: Duration = Duration::from_secs(2);
/// After how long without a use a connection ends. Gossip uses those of its mesh all the time.
const IDLE: Duration = Duration::from_secs(120);
/// Streams of one connection whose protocol is being agreed on.
const NEGOTIATING: usize = 32;
/// Events of one connection that wait for the swarm.
const CONNECTION_EVENTS: usize = 16;
/// Reports of own tasks that wait.
const REPORTS: usize = 64;
/// Streams of messages to one peer that may break before its connections end.
const BROKEN_STREAMS: u32 = 8;

/// The task that owns the swarm. (The swarm is first: it is dropped before the mailbox, whose end says that
/// everything has ended.)
pub(crate) struct Driver {
    swarm: Swarm<Behaviour>,
    me: PeerId,
    settings: P2pSettings,
    policy: AddressPolicy,
    traffic: Traffic,
    clock: Arc<dyn Clock>,
    peers: BTreeMap<PeerId, ConnectedSite>,
    /// The peers that the site knows to be connected.
    told: BTreeSet<PeerId>,
    /// Peers that came or went, of which the site was perhaps not told.
    unsettled: BTreeSet<PeerId>,
    /// The addresses that the site knows of, and whether others may be true.
    addresses: (Vec<String>, bool),
    outgoing: Outgoing,
    flush_at: Option<Instant>,
    gossiped: Gossiped,
    dialing: Dialing,
    seeks: Seeks,
    relays: Relays,
    counters: Counters,
    tasks: JoinSet<()>,
    reports: (mpsc::Sender<Report>, mpsc::Receiver<Report>),
    stop: CancellationToken,
    events: mpsc::Sender<OverlayEvent>,
    mailbox: mpsc::Receiver<Command>,
}

/// What the driver counts.
#[derive(Debug, Default)]
struct Counters {
    published: u64,
    published_records: u64,
    gossip: u64,
    gossip_dropped: u64,
    failed_dials: u64,
    refused: u64,
    refused_streams: u64,
}

impl Driver {
    /// Puts the swarm together. It does not listen yet.
    pub(crate) fn new(
        settings: P2pSettings,
        (key, keypair): (&SigningKey, &Keypair),
        tcp: StreamTransport,
        clock: Arc<dyn Clock>,
        mailbox: mpsc::Receiver<Command>,
        events: mpsc::Sender<OverlayEvent>,
        stop: CancellationToken,
    ) -> Result<Self, OverlayError> {
        let seeds: Result<Vec<_>, _> = settings.seeds.iter().map(|seed| address::parse(seed)).collect();
        let me = keypair.public().to_peer_id();
        let policy = AddressPolicy::new(settings.allow_private_addresses);
        let traffic = Traffic::default();
        let (relay_transport, relay_client) = relay::client::new(me);
        let failed = |error| cannot_start("the network cannot be used", &error);
        let carriers = (relay_transport, tcp);
        let transport =
            transport::build((key, keypair), &settings, &policy, carriers, &traffic).map_err(failed)?;
        let behaviour =
            Behaviour::new(keypair, &settings, &policy, clock.clone(), relay_client).map_err(failed)?;
        let config = Config::with_tokio_executor()
            .with_idle_connection_timeout(IDLE)
            .with_max_negotiating_inbound_streams(NEGOTIATING)
            .with_per_connection_event_buffer_size(CONNECTION_EVENTS);
        Ok(Self {
            swarm: Swarm::new(transport, behaviour, me, config),
            me,
            dialing: Dialing::new(seeds?),
            settings,
            policy,
            traffic,
            clock,
            peers: BTreeMap::new(),
            told: BTreeSet::new(),
            unsettled: BTreeSet::new(),
            addresses: (Vec::new(), false),
            outgoing: Outgoing::default(),
            flush_at: None,
            gossiped: Gossiped::default(),
            seeks: Seeks::default(),
            relays: Relays::new(),
            counters: Counters::default(),
            tasks: JoinSet::new(),
            reports: mpsc::channel(REPORTS),
            stop,
            events,
            mailbox,
        })
    }

    /// Works until it is stopped, or its handle or its events were dropped.
    pub(crate) async fn run(mut self) {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let flush_at = self.flush_at.unwrap_or_else(Instant::now);
            tokio::select! {
                () = self.stop.cancelled() => break,
                place = self.events.clone().reserve_owned(), if self.has_news() => match place {
                    Ok(place) => self.tell(place),
                    Err(_) => break,
                },
                command = self.mailbox.recv() => match command {
                    Some(command) => self.obey(command),
                    None => break,
                },
                Some(report) = self.reports.1.recv() => self.reported(report),
                event = self.swarm.select_next_some() => self.network_event(event),
                () = sleep_until(flush_at), if self.flush_at.is_some() => self.flush(),
                _ = tick.tick() => self.tick(),
                Some(_) = self.tasks.join_next(), if !self.tasks.is_empty() => {}
            }
        }
        self.tasks.shutdown().await;
    }

    fn obey(&mut self, command: Command) {
        // Who asked may have stopped waiting: then its answer is dropped.
        match command {
            Command::Send { site, bytes } => self.send(site, bytes),
            Command::Publish { record, from } => self.publish(record, from),
            Command::Judge { ticket, verdict } => self.judge(&ticket, verdict),
            Command::Dial { addresses, reply } => self.dial(addresses, reply),
            Command::Disconnect { site, banned_until, done } => {
                self.disconnect(site, banned_until);
                let _ = done.send(());
            }
            Command::Allow { site, done } => {
                self.swarm.behaviour_mut().door.allow(&site);
                let _ = done.send(());
            }
            Command::Open { site, reply } => self.open(site, reply),
            Command::Peers(reply) => drop(reply.send(self.peer_statuses())),
            Command::Addresses(reply) => drop(reply.send(self.own_addresses())),
            Command::InviteAddresses(reply) => drop(reply.send(self.invite_addresses())),
            Command::Status(reply) => drop(reply.send(self.status())),
        }
    }

    fn reported(&mut self, report: Report) {
        match report {
            Report::Stuck(peer) => {
                if self.peers.contains_key(&peer) {
                    tracing::info!(%peer, "A peer does not read what is sent to it; its connection ends.");
                    let _ = self.swarm.disconnect_peer_id(peer);
                }
            }
            Report::Broken { peer, unsent } => self.send_again(peer, unsent),
            Report::LinkEnded { site, waiting } => self.seek(site, waiting),
            Report::Resolved { seed, addresses } => self.seed_resolved(seed, addresses),
        }
    }

    fn tick(&mut self) {
        self.traffic.forget_idle();
        self.expire_seeks();
        self.make_room();
        self.look_for_peers();
        self.ask_relays();
    }

    /// Whether the site is to be told something that must not get lost.
    fn has_news(&self) -> bool {
        self.addresses.1 || !self.unsettled.is_empty()
    }

    /// Tells the site one thing that must not get lost.
    fn tell(&mut self, place: mpsc::OwnedPermit<OverlayEvent>) {
        while let Some(peer) = self.unsettled.pop_first() {
            let Some(site) = identity::site_of(&peer) else { continue };
            match (self.told.contains(&peer), self.peers.contains_key(&peer)) {
                (false, true) => {
                    self.told.insert(peer);
                    place.send(OverlayEvent::Connected { peer: site });
                    return self.read_waiting(peer);
                }
                (true, false) => {
                    self.told.remove(&peer);
                    place.send(OverlayEvent::Gone { peer: site });
                    return;
                }
                _ => {}
            }
        }
        let addresses = self.own_addresses();
        let has_changed = std::mem::take(&mut self.addresses.1) && addresses != self.addresses.0;
        if has_changed {
            self.addresses.0.clone_from(&addresses);
            place.send(OverlayEvent::Addresses(addresses));
        }
    }

    /// Sends a message; lost when the site is not connected.
    fn send(&mut self, site: SiteId, bytes: Vec<u8>) {
        let Some(peer) = identity::peer_of(&site) else { return };
        let Some(known) = self.peers.get_mut(&peer) else { return };
        let bytes = match &known.outbox {
            None => bytes,
            Some(outbox) => match outbox.try_send(bytes) {
                Ok(()) => return,
                Err(mpsc::error::TrySendError::Full(_)) => return self.reported(Report::Stuck(peer)),
                // The stream was closed because nothing was sent for long.
                Err(mpsc::error::TrySendError::Closed(bytes)) => bytes,
            },
        };
        self.open_outbox(peer, bytes);
    }

    /// Sends what did not leave over another connection; a peer whose streams break again and again is stuck.
    fn send_again(&mut self, peer: PeerId, unsent: Vec<Vec<u8>>) {
        let Some(known) = self.peers.get_mut(&peer) else { return };
        known.broken += 1;
        if known.broken > BROKEN_STREAMS {
            return self.reported(Report::Stuck(peer));
        }
        let site = known.site;
        unsent.into_iter().for_each(|bytes| self.send(site, bytes));
    }

    fn open_outbox(&mut self, peer: PeerId, first: Vec<u8>) {
        let (outbox, messages) = mpsc::channel(sync::OUTBOX);
        let (sender, stream) = oneshot::channel();
        self.swarm.behaviour_mut().streams.open(peer, SYNC, sender);
        drop(outbox.try_send(first));
        if let Some(known) = self.peers.get_mut(&peer) {
            known.outbox = Some(outbox);
            self.tasks.spawn(sync::write(peer, stream, messages, self.reports.0.clone()));
        }
    }

    fn disconnect(&mut self, site: SiteId, banned_until: Option<Timestamp>) {
        let Some(peer) = identity::peer_of(&site) else { return };
        if let Some(until) = banned_until {
            self.swarm.behaviour_mut().door.ban(site, until);
            self.swarm.behaviour_mut().routing.remove_peer(&peer);
        }
        // An error means that it is not connected.
        let _ = self.swarm.disconnect_peer_id(peer);
    }

    fn peer_statuses(&self) -> Vec<PeerStatus> {
        let gossip = &self.swarm.behaviour().gossip;
        let status = |(id, peer): (&PeerId, &ConnectedSite)| PeerStatus {
            site: peer.site,
            address: peer.address().map(ToString::to_string).unwrap_or_default(),
            is_relayed: peer.address().is_some_and(is_relayed),
            latency: peer.latency,
            score: gossip.peer_score(id).unwrap_or_default(),
            since: peer.since,
            bytes: self.traffic.of(id),
        };
        self.peers.iter().map(status).collect()
    }

    fn status(&mut self) -> P2pStatus {
        let routes = self.swarm.behaviour_mut().routing.kbuckets().map(|bucket| bucket.num_entries()).sum();
        let behaviour = self.swarm.behaviour();
        let is_relayed_only = |peer: &&ConnectedSite| peer.address().is_some_and(is_relayed);
        P2pStatus {
            peers: self.peers.len(),
            relayed_peers: self.peers.values().filter(is_relayed_only).count(),
            neighbours: behaviour.gossip.all_mesh_peers().count(),
            topics: behaviour.gossip.all_peers().map(|(_, topics)| topics.len()).sum(),
            routes,
            bans: behaviour.door.bans(),
            relay_places: self.relays.places(),
            published: self.counters.published,
            published_records: self.counters.published_records,
            gossip: self.counters.gossip,
            gossip_dropped: self.counters.gossip_dropped,
            failed_dials: self.counters.failed_dials,
            refused: self.counters.refused,
            refused_streams: self.counters.refused_streams,
            bytes: self.traffic.total(),
        }
    }
}

/// Why the overlay cannot start, from an error of the system.
fn cannot_start(what: &str, error: &std::io::Error) -> OverlayError {
    OverlayError::Stopped(format!("{what}: {error}"))
}
