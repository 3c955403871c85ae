//! Seek: finding a site that is not connected, to open a stream to it.
//!
//! Known addresses are dialed first, then those that the DHT names, which may lead through a relay. Promises:
//! everybody who waits is answered, after [`DEADLINE`] at the latest.

use std::collections::HashMap;
use std::time::Duration;

use agentsite_mesh::{OverlayError, SiteId};
use libp2p::kad::{GetClosestPeersResult, QueryId};
use libp2p::swarm::DialError;
use libp2p::swarm::dial_opts::{DialOpts, PeerCondition};
use libp2p::{Multiaddr, PeerId};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Driver;
use super::command::{OpenReply, Report, Waiting};
use super::dialing::explain;
use super::peer::CallStream;
use crate::address::MAX_ADDRESSES;
use crate::identity;
use crate::streams::{LINK, OpenError};

/// How long a site is looked for.
const DEADLINE: Duration = Duration::from_secs(30);
/// Sites that are looked for at once.
const MAX_SEEKS: usize = 64;
/// Callers that wait for one site.
const MAX_CALLERS: usize = 64;

/// How often a stream is tried when its connection ends meanwhile: a peer that only checks an address
/// connects for a moment.
const TRIES: u32 = 3;

/// How far the search for a site is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Known addresses are dialed.
    Known,
    /// The DHT is asked.
    Asked(QueryId),
    /// What the DHT said is dialed.
    Found,
}

/// The search for a site.
struct Seek {
    stage: Stage,
    until: Instant,
    waiting: Vec<Waiting>,
}

/// The sites that are looked for.
#[derive(Default)]
pub(super) struct Seeks(HashMap<PeerId, Seek>);

impl Driver {
    /// Opens a stream to a site, looking for it if it is not connected.
    pub(super) fn open(&mut self, site: SiteId, reply: OpenReply) {
        self.seek(site, Waiting { reply, attempt: 1 });
    }

    /// Looks for a site for a caller that waits, for the first time or again.
    pub(super) fn seek(&mut self, site: SiteId, waiting: Waiting) {
        let Some(peer) = identity::peer_of(&site).filter(|peer| *peer != self.me) else {
            return refuse(waiting.reply, unreachable(site, "this is not another site"));
        };
        if self.swarm.behaviour().door.is_banned(&site) {
            return refuse(waiting.reply, OverlayError::Banned(site));
        }
        if self.peers.contains_key(&peer) {
            return self.open_link(site, peer, waiting);
        }
        if let Some(seek) = self.seeks.0.get_mut(&peer) {
            if seek.waiting.len() >= MAX_CALLERS {
                return refuse(waiting.reply, OverlayError::Busy("too many calls wait for one site"));
            }
            return seek.waiting.push(waiting);
        }
        if self.seeks.0.len() >= MAX_SEEKS {
            return refuse(waiting.reply, OverlayError::Busy("too many sites are being looked for"));
        }
        let seek = Seek { stage: Stage::Known, until: Instant::now() + DEADLINE, waiting: vec![waiting] };
        self.seeks.0.insert(peer, seek);
        if let Err(error) = self.dial_sought(peer, Vec::new()) {
            self.seek_failed(peer, &error);
        }
    }

    fn dial_sought(&mut self, peer: PeerId, addresses: Vec<Multiaddr>) -> Result<(), DialError> {
        let options = DialOpts::peer_id(peer)
            .addresses(addresses)
            .extend_addresses_through_behaviour()
            .condition(PeerCondition::DisconnectedAndNotDialing)
            .allocate_new_port()
            .build();
        match self.swarm.dial(options) {
            // It is being dialed already: the outcome is ours, too.
            Ok(()) | Err(DialError::DialPeerConditionFalse(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// A sought site was not reached.
    pub(super) fn seek_failed(&mut self, peer: PeerId, error: &DialError) {
        let Some(seek) = self.seeks.0.get_mut(&peer) else { return };
        match seek.stage {
            Stage::Known => {
                let query = self.swarm.behaviour_mut().routing.get_closest_peers(peer);
                seek.stage = Stage::Asked(query);
            }
            Stage::Asked(_) => {}
            Stage::Found => {
                let address = Multiaddr::empty().with(libp2p::multiaddr::Protocol::P2p(peer));
                self.give_up(peer, |_| explain(&address, error));
            }
        }
    }

    /// The DHT answered.
    pub(super) fn sought(&mut self, query: QueryId, result: GetClosestPeersResult) {
        let is_it = |(_, seek): &(&PeerId, &Seek)| seek.stage == Stage::Asked(query);
        let Some(peer) = self.seeks.0.iter().find(is_it).map(|(peer, _)| *peer) else { return };
        let peers = match result {
            Ok(found) => found.peers,
            Err(libp2p::kad::GetClosestPeersError::Timeout { peers, .. }) => peers,
        };
        let addresses: Vec<Multiaddr> = peers
            .into_iter()
            .filter(|found| found.peer_id == peer)
            .flat_map(|found| found.addrs)
            .filter(|address| self.policy.is_worth_keeping(address))
            .take(MAX_ADDRESSES)
            .collect();
        if addresses.is_empty() {
            return self.give_up(peer, |site| unreachable(site, "no site knows its address"));
        }
        if let Some(seek) = self.seeks.0.get_mut(&peer) {
            seek.stage = Stage::Found;
        }
        if let Err(error) = self.dial_sought(peer, addresses) {
            self.seek_failed(peer, &error);
        }
    }

    /// A site is connected: those who waited for it get their streams.
    pub(super) fn seek_succeeded(&mut self, site: SiteId, peer: PeerId) {
        for waiting in self.seeks.0.remove(&peer).into_iter().flat_map(|seek| seek.waiting) {
            self.open_link(site, peer, waiting);
        }
    }

    /// Gives up what took too long.
    pub(super) fn expire_seeks(&mut self) {
        let now = Instant::now();
        let late: Vec<PeerId> =
            self.seeks.0.iter().filter(|(_, seek)| seek.until <= now).map(|(peer, _)| *peer).collect();
        for peer in late {
            self.give_up(peer, |site| unreachable(site, "it was not found in time"));
        }
    }

    fn give_up(&mut self, peer: PeerId, error: impl Fn(SiteId) -> OverlayError) {
        let Some(site) = identity::site_of(&peer) else { return };
        for waiting in self.seeks.0.remove(&peer).into_iter().flat_map(|seek| seek.waiting) {
            refuse(waiting.reply, error(site));
        }
    }

    /// Opens a stream over a connection that stands. If it ends meanwhile, the site is looked for again.
    fn open_link(&mut self, site: SiteId, peer: PeerId, Waiting { reply, attempt }: Waiting) {
        let (sender, receiver) = oneshot::channel();
        self.swarm.behaviour_mut().streams.open(peer, LINK, sender);
        let reports = self.reports.0.clone();
        let place = self.peers.get(&peer).map(|known| known.calls.clone());
        self.tasks.spawn(async move {
            let opened = match receiver.await {
                Ok(Ok(stream)) => {
                    Ok(Box::new(CallStream::outgoing(stream, place)) as Box<dyn agentsite_mesh::LinkStream>)
                }
                Ok(Err(OpenError::Busy)) => Err(OverlayError::Busy("too many streams are being opened")),
                Ok(Err(OpenError::Failed)) | Err(_) if attempt < TRIES => {
                    let waiting = Waiting { reply, attempt: attempt + 1 };
                    return drop(reports.send(Report::LinkEnded { site, waiting }).await);
                }
                Ok(Err(error)) => Err(unreachable(site, &error.to_string())),
                Err(_) => Err(unreachable(site, "the connection ended")),
            };
            drop(reply.send(opened));
        });
    }
}

fn refuse(reply: OpenReply, error: OverlayError) {
    drop(reply.send(Err(error)));
}

fn unreachable(site: SiteId, why: &str) -> OverlayError {
    OverlayError::Unreachable { to: site.to_string(), why: why.into() }
}
