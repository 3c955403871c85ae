//! Endpoint: one address of an agent, and the binding and version served there.
//!
//! Promises: an address is absolute and http or https, also when a card writes a gRPC one as `host:port`; it
//! is never weaker than the transport of the card itself. It sends no requests.
//!
//! A gRPC address without a scheme is taken as plain text when the card came by http or the host is this
//! machine, else as TLS: a card that came encrypted never leads to an unencrypted call elsewhere.

use std::fmt;
use std::str::FromStr;

use agentsite_protocol::AgentInterface;
use agentsite_protocol::legacy::is_legacy_version;
use url::{Host, Url};

/// Longest part of a foreign address that is repeated in an error.
const SHOWN: usize = 200;

/// The three ways to carry A2A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binding {
    /// JSON-RPC 2.0 over HTTP.
    JsonRpc,
    /// An address for each operation, JSON in and out; also called REST.
    Rest,
    /// gRPC over HTTP/2.
    Grpc,
}

/// An unknown binding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a binding: use jsonrpc, rest or grpc")]
pub struct UnknownBinding(pub String);

impl Binding {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::JsonRpc, Self::Rest, Self::Grpc];

    /// The word for people, options and files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::JsonRpc => "jsonrpc",
            Self::Rest => "rest",
            Self::Grpc => "grpc",
        }
    }

    /// The name in cards.
    #[must_use]
    pub const fn card_name(self) -> &'static str {
        match self {
            Self::JsonRpc => "JSONRPC",
            Self::Rest => "HTTP+JSON",
            Self::Grpc => "GRPC",
        }
    }

    fn named_in_card(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|binding| binding.card_name().eq_ignore_ascii_case(name))
    }
}

impl FromStr for Binding {
    type Err = UnknownBinding;

    fn from_str(text: &str) -> Result<Self, UnknownBinding> {
        let known = Self::ALL.into_iter().find(|binding| binding.word() == text);
        known.ok_or_else(|| UnknownBinding(text.chars().take(40).collect()))
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// A binding in one version of A2A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// JSON-RPC of A2A 1.
    JsonRpc,
    /// JSON-RPC of A2A 0.3, with its own names of methods and states.
    JsonRpc03,
    /// HTTP+JSON of A2A 1.
    Rest,
    /// gRPC of A2A 1.
    Grpc,
}

impl Dialect {
    /// The binding and version of an interface; `None` when they are not supported.
    #[must_use]
    pub fn of(offer: &AgentInterface) -> Option<Self> {
        let binding = Binding::named_in_card(&offer.protocol_binding)?;
        let version = offer.protocol_version.trim();
        match binding {
            Binding::JsonRpc if is_legacy_version(version) => Some(Self::JsonRpc03),
            _ if version.split('.').next() != Some("1") => None,
            Binding::JsonRpc => Some(Self::JsonRpc),
            Binding::Rest => Some(Self::Rest),
            Binding::Grpc => Some(Self::Grpc),
        }
    }

    /// The binding, independent of the version.
    #[must_use]
    pub const fn binding(self) -> Binding {
        match self {
            Self::JsonRpc | Self::JsonRpc03 => Binding::JsonRpc,
            Self::Rest => Binding::Rest,
            Self::Grpc => Binding::Grpc,
        }
    }

    /// Whether it is of the older version.
    #[must_use]
    pub const fn is_older(self) -> bool {
        matches!(self, Self::JsonRpc03)
    }
}

/// One address of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The binding and version served there.
    pub dialect: Dialect,
    /// Where requests go.
    pub url: Url,
    /// Which agent is meant, where several share the address.
    pub tenant: Option<String>,
}

impl Endpoint {
    /// Reads an interface of a card from the address `card`; the error describes what is wrong with its
    /// address.
    pub(super) fn read(dialect: Dialect, offer: &AgentInterface, card: &Url) -> Result<Self, String> {
        let bad = |what: &str| {
            let shown: String = offer.url.chars().take(SHOWN).collect();
            Err(format!("the card's address `{shown}` {what}"))
        };
        let parsed = match dialect {
            Dialect::Grpc if !offer.url.contains("://") => authority(&offer.url, card),
            _ => Url::parse(&offer.url).ok(),
        };
        let Some(url) = parsed else { return bad("is not absolute") };
        if !matches!(url.scheme(), "http" | "https") {
            return bad("is neither http nor https");
        }
        if card.scheme() == "https" && url.scheme() == "http" && !is_loopback(&url) {
            return bad("is not encrypted, although the card itself was");
        }
        Ok(Self { dialect, url, tenant: offer.tenant.clone().filter(|tenant| !tenant.is_empty()) })
    }

    /// The same at the scheme, host and port of another address.
    pub(super) fn moved(mut self, origin: &Url) -> Self {
        let (path, query) = (self.url.path().to_owned(), self.url.query().map(str::to_owned));
        self.url = origin.clone();
        self.url.set_path(&path);
        self.url.set_query(query.as_deref());
        self
    }

    /// Identifies the endpoint in circuits and in the log.
    #[must_use]
    pub fn name(&self) -> String {
        let version = if self.dialect.is_older() { " 0.3" } else { "" };
        let origin = self.url.origin().ascii_serialization();
        format!("{}{version} {origin}{}", self.dialect.binding(), self.url.path())
    }
}

/// A gRPC address as cards write it: host and port alone.
fn authority(text: &str, card: &Url) -> Option<Url> {
    if text.contains(['/', '?', '#', '@']) {
        return None;
    }
    let plain = Url::parse(&format!("http://{text}")).ok()?;
    if card.scheme() == "http" || is_loopback(&plain) {
        return Some(plain);
    }
    Url::parse(&format!("https://{text}")).ok()
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(url: &str, binding: &str, version: &str) -> AgentInterface {
        AgentInterface {
            url: url.into(),
            protocol_binding: binding.into(),
            protocol_version: version.into(),
            tenant: None,
        }
    }

    fn read(url: &str, binding: &str, card: &str) -> Result<String, String> {
        let offer = offer(url, binding, "1.0");
        let dialect = Dialect::of(&offer).unwrap();
        Endpoint::read(dialect, &offer, &Url::parse(card).unwrap()).map(|endpoint| endpoint.url.into())
    }

    #[test]
    fn what_we_speak_is_told_from_what_we_do_not() {
        let of = |binding, version| Dialect::of(&offer("http://h/", binding, version));
        assert_eq!(of("JSONRPC", "1.0"), Some(Dialect::JsonRpc));
        assert_eq!(of("jsonrpc", "1.2.7"), Some(Dialect::JsonRpc));
        assert_eq!(of("HTTP+JSON", "1"), Some(Dialect::Rest));
        assert_eq!(of("GRPC", "1.0"), Some(Dialect::Grpc));
        assert_eq!(of("JSONRPC", "0.3.0"), Some(Dialect::JsonRpc03));
        for (binding, version) in [("GRPC", "0.3"), ("HTTP+JSON", "0.3"), ("JSONRPC", "2.0"), ("SLIM", "1.0")]
        {
            assert_eq!(of(binding, version), None, "{binding} {version}");
        }
    }

    #[test]
    fn a_grpc_address_without_a_scheme_is_as_safe_as_its_card() {
        assert_eq!(read("agent.example:443", "GRPC", "https://h/").unwrap(), "https://agent.example/");
        assert_eq!(read("agent.example:50051", "GRPC", "http://h/").unwrap(), "http://agent.example:50051/");
        assert_eq!(read("127.0.0.1:50051", "GRPC", "https://h/").unwrap(), "http://127.0.0.1:50051/");
        assert_eq!(read("[::1]:50051", "GRPC", "http://h/").unwrap(), "http://[::1]:50051/");
        assert_eq!(read("http://h:1", "GRPC", "http://h/").unwrap(), "http://h:1/");
        assert_eq!(read("https://h:1", "GRPC", "http://h/").unwrap(), "https://h:1/");
    }

    #[test]
    fn odd_addresses_are_refused() {
        for (odd, binding, card) in [
            ("/rpc", "JSONRPC", "http://h"),
            ("ftp://h/", "JSONRPC", "http://h"),
            ("h:80", "JSONRPC", "http://h"),
            ("http://h/", "JSONRPC", "https://h"),
            ("http://h:1", "GRPC", "https://h"),
            ("user@h:1", "GRPC", "http://h"),
            ("h:1/path", "GRPC", "http://h"),
            ("", "GRPC", "http://h"),
            ("h:99999", "GRPC", "http://h"),
        ] {
            assert!(read(odd, binding, card).is_err(), "{odd}");
        }
    }

    #[test]
    fn words_of_bindings_are_read_back() {
        for binding in Binding::ALL {
            assert_eq!(binding.word().parse(), Ok(binding));
        }
        assert!("http".parse::<Binding>().unwrap_err().to_string().contains("jsonrpc, rest or grpc"));
    }
}
