//! `agentsite bench`: how fast this program is on this machine, as ratios taken in one run.
//!
//! Promises: the site, the bare server it is compared with, and the load run in three processes; all figures
//! come from this run; nothing is left behind. It measures and does not print; it never fails because a
//! figure is low.

mod a2a;
mod bare;
mod failure;
mod grpc;
mod load;
mod mcp;
mod postgres;
mod process;
mod progress;
mod report;
mod search;
mod store;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;

use load::{Load, Measured, Request};
use process::{Child, Figures};

pub use bare::serve_bare;
pub use failure::BenchError;
pub use progress::Progress;
pub use report::{Figure, Report, Row};
pub use search::{SearchPart, UnknownPart, measure_search_part};

/// Messages sent before each measurement, so that caches and connections are warm.
const WARM_UP: u64 = 2_000;

/// Agents of the site that is measured: one that keeps no record, one that does, and one that starts a
/// process.
const AGENTS: [(&str, &str); 2] = [
    (
        "quick",
        "name = \"quick\"\ndescription = \"Echo without a record\"\nanswers = \"message\"\nvisibility = \"public\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n[limits]\nconcurrency = 1024\n",
    ),
    (
        "command",
        "name = \"command\"\ndescription = \"Echo by a command\"\nvisibility = \"public\"\n[runtime]\nkind = \"exec\"\ncommand = [\"cat\"]\n[limits]\nconcurrency = 8\nqueue = 100000\n",
    ),
];

/// How long and how much is measured.
#[derive(Debug, Clone)]
pub struct BenchPlan {
    /// Seconds of each measurement.
    pub seconds: u64,
    /// Connections of the load.
    pub connections: usize,
    /// Messages that are sent to see whether memory stays flat.
    pub messages: u64,
    /// Numbers of agents in the index, growing; only the search uses them.
    pub sizes: Vec<u64>,
    /// The URL of a PostgreSQL database to measure on; without it a private server is started. Only the store
    /// uses it.
    pub store: Option<String>,
}

/// Measures the site as a whole: start, memory, messages, durable tasks, commands. Boxed, so that the load is
/// compiled in this crate and not for size like the binary.
///
/// # Errors
/// [`BenchError`] when a process cannot be started, stops, or does not answer.
pub fn measure_site<'a>(
    plan: &'a BenchPlan,
    progress: &'a Progress,
) -> BoxFuture<'a, Result<Report, BenchError>> {
    Box::pin(async move {
        let folder = Folder::make()?;
        whole(plan, &folder.0, progress).await
    })
}

/// Measures the bindings of A2A side by side, streams, and the tail over many rounds.
///
/// # Errors
/// [`BenchError`] when a process cannot be started, stops, or does not answer.
pub fn measure_a2a<'a>(
    plan: &'a BenchPlan,
    progress: &'a Progress,
) -> BoxFuture<'a, Result<Report, BenchError>> {
    Box::pin(async move {
        let folder = Folder::make()?;
        a2a::measure(plan, &folder.0, progress).await
    })
}

/// Measures tools of MCP in both forms of the protocol.
///
/// # Errors
/// [`BenchError`] when a process cannot be started, stops, or does not answer.
pub fn measure_mcp<'a>(
    plan: &'a BenchPlan,
    progress: &'a Progress,
) -> BoxFuture<'a, Result<Report, BenchError>> {
    Box::pin(async move {
        let folder = Folder::make()?;
        mcp::measure(plan, &folder.0, progress).await
    })
}

/// Measures the index of agents at growing sizes: build, memory, questions, recall, registrations.
///
/// # Errors
/// [`BenchError`] when a process cannot be started, stops, or does not answer.
pub fn measure_search<'a>(
    plan: &'a BenchPlan,
    progress: &'a Progress,
) -> BoxFuture<'a, Result<Report, BenchError>> {
    Box::pin(async move {
        let folder = Folder::make()?;
        search::measure(plan, &folder.0, progress).await
    })
}

/// Measures durable tasks on each store, next to what the database itself can do.
///
/// # Errors
/// [`BenchError`] when PostgreSQL is not installed, or a process cannot be started, stops, or does not
/// answer.
pub fn measure_store<'a>(
    plan: &'a BenchPlan,
    progress: &'a Progress,
) -> BoxFuture<'a, Result<Report, BenchError>> {
    Box::pin(async move {
        let folder = Folder::make_in(Path::new(store::PLACE))?;
        store::measure(plan, &folder.0, progress).await
    })
}

async fn whole(plan: &BenchPlan, folder: &Path, progress: &Progress) -> Result<Report, BenchError> {
    let mut report = Report::default();
    let began = Instant::now();
    let site = Child::start_site(folder).await?;
    report.figure("start-up until ready", began.elapsed().as_secs_f64() * 1e3, "ms");
    site.rest().await?;
    report.figure("memory, idle", site.figures()?.resident_mib, "MiB");

    let bare = Child::start_bare().await?;
    let load = Load { connections: plan.connections, time: Duration::from_secs(plan.seconds) };
    progress.note("bare axum echo");
    let floor = phase(&bare, &Request::echo("/"), load).await?;
    report.row(Row::of("bare axum, JSON echo", &floor, None));
    for (name, path) in
        [("SendMessage, echo as message", "/a2a/quick"), ("SendMessage, echo as durable task", "/a2a/echo")]
    {
        progress.note(name);
        let measured = phase(&site, &Request::send(path), load).await?;
        report.row(Row::of(name, &measured, Some(&floor)));
    }
    durable(&site, &mut report, plan, progress).await?;
    starts(&site, &mut report, plan, progress).await?;
    report.figure("memory, loaded", site.figures()?.resident_mib, "MiB");
    flatness(&site, &mut report, plan, progress).await?;
    Ok(report)
}

/// Durable tasks with enough in flight that commits are shared.
async fn durable(
    site: &Child,
    report: &mut Report,
    plan: &BenchPlan,
    progress: &Progress,
) -> Result<(), BenchError> {
    progress.note("durable tasks");
    let load = Load { connections: plan.connections * 8, time: Duration::from_secs(plan.seconds) };
    let before = site.metrics().await?;
    let measured = phase(site, &Request::send("/a2a/echo"), load).await?;
    let after = site.metrics().await?;
    report.row(Row::of(&format!("durable tasks, {} in flight", load.connections), &measured, None));
    let changes = after.mean_since(&before, "agentsite_store_commit_changes");
    report.figure("tasks per commit", changes, "");
    let seconds = after.mean_since(&before, "agentsite_store_commit_seconds");
    report.figure("time of a commit", seconds * 1e3, "ms");
    Ok(())
}

/// From the acceptance of a task to the start of its command.
async fn starts(
    site: &Child,
    report: &mut Report,
    plan: &BenchPlan,
    progress: &Progress,
) -> Result<(), BenchError> {
    progress.note("commands");
    let before = site.metrics().await?;
    let load = Load { connections: 4, time: Duration::from_secs(plan.seconds) };
    let measured = phase(site, &Request::send("/a2a/command"), load).await?;
    let after = site.metrics().await?;
    report.row(Row::of("durable tasks that start a process", &measured, None));
    let median = after.median_since(&before, "agentsite_task_start_delay_seconds");
    report.figure("submit to start of the command, median at most", median * 1e3, "ms");
    Ok(())
}

/// Whether memory grows with the number of messages.
async fn flatness(
    site: &Child,
    report: &mut Report,
    plan: &BenchPlan,
    progress: &Progress,
) -> Result<(), BenchError> {
    for (name, path) in [("messages", "/a2a/quick"), ("durable tasks", "/a2a/echo")] {
        progress.note(&format!("{} {name}", plan.messages));
        let before = site.figures()?.resident_mib;
        load::send(site.address, &Request::send(path), plan.connections, plan.messages).await?;
        let after = site.figures()?.resident_mib;
        report.figure(&format!("memory after {} {name}, ratio", plan.messages), after / before, "");
    }
    Ok(())
}

/// One measurement, with the processor time of the process that served it.
async fn phase(child: &Child, request: &Request, load: Load) -> Result<(Measured, f64), BenchError> {
    load::send(child.address, request, load.connections, WARM_UP).await?;
    let before: Figures = child.figures()?;
    let measured = load::run(child.address, request, load).await?;
    let cpu = child.figures()?.cpu_seconds - before.cpu_seconds;
    let per_request = cpu * 1e6 / measured.requests.max(1) as f64;
    Ok((measured, per_request))
}

/// A folder on the disk that is measured, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn make() -> Result<Self, BenchError> {
        Self::make_in(Path::new(""))
    }

    fn make_in(place: &Path) -> Result<Self, BenchError> {
        let folder = place.join(format!("agentsite-bench-{}", std::process::id()));
        for (name, manifest) in AGENTS {
            let agent = folder.join("agents").join(name);
            std::fs::create_dir_all(&agent).map_err(|error| BenchError::file("make", &agent, &error))?;
            let file = agent.join("agent.toml");
            std::fs::write(&file, manifest).map_err(|error| BenchError::file("write", &file, &error))?;
        }
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
