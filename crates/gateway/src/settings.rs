//! What the operator decides about the gateway: where it listens, whom it trusts, how much it takes.
//!
//! Promises: every field has a default fit for one person on one machine, and every number says where it
//! comes from. It reads no file and no environment variable: the binary builds these values.

mod section;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::logbook::LogBook;
use crate::metrics::GatewayMetrics;
use crate::operator::Operator;
use crate::workshop::Workshop;

pub use section::LimitsSection;

/// Port of a site that was not told another one.
pub const DEFAULT_PORT: u16 = 4747;

/// Called when an admin asks for a reload of configuration and agents.
pub type ReloadHook = Arc<dyn Fn() + Send + Sync>;

/// Everything the gateway is given when it is bound.
#[derive(Clone)]
pub struct GatewaySettings {
    /// Address and port to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Certificate and key; without them the gateway speaks plain HTTP, which only loopback may hear.
    pub tls: Option<TlsSettings>,
    /// The address others use, such as `https://agents.example.org`; written into cards and links.
    pub public_url: Option<String>,
    /// Proxies whose forwarded headers are believed.
    pub trusted_proxies: Vec<Network>,
    /// What a caller without a credential may do.
    pub anonymous: AnonymousAccess,
    /// Whether a proxy in front of the site terminates TLS, which allows plain HTTP on other addresses than
    /// loopback.
    pub tls_terminated_by_proxy: bool,
    /// How much one request and one connection may cost.
    pub limits: HttpLimits,
    /// How often each caller may ask.
    pub rates: Rates,
    /// Whether everybody may read `/metrics`; otherwise only admins.
    pub metrics_public: bool,
    /// Counters that the binary has registered.
    pub metrics: GatewayMetrics,
    /// What `POST /api/reload` calls.
    pub reload: Option<ReloadHook>,
    /// The last lines of the process's log; empty when nothing writes into it.
    pub log: LogBook,
    /// The program around the site, asked about its configuration and health.
    pub operator: Option<Arc<dyn Operator>>,
    /// The agents folder, for the people who change agents from a browser.
    pub workshop: Option<Arc<dyn Workshop>>,
}

impl Default for GatewaySettings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), DEFAULT_PORT),
            tls: None,
            public_url: None,
            trusted_proxies: Vec::new(),
            anonymous: AnonymousAccess::default(),
            tls_terminated_by_proxy: false,
            limits: HttpLimits::default(),
            rates: Rates::default(),
            metrics_public: false,
            metrics: GatewayMetrics::default(),
            reload: None,
            log: LogBook::default(),
            operator: None,
            workshop: None,
        }
    }
}

impl fmt::Debug for GatewaySettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("GatewaySettings")
            .field("listen", &self.listen)
            .field("tls", &self.tls.is_some())
            .field("public_url", &self.public_url)
            .field("trusted_proxies", &self.trusted_proxies)
            .field("anonymous", &self.anonymous)
            .field("tls_terminated_by_proxy", &self.tls_terminated_by_proxy)
            .field("limits", &self.limits)
            .field("rates", &self.rates)
            .field("metrics_public", &self.metrics_public)
            .finish_non_exhaustive()
    }
}

/// Certificate chain and key as PEM text that the binary has read.
#[derive(Clone)]
pub struct TlsSettings {
    /// The chain, the site's own certificate first.
    pub cert_pem: Vec<u8>,
    /// The private key.
    pub key_pem: Vec<u8>,
}

/// Shows sizes only: a key must not reach a log.
impl fmt::Debug for TlsSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "TlsSettings({} bytes of certificates)", self.cert_pem.len())
    }
}

/// What callers without a key may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Anonymous")]
pub enum AnonymousAccess {
    /// Nothing.
    None,
    /// Agents whose visibility is public.
    #[default]
    Public,
    /// Everything; allowed on this machine only.
    Admin,
}

/// A range of addresses such as `10.0.0.0/8` or `::1/128`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// Text that is not a range of addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a network: write an address, or a range like 10.0.0.0/8")]
pub struct BadNetwork(pub String);

impl Network {
    /// Makes a range; `None` when the prefix is longer than the address.
    #[must_use]
    pub fn new(address: IpAddr, prefix: u8) -> Option<Self> {
        let most = if address.is_ipv4() { 32 } else { 128 };
        (prefix <= most).then_some(Self { address, prefix })
    }

    /// Whether the address lies in the range. An IPv4 address written as IPv6 counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(net), IpAddr::V4(it)) => {
                same_start(net.to_bits().into(), it.to_bits().into(), 32, self.prefix)
            }
            (IpAddr::V6(net), IpAddr::V6(it)) => same_start(net.to_bits(), it.to_bits(), 128, self.prefix),
            _ => false,
        }
    }
}

fn same_start(one: u128, other: u128, width: u8, prefix: u8) -> bool {
    let rest = u32::from(width - prefix);
    one.checked_shr(rest).unwrap_or(0) == other.checked_shr(rest).unwrap_or(0)
}

impl FromStr for Network {
    type Err = BadNetwork;

    fn from_str(text: &str) -> Result<Self, BadNetwork> {
        let bad = || BadNetwork(text.chars().take(80).collect());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix.parse::<u8>().map_err(|_| bad())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let whole = if address.is_ipv4() { 32 } else { 128 };
        Self::new(address, prefix.unwrap_or(whole)).ok_or_else(bad)
    }
}

/// How something is divided among callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Division {
    /// Most in total.
    pub total: usize,
    /// How much of it only authenticated callers may have.
    pub reserve: usize,
    /// Most for the callers without a credential at one address (IPv6: the /64).
    pub per_address: usize,
    /// Most for one authenticated caller; admins are limited by the total alone.
    pub per_owner: usize,
}

impl Division {
    /// A division that keeps a quarter of the total for authenticated callers.
    #[must_use]
    pub const fn with_reserve(total: usize, per_address: usize, per_owner: usize) -> Self {
        Self { total, reserve: total / 4, per_address, per_owner }
    }

    /// How much callers without a credential may have together; at least one, so that anybody can begin to
    /// authenticate.
    #[must_use]
    pub(crate) const fn public(&self) -> usize {
        let left = self.total.saturating_sub(self.reserve);
        if left == 0 { 1 } else { left }
    }
}

/// How much one request and one connection may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    /// Most bytes of a request body. 1 MiB holds any message the public test kits send.
    pub body: usize,
    /// Longest time a request body may take to arrive. 1 MiB in 30 s is a slow telephone line.
    pub body_time: Duration,
    /// Bytes a second at which a request body must arrive on average, once [`Self::body_grace`] is over. 0
    /// for no minimum.
    pub body_rate: usize,
    /// How long a request body may take before its rate counts: a lost packet is sent again within that.
    pub body_grace: Duration,
    /// Bytes of bodies that have begun to arrive and are not complete.
    pub body_memory: Division,
    /// Longest time a request head may take to arrive, which is also how long an HTTP/1 connection may idle.
    pub head_time: Duration,
    /// Most bytes of a request head; cookies and tokens of real callers stay below 8 KiB.
    pub head: usize,
    /// How long a connection may stay without a request. 75 s is what proxies expect.
    pub idle_time: Duration,
    /// How long a caller may leave an answer unread before it is cut off.
    pub send_time: Duration,
    /// Connections at once; each costs about 20 KiB, so this is 80 MiB at worst. A page of a browser opens
    /// six.
    pub connections: Division,
    /// Requests at once, whatever connections they come by, until they are answered.
    pub requests: Division,
    /// Streams of events at once, on all faces. A caller without a credential needs one for each task that it
    /// follows.
    pub streams: Division,
    /// Most requests at once on one HTTP/2 connection, the number browsers assume.
    pub http2_streams: u32,
    /// Programs that are connected by WebSocket at once; each costs about 30 KiB.
    pub sockets: Division,
    /// Sockets whose program has not registered yet.
    pub unregistered: Division,
    /// How long a program may take to register.
    pub register_time: Duration,
    /// Bytes of WebSocket messages that are not complete or not handled yet.
    pub socket_memory: Division,
    /// Longest time an answer may take that does not wait for an agent.
    pub answer_time: Duration,
    /// Longest silence in a stream: the official Python client gives up after 5 s.
    pub keep_alive: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            body: 1 << 20,
            body_time: Duration::from_secs(30),
            body_rate: 1 << 10,
            body_grace: Duration::from_secs(5),
            body_memory: Division::with_reserve(64 << 20, 8 << 20, 16 << 20),
            head_time: Duration::from_secs(10),
            head: 32 << 10,
            idle_time: Duration::from_secs(75),
            send_time: Duration::from_secs(40),
            connections: Division::with_reserve(4_096, 256, 1_024),
            requests: Division::with_reserve(4_096, 64, 512),
            streams: Division::with_reserve(4_096, 8, 256),
            http2_streams: 100,
            sockets: Division { total: 10_000, reserve: 0, per_address: 0, per_owner: 1_000 },
            unregistered: Division { total: 512, reserve: 0, per_address: 32, per_owner: 16 },
            register_time: Duration::from_secs(10),
            socket_memory: Division { total: 64 << 20, reserve: 0, per_address: 0, per_owner: 16 << 20 },
            answer_time: Duration::from_secs(60),
            keep_alive: Duration::from_secs(2),
        }
    }
}

/// How often somebody may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Requests a second in the long run; 0 for no limit.
    pub per_second: u32,
    /// Requests at once.
    pub burst: u32,
}

impl Rate {
    /// No limit.
    pub const UNLIMITED: Self = Self { per_second: 0, burst: 0 };
}

/// How often each kind of caller may ask. Each caller has a bucket of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Holders of an API key.
    pub key: Rate,
    /// Callers of whom only the address is known (IPv6: the /64).
    pub anonymous: Rate,
    /// Admins.
    pub admin: Rate,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            key: Rate { per_second: 50, burst: 100 },
            anonymous: Rate { per_second: 5, burst: 20 },
            admin: Rate::UNLIMITED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_the_addresses_of_its_range() {
        let cases = [
            ("10.0.0.0/8", "10.255.1.2", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.1.1", true),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("::/0", "2001:db8::1", true),
            ("::/0", "10.0.0.1", false),
            ("2001:db8::/32", "2001:db8:1::1", true),
            ("192.0.2.7", "192.0.2.7", true),
            ("192.0.2.7", "192.0.2.8", false),
        ];
        for (network, address, inside) in cases {
            let network: Network = network.parse().unwrap();
            assert_eq!(network.contains(address.parse().unwrap()), inside, "{network:?} {address}");
        }
    }

    #[test]
    fn nonsense_is_no_network() {
        for bad in ["", "10.0.0.0/33", "::/129", "10.0.0.0/x", "proxy"] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_key_never_reaches_a_log() {
        let tls = TlsSettings { cert_pem: b"cert".to_vec(), key_pem: b"SECRET".to_vec() };
        let settings = GatewaySettings { tls: Some(tls), ..GatewaySettings::default() };
        assert!(!format!("{settings:?} {:?}", settings.tls).contains("SECRET"));
    }
}
