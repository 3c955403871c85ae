//! `agentsite bench a2a`: the bindings of A2A side by side, and what lasts.
//!
//! Promises: the same echo in each binding against the same bare server, all in one run; streams are counted
//! by their events; the tail is taken ten times in a row and memory after many messages, to see whether
//! either grows.

use std::path::Path;
use std::time::Duration;

use super::load::{self, Load, Request};
use super::process::Child;
use super::report::{Report, Row};
use super::{BenchPlan, phase};
use crate::bench::{BenchError, Progress};

/// Rounds in which the tail is measured.
const ROUNDS: u32 = 10;

/// The phases: a name, and what is sent.
fn phases() -> [(&'static str, Request); 6] {
    [
        ("JSON-RPC, echo as message", Request::send("/a2a/quick")),
        ("HTTP+JSON, echo as message", Request::send_rest("/a2a/quick")),
        ("gRPC, echo as message", Request::grpc("quick")),
        ("JSON-RPC, echo as durable task", Request::send("/a2a/echo")),
        ("HTTP+JSON, echo as durable task", Request::send_rest("/a2a/echo")),
        ("gRPC, echo as durable task", Request::grpc("echo")),
    ]
}

/// Measures the bindings.
pub(super) async fn measure(
    plan: &BenchPlan,
    folder: &Path,
    progress: &Progress,
) -> Result<Report, BenchError> {
    let mut report = Report::default();
    let (site, bare) = (Child::start_site(folder).await?, Child::start_bare().await?);
    site.rest().await?;
    let load = Load { connections: plan.connections, time: Duration::from_secs(plan.seconds) };
    progress.note("bare axum echo");
    let floor = phase(&bare, &Request::echo("/"), load).await?;
    report.row(Row::of("bare axum, JSON echo", &floor, None));
    for (name, request) in phases() {
        progress.note(name);
        report.row(Row::of(name, &phase(&site, &request, load).await?, Some(&floor)));
    }
    progress.note("streams");
    let streams = phase(&site, &Request::stream("/a2a/echo"), load).await?;
    let events = streams.0.events as f64 / streams.0.seconds;
    report.row(Row::of("JSON-RPC, streamed durable task", &streams, Some(&floor)));
    report.figure("events of streams", events, "per second");
    tail(&site, &mut report, plan, progress).await?;
    progress.note(&format!("{} messages", plan.messages));
    let before = site.figures()?.resident_mib;
    load::send(site.address, &Request::send("/a2a/quick"), plan.connections, plan.messages).await?;
    let ratio = site.figures()?.resident_mib / before;
    report.figure(&format!("memory after {} messages, ratio", plan.messages), ratio, "");
    Ok(report)
}

/// Whether the slowest hundredth gets slower from round to round.
async fn tail(
    site: &Child,
    report: &mut Report,
    plan: &BenchPlan,
    progress: &Progress,
) -> Result<(), BenchError> {
    progress.note(&format!("{ROUNDS} rounds of durable tasks"));
    let load = Load { connections: plan.connections, time: Duration::from_secs(plan.seconds) / 5 };
    let mut tails = Vec::new();
    for _ in 0..ROUNDS {
        let round = load::run(site.address, &Request::send("/a2a/echo"), load).await?;
        tails.push(round.p99.as_secs_f64() * 1e3);
    }
    let half = tails.len() / 2;
    let mean = |some: &[f64]| some.iter().sum::<f64>() / some.len().max(1) as f64;
    report.figure("p99 over ten rounds, mean", mean(&tails), "ms");
    report.figure("p99, last five rounds to first five", mean(&tails[half..]) / mean(&tails[..half]), "");
    Ok(())
}
