//! Transport: the network in memory as libp2p dials and listens on it, in place of TCP.
//!
//! Promises: addresses are of the form `/ip4/…/tcp/…`, so that everything above treats them as it does on a
//! real network. A dial takes one round trip; at an address without a listener it is refused, and at a
//! black hole it never ends.

use std::collections::{HashMap, VecDeque};
use std::future::{Ready, ready};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use agentsite_mesh::LinkStream;
use agentsite_mesh_p2p::StreamTransport;
use futures::future::{BoxFuture, pending};
use libp2p::Multiaddr;
use libp2p::core::transport::{DialOpts, ListenerId, PortUse, Transport, TransportError, TransportEvent};
use libp2p::multiaddr::Protocol;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::network::{Arrival, Network};
use crate::pipe::connection;

type Upgrade = Ready<io::Result<Box<dyn LinkStream>>>;
type Event = TransportEvent<Upgrade, io::Error>;

/// The transport of one site.
struct SimTransport {
    network: Network,
    ip: Ipv4Addr,
    listeners: HashMap<ListenerId, (SocketAddrV4, mpsc::Receiver<Arrival>)>,
    events: VecDeque<Event>,
    waker: Option<Waker>,
}

/// The transport of the site with this address.
pub(crate) fn transport(network: &Network, ip: Ipv4Addr) -> StreamTransport {
    let (listeners, events) = (HashMap::new(), VecDeque::new());
    SimTransport { network: network.clone(), ip, listeners, events, waker: None }.boxed()
}

fn socket_of(address: &Multiaddr) -> Option<SocketAddrV4> {
    let mut parts = address.iter();
    match (parts.next(), parts.next(), parts.next()) {
        (Some(Protocol::Ip4(ip)), Some(Protocol::Tcp(port)), None | Some(Protocol::P2p(_))) => {
            parts.next().is_none().then(|| SocketAddrV4::new(ip, port))
        }
        _ => None,
    }
}

fn address_of(socket: SocketAddrV4) -> Multiaddr {
    Multiaddr::from(*socket.ip()).with(Protocol::Tcp(socket.port()))
}

async fn dial(network: Network, from: SocketAddrV4, to: SocketAddrV4) -> io::Result<Box<dyn LinkStream>> {
    let latency = network.latency(*from.ip(), *to.ip());
    sleep(latency).await;
    if network.is_cut(*from.ip(), *to.ip()) {
        return pending().await;
    }
    let (near, far) = connection(&network, *from.ip(), *to.ip());
    let is_taken = network.arrive(to, Arrival { from, stream: far });
    sleep(latency).await;
    if network.is_cut(*from.ip(), *to.ip()) {
        return pending().await;
    }
    if is_taken { Ok(Box::new(near)) } else { Err(io::ErrorKind::ConnectionRefused.into()) }
}

impl Transport for SimTransport {
    type Output = Box<dyn LinkStream>;
    type Error = io::Error;
    type ListenerUpgrade = Upgrade;
    type Dial = BoxFuture<'static, io::Result<Box<dyn LinkStream>>>;

    fn listen_on(&mut self, id: ListenerId, address: Multiaddr) -> Result<(), TransportError<io::Error>> {
        let socket = socket_of(&address).filter(|socket| *socket.ip() == self.ip);
        let socket = socket.ok_or(TransportError::MultiaddrNotSupported(address))?;
        let in_use = || TransportError::Other(io::ErrorKind::AddrInUse.into());
        let arrivals = self.network.listen(socket).ok_or_else(in_use)?;
        self.listeners.insert(id, (socket, arrivals));
        self.events.push_back(Event::NewAddress { listener_id: id, listen_addr: address_of(socket) });
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
        Ok(())
    }

    fn remove_listener(&mut self, id: ListenerId) -> bool {
        self.listeners.remove(&id).is_some()
    }

    fn dial(
        &mut self,
        address: Multiaddr,
        options: DialOpts,
    ) -> Result<Self::Dial, TransportError<io::Error>> {
        let Some(to) = socket_of(&address) else {
            return Err(TransportError::MultiaddrNotSupported(address));
        };
        let listening = self.listeners.values().next().map(|(socket, _)| *socket);
        let from = listening
            .filter(|_| options.port_use == PortUse::Reuse)
            .unwrap_or_else(|| SocketAddrV4::new(self.ip, self.network.free_port(self.ip)));
        Ok(Box::pin(dial(self.network.clone(), from, to)))
    }

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Event> {
        if let Some(event) = self.events.pop_front() {
            return Poll::Ready(event);
        }
        for (id, (socket, arrivals)) in &mut self.listeners {
            if let Poll::Ready(Some(Arrival { from, stream })) = arrivals.poll_recv(context) {
                return Poll::Ready(Event::Incoming {
                    listener_id: *id,
                    upgrade: ready(Ok(Box::new(stream))),
                    local_addr: address_of(*socket),
                    send_back_addr: address_of(from),
                });
            }
        }
        self.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
