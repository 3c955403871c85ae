//! `agentsite bench`: prints what `agentsite_dev::bench` measures on this machine.
//!
//! Promises: a table for people, the same content as JSON with `--json`; each phase is named on stderr when
//! it begins. The two hidden verbs are processes that the bench starts. It measures nothing itself.

use std::path::PathBuf;

use agentsite_dev::bench::{self, BenchError, BenchPlan, Progress, Report, SearchPart};
use clap::{Args, ValueEnum};

use crate::exit::{CliError, Exit};
use crate::output::{Output, Style};

impl From<BenchError> for CliError {
    fn from(error: BenchError) -> Self {
        Self::error(error.to_string())
    }
}

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// What to measure
    #[arg(value_enum, default_value_t = Subject::Site)]
    subject: Subject,
    /// Seconds for each measurement
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Connections of the load
    #[arg(long, default_value_t = 32)]
    connections: usize,
    /// Messages sent to see whether memory stays flat
    #[arg(long, default_value_t = 100_000)]
    messages: u64,
    /// Agents in the index of `search`, growing
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000, 1_000_000])]
    sizes: Vec<u64>,
    /// The PostgreSQL database that `store` measures on, such as postgres://user@host/database; without it a
    /// private server of this machine's programs is started
    #[arg(long, value_name = "URL")]
    store: Option<String>,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Subject {
    /// The site as a whole: start, memory, messages, durable tasks, commands.
    Site,
    /// The bindings of A2A side by side, streams, the tail over many rounds.
    A2a,
    /// Tools of MCP in both forms of the protocol.
    Mcp,
    /// The index of agents at growing sizes: build, memory, questions, recall, registrations.
    Search,
    /// Durable tasks on SQLite and on PostgreSQL with one and three processes, next to pgbench.
    Store,
}

/// Arguments of `bench-search`, which `bench search` starts as processes of its own.
#[derive(Debug, Args)]
pub(super) struct SearchArguments {
    /// Which part
    part: SearchPart,
    /// The folder of the bench
    folder: PathBuf,
    /// Agents, growing
    #[arg(long)]
    sizes: Vec<u64>,
    /// Seconds for each rate
    #[arg(long)]
    seconds: u64,
}

/// Measures and prints.
pub(super) async fn run(arguments: Arguments, output: Output) -> Result<Exit, CliError> {
    let Arguments { subject, seconds, connections, messages, sizes, store } = arguments;
    let (plan, progress) = (BenchPlan { seconds, connections, messages, sizes, store }, progress(output));
    let report = match subject {
        Subject::Site => bench::measure_site(&plan, &progress).await,
        Subject::A2a => bench::measure_a2a(&plan, &progress).await,
        Subject::Mcp => bench::measure_mcp(&plan, &progress).await,
        Subject::Search => bench::measure_search(&plan, &progress).await,
        Subject::Store => bench::measure_store(&plan, &progress).await,
    }?;
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
pub(super) async fn search_part(arguments: SearchArguments, output: Output) -> Result<Exit, CliError> {
    let SearchArguments { part, folder, sizes, seconds } = arguments;
    let report = bench::measure_search_part(part, folder, sizes, seconds, &progress(output)).await?;
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
