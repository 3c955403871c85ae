//! SimSite: the product's overlay and catalogue, with what a scenario may see of them.
//!
//! Promises: events become inputs of the catalogue and its effects are carried out in order, as the crate
//! `peers` does it; gossip is judged after the records were applied. Nothing is written to disk. A stream
//! with a call is answered by the number of the site, so that a caller knows whom it reached.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use agentsite_mesh::catalogue::{Effect, Identity, Input, Moment};
use agentsite_mesh::overlay::OverlayEvents;
use agentsite_mesh::story::{STORY_WORK, SeededRng, Site, at, profile};
use agentsite_mesh::{
    Catalogue, GossipTicket, Limits, Overlay as _, OverlayError, OverlayEvent, RecordKey, SiteId, Subject,
    Verdict,
};
use agentsite_mesh_p2p::{P2pOverlay, P2pSettings};
use agentsite_protocol::{Clock, Timestamp};
use futures::{AsyncReadExt as _, AsyncWriteExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use crate::network::Network;
use crate::transport::transport;

/// Orders that wait for a site.
const ORDERS: usize = 64;
/// How long a caller waits for the number of the site that it reached.
const PATIENCE: Duration = Duration::from_secs(30);

/// What every simulated agent says of itself.
pub(crate) const DESCRIPTION: &str = "Answers questions about one subject, in one or two sentences.";

/// The wall clock of all sites: tokio's time since the world began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorldClock(pub(crate) Instant);

impl Clock for WorldClock {
    fn now(&self) -> Timestamp {
        at(0).plus(self.0.elapsed())
    }
}

/// What a scenario tells a site to do.
#[derive(Debug)]
pub enum Order {
    /// Publish agents of these names.
    Publish(Vec<String>),
    /// Take an agent back.
    Unpublish(String),
}

/// What a site did and saw.
#[derive(Debug, Default)]
struct Seen {
    /// Since when each agent elsewhere can be found.
    listed: BTreeMap<RecordKey, Instant>,
    /// When an agent was lost last.
    lost: BTreeMap<RecordKey, Instant>,
    /// When its first session was complete, and how many agents it could find then.
    first_session: Option<(Instant, usize)>,
    offences: u64,
    bans: u64,
}

/// A site of the simulation.
#[derive(Debug)]
pub struct SimSite {
    /// Its key and its identity.
    pub site: Site,
    /// Its address.
    pub ip: Ipv4Addr,
    /// When it was started.
    pub started: Instant,
    /// The real overlay.
    pub overlay: Arc<P2pOverlay>,
    orders: mpsc::Sender<Order>,
    seen: Arc<Mutex<Seen>>,
    task: AbortHandle,
}

impl Drop for SimSite {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The key of an agent's record.
pub(crate) fn key_of(site: SiteId, name: &str) -> RecordKey {
    let subject = Subject::Agent(name.parse().expect("scenarios name agents rightly"));
    RecordKey { site, subject }
}

impl SimSite {
    /// Starts the site with this number at this address.
    ///
    /// # Panics
    /// When the overlay cannot start, which is a mistake of the scenario.
    pub(crate) async fn start(
        network: &Network,
        number: u64,
        ip: Ipv4Addr,
        settings: P2pSettings,
        clock: WorldClock,
    ) -> Self {
        let (site, seen) = (Site::new(number), Arc::<Mutex<Seen>>::default());
        let tcp = transport(network, ip);
        let started = P2pOverlay::start_over(tcp, settings, &site.key, Arc::new(clock)).await;
        let (overlay, events) = started.expect("a simulated site starts");
        let (orders, inbox) = mpsc::channel(ORDERS);
        let identity = Identity::new(site.key.clone(), site.work.nonce).expect("the key is Ed25519");
        let limits = Limits { work_bits: STORY_WORK, ..Limits::default() };
        let work = Work {
            catalogue: Catalogue::new(identity, limits),
            overlay: overlay.clone(),
            seen: seen.clone(),
            clock,
            rng: SeededRng::new(number),
            wake: None,
            number,
        };
        let task = tokio::spawn(Box::pin(work.run(events, inbox))).abort_handle();
        Self { site, ip, started: Instant::now(), overlay, orders, seen, task }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().expect("no holder of this lock panics")
    }

    /// Tells the site to do something.
    pub async fn order(&self, order: Order) {
        self.orders.send(order).await.expect("the site runs");
    }

    /// Since when it finds an agent of another site; `None` when it does not.
    #[must_use]
    pub fn finds(&self, site: SiteId, name: &str) -> Option<Instant> {
        self.seen().listed.get(&key_of(site, name)).copied()
    }

    /// When it lost an agent of another site; `None` while it finds it.
    #[must_use]
    pub fn lost(&self, site: SiteId, name: &str) -> Option<Instant> {
        let (seen, key) = (self.seen(), key_of(site, name));
        seen.lost.get(&key).copied().filter(|_| !seen.listed.contains_key(&key))
    }

    /// How many agents of other sites it finds.
    #[must_use]
    pub fn listed(&self) -> usize {
        self.seen().listed.len()
    }

    /// When its first session with a neighbour was complete, and how many agents it could find then.
    #[must_use]
    pub fn first_session(&self) -> Option<(Instant, usize)> {
        self.seen().first_session
    }

    /// Offences of its peers, and bans that followed.
    #[must_use]
    pub fn offences(&self) -> (u64, u64) {
        let seen = self.seen();
        (seen.offences, seen.bans)
    }

    /// Looks a site up and opens a stream to it: how long that took. The stream proves who answered.
    ///
    /// # Errors
    /// What the overlay says, or that another site answered.
    pub async fn reach(&self, site: SiteId, number: u64) -> Result<Duration, OverlayError> {
        let begun = Instant::now();
        let mut stream = self.overlay.open(site).await?;
        let took = begun.elapsed();
        let silent = |why: String| OverlayError::Unreachable { to: site.to_string(), why };
        let mut answer = [0; 8];
        let read = timeout(PATIENCE, stream.read_exact(&mut answer)).await;
        read.map_err(|_| silent("no answer".into()))?.map_err(|error| silent(error.to_string()))?;
        if u64::from_be_bytes(answer) == number { Ok(took) } else { Err(silent("another site".into())) }
    }
}

/// The task of a site: what `peers` does, without a store.
struct Work {
    catalogue: Catalogue,
    overlay: Arc<P2pOverlay>,
    seen: Arc<Mutex<Seen>>,
    clock: WorldClock,
    rng: SeededRng,
    wake: Option<Timestamp>,
    number: u64,
}

impl Work {
    async fn run(mut self, mut events: OverlayEvents, mut orders: mpsc::Receiver<Order>) {
        loop {
            let wake = self.wake.map_or(PATIENCE, |at| at.since(self.clock.now()).min(PATIENCE));
            tokio::select! {
                event = events.next() => match event {
                    Some(event) => self.event(event).await,
                    None => return,
                },
                order = orders.recv() => match order {
                    Some(order) => self.order(order).await,
                    None => return,
                },
                () = tokio::time::sleep(wake) => {
                    self.wake = None;
                    self.apply(Input::Tick, None).await;
                }
            }
        }
    }

    async fn order(&mut self, order: Order) {
        let name = |text: &str| text.parse().expect("scenarios name agents rightly");
        match order {
            Order::Publish(names) => {
                for text in names {
                    let profile = profile(&text, DESCRIPTION);
                    self.apply(Input::Publish { name: name(&text), profile }, None).await;
                }
            }
            Order::Unpublish(text) => self.apply(Input::Unpublish { name: name(&text) }, None).await,
        }
    }

    async fn event(&mut self, event: OverlayEvent) {
        let (input, ticket) = match event {
            OverlayEvent::Connected { peer } => (Input::Connected { peer }, None),
            OverlayEvent::Gone { peer } => (Input::Gone { peer }, None),
            OverlayEvent::Received { peer, message } => (Input::Received { peer, message }, None),
            OverlayEvent::Unreadable { peer } => (Input::Unreadable { peer }, None),
            OverlayEvent::Gossip { peer, message, ticket } => {
                (Input::Received { peer, message }, Some(ticket))
            }
            OverlayEvent::Stream { mut stream, .. } => {
                let number = self.number.to_be_bytes();
                tokio::spawn(async move {
                    let answer = async {
                        stream.write_all(&number).await?;
                        stream.close().await
                    };
                    // A caller that is gone needs no answer.
                    drop(timeout(PATIENCE, answer).await);
                });
                return;
            }
            OverlayEvent::Addresses(_) => return,
        };
        self.apply(input, ticket).await;
    }

    async fn apply(&mut self, input: Input, ticket: Option<GossipTicket>) {
        let effects = self.catalogue.apply(input, Moment::of(&self.clock), &self.rng);
        let verdict = Verdict::of(&effects);
        for effect in effects {
            self.carry_out(effect).await;
        }
        if let Some(ticket) = ticket {
            self.overlay.judge(ticket, verdict).await;
        }
    }

    async fn carry_out(&mut self, effect: Effect) {
        let seen = || self.seen.lock().expect("no holder of this lock panics");
        match effect {
            // An overlay that has stopped sends nothing.
            Effect::Forward { record, from } => drop(self.overlay.publish(record, from).await),
            Effect::Send { peer, message } => drop(self.overlay.send(peer, message).await),
            Effect::Disconnect { peer, banned_until } => {
                seen().bans += u64::from(banned_until.is_some());
                self.overlay.disconnect(peer, banned_until).await;
            }
            Effect::Upsert(record) => {
                let mut seen = seen();
                seen.listed.entry(record.key().clone()).or_insert_with(Instant::now);
            }
            Effect::Withdraw { key, .. } => {
                let mut seen = seen();
                seen.listed.remove(&key);
                seen.lost.insert(key, Instant::now());
            }
            Effect::Synced { .. } => {
                let mut seen = seen();
                let count = seen.listed.len();
                seen.first_session.get_or_insert((Instant::now(), count));
            }
            Effect::Score { .. } => seen().offences += 1,
            Effect::WakeAt(at) => self.wake = Some(at),
            Effect::Store(_)
            | Effect::Remove(_)
            | Effect::Contradiction(_)
            | Effect::OwnKeyElsewhere(_)
            | Effect::Unsigned { .. } => {}
        }
    }
}
