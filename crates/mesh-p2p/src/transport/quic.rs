//! QUIC: connections over UDP, which are set up faster and pass more address translators than TCP.
//!
//! Our own, because libp2p-quic 0.14 is tied to aws-lc, which this product does not carry. Promises: the
//! handshake is TLS 1.3 on ring, with the sites' Ed25519 keys as raw public keys (RFC 7250), so there are
//! no certificates to parse. Before a connection is handed on, both sides have proven that they know the
//! network: each sends a value exported from the TLS session under the network's prologue. It connects
//! sites only: the name of the protocol in the handshake is ours.

mod credentials;
mod muxer;
mod proof;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use agentsite_protocol::SigningKey;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use if_watch::IfEvent;
use if_watch::tokio::IfWatcher;
use libp2p::core::Endpoint as Role;
use libp2p::core::transport::{DialOpts, ListenerId, PortUse, Transport, TransportError, TransportEvent};
use libp2p::multiaddr::Protocol;
use libp2p::{Multiaddr, PeerId};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use self::credentials::Credentials;
use self::muxer::Muxer;

/// How long the other side may take to open its half of a punched hole.
const PUNCH: Duration = Duration::from_secs(5);
/// How often a packet is sent to open our half.
const PUNCH_INTERVAL: Duration = Duration::from_millis(50);
/// Holes that are punched at once.
const MAX_PUNCHES: usize = 32;

type Upgrade = BoxFuture<'static, io::Result<(PeerId, Muxer)>>;
type Event = TransportEvent<Upgrade, io::Error>;

/// QUIC as a transport of libp2p.
pub(super) struct Quic {
    credentials: Credentials,
    prologue: Arc<[u8]>,
    listeners: Vec<Listener>,
    /// For dials while nothing listens; IPv4 and IPv6.
    dialers: [Option<quinn::Endpoint>; 2],
    /// Who is expected to come through a hole.
    punches: HashMap<SocketAddr, oneshot::Sender<quinn::Incoming>>,
    events: VecDeque<Event>,
    waker: Option<Waker>,
}

/// A socket that takes connections.
struct Listener {
    id: ListenerId,
    endpoint: quinn::Endpoint,
    /// The socket of the endpoint, for packets that open holes.
    socket: UdpSocket,
    local: SocketAddr,
    /// The addresses of this machine, when it listens on all of them.
    interfaces: Option<IfWatcher>,
    accept: BoxFuture<'static, Option<quinn::Incoming>>,
}

impl Quic {
    pub(super) fn new(key: &SigningKey, prologue: &[u8]) -> io::Result<Self> {
        Ok(Self {
            credentials: Credentials::new(key)?,
            prologue: prologue.into(),
            listeners: Vec::new(),
            dialers: [None, None],
            punches: HashMap::new(),
            events: VecDeque::new(),
            waker: None,
        })
    }

    fn bind(&self, at: SocketAddr, listens: bool) -> io::Result<(quinn::Endpoint, UdpSocket)> {
        let socket = UdpSocket::bind(at)?;
        let copy = socket.try_clone()?;
        let server = listens.then(|| self.credentials.server.clone());
        let runtime = Arc::new(quinn::TokioRuntime);
        let endpoint = quinn::Endpoint::new(quinn::EndpointConfig::default(), server, socket, runtime)?;
        Ok((endpoint, copy))
    }

    /// The endpoint from which a remote address is dialed: one that listens, so that the port is the same.
    fn dialer(&mut self, to: SocketAddr, port_use: PortUse) -> io::Result<quinn::Endpoint> {
        let fits = |listener: &&Listener| {
            listener.local.is_ipv4() == to.is_ipv4()
                && (!listener.local.ip().is_loopback() || to.ip().is_loopback())
        };
        let listener = self.listeners.iter().find(fits).filter(|_| port_use == PortUse::Reuse);
        if let Some(listener) = listener {
            return Ok(listener.endpoint.clone());
        }
        let (place, any): (usize, SocketAddr) = if to.is_ipv4() {
            (0, (Ipv4Addr::UNSPECIFIED, 0).into())
        } else {
            (1, (Ipv6Addr::UNSPECIFIED, 0).into())
        };
        if let Some(endpoint) = &self.dialers[place] {
            return Ok(endpoint.clone());
        }
        let (endpoint, _) = self.bind(any, false)?;
        self.dialers[place] = Some(endpoint.clone());
        Ok(endpoint)
    }

    /// Waits for the other side to come through a hole, which packets of ours keep open.
    fn punch(&mut self, to: SocketAddr) -> io::Result<Upgrade> {
        let socket = self.listeners.iter().find(|listener| listener.local.is_ipv4() == to.is_ipv4());
        let socket = socket.ok_or_else(|| io::Error::other("nothing listens"))?.socket.try_clone()?;
        self.punches.retain(|_, waiting| !waiting.is_closed());
        if self.punches.len() >= MAX_PUNCHES {
            return Err(io::Error::other("too many holes are being punched"));
        }
        let (sender, mut incoming) = oneshot::channel();
        self.punches.insert(to, sender);
        let prologue = self.prologue.clone();
        Ok(Box::pin(async move {
            let arrival = async {
                loop {
                    // Lost packets are expected, and so is a busy socket.
                    let _ = socket.send_to(&[0; 32], to);
                    tokio::select! {
                        arrived = &mut incoming => return arrived.map_err(io::Error::other),
                        () = sleep(PUNCH_INTERVAL) => {}
                    }
                }
            };
            let incoming = timeout(PUNCH, arrival).await.map_err(io::Error::from)??;
            proof::accept(incoming, &prologue).await
        }))
    }

    fn poll_listener(&mut self, place: usize, context: &mut Context<'_>) -> Poll<()> {
        let listener = &mut self.listeners[place];
        let (id, port) = (listener.id, listener.local.port());
        if let Some(interfaces) = &mut listener.interfaces
            && let Poll::Ready(Some(event)) = interfaces.poll_next_unpin(context)
        {
            let is_ours = |ip: IpAddr| ip.is_ipv4() == listener.local.is_ipv4();
            match event {
                Ok(IfEvent::Up(net)) if is_ours(net.addr()) => {
                    let listen_addr = to_multiaddr((net.addr(), port).into());
                    self.events.push_back(TransportEvent::NewAddress { listener_id: id, listen_addr });
                }
                Ok(IfEvent::Down(net)) if is_ours(net.addr()) => {
                    let listen_addr = to_multiaddr((net.addr(), port).into());
                    self.events.push_back(TransportEvent::AddressExpired { listener_id: id, listen_addr });
                }
                Ok(_) => {}
                Err(error) => {
                    self.events.push_back(TransportEvent::ListenerError { listener_id: id, error });
                }
            }
            return Poll::Ready(());
        }
        let Poll::Ready(incoming) = listener.accept.as_mut().poll(context) else { return Poll::Pending };
        let Some(incoming) = incoming else {
            self.listeners.remove(place);
            self.events.push_back(TransportEvent::ListenerClosed { listener_id: id, reason: Ok(()) });
            return Poll::Ready(());
        };
        listener.accept = accepting(&listener.endpoint);
        let (remote, local) = (incoming.remote_address(), listener.local);
        match self.punches.remove(&remote) {
            // When the dial was given up, the connection is refused.
            Some(waiting) => drop(waiting.send(incoming)),
            None => {
                let prologue = self.prologue.clone();
                let upgrade: Upgrade = Box::pin(async move { proof::accept(incoming, &prologue).await });
                self.events.push_back(TransportEvent::Incoming {
                    listener_id: id,
                    upgrade,
                    local_addr: to_multiaddr(local),
                    send_back_addr: to_multiaddr(remote),
                });
            }
        }
        Poll::Ready(())
    }
}

fn accepting(endpoint: &quinn::Endpoint) -> BoxFuture<'static, Option<quinn::Incoming>> {
    let endpoint = endpoint.clone();
    Box::pin(async move { endpoint.accept().await })
}

impl Transport for Quic {
    type Output = (PeerId, Muxer);
    type Error = io::Error;
    type ListenerUpgrade = Upgrade;
    type Dial = Upgrade;

    fn listen_on(&mut self, id: ListenerId, address: Multiaddr) -> Result<(), TransportError<io::Error>> {
        let Some(at) = to_socket(&address) else {
            return Err(TransportError::MultiaddrNotSupported(address));
        };
        let (endpoint, socket) = self.bind(at, true).map_err(TransportError::Other)?;
        let local = endpoint.local_addr().map_err(TransportError::Other)?;
        let interfaces = if at.ip().is_unspecified() {
            Some(IfWatcher::new().map_err(TransportError::Other)?)
        } else {
            let listen_addr = to_multiaddr(local);
            self.events.push_back(TransportEvent::NewAddress { listener_id: id, listen_addr });
            None
        };
        let accept = accepting(&endpoint);
        self.listeners.push(Listener { id, endpoint, socket, local, interfaces, accept });
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
        Ok(())
    }

    fn remove_listener(&mut self, id: ListenerId) -> bool {
        let Some(place) = self.listeners.iter().position(|listener| listener.id == id) else { return false };
        self.listeners.remove(place).endpoint.set_server_config(None);
        self.events.push_back(TransportEvent::ListenerClosed { listener_id: id, reason: Ok(()) });
        true
    }

    fn dial(&mut self, address: Multiaddr, options: DialOpts) -> Result<Upgrade, TransportError<io::Error>> {
        let Some(to) = to_socket(&address).filter(|to| to.port() != 0 && !to.ip().is_unspecified()) else {
            return Err(TransportError::MultiaddrNotSupported(address));
        };
        if options.role == Role::Listener {
            return self.punch(to).map_err(TransportError::Other);
        }
        let endpoint = self.dialer(to, options.port_use).map_err(TransportError::Other)?;
        let connecting = endpoint
            .connect_with(self.credentials.client.clone(), to, "site")
            .map_err(|error| TransportError::Other(io::Error::other(error)))?;
        let prologue = self.prologue.clone();
        Ok(Box::pin(async move { proof::connect(connecting, &prologue).await }))
    }

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Event> {
        let mut place = 0;
        while self.events.is_empty() && place < self.listeners.len() {
            if self.poll_listener(place, context).is_pending() {
                place += 1;
            }
        }
        match self.events.pop_front() {
            Some(event) => Poll::Ready(event),
            None => {
                self.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// The socket that an address of QUIC names; what follows must be a peer at most.
fn to_socket(address: &Multiaddr) -> Option<SocketAddr> {
    let mut parts = address.iter();
    let ip: IpAddr = match parts.next()? {
        Protocol::Ip4(ip) => ip.into(),
        Protocol::Ip6(ip) => ip.into(),
        _ => return None,
    };
    let Protocol::Udp(port) = parts.next()? else { return None };
    if parts.next()? != Protocol::QuicV1 {
        return None;
    }
    match (parts.next(), parts.next()) {
        (None | Some(Protocol::P2p(_)), None) => Some((ip, port).into()),
        _ => None,
    }
}

fn to_multiaddr(socket: SocketAddr) -> Multiaddr {
    Multiaddr::from(socket.ip()).with(Protocol::Udp(socket.port())).with(Protocol::QuicV1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_quic_name_a_socket() {
        let socket = |text: &str| to_socket(&text.parse().unwrap());
        let expected: SocketAddr = "192.0.2.1:4101".parse().unwrap();
        assert_eq!(socket("/ip4/192.0.2.1/udp/4101/quic-v1"), Some(expected));
        assert_eq!(to_multiaddr(expected).to_string(), "/ip4/192.0.2.1/udp/4101/quic-v1");
        let peer = PeerId::random();
        assert_eq!(socket(&format!("/ip4/192.0.2.1/udp/4101/quic-v1/p2p/{peer}")), Some(expected));
        for other in [
            "/ip4/192.0.2.1/tcp/4101".to_owned(),
            "/ip4/192.0.2.1/udp/4101".to_owned(),
            format!("/ip4/192.0.2.1/udp/4101/quic-v1/p2p/{peer}/p2p-circuit"),
        ] {
            assert_eq!(socket(&other), None, "{other}");
        }
    }
}
