//! AllowedTarget: one exception of the operator from the rule that a site talks to the public internet
//! only.
//!
//! Promises: the written form is `host`, `host:port`, an address, `address:port` or a network such as
//! `10.0.0.0/8`; what is read is written back the same. It does not resolve names: a name is allowed as a
//! name.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use super::address::Network;

/// One place that may be reached although it is not on the public internet.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AllowedTarget {
    /// One host by its name or address, at one port or at all ports.
    Host {
        /// The host as written in an address.
        host: Host<String>,
        /// The only port; every port when `None`.
        port: Option<u16>,
    },
    /// A block of addresses, under any name.
    Network(Network),
    /// Everything. Not for sites: for a person who types an address on the command line.
    Everywhere,
}

/// Text that names no target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid target `{0}`: write host, host:port, an address or a network such as 10.0.0.0/8")]
pub struct BadTarget(String);

impl AllowedTarget {
    /// The host and port of an address, and nothing else; `None` when the address has no host.
    #[must_use]
    pub fn of(url: &Url) -> Option<Self> {
        Some(Self::Host { host: plain(url.host()?.to_owned()), port: url.port_or_known_default() })
    }

    /// Whether an address as written is this target.
    pub(super) fn names(&self, url: &Url) -> bool {
        match (self, url.host()) {
            (Self::Everywhere, _) => true,
            (Self::Host { host, port }, Some(named)) => {
                *host == plain(named.to_owned())
                    && port.is_none_or(|port| url.port_or_known_default() == Some(port))
            }
            (Self::Network(network), Some(Host::Ipv4(address))) => network.contains(address.into()),
            (Self::Network(network), Some(Host::Ipv6(address))) => network.contains(address.into()),
            _ => false,
        }
    }

    /// The network, when it is one.
    pub(super) const fn network(&self) -> Option<Network> {
        match self {
            Self::Network(network) => Some(*network),
            Self::Host { .. } | Self::Everywhere => None,
        }
    }
}

/// The host without the dot that closes a full name, so that `a.` and `a` are one.
fn plain(host: Host<String>) -> Host<String> {
    match host {
        Host::Domain(name) => Host::Domain(name.trim_end_matches('.').to_owned()),
        address => address,
    }
}

impl FromStr for AllowedTarget {
    type Err = BadTarget;

    fn from_str(text: &str) -> Result<Self, BadTarget> {
        let bad = || BadTarget(text.chars().take(80).collect());
        if text == "*" {
            return Ok(Self::Everywhere);
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::Network(Network::single(address)));
        }
        if let Some((address, prefix)) = text.split_once('/') {
            let address = address.parse().map_err(|_| bad())?;
            let prefix = prefix.parse().map_err(|_| bad())?;
            return Network::new(address, prefix).map(Self::Network).ok_or_else(bad);
        }
        // Brackets and at most one colon outside of them; the rest is what a host of an address may be.
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port.parse().map_err(|_| bad())?)),
            _ => (text, None),
        };
        let host = Host::parse(host).map_err(|_| bad())?;
        Ok(Self::Host { host: plain(host), port })
    }
}

impl fmt::Display for AllowedTarget {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host { host, port: Some(port) } => write!(out, "{host}:{port}"),
            Self::Host { host, port: None } => host.fmt(out),
            Self::Network(network) => network.fmt(out),
            Self::Everywhere => out.write_str("*"),
        }
    }
}

impl TryFrom<String> for AllowedTarget {
    type Error = BadTarget;

    fn try_from(text: String) -> Result<Self, BadTarget> {
        text.parse()
    }
}

impl From<AllowedTarget> for String {
    fn from(target: AllowedTarget) -> Self {
        target.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(target: &str, url: &str) -> bool {
        target.parse::<AllowedTarget>().unwrap().names(&Url::parse(url).unwrap())
    }

    #[test]
    fn what_is_written_is_read_back() {
        for text in [
            "localhost",
            "localhost:8080",
            "127.0.0.1",
            "127.0.0.1:8080",
            "10.0.0.0/8",
            "fd00::/8",
            "::1",
            "[::1]:80",
            "*",
        ] {
            assert_eq!(text.parse::<AllowedTarget>().unwrap().to_string(), text);
        }
        for bad in ["", "a b", "host:port", "10.0.0.0/33", "x/8", "http://a/", "a:1:2", "user@host"] {
            assert!(bad.parse::<AllowedTarget>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_port_narrows_a_host() {
        assert!(allows("localhost:8080", "http://localhost:8080/x"));
        assert!(allows("LOCALHOST:80", "http://localhost./"));
        assert!(!allows("localhost:8080", "http://localhost:8081/"));
        assert!(allows("localhost", "http://localhost:8081/"));
        assert!(!allows("localhost", "http://localhost.example.org/"));
    }

    #[test]
    fn an_address_is_the_same_however_it_is_written() {
        assert!(allows("127.0.0.1:80", "http://2130706433/"));
        assert!(allows("10.0.0.0/8", "http://10.9.8.7:99/"));
        assert!(allows("127.0.0.1", "http://[::ffff:127.0.0.1]:7/"));
        assert!(!allows("127.0.0.1:80", "http://localhost/"));
    }
}
