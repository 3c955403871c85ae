//! A network in memory, for tests: overlays of one process, with loss, delay, cuts and silent links.
//!
//! Promises: what the trait [`Overlay`] promises, for the contract suite runs on it. Messages travel in
//! their wire form. Gossip goes to every neighbour. It has no timer and no task of its own: what is delayed
//! waits in the stream of its receiver's events.

mod network;
mod pipe;
#[cfg(test)]
mod tests;

use std::fmt;
use std::future::poll_fn;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;
use std::time::Duration;

use agentsite_protocol::{Clock, Timestamp};
use async_trait::async_trait;
use futures::StreamExt as _;
use futures::future::BoxFuture;

pub use self::network::SentBytes;

use self::network::{Member, Network};
use super::{
    GossipTicket, LinkStream, Overlay, OverlayError, OverlayEvent, OverlayEvents, PeerStatus, Verdict,
};
use crate::record::Record;
use crate::site_id::SiteId;
use crate::wire::{Batch, Message};

/// How addresses of this network begin; the site follows.
const SCHEME: &str = "/memory/";

/// Waits for some time, by the timer of the test.
pub type Sleep = Arc<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>;

/// What the links of a network do to messages.
#[derive(Clone)]
pub struct Weather {
    /// How many of a hundred messages are lost; never connections and streams.
    pub loss_percent: u32,
    /// How long an event takes to arrive.
    pub delay: RangeInclusive<Duration>,
    /// How the delay is waited for; without it there is none.
    pub sleep: Option<Sleep>,
    /// The seed of loss and delay.
    pub seed: u64,
}

impl Default for Weather {
    /// Nothing is lost or late.
    fn default() -> Self {
        Self { loss_percent: 0, delay: Duration::ZERO..=Duration::ZERO, sleep: None, seed: 0 }
    }
}

impl fmt::Debug for Weather {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Weather({} % lost, delay {:?}, seed {})", self.loss_percent, self.delay, self.seed)
    }
}

/// A network in memory. Clones are the same network.
#[derive(Debug, Clone)]
pub struct MemoryNetwork {
    /// Never held across an await, and no code of others runs under it.
    state: Arc<Mutex<Network>>,
}

impl MemoryNetwork {
    /// A network where nothing is lost or late.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::with_weather(clock, Weather::default())
    }

    /// A network whose links do this to messages.
    #[must_use]
    pub fn with_weather(clock: Arc<dyn Clock>, weather: Weather) -> Self {
        Self { state: Arc::new(Mutex::new(Network::new(clock, weather))) }
    }

    /// Adds a site, and gives its overlay and its events. A site that was there is replaced.
    #[must_use]
    pub fn join(&self, site: SiteId) -> (Arc<MemoryOverlay>, OverlayEvents) {
        self.leave(site);
        let sleep = {
            let mut network = self.lock();
            network.members.insert(site, Member::default());
            network.weather.sleep.clone()
        };
        let events = futures::stream::unfold((self.clone(), sleep), move |(network, sleep)| async move {
            let (at, event) = network.next(site).await?;
            let wait = at.saturating_sub(network.lock().clock.elapsed());
            if let Some(sleep) = sleep.as_ref().filter(|_| !wait.is_zero()) {
                sleep(wait).await;
            }
            Some((event, (network, sleep)))
        });
        (Arc::new(MemoryOverlay { site, network: self.clone() }), events.boxed())
    }

    /// The address of a site, for [`Overlay::dial`].
    #[must_use]
    pub fn address(site: SiteId) -> String {
        format!("{SCHEME}{site}")
    }

    /// Connects two sites, as if one had dialed the other; nothing happens when they cannot connect.
    pub fn connect(&self, one: SiteId, other: SiteId) {
        self.lock().connect(one, other);
    }

    /// Ends the connection of two sites, and keeps them from connecting until [`Self::heal`].
    pub fn cut(&self, one: SiteId, other: SiteId) {
        self.lock().cut(one, other);
    }

    /// Lets everything vanish that one site sends to the other, unnoticed, until [`Self::heal`].
    pub fn silence(&self, from: SiteId, to: SiteId) {
        self.lock().silence(from, to);
    }

    /// Gives every site an address in a network of its own from now on.
    pub fn give_addresses(&self) {
        self.lock().has_addresses = true;
    }

    /// Remembers everything that is sent from now on, for [`Self::sent`].
    pub fn remember_sent(&self) {
        self.lock().sent.get_or_insert_default();
    }

    /// What was sent since [`Self::remember_sent`], gossip once for each receiver.
    #[must_use]
    pub fn sent(&self) -> Vec<SentBytes> {
        self.lock().sent.clone().unwrap_or_default()
    }

    /// Undoes [`Self::cut`] and [`Self::silence`]. The sites connect when one of them dials.
    pub fn heal(&self, one: SiteId, other: SiteId) {
        self.lock().heal(one, other);
    }

    fn leave(&self, site: SiteId) {
        let mut network = self.lock();
        for (peer, _) in network.peers(site) {
            network.disconnect(site, peer);
        }
        let reader = network.members.remove(&site).and_then(|member| member.reader);
        drop(network);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// The next event of a site; none when it left.
    async fn next(&self, site: SiteId) -> Option<(Duration, OverlayEvent)> {
        poll_fn(|context| {
            let mut network = self.lock();
            let Some(member) = network.members.get_mut(&site) else { return Poll::Ready(None) };
            let event = member.inbox.pop_front();
            if event.is_none() {
                member.reader = Some(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(event)
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, Network> {
        self.state.lock().expect("no holder of this lock panics")
    }
}

/// The overlay of one site in a network in memory.
#[derive(Debug)]
pub struct MemoryOverlay {
    site: SiteId,
    network: MemoryNetwork,
}

impl MemoryOverlay {
    /// The network, when this site has not left it.
    fn running(&self) -> Result<MutexGuard<'_, Network>, OverlayError> {
        let network = self.network.lock();
        if network.members.contains_key(&self.site) {
            Ok(network)
        } else {
            Err(OverlayError::Stopped("it was stopped".into()))
        }
    }

    /// Connects to a site.
    fn reach(&self, peer: SiteId) -> Result<(), OverlayError> {
        let mut network = self.running()?;
        let now = network.clock.now();
        let ban = network.members.get(&self.site).and_then(|member| member.bans.get(&peer));
        if ban.is_some_and(|until| now < *until) {
            return Err(OverlayError::Banned(peer));
        }
        if network.connect(self.site, peer) {
            return Ok(());
        }
        Err(OverlayError::Unreachable { to: peer.to_string(), why: "no connection in this network".into() })
    }
}

#[async_trait]
impl Overlay for MemoryOverlay {
    async fn send(&self, peer: SiteId, message: Message) -> Result<(), OverlayError> {
        self.running()?.send(self.site, peer, &message.encode());
        Ok(())
    }

    async fn publish(&self, record: Arc<Record>, from: Option<SiteId>) -> Result<(), OverlayError> {
        let mut network = self.running()?;
        let came_by_gossip = |member: &Member| member.gossiped.contains(&record.id());
        if from.is_some() && network.members.get(&self.site).is_some_and(came_by_gossip) {
            return Ok(());
        }
        let message = Message::Push(Batch::of(&[record]));
        network.spread(self.site, from, &message.encode().into());
        Ok(())
    }

    async fn judge(&self, ticket: GossipTicket, verdict: Verdict) {
        let Ok(mut network) = self.running() else { return };
        let Some(member) = network.members.get_mut(&self.site) else { return };
        let Some(gossip) = member.unjudged.remove(&ticket.0) else { return };
        match verdict {
            Verdict::Accept => network.pass_on(self.site, &gossip),
            Verdict::Ignore => {}
            Verdict::Reject => *member.scores.entry(gossip.from).or_default() -= 1.0,
        }
    }

    async fn dial(&self, address: &str) -> Result<SiteId, OverlayError> {
        let site = address.strip_prefix(SCHEME).and_then(|site| site.parse().ok());
        let site = site.ok_or_else(|| OverlayError::BadAddress(address.into()))?;
        self.reach(site).map(|()| site)
    }

    async fn disconnect(&self, peer: SiteId, banned_until: Option<Timestamp>) {
        let Ok(mut network) = self.running() else { return };
        if let (Some(until), Some(member)) = (banned_until, network.members.get_mut(&self.site)) {
            member.bans.insert(peer, until);
        }
        network.disconnect(self.site, peer);
    }

    async fn allow(&self, peer: SiteId) {
        let Ok(mut network) = self.running() else { return };
        network.members.get_mut(&self.site).map(|member| member.bans.remove(&peer));
    }

    async fn open(&self, site: SiteId) -> Result<Box<dyn LinkStream>, OverlayError> {
        self.reach(site)?;
        let mut network = self.running()?;
        let unreachable = || OverlayError::Unreachable { to: site.to_string(), why: "it is gone".into() };
        let connection = network.connection(self.site, site).ok_or_else(unreachable)?;
        let (near, far) = pipe::pair(&connection);
        network.tell(site, OverlayEvent::Stream { peer: self.site, stream: Box::new(far) });
        Ok(Box::new(near))
    }

    async fn peers(&self) -> Vec<PeerStatus> {
        let Ok(network) = self.running() else { return Vec::new() };
        let Some(member) = network.members.get(&self.site) else { return Vec::new() };
        let has_addresses = network.has_addresses;
        let address = |site| if has_addresses { own_network(&site) } else { MemoryNetwork::address(site) };
        let status = |(site, since): (SiteId, Timestamp)| PeerStatus {
            site,
            address: address(site),
            is_relayed: false,
            latency: None,
            score: member.scores.get(&site).copied().unwrap_or_default(),
            since,
            bytes: member.bytes.get(&site).copied().unwrap_or_default(),
        };
        network.peers(self.site).into_iter().map(status).collect()
    }

    async fn addresses(&self) -> Vec<String> {
        let mut addresses = vec![MemoryNetwork::address(self.site)];
        if self.network.lock().has_addresses {
            addresses.push(own_network(&self.site));
        }
        addresses
    }

    async fn stop(&self) {
        self.network.leave(self.site);
    }
}

/// An address that no other site of a test shares a network with.
fn own_network(site: &SiteId) -> String {
    let [a, b, ..] = site.as_bytes();
    format!("/ip4/10.{a}.{b}.1/tcp/4101")
}
