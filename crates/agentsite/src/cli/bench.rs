//! `agentsite bench`: prints what `agentsite_dev::bench` measures on this machine.
//!
//! Promises: a table for people, the same content as JSON with `--json`; each phase is named on stderr when
//! it begins. The two hidden verbs are processes that the bench starts. It measures nothing itself.

use agentsite_dev::bench::{self, BenchError, Progress, Report};

pub(super) use agentsite_dev::bench::{BenchArgs, SearchPartArgs};

use crate::exit::{CliError, Exit};
use crate::output::{Output, Style};

impl From<BenchError> for CliError {
    fn from(error: BenchError) -> Self {
        Self::error(error.to_string())
    }
}

/// Measures and prints.
pub(super) async fn run(args: &BenchArgs, output: Output) -> Result<Exit, CliError> {
    let report = bench::run(args, &progress(output)).await?;
    print(&report, output)?;
    Ok(Exit::Ok)
}

/// Runs the server that the site is compared with.
pub(super) async fn serve_bare(output: Output) -> Result<Exit, CliError> {
    let announce = |address: &str| {
        // The bench reads the address; when it is gone, stdin is closed and the server ends.
        let _ = output.line(address);
    };
    bench::serve_bare(Box::new(announce)).await?;
    Ok(Exit::Ok)
}

/// Measures one part of `bench search` and prints it for the process that started it.
pub(super) async fn search_part(args: SearchPartArgs, output: Output) -> Result<Exit, CliError> {
    let report = bench::measure_part(args, &progress(output)).await?;
    let json = serde_json::to_string(&report).map_err(|error| CliError::error(error.to_string()))?;
    output.line(&json)?;
    Ok(Exit::Ok)
}

fn progress(output: Output) -> Progress {
    Progress::new(move |line| output.note(line))
}

fn print(report: &Report, output: Output) -> Result<(), CliError> {
    if output.is_json() {
        return Ok(output.json(report)?);
    }
    let head = format!(
        "{:<40} {:>10} {:>9} {:>9} {:>9} {:>8} {:>8}",
        "", "req/s", "CPU µs", "p50 ms", "p99 ms", "ratio", "by CPU"
    );
    output.line(&output.paint(Style::Bold, &head))?;
    let ratio = |ratio: Option<f64>| ratio.map_or_else(|| "–".into(), |ratio| format!("{ratio:.2}"));
    for row in &report.throughput {
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
    for figure in &report.figures {
        output.line(&format!("{:<66} {:>9.2} {}", figure.name, figure.value, figure.unit))?;
    }
    Ok(())
}
