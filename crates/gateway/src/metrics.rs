//! What the gateway counts: requests by face and outcome, their latency, open connections, memory and time of
//! the process.
//!
//! Promises: counting costs a few atomic additions per request; label sets are fixed, so that no caller can
//! make them grow. It does not serve them: see `operations`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabelSet, EncodeLabelValue, EncodeMetric, LabelValueEncoder,
};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::process::{cpu_seconds, resident_bytes};

/// Upper ends of the latency buckets in seconds: from a message answered in memory to a task of minutes.
pub(crate) const LATENCY: [f64; 14] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 5.0, 30.0, 120.0];

/// Which face of the site was spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Face {
    /// A2A.
    A2a,
    /// MCP.
    Mcp,
    /// Agents as if they were models.
    OpenAi,
    /// The REST face of the command line and the pages, and the hub by JSON-RPC.
    Api,
    /// What registries and those who look for agents ask: ARD and the registry API of MCP.
    Hub,
    /// Pages for people.
    Pages,
    /// Health and metrics.
    Operations,
    /// Programs that connect to be agents.
    Socket,
}

impl Face {
    /// All of them, in the order of their counters.
    pub(crate) const ALL: [Self; 8] = [
        Self::A2a,
        Self::Mcp,
        Self::OpenAi,
        Self::Api,
        Self::Hub,
        Self::Pages,
        Self::Operations,
        Self::Socket,
    ];

    /// What it is called in figures.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::A2a => "a2a",
            Self::Mcp => "mcp",
            Self::OpenAi => "openai",
            Self::Api => "api",
            Self::Hub => "hub",
            Self::Pages => "pages",
            Self::Operations => "operations",
            Self::Socket => "socket",
        }
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Outcome {
    /// Answered.
    Ok,
    /// Turned down: the caller has to change something.
    Refused,
    /// Not answered: the site has to change something.
    Failed,
}

impl Outcome {
    const ALL: [Self; 3] = [Self::Ok, Self::Refused, Self::Failed];

    /// The outcome that a status stands for.
    pub(crate) fn of(status: http::StatusCode) -> Self {
        match status.as_u16() {
            0..400 => Self::Ok,
            400..500 => Self::Refused,
            _ => Self::Failed,
        }
    }
}

/// Why something was turned away to keep the site fair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RefusalReason {
    /// A connection was ended or not taken, because its address or the site has too many.
    Connections,
    /// Too many requests under way.
    Requests,
    /// Too many open streams.
    Streams,
    /// Too many sockets.
    Sockets,
    /// Too many sockets whose program has not registered, or one that did not register in time.
    Unregistered,
    /// Too many bytes in messages of sockets.
    SocketMemory,
    /// Too many bodies that are arriving, or too many bytes in them.
    Bodies,
    /// A body that came too slowly.
    SlowBody,
    /// A caller that did not read its answer.
    SlowReader,
    /// Too many requests a second.
    Rate,
    /// No host, or more than one.
    Host,
}

impl RefusalReason {
    /// All of them, in the order of their counters.
    pub(crate) const ALL: [Self; 11] = [
        Self::Connections,
        Self::Requests,
        Self::Streams,
        Self::Sockets,
        Self::Unregistered,
        Self::SocketMemory,
        Self::Bodies,
        Self::SlowBody,
        Self::SlowReader,
        Self::Rate,
        Self::Host,
    ];

    /// What it is called in figures.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Requests => "requests",
            Self::Streams => "streams",
            Self::Sockets => "sockets",
            Self::Unregistered => "unregistered_sockets",
            Self::SocketMemory => "socket_memory",
            Self::Bodies => "bodies",
            Self::SlowBody => "slow_body",
            Self::SlowReader => "slow_reader",
            Self::Rate => "rate",
            Self::Host => "host",
        }
    }
}

impl EncodeLabelValue for RefusalReason {
    fn encode(&self, out: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        std::fmt::Write::write_str(out, self.word())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusalLabel {
    reason: RefusalReason,
}

impl EncodeLabelValue for Face {
    fn encode(&self, out: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        std::fmt::Write::write_str(out, self.word())
    }
}

impl EncodeLabelValue for Outcome {
    fn encode(&self, out: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        std::fmt::Write::write_str(
            out,
            match self {
                Self::Ok => "ok",
                Self::Refused => "refused",
                Self::Failed => "failed",
            },
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    face: Face,
    outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FaceLabel {
    face: Face,
}

/// The gateway's counters. Clones share them: the binary registers one, the gateway counts with another.
#[derive(Debug, Clone)]
pub struct GatewayMetrics {
    requests: Family<RequestLabels, Counter>,
    latency: Family<FaceLabel, Histogram>,
    refusals: Family<RefusalLabel, Counter>,
    connections: Gauge,
    streams: Gauge,
    sockets: Gauge,
    /// How many requests of all faces took up to each of [`LATENCY`], and longer; for charts, because a
    /// histogram cannot be read back.
    took: Arc<[AtomicU64; LATENCY.len() + 1]>,
    // The members of the two families, so that a request takes no lock to find its own.
    counters: [[Counter; 3]; 8],
    histograms: [Histogram; 8],
    refused: [Counter; RefusalReason::ALL.len()],
}

impl Default for GatewayMetrics {
    fn default() -> Self {
        let requests = Family::<RequestLabels, Counter>::default();
        let latency = Family::<FaceLabel, Histogram>::new_with_constructor(|| Histogram::new(LATENCY));
        let counters = Face::ALL.map(|face| {
            Outcome::ALL.map(|outcome| requests.get_or_create_owned(&RequestLabels { face, outcome }))
        });
        let histograms = Face::ALL.map(|face| latency.get_or_create_owned(&FaceLabel { face }));
        let refusals = Family::<RefusalLabel, Counter>::default();
        let refused = RefusalReason::ALL.map(|reason| refusals.get_or_create_owned(&RefusalLabel { reason }));
        let (connections, streams, sockets, took) = Default::default();
        Self {
            requests,
            latency,
            refusals,
            connections,
            streams,
            sockets,
            took,
            counters,
            histograms,
            refused,
        }
    }
}

impl GatewayMetrics {
    /// Makes the counters readable under `/metrics`.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("http_requests", "Requests by face and outcome", self.requests.clone());
        let what = "Time until the head of the answer";
        registry.register_with_unit("http_request_latency", what, Unit::Seconds, self.latency.clone());
        registry.register("http_connections", "Open connections", self.connections.clone());
        registry.register("http_streams", "Open streams of events", self.streams.clone());
        registry.register("http_sockets", "Programs connected by WebSocket", self.sockets.clone());
        let what = "Connections, requests, streams and sockets that were turned away, by reason";
        registry.register("http_refused", what, self.refusals.clone());
        registry.register_collector(Box::new(Process));
    }

    pub(crate) fn count(&self, face: Face, outcome: Outcome, took: Duration) {
        self.counters[face as usize][outcome as usize].inc();
        let seconds = took.as_secs_f64();
        self.histograms[face as usize].observe(seconds);
        let bucket = LATENCY.partition_point(|end| *end < seconds);
        self.took[bucket].fetch_add(1, Ordering::Relaxed);
    }

    /// Requests since the start: by face, and how many ended so.
    pub(crate) fn sums(&self) -> Sums {
        let ended = |outcome: Outcome| self.counters.iter().map(|face| face[outcome as usize].get()).sum();
        Sums {
            requests: Face::ALL.map(|face| {
                self.counters[face as usize]
                    .iter()
                    .map(prometheus_client::metrics::counter::Counter::get)
                    .sum()
            }),
            refused: ended(Outcome::Refused),
            failed: ended(Outcome::Failed),
            took: std::array::from_fn(|bucket| self.took[bucket].load(Ordering::Relaxed)),
        }
    }

    /// Counts something that was turned away.
    pub(crate) fn refused(&self, why: RefusalReason) {
        self.refused[why as usize].inc();
    }

    /// How often each kind of thing was turned away since the start.
    pub(crate) fn refusals(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        RefusalReason::ALL.into_iter().map(|why| (why.word(), self.refused[why as usize].get()))
    }

    /// Counts a socket until the guard is dropped.
    pub(crate) fn socket(&self) -> OpenConnection {
        self.sockets.inc();
        OpenConnection(self.sockets.clone())
    }

    /// Sockets that are open now.
    pub(crate) fn open_sockets(&self) -> u64 {
        u64::try_from(self.sockets.get()).unwrap_or(0)
    }

    /// Connections and streams that are open now.
    pub(crate) fn open(&self) -> (u64, u64) {
        let count = |gauge: &Gauge| u64::try_from(gauge.get()).unwrap_or(0);
        (count(&self.connections), count(&self.streams))
    }

    /// Counts a stream of events until the guard is dropped.
    pub(crate) fn stream(&self) -> OpenConnection {
        self.streams.inc();
        OpenConnection(self.streams.clone())
    }

    /// Counts a connection until the guard is dropped.
    pub(crate) fn connection(&self) -> OpenConnection {
        self.connections.inc();
        OpenConnection(self.connections.clone())
    }
}

/// Requests since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sums {
    /// By face, in the order of [`Face::ALL`].
    pub(crate) requests: [u64; Face::ALL.len()],
    /// Turned down.
    pub(crate) refused: u64,
    /// Not answered.
    pub(crate) failed: u64,
    /// By how long they took.
    pub(crate) took: [u64; LATENCY.len() + 1],
}

/// One open connection or stream.
#[derive(Debug)]
pub(crate) struct OpenConnection(Gauge);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Reads the kernel's account of this process at each scrape; elsewhere than on Linux it stays silent.
#[derive(Debug)]
struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        if let Some(bytes) = resident_bytes() {
            let gauge = ConstGauge::new(bytes);
            let what = "Memory of the process";
            let out = encoder.encode_descriptor(
                "process_resident_memory",
                what,
                Some(&Unit::Bytes),
                gauge.metric_type(),
            )?;
            gauge.encode(out)?;
        }
        if let Some(seconds) = cpu_seconds() {
            let counter = ConstCounter::new(seconds);
            let what = "Processor time of the process";
            let out = encoder.encode_descriptor(
                "process_cpu",
                what,
                Some(&Unit::Seconds),
                counter.metric_type(),
            )?;
            counter.encode(out)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_face_and_outcome() {
        let mut registry = Registry::default();
        let metrics = GatewayMetrics::default();
        metrics.register(&mut registry);
        metrics.clone().count(Face::A2a, Outcome::Refused, Duration::from_millis(3));
        let _open = metrics.connection();
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        assert!(text.contains(r#"http_requests_total{face="a2a",outcome="refused"} 1"#), "{text}");
        assert!(text.contains("http_connections 1"), "{text}");
        assert!(text.contains("process_resident_memory_bytes "), "{text}");
        assert!(text.contains("process_cpu_seconds_total "), "{text}");
    }
}
