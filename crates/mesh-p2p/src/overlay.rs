//! The handle of the overlay: what the site holds.
//!
//! Promises: every verb goes to the one task that owns the swarm, through a mailbox of [`MAILBOX`] places.
//! Dropping the last handle, or [`Overlay::stop`], ends that task, its connections and the events.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agentsite_mesh::{
    GossipTicket, LinkStream, Message, Overlay, OverlayError, OverlayEvent, OverlayEvents, PeerStatus,
    Record, SiteId, Verdict,
};
use agentsite_protocol::{Clock, SigningKey, Timestamp};
use async_trait::async_trait;
use futures::StreamExt as _;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::address;
use crate::driver::{Driver, command::Command};
use crate::identity;
use crate::settings::{MIN_NETWORK_KEY, P2pSettings};
use crate::status::P2pStatus;
use crate::transport::{self, StreamTransport};

/// Commands that wait for the driver; it takes some microseconds for each.
const MAILBOX: usize = 256;
/// Events that wait for the site. Beyond, messages are not read, and gossip is dropped.
const EVENTS: usize = 256;
/// How long a dial may take with all of its addresses, the handshakes included.
const DIAL: Duration = Duration::from_secs(60);

/// The overlay on libp2p.
pub struct P2pOverlay {
    site: SiteId,
    mailbox: mpsc::Sender<Command>,
    stop: CancellationToken,
}

impl fmt::Debug for P2pOverlay {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "P2pOverlay({})", self.site)
    }
}

impl Drop for P2pOverlay {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl P2pOverlay {
    /// Starts the overlay of a site with this key: when it returns, it listens. Needs a runtime of tokio.
    ///
    /// # Errors
    /// [`OverlayError::BadAddress`] names an address of the settings that is none;
    /// [`OverlayError::Stopped`] says why it cannot start: the key is not Ed25519, the network key is too
    /// short, an address is in use.
    pub async fn start(
        settings: P2pSettings,
        key: &SigningKey,
        clock: Arc<dyn Clock>,
    ) -> Result<(Arc<Self>, OverlayEvents), OverlayError> {
        Self::start_over(transport::tcp(), settings, key, clock).await
    }

    /// The same over another network than the system's TCP, such as a simulated one. Everything above plain
    /// bytes is what [`P2pOverlay::start`] uses.
    ///
    /// # Errors
    /// Those of [`P2pOverlay::start`].
    pub async fn start_over(
        tcp: StreamTransport,
        settings: P2pSettings,
        key: &SigningKey,
        clock: Arc<dyn Clock>,
    ) -> Result<(Arc<Self>, OverlayEvents), OverlayError> {
        let cannot = |why: String| OverlayError::Stopped(why);
        let keypair = identity::keypair(key);
        let keypair = keypair.ok_or_else(|| cannot("the key of the site is not Ed25519".into()))?;
        if settings.network_key.as_ref().is_some_and(|key| key.secret().len() < MIN_NETWORK_KEY) {
            return Err(cannot(format!("network_key has fewer than {MIN_NETWORK_KEY} characters")));
        }
        let site = SiteId::of(&key.public()).map_err(|error| cannot(error.to_string()))?;
        let stop = CancellationToken::new();
        let (mailbox, commands) = mpsc::channel(MAILBOX);
        let (events, mut happened) = mpsc::channel::<OverlayEvent>(EVENTS);
        let mut driver = Driver::new(settings, (key, &keypair), tcp, clock, commands, events, stop.clone())?;
        driver.listen().await?;
        let span = tracing::info_span!("mesh", %site);
        tokio::spawn(Box::pin(driver.run()).instrument(span));
        let events = futures::stream::poll_fn(move |context| happened.poll_recv(context)).boxed();
        Ok((Arc::new(Self { site, mailbox, stop }), events))
    }

    /// How it is doing, in numbers.
    pub async fn status(&self) -> P2pStatus {
        self.ask(Command::Status).await.unwrap_or_default()
    }

    async fn command(&self, command: Command) -> Result<(), OverlayError> {
        self.mailbox.send(command).await.map_err(|_| stopped())
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T, OverlayError> {
        let (reply, answer) = oneshot::channel();
        self.command(command(reply)).await?;
        answer.await.map_err(|_| stopped())
    }
}

fn stopped() -> OverlayError {
    OverlayError::Stopped("it was stopped".into())
}

#[async_trait]
impl Overlay for P2pOverlay {
    async fn send(&self, peer: SiteId, message: Message) -> Result<(), OverlayError> {
        self.command(Command::Send { site: peer, bytes: message.encode() }).await
    }

    async fn publish(&self, record: Arc<Record>, from: Option<SiteId>) -> Result<(), OverlayError> {
        self.command(Command::Publish { record, from }).await
    }

    async fn judge(&self, ticket: GossipTicket, verdict: Verdict) {
        // After a stop there is nothing to pass on.
        drop(self.command(Command::Judge { ticket, verdict }).await);
    }

    async fn dial(&self, address: &str) -> Result<SiteId, OverlayError> {
        let written = address::parse(address)?;
        if self.mailbox.is_closed() {
            return Err(stopped());
        }
        let late = |_| OverlayError::Unreachable { to: address.into(), why: "no answer in time".into() };
        let dial = async {
            let addresses = written.resolve().await?;
            self.ask(|reply| Command::Dial { addresses, reply }).await?
        };
        timeout(DIAL, dial).await.map_err(late)?
    }

    async fn disconnect(&self, peer: SiteId, banned_until: Option<Timestamp>) {
        drop(self.ask(|done| Command::Disconnect { site: peer, banned_until, done }).await);
    }

    async fn allow(&self, peer: SiteId) {
        drop(self.ask(|done| Command::Allow { site: peer, done }).await);
    }

    async fn open(&self, site: SiteId) -> Result<Box<dyn LinkStream>, OverlayError> {
        self.ask(|reply| Command::Open { site, reply }).await?
    }

    async fn peers(&self) -> Vec<PeerStatus> {
        self.ask(Command::Peers).await.unwrap_or_default()
    }

    async fn addresses(&self) -> Vec<String> {
        self.ask(Command::Addresses).await.unwrap_or_default()
    }

    async fn invite_addresses(&self) -> Vec<String> {
        self.ask(Command::InviteAddresses).await.unwrap_or_default()
    }

    async fn stop(&self) {
        self.stop.cancel();
        self.mailbox.closed().await;
    }
}
