//! What the site tells its operator while it runs: log lines on stderr and in the logbook of the pages,
//! traces over OTLP.
//!
//! Promises: lines for people on a terminal, else one JSON object a line; rules for the log can be changed
//! while the site runs; traces are collected only when an endpoint is set, and sent when the site stops. It
//! does not decide what is logged: each part of the site does.

mod book;
mod otlp;

use std::io::{IsTerminal, Write as _};
use std::sync::Arc;

use agentsite_egress::Egress;
use agentsite_gateway::LogBook;
use agentsite_protocol::Clock;
use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt, reload};

use crate::config::{LogFormat, TelemetrySection};
use crate::exit::CliError;
use crate::output;
use book::BookLayer;
use otlp::Traces;

/// Only our own spans are traced; those of the HTTP client that sends them would beget more of themselves.
const TRACED: &str = "agentsite";

/// The calls that a site answers and the work on its tasks; their spans are below the level of the log, so
/// that they cost nothing when no traces are sent.
const CALLS: [&str; 2] = ["agentsite_gateway::a2a", "agentsite_tasks"];

/// The log and the traces of a running site.
#[derive(Debug)]
pub(crate) struct Telemetry {
    rules: reload::Handle<Targets, Registry>,
    traces: Option<Traces>,
    book: LogBook,
}

impl Telemetry {
    /// Begins to log, and to trace when an endpoint is set. To be called once in a process, inside the
    /// runtime.
    ///
    /// # Errors
    /// [`CliError`] when the rules or the endpoint are invalid.
    pub(crate) fn begin(
        section: &TelemetrySection,
        colour: bool,
        clock: Arc<dyn Clock>,
        egress: &Egress,
    ) -> Result<Self, CliError> {
        let (rules, handle) = reload::Layer::new(rules(&section.log)?);
        let book = LogBook::default();
        let kept = BookLayer::new(book.clone(), clock.clone());
        let lines = lines(section.log_format, colour, clock).and_then(kept);
        let traces =
            section.otlp_endpoint.as_deref().map(|endpoint| Traces::begin(endpoint, egress)).transpose()?;
        let spans = traces.as_ref().map(|traces| {
            let calls = CALLS.map(|target| (target, tracing::Level::DEBUG));
            let only_ours = Targets::new().with_target(TRACED, tracing::Level::INFO).with_targets(calls);
            tracing_opentelemetry::layer().with_tracer(traces.tracer()).with_filter(only_ours)
        });
        let registry = tracing_subscriber::registry().with(lines.with_filter(rules)).with(spans);
        registry.try_init().map_err(|error| CliError::error(format!("cannot start the log: {error}")))?;
        Ok(Self { rules: handle, traces, book })
    }

    /// The last lines of the log.
    pub(crate) fn book(&self) -> LogBook {
        self.book.clone()
    }

    /// Changes what is logged.
    ///
    /// # Errors
    /// [`CliError`] when the rules are invalid; the old ones then stay.
    pub(crate) fn set_rules(&self, text: &str) -> Result<(), CliError> {
        let changed = self.rules.reload(rules(text)?);
        changed.map_err(|error| CliError::error(format!("cannot change the log: {error}")))
    }

    /// Sends what is left.
    pub(crate) async fn end(self) {
        if let Some(traces) = self.traces {
            // The last batch is sent by a thread that needs this runtime, so it must not be waited for on it.
            let _ = tokio::task::spawn_blocking(move || traces.end()).await;
        }
    }
}

/// Reads rules like `info` or `info,agentsite_site=debug`. The engine of MCP logs each connection and notice
/// as `info`, which is only useful on request; what it logs about logins as `debug` holds codes that grant
/// access, and is never written.
fn rules(text: &str) -> Result<Targets, CliError> {
    parsed(text).map_err(|error| CliError::error(format!("telemetry.log: {error}")))
}

/// Whether a text can be rules for the log.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn check_rules(text: &str) -> Result<(), String> {
    parsed(text).map(|_| ())
}

fn parsed(text: &str) -> Result<Targets, String> {
    let wrong = |why: &dyn std::fmt::Display| {
        format!("`{text}` is not a rule for the log ({why}): write info, or like info,agentsite_site=debug")
    };
    if text.contains('[') {
        return Err(wrong(&"rules name a level or a module, not spans or fields"));
    }
    let mut rules: Vec<&str> = text.split(',').map(str::trim).filter(|rule| !rule.is_empty()).collect();
    if text.starts_with("info") && !text.contains("rmcp") {
        rules.push("rmcp=warn");
    }
    rules.push("rmcp::transport::auth=warn");
    rules.join(",").parse().map_err(|error: ParseError| wrong(&error))
}

fn lines(format: LogFormat, colour: bool, clock: Arc<dyn Clock>) -> Box<dyn Layer<Registry> + Send + Sync> {
    let human = match format {
        LogFormat::Auto => std::io::stderr().is_terminal(),
        LogFormat::Human => true,
        LogFormat::Json => false,
    };
    let layer = fmt::layer().with_writer(SanitizedLine::default);
    if human {
        let time = Time { clock, whole: false };
        layer.compact().with_target(false).with_ansi(colour).with_timer(time).boxed()
    } else {
        let time = Time { clock, whole: true };
        layer.json().flatten_event(true).with_span_list(false).with_timer(time).boxed()
    }
}

/// Standard error, with terminal control sequences other than colours removed from each line: log lines
/// contain foreign names and errors. A line is written whole when it is dropped, as the formatter writes one
/// at a time.
#[derive(Debug, Default)]
struct SanitizedLine(Vec<u8>);

impl std::io::Write for SanitizedLine {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for SanitizedLine {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            let line = output::log_line(&String::from_utf8_lossy(&self.0));
            // A log without a reader is not missed.
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
        }
    }
}

/// The time of a line, from the site's own clock.
struct Time {
    clock: Arc<dyn Clock>,
    /// Date and time, or only the time of day.
    whole: bool,
}

impl FormatTime for Time {
    fn format_time(&self, out: &mut Writer<'_>) -> std::fmt::Result {
        let now = self.clock.now().to_string();
        let time_of_day = now.get(11..19).unwrap_or(&now);
        out.write_str(if self.whole { &now } else { time_of_day })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_nonsense_is_told() {
        assert!(rules("info").is_ok());
        assert!(rules("warn,agentsite_site=debug").is_ok());
        assert!(rules("warn, agentsite_site=debug,").is_ok());
        assert!(rules("off").is_ok());
        assert!(rules("agentsite=loud").unwrap_err().to_string().contains("telemetry.log"));
        assert!(rules("agentsite_site[task]=debug").unwrap_err().to_string().contains("not spans"));
    }

    #[test]
    fn what_the_engine_of_mcp_tells_of_logins_is_never_written() {
        for text in ["info", "trace", "rmcp=trace", "debug,rmcp::transport=trace"] {
            let rules = rules(text).unwrap();
            let auth = "rmcp::transport::auth";
            assert!(!rules.would_enable(auth, &tracing::Level::DEBUG), "{text}");
            assert!(rules.would_enable(auth, &tracing::Level::WARN), "{text}");
        }
        assert!(rules("debug").unwrap().would_enable("agentsite_site", &tracing::Level::DEBUG));
        assert!(!rules("info").unwrap().would_enable("rmcp::service", &tracing::Level::INFO));
    }
}
