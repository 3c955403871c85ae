//! Addresses: what people write, what peers announce, and which of them may be dialed.
//!
//! Promises: an address that a foreign peer names is dialed only if it is on the open internet, or private
//! addresses are allowed; a host name that it names is never resolved. What one peer announces is cut to
//! [`MAX_ADDRESSES`].

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use agentsite_mesh::OverlayError;
use libp2p::multiaddr::Protocol;
use libp2p::{Multiaddr, PeerId};

/// Most addresses of one peer that are looked at. A site with two protocols, two families and three relays
/// has seven.
pub(crate) const MAX_ADDRESSES: usize = 12;
/// Longest address in bytes that is kept; one through a relay takes 100.
const MAX_ADDRESS_BYTES: usize = 256;
/// Most private addresses that are trusted because an admin or a seed named them.
const MAX_TRUSTED: usize = 1_024;
/// Most private addresses that are trusted because multicast DNS found them. They are apart from the others:
/// a neighbour that announces thousands must not keep an admin from adding a peer.
const MAX_NEIGHBOURS: usize = 256;

/// An address as written: a host name is not resolved yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Written {
    /// Can be dialed as it is.
    Plain(Multiaddr),
    /// A host name and a port, and what follows in the address.
    Named {
        /// The name.
        host: String,
        /// Only addresses of this family, if it is named.
        is_v6: Option<bool>,
        /// What follows the host in the address.
        rest: Multiaddr,
    },
}

/// Reads an address: a multiaddr, or `host:port`, which means TCP.
pub(crate) fn parse(text: &str) -> Result<Written, OverlayError> {
    let bad = || OverlayError::BadAddress(text.into());
    if let Ok(socket) = text.parse::<SocketAddr>() {
        return Ok(Written::Plain(Multiaddr::from(socket.ip()).with(Protocol::Tcp(socket.port()))));
    }
    if !text.starts_with('/') {
        let (host, port) = text.rsplit_once(':').ok_or_else(bad)?;
        let port = port.parse().map_err(|_| bad())?;
        let is_name = |host: &str| {
            !host.is_empty()
                && host.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '-' | '.'))
        };
        if !is_name(host) {
            return Err(bad());
        }
        let rest = Multiaddr::empty().with(Protocol::Tcp(port));
        return Ok(Written::Named { host: host.into(), is_v6: None, rest });
    }
    let address: Multiaddr = text.parse().map_err(|_| bad())?;
    let mut parts = address.iter();
    let named = |host: &str, is_v6, rest| Ok(Written::Named { host: host.to_owned(), is_v6, rest });
    match parts.next() {
        Some(Protocol::Ip4(_) | Protocol::Ip6(_)) if port_of(&address).is_some() => {
            Ok(Written::Plain(address))
        }
        Some(Protocol::Dns(host)) => named(&host, None, parts.collect()),
        Some(Protocol::Dns4(host)) => named(&host, Some(false), parts.collect()),
        Some(Protocol::Dns6(host)) => named(&host, Some(true), parts.collect()),
        _ => Err(bad()),
    }
}

impl Written {
    /// The addresses that can be dialed, asking the system's resolver where a name is written.
    pub(crate) async fn resolve(self) -> Result<Vec<Multiaddr>, OverlayError> {
        match self {
            Self::Plain(address) => Ok(vec![address]),
            Self::Named { host, is_v6, rest } => {
                let unreachable =
                    |why: String| OverlayError::Unreachable { to: format!("{host}{rest}"), why };
                let found = tokio::net::lookup_host((host.as_str(), 0)).await;
                let found = found.map_err(|error| unreachable(error.to_string()))?;
                let fits = |socket: &SocketAddr| is_v6.is_none_or(|is_v6| socket.is_ipv6() == is_v6);
                let whole = |socket: SocketAddr| {
                    rest.iter().fold(Multiaddr::from(socket.ip()), |address, part| address.with(part))
                };
                let found: Vec<Multiaddr> = found.filter(fits).map(whole).take(MAX_ADDRESSES).collect();
                if found.is_empty() { Err(unreachable("the name has no address".into())) } else { Ok(found) }
            }
        }
    }
}

/// The peer that an address names at its end.
pub(crate) fn peer_in(address: &Multiaddr) -> Option<PeerId> {
    match address.iter().last() {
        Some(Protocol::P2p(peer)) => Some(peer),
        _ => None,
    }
}

/// An address with the peer at its end.
pub(crate) fn with_peer(address: Multiaddr, peer: PeerId) -> Multiaddr {
    if peer_in(&address) == Some(peer) { address } else { address.with(Protocol::P2p(peer)) }
}

/// Whether an address goes through a relay.
pub(crate) fn is_relayed(address: &Multiaddr) -> bool {
    address.iter().any(|part| part == Protocol::P2pCircuit)
}

/// The IP address that an address begins with.
pub(crate) fn ip_of(address: &Multiaddr) -> Option<IpAddr> {
    match address.iter().next() {
        Some(Protocol::Ip4(ip)) => Some(IpAddr::V4(ip)),
        Some(Protocol::Ip6(ip)) => Some(ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4)),
        _ => None,
    }
}

/// The port that follows the IP address.
pub(crate) fn port_of(address: &Multiaddr) -> Option<u16> {
    match address.iter().nth(1) {
        Some(Protocol::Tcp(port) | Protocol::Udp(port)) => Some(port),
        _ => None,
    }
}

/// The same address with another port.
pub(crate) fn with_port(address: &Multiaddr, port: u16) -> Multiaddr {
    let change = |part| match part {
        (1, Protocol::Tcp(_)) => Protocol::Tcp(port),
        (1, Protocol::Udp(_)) => Protocol::Udp(port),
        (_, other) => other,
    };
    address.iter().enumerate().map(change).collect()
}

/// Finds out whether another program listens on an address. Libp2p shares ports of TCP, so that dials leave
/// from the port that it listens on; two sites on one port would take each other's connections.
pub(crate) fn check_free(address: &Multiaddr) -> std::io::Result<()> {
    match (ip_of(address), address.iter().nth(1)) {
        (Some(ip), Some(Protocol::Tcp(port))) if port != 0 => {
            std::net::TcpListener::bind((ip, port)).map(drop)
        }
        (Some(ip), Some(Protocol::Udp(port))) if port != 0 => std::net::UdpSocket::bind((ip, port)).map(drop),
        _ => Ok(()),
    }
}

/// From where an address can be reached, the farthest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// From everywhere.
    Internet,
    /// From the same local network.
    Network,
    /// From the same machine.
    Machine,
}

impl Reach {
    /// From where this address can be reached; none when it cannot be dialed at all.
    pub(crate) fn of(address: &Multiaddr) -> Option<Self> {
        let ip = ip_of(address).filter(|ip| !ip.is_unspecified() && !ip.is_multicast())?;
        port_of(address).filter(|port| *port != 0)?;
        Some(match ip {
            ip if ip.is_loopback() => Self::Machine,
            ip if is_global(ip) => Self::Internet,
            _ => Self::Network,
        })
    }
}

/// Where clouds hand out the secrets of a machine. No site is there.
const CLOUD_METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);

/// Whether an address that multicast DNS found may be dialed. The library reports the sender's own address,
/// except for link-local senders, whose word it takes: so nothing on this machine, and not the service of a
/// cloud that trusts every program on a machine.
fn is_neighbour(address: &Multiaddr) -> bool {
    let is_elsewhere = Reach::of(address).is_some_and(|reach| reach != Reach::Machine);
    is_elsewhere && ip_of(address) != Some(IpAddr::V4(CLOUD_METADATA))
}

/// The network that an IP address belongs to, as far as one owner has it: /24 of IPv4, /48 of IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Subnet([u8; 6], bool);

impl Subnet {
    pub(crate) fn of(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(ip) => {
                let [a, b, c, _] = ip.octets();
                Self([a, b, c, 0, 0, 0], false)
            }
            IpAddr::V6(ip) => {
                let [a, b, c, d, e, f, ..] = ip.octets();
                Self([a, b, c, d, e, f], true)
            }
        }
    }
}

/// Whether an IP address is one of the open internet.
pub(crate) fn is_global(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_global_v4(ip),
        IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
            Some(ip) => is_global_v4(ip),
            None => is_global_v6(ip),
        },
    }
}

fn is_global_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let is_shared = a == 100 && (b & 0xc0) == 64;
    let is_protocol = a == 192 && b == 0 && c == 0;
    let is_benchmark = a == 198 && (b & 0xfe) == 18;
    !(a == 0
        || a >= 240
        || is_shared
        || is_protocol
        || is_benchmark
        || ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_multicast()
        || ip.is_documentation())
}

fn is_global_v6(ip: Ipv6Addr) -> bool {
    let [a, b, ..] = ip.segments();
    // Only 2000::/3 is routed; within it, transition mechanisms carry IPv4 addresses that are not checked.
    let is_routed = (a & 0xe000) == 0x2000;
    let is_documentation = a == 0x2001 && b == 0x0db8;
    let is_transition = a == 0x2002 || (a == 0x2001 && b < 0x0200);
    is_routed && !is_documentation && !is_transition
}

/// Which addresses may be dialed. Clones share what is trusted.
#[derive(Debug, Clone)]
pub(crate) struct AddressPolicy {
    allow_private: bool,
    /// Behind a lock because the transport asks and the driver adds; held for a look-up only.
    trusted: Arc<Mutex<Trusted>>,
}

/// Private addresses, without a peer, that may be dialed.
#[derive(Debug, Default)]
struct Trusted {
    /// An admin or a seed named them.
    named: HashSet<Multiaddr>,
    /// Multicast DNS found them.
    neighbours: HashSet<Multiaddr>,
}

impl AddressPolicy {
    pub(crate) fn new(allow_private: bool) -> Self {
        Self { allow_private, trusted: Arc::default() }
    }

    /// Allows an address that a trusted source named.
    pub(crate) fn trust(&self, address: &Multiaddr) {
        let named = &mut self.trusted.lock().expect("no holder of this lock panics").named;
        if named.len() < MAX_TRUSTED {
            named.insert(without_peer(address));
        }
    }

    /// Allows an address that multicast DNS found, if one of the local network may be there. When there are
    /// too many, those before it go: a site that is there announces itself again.
    pub(crate) fn trust_neighbour(&self, address: &Multiaddr) -> bool {
        if !is_neighbour(address) {
            return false;
        }
        let neighbours = &mut self.trusted.lock().expect("no holder of this lock panics").neighbours;
        if neighbours.len() >= MAX_NEIGHBOURS {
            neighbours.clear();
        }
        neighbours.insert(without_peer(address));
        true
    }

    /// Whether this address may be dialed, also when a foreign peer named it.
    pub(crate) fn may_dial(&self, address: &Multiaddr) -> bool {
        let Some(ip) = ip_of(address) else { return false };
        self.allow_private || is_global(ip) || self.trusts(&without_peer(address))
    }

    fn trusts(&self, address: &Multiaddr) -> bool {
        let trusted = self.trusted.lock().expect("no holder of this lock panics");
        trusted.named.contains(address) || trusted.neighbours.contains(address)
    }

    /// Whether an address that a peer announces is worth keeping.
    pub(crate) fn is_worth_keeping(&self, address: &Multiaddr) -> bool {
        let is_usable = ip_of(address).is_some_and(|ip| !ip.is_unspecified()) && port_of(address).is_some();
        is_usable && address.len() <= MAX_ADDRESS_BYTES && self.may_dial(address)
    }

    /// Whether subnets say something about owners here: among private addresses they do not.
    pub(crate) fn counts(&self, ip: IpAddr) -> bool {
        !self.allow_private || is_global(ip)
    }
}

fn without_peer(address: &Multiaddr) -> Multiaddr {
    let mut address = address.clone();
    if peer_in(&address).is_some() {
        address.pop();
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_write_addresses_in_three_forms() {
        let plain = |text: &str| Written::Plain(text.parse().unwrap());
        assert_eq!(parse("192.0.2.1:4101").unwrap(), plain("/ip4/192.0.2.1/tcp/4101"));
        assert_eq!(parse("[2001:db8::1]:4101").unwrap(), plain("/ip6/2001:db8::1/tcp/4101"));
        assert_eq!(
            parse("/ip4/192.0.2.1/udp/4101/quic-v1").unwrap(),
            plain("/ip4/192.0.2.1/udp/4101/quic-v1")
        );
        let Written::Named { host, is_v6, rest } = parse("/dns4/site.example/tcp/4101").unwrap() else {
            panic!("a name")
        };
        assert_eq!(
            (host.as_str(), is_v6, rest.to_string().as_str()),
            ("site.example", Some(false), "/tcp/4101")
        );
        assert!(matches!(parse("site.example:4101").unwrap(), Written::Named { .. }));
        for bad in [
            "",
            "site.example",
            "no address at all",
            "/tcp/4101",
            "/ip4/192.0.2.1",
            "a b:1",
            "x:70000",
            "/unix/x",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn foreign_peers_cannot_make_this_site_dial_into_private_networks() {
        let policy = AddressPolicy::new(false);
        let private = [
            "/ip4/127.0.0.1/tcp/5432",
            "/ip4/10.0.0.1/tcp/80",
            "/ip4/169.254.169.254/tcp/80",
            "/ip4/100.64.0.1/tcp/1",
            "/ip6/::1/tcp/1",
            "/ip6/::ffff:10.0.0.1/tcp/1",
            "/ip6/fd00::1/tcp/1",
            "/ip6/2002:a00:1::/tcp/1",
            "/dns4/localhost/tcp/80",
            "/unix/socket",
        ];
        for address in private {
            assert!(!policy.may_dial(&address.parse().unwrap()), "{address}");
        }
        assert!(policy.may_dial(&"/ip4/1.1.1.1/tcp/4101".parse().unwrap()));
        assert!(policy.may_dial(&"/ip6/2606:4700::1/udp/1/quic-v1".parse().unwrap()));
        let seed: Multiaddr = "/ip4/10.0.0.1/tcp/4101".parse().unwrap();
        policy.trust(&with_peer(seed.clone(), PeerId::random()));
        assert!(policy.clone().may_dial(&seed), "an admin named it");
        assert!(!policy.may_dial(&"/ip4/10.0.0.1/tcp/4102".parse().unwrap()), "and nothing else there");
    }

    #[test]
    fn an_address_says_from_where_it_is_reached() {
        let of = |text: &str| Reach::of(&text.parse().unwrap());
        assert_eq!(of("/ip4/1.1.1.1/tcp/4101"), Some(Reach::Internet));
        assert_eq!(of("/ip4/192.168.1.7/udp/4101/quic-v1"), Some(Reach::Network));
        assert_eq!(of("/ip6/fd00::7/tcp/4101"), Some(Reach::Network));
        assert_eq!(of("/ip4/127.0.0.1/tcp/4101"), Some(Reach::Machine));
        assert_eq!(of("/ip6/::1/tcp/4101"), Some(Reach::Machine));
        for nowhere in ["/ip4/0.0.0.0/tcp/4101", "/ip4/10.0.0.1/tcp/0", "/dns4/site.example/tcp/1"] {
            assert_eq!(of(nowhere), None, "{nowhere}");
        }
        assert!(Reach::Internet < Reach::Network && Reach::Network < Reach::Machine);
    }

    #[test]
    fn a_neighbour_cannot_send_this_site_to_itself_or_to_the_secrets_of_a_cloud() {
        let is = |text: &str| is_neighbour(&text.parse().unwrap());
        assert!(is("/ip4/192.168.1.7/tcp/4101") && is("/ip4/169.254.3.4/tcp/4101"));
        for other in ["/ip4/127.0.0.1/tcp/6379", "/ip6/::1/tcp/1", "/ip4/169.254.169.254/tcp/80", "/unix/x"] {
            assert!(!is(other), "{other}");
        }
    }

    #[test]
    fn another_port_leaves_the_rest_of_an_address_as_it_is() {
        let with = |text: &str| with_port(&text.parse().unwrap(), 7).to_string();
        assert_eq!(with("/ip4/0.0.0.0/udp/4101/quic-v1"), "/ip4/0.0.0.0/udp/7/quic-v1");
        assert_eq!(with("/ip4/0.0.0.0/tcp/4101"), "/ip4/0.0.0.0/tcp/7");
    }

    #[test]
    fn what_is_trusted_is_bounded() {
        let policy = AddressPolicy::new(false);
        for port in 0..=2_000 {
            policy.trust(&format!("/ip4/10.0.0.1/tcp/{port}").parse().unwrap());
        }
        assert_eq!(policy.trusted.lock().unwrap().named.len(), MAX_TRUSTED);
    }

    #[test]
    fn neighbours_do_not_take_the_places_of_what_an_admin_names() {
        let policy = AddressPolicy::new(false);
        for port in 1..=5_000 {
            assert!(policy.trust_neighbour(&format!("/ip4/10.0.0.1/tcp/{port}").parse().unwrap()));
        }
        assert!(policy.trusted.lock().unwrap().neighbours.len() <= MAX_NEIGHBOURS);
        assert!(!policy.trust_neighbour(&"/ip4/127.0.0.1/tcp/6379".parse().unwrap()));
        assert!(!policy.may_dial(&"/ip4/127.0.0.1/tcp/6379".parse().unwrap()));
        let peer: Multiaddr = "/ip4/10.0.0.2/tcp/4101".parse().unwrap();
        policy.trust(&peer);
        assert!(policy.may_dial(&peer) && policy.may_dial(&"/ip4/10.0.0.1/tcp/5000".parse().unwrap()));
    }

    #[test]
    fn a_subnet_is_what_one_owner_has() {
        let of = |text: &str| Subnet::of(text.parse().unwrap());
        assert_eq!(of("192.0.2.1"), of("192.0.2.200"));
        assert_ne!(of("192.0.2.1"), of("192.0.3.1"));
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:ffff::2"));
        assert_ne!(of("2001:db8:1::1"), of("2001:db8:2::1"));
    }
}
