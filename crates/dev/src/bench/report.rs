//! Report: what the bench measured.
//!
//! Promises: ratios next to the figures they come from; its JSON form is what `--json` prints. It does not
//! print.

use serde::{Deserialize, Serialize};

use super::load::Measured;

/// Everything that was measured.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Measurements under load.
    pub throughput: Vec<Row>,
    /// Single figures.
    pub figures: Vec<Figure>,
}

/// One measurement under load.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// What was sent.
    pub name: String,
    /// Requests that were answered in a second.
    pub requests_per_second: f64,
    /// Processor time of the server for one request.
    pub cpu_micros_per_request: f64,
    /// Median of the time to the answer.
    pub p50_millis: f64,
    /// The time within which 99 of 100 requests were answered.
    pub p99_millis: f64,
    /// Requests a second relative to the bare server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Processor time of the bare server relative to this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_ratio: Option<f64>,
}

/// One figure.
#[derive(Debug, Serialize, Deserialize)]
pub struct Figure {
    /// What was measured.
    pub name: String,
    /// How much.
    pub value: f64,
    /// Of what; empty for a ratio.
    pub unit: String,
}

impl Row {
    /// A measurement with its processor time, compared with the bare server's.
    pub(super) fn of(name: &str, (measured, cpu): &(Measured, f64), floor: Option<&(Measured, f64)>) -> Self {
        let rate = |measured: &Measured| measured.requests as f64 / measured.seconds;
        Self {
            name: name.into(),
            requests_per_second: rate(measured),
            cpu_micros_per_request: *cpu,
            p50_millis: measured.p50.as_secs_f64() * 1e3,
            p99_millis: measured.p99.as_secs_f64() * 1e3,
            ratio: floor.map(|(floor, _)| rate(measured) / rate(floor)),
            // The processor time of a server on another machine is not known.
            cpu_ratio: floor.map(|(_, floor)| floor / cpu).filter(|ratio| *ratio > 0.0),
        }
    }
}

impl Report {
    pub(super) fn row(&mut self, row: Row) {
        self.throughput.push(row);
    }

    pub(super) fn figure(&mut self, name: &str, value: f64, unit: &str) {
        self.figures.push(Figure { name: name.into(), value, unit: unit.into() });
    }

    /// Adds what another process measured.
    pub(super) fn join(&mut self, other: Self) {
        self.throughput.extend(other.throughput);
        self.figures.extend(other.figures);
    }
}
