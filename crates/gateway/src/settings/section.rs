//! The section `[limits]` of the configuration.
//!
//! Promises: plain data with a schema; unknown keys are errors; what the section does not name keeps the
//! gateway's default. It reads no file and does not check the numbers: the binary does, so that an error
//! names the place in the file.

use agentsite_protocol::{ByteSize, Period};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Division, HttpLimits, Rate, Rates};

/// What one request and one caller may cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsSection {
    /// Largest body of a request, and so the largest message.
    pub body: ByteSize,
    /// Longest that the body of a request may take to arrive.
    pub body_time: Period,
    /// Bytes per second at which the body of a request must arrive on average after its first five seconds; 0
    /// means no minimum.
    pub body_rate: ByteSize,
    /// Memory for the bodies of requests that have not arrived completely. One address has an eighth of it,
    /// one key a quarter.
    pub body_memory: ByteSize,
    /// Largest head of a request.
    pub head: ByteSize,
    /// Longest that a caller may leave an answer unread before the site ends it.
    pub send_time: Period,
    /// Percent of all connections, requests and streams that only authenticated callers may use.
    pub reserve: u8,
    /// Connections at once. When there are more, the site ends one of the address that has most.
    pub connections: usize,
    /// Connections at once from one address (IPv6: one /64 network) on which no caller has authenticated. A
    /// proxy in trusted_proxies may have more.
    pub connections_per_address: usize,
    /// Connections at once that stay open for one key whatever others do.
    pub connections_per_key: usize,
    /// Requests at once.
    pub requests: usize,
    /// Requests at once from one address without a key.
    pub requests_per_address: usize,
    /// Requests at once of one key.
    pub requests_per_key: usize,
    /// Streams of events at once.
    pub streams: usize,
    /// Streams of events at once to one address without a key.
    pub streams_per_address: usize,
    /// Streams of events at once to one key.
    pub streams_per_key: usize,
    /// Programs that are connected by WebSocket to be agents at once.
    pub sockets: usize,
    /// Programs that one key has connected at once.
    pub sockets_per_key: usize,
    /// WebSockets of one key whose programs have not registered as an agent yet.
    pub unregistered_per_key: usize,
    /// WebSockets from one address whose programs have not registered as an agent yet.
    pub unregistered_per_address: usize,
    /// How long a program may take to register after it has connected.
    pub register_time: Period,
    /// Memory for messages from connected programs that are not complete or not handled yet. One key has a
    /// quarter of it.
    pub socket_memory: ByteSize,
    /// Requests per second of one API key; 0 means no limit.
    pub key_rate: u32,
    /// Requests that one API key may send at once before its rate counts.
    pub key_burst: u32,
    /// Requests per second of one address without a key; 0 means no limit.
    pub anonymous_rate: u32,
    /// Requests that one address without a key may send at once before its rate counts.
    pub anonymous_burst: u32,
}

impl Default for LimitsSection {
    fn default() -> Self {
        let (http, rates) = (HttpLimits::default(), Rates::default());
        Self {
            body: ByteSize(http.body as u64),
            body_time: Period(http.body_time),
            body_rate: ByteSize(http.body_rate as u64),
            body_memory: ByteSize(http.body_memory.total as u64),
            head: ByteSize(http.head as u64),
            send_time: Period(http.send_time),
            reserve: 25,
            connections: http.connections.total,
            connections_per_address: http.connections.per_address,
            connections_per_key: http.connections.per_owner,
            requests: http.requests.total,
            requests_per_address: http.requests.per_address,
            requests_per_key: http.requests.per_owner,
            streams: http.streams.total,
            streams_per_address: http.streams.per_address,
            streams_per_key: http.streams.per_owner,
            sockets: http.sockets.total,
            sockets_per_key: http.sockets.per_owner,
            unregistered_per_key: http.unregistered.per_owner,
            unregistered_per_address: http.unregistered.per_address,
            register_time: Period(http.register_time),
            socket_memory: ByteSize(http.socket_memory.total as u64),
            key_rate: rates.key.per_second,
            key_burst: rates.key.burst,
            anonymous_rate: rates.anonymous.per_second,
            anonymous_burst: rates.anonymous.burst,
        }
    }
}

impl LimitsSection {
    /// How much one request and one connection may cost.
    #[must_use]
    pub fn http(&self) -> HttpLimits {
        let usual = HttpLimits::default();
        HttpLimits {
            body: bytes(self.body),
            body_time: self.body_time.0,
            head: bytes(self.head),
            body_rate: bytes(self.body_rate),
            body_memory: memory(bytes(self.body_memory), self.reserve),
            send_time: self.send_time.0,
            connections: self.division(
                self.connections,
                self.connections_per_address,
                self.connections_per_key,
            ),
            requests: self.division(self.requests, self.requests_per_address, self.requests_per_key),
            streams: self.division(self.streams, self.streams_per_address, self.streams_per_key),
            sockets: Division { total: self.sockets, per_owner: self.sockets_per_key, ..usual.sockets },
            unregistered: Division {
                per_address: self.unregistered_per_address,
                per_owner: self.unregistered_per_key,
                ..usual.unregistered
            },
            register_time: self.register_time.0,
            socket_memory: memory(bytes(self.socket_memory), 0),
            ..usual
        }
    }

    /// How often each kind of caller may ask.
    #[must_use]
    pub fn rates(&self) -> Rates {
        Rates {
            key: Rate { per_second: self.key_rate, burst: self.key_burst },
            anonymous: Rate { per_second: self.anonymous_rate, burst: self.anonymous_burst },
            ..Rates::default()
        }
    }

    fn division(&self, total: usize, per_address: usize, per_owner: usize) -> Division {
        Division { total, reserve: part(total, self.reserve), per_address, per_owner }
    }
}

fn bytes(size: ByteSize) -> usize {
    usize::try_from(size.0).unwrap_or(usize::MAX)
}

/// Memory of which one address has an eighth and one key a quarter.
fn memory(total: usize, reserve: u8) -> Division {
    Division { total, reserve: part(total, reserve), per_address: total / 8, per_owner: total / 4 }
}

/// A percentage of the total, rounded down.
fn part(total: usize, percent: u8) -> usize {
    total / 100 * usize::from(percent) + total % 100 * usize::from(percent) / 100
}
