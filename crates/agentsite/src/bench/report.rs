//! The table that the bench prints.
//!
//! Promises: ratios beside the figures they come from; the same content as JSON with `--json`.

use serde::{Deserialize, Serialize};

use super::load::Measured;
use crate::exit::CliError;
use crate::output::{Output, Style};

/// Everything that was measured.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Report {
    throughput: Vec<Row>,
    figures: Vec<Figure>,
}

/// One measurement under load.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    name: String,
    requests_per_second: f64,
    cpu_micros_per_request: f64,
    p50_millis: f64,
    p99_millis: f64,
    /// Requests a second relative to the bare server.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    /// Processor time of the bare server relative to this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_ratio: Option<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Figure {
    name: String,
    value: f64,
    unit: String,
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
            cpu_ratio: floor.map(|(_, floor)| floor / cpu),
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

    /// Prints the table.
    pub(super) fn print(&self, output: Output) -> Result<(), CliError> {
        if output.is_json() {
            return Ok(output.json(self)?);
        }
        let head = format!(
            "{:<40} {:>10} {:>9} {:>9} {:>9} {:>8} {:>8}",
            "", "req/s", "CPU µs", "p50 ms", "p99 ms", "ratio", "by CPU"
        );
        output.line(&output.paint(Style::Bold, &head))?;
        let ratio = |ratio: Option<f64>| ratio.map_or_else(|| "–".into(), |ratio| format!("{ratio:.2}"));
        for row in &self.throughput {
            output.line(&format!(
                "{:<40} {:>10.0} {:>9.1} {:>9.2} {:>9.2} {:>8} {:>8}",
                row.name,
                row.requests_per_second,
                row.cpu_micros_per_request,
                row.p50_millis,
                row.p99_millis,
                ratio(row.ratio),
                ratio(row.cpu_ratio)
            ))?;
        }
        output.line("")?;
        for figure in &self.figures {
            output.line(&format!("{:<66} {:>9.2} {}", figure.name, figure.value, figure.unit))?;
        }
        Ok(())
    }
}
