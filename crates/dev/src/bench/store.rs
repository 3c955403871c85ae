//! `agentsite bench store`: durable tasks on each store, next to what the database itself can do.
//!
//! Promises: SQLite, PostgreSQL with one process and with three, and `pgbench` with as many rows in a
//! transaction as the site's own commits had, all in one run on one disk. Processor time is that of the site
//! and, where its server was started here, of the database together, so that it compares with SQLite, which
//! is part of the site. A database that was given is left as it was found.

use std::path::Path;
use std::time::Duration;

use super::load::{self, Load, Measured, Request};
use super::postgres::Database;
use super::process::Child;
use super::report::{Report, Row};
use super::{BenchPlan, WARM_UP};
use crate::bench::{BenchError, Progress};

/// Where the data lies while it is measured: on a disk, and open to the user of a private server.
pub(super) const PLACE: &str = "/var/tmp";

/// Connections of the load for each connection that was asked for: enough in flight that commits are shared.
const IN_FLIGHT: usize = 8;

/// Processes that share the database, at most; a site with more than three gains nothing on one machine.
const PROCESSES: usize = 3;

/// A lease that a busy machine does not make a process lose while it is measured.
const LEASE: &str = "20s";

/// The key of secrets, of which there are none.
const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// What one arrangement of processes gave.
struct Outcome {
    measured: (Measured, f64),
    /// Processor time of the database for one task, where it is known.
    database: Option<f64>,
    /// Tasks in a commit, and its time in seconds.
    group: f64,
    commit: f64,
}

/// Measures the stores.
pub(super) async fn measure(
    plan: &BenchPlan,
    folder: &Path,
    progress: &Progress,
) -> Result<Report, BenchError> {
    let mut report = Report::default();
    let load = Load { connections: plan.connections * IN_FLIGHT, time: Duration::from_secs(plan.seconds) };
    let database = match &plan.store {
        Some(url) => Database::given(url)?,
        None => {
            progress.note("a private server of PostgreSQL");
            Database::start(folder).await?
        }
    };
    progress.note("SQLite, 1 process");
    let sqlite = vec![Child::start_process(folder, "sqlite", &[]).await?];
    let file = tasks(sqlite, load, None).await?;
    report.row(Row::of(&format!("SQLite, 1 process, {} in flight", load.connections), &file.measured, None));
    note(&mut report, "SQLite", &file);
    for processes in [1, PROCESSES] {
        progress.note(&format!("PostgreSQL, {processes} process(es)"));
        let ours = shared(folder, &database, processes, load).await;
        database.clear().await?;
        let ours = ours?;
        let batch = ours.group.round().max(1.0);
        progress.note(&format!("pgbench, {batch} tasks in a transaction, {processes} client(s)"));
        let limit = limit(folder, &database, batch, processes, plan.seconds).await;
        database.clear().await?;
        let limit = limit?;
        report.row(Row::of(&format!("pgbench, {batch} in one commit, {processes} clients"), &limit, None));
        let name = format!("PostgreSQL, {processes} process(es)");
        report.row(Row::of(&name, &ours.measured, Some(&limit)));
        note(&mut report, &name, &ours);
    }
    Ok(report)
}

/// Processes of one site on the database.
async fn shared(
    folder: &Path,
    database: &Database,
    processes: usize,
    load: Load,
) -> Result<Outcome, BenchError> {
    let mut all = Vec::new();
    for number in 1..=processes {
        let (name, url) = (format!("postgres-{processes}-{number}"), database.store());
        let variables = [
            ("AGENTSITE_STORE", url.as_str()),
            ("AGENTSITE_DATA_KEY", KEY),
            ("AGENTSITE_CLUSTER_NAME", &name),
            ("AGENTSITE_CLUSTER_LEASE", LEASE),
        ];
        all.push(Child::start_process(folder, &name, &variables).await?);
    }
    tasks(all, load, Some(database)).await
}

/// Durable tasks at these processes.
async fn tasks(
    processes: Vec<Child>,
    load: Load,
    database: Option<&Database>,
) -> Result<Outcome, BenchError> {
    let request = Request::send("/a2a/echo");
    for process in &processes {
        process.rest().await?;
        load::send(process.address, &request, load.connections, WARM_UP).await?;
    }
    let site_cpu = || {
        processes.iter().map(|one| one.figures().map(|figures| figures.cpu_seconds)).sum::<Result<f64, _>>()
    };
    let server_cpu = || database.and_then(Database::cpu_seconds);
    let (before, server_before) = (site_cpu()?, server_cpu());
    let mut metrics = Vec::new();
    for process in &processes {
        metrics.push(process.metrics().await?);
    }
    let addresses: Vec<_> = processes.iter().map(|one| one.address).collect();
    let measured = load::run_across(&addresses, &request, load).await?;
    let per_task = |seconds: f64| seconds * 1e6 / measured.requests.max(1) as f64;
    let own = per_task(site_cpu()? - before);
    let database = server_cpu().zip(server_before).map(|(after, before)| per_task(after - before));
    let (mut group, mut commit) = (0.0, 0.0);
    for (process, before) in processes.iter().zip(&metrics) {
        let after = process.metrics().await?;
        group += after.mean_since(before, "agentsite_store_commit_changes") / processes.len() as f64;
        commit += after.mean_since(before, "agentsite_store_commit_seconds") / processes.len() as f64;
    }
    let measured = (measured, own + database.unwrap_or(0.0));
    Ok(Outcome { measured, database, group, commit })
}

/// The same rows by pgbench: what the database can do with them at most.
async fn limit(
    folder: &Path,
    database: &Database,
    batch: f64,
    clients: usize,
    seconds: u64,
) -> Result<(Measured, f64), BenchError> {
    let before = database.cpu_seconds();
    let times = database.pgbench(folder, batch, clients, seconds).await?;
    let mut measured = Measured::of(times, seconds as f64);
    measured.requests = (measured.requests as f64 * batch) as u64;
    let used = database.cpu_seconds().zip(before).map_or(0.0, |(after, before)| after - before);
    let per_task = used * 1e6 / measured.requests.max(1) as f64;
    Ok((measured, per_task))
}

fn note(report: &mut Report, name: &str, outcome: &Outcome) {
    report.figure(&format!("{name}: tasks per commit"), outcome.group, "");
    report.figure(&format!("{name}: time of a commit"), outcome.commit * 1e3, "ms");
    if let Some(database) = outcome.database {
        report.figure(&format!("{name}: of the processor time, the database"), database, "µs");
    }
}
