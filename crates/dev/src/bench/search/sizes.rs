//! The index at growing sizes: build, memory, time of a question beyond encoding, recall, and the start from
//! its file.
//!
//! Promises: everything through the public `put` and `find`; batches are on disk before the next one begins.
//! Runs on one thread without a runtime.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use agentsite_search::population::{Population, Truth};
use agentsite_search::{Ask, Audience, Blend, Embedders, Finder, FinderSettings, Static};
use futures::FutureExt;
use rustix::time::{ClockId, clock_gettime};

use super::{broken, population};
use crate::bench::report::Report;
use crate::bench::{BenchError, Progress};

/// Agents of one `put`, which is one write to disk.
const BATCH: u64 = 1_000;

/// Agents with skills, and how many each.
const SKILLED: u64 = 20_000;
const SKILLS: usize = 4;

/// How many of the nearest are looked for.
const NEAREST: usize = 10;

/// Builds an index to each of the sizes and measures it there.
pub(super) fn grow(folder: &Path, sizes: &[u64], progress: &Progress) -> Result<Report, BenchError> {
    let mut report = Report::default();
    let (population, questions) = population(folder)?;
    let population = Arc::new(population);
    let mut truth = Truth::new(Arc::clone(&population), questions, NEAREST);
    let finder = index(folder, &population)?;
    let empty = resident();
    let (mut made, mut spent, mut first) = (0, 0.0, None);
    for size in sizes {
        progress.note(&format!("{size} agents"));
        let (began, from) = (Instant::now(), made);
        while made < *size {
            let end = made.saturating_add(BATCH).min(*size);
            let entries = (made..end).map(|number| population.entry(number)).collect();
            now(finder.put(entries, true)).map_err(broken)?;
            made = end;
        }
        spent += began.elapsed().as_secs_f64();
        (from..made).for_each(|number| truth.see(number));
        let name = |what: &str| format!("{size} agents, {what}");
        report.figure(&name("build"), spent, "s");
        report.figure(&name("memory above the empty index"), resident() - empty, "MiB");
        let (p50, p99, _) = ask(&finder, &truth, Blend::Best)?;
        report.figure(&name("question beyond encoding, p50 of processor time"), p50, "ms");
        report.figure(&name("question beyond encoding, p99 of processor time"), p99, "ms");
        report.figure(&name("recall@10 of the nearest vectors"), ask(&finder, &truth, Blend::Meaning)?.2, "");
        let (least, before) = *first.get_or_insert((*size, p50));
        if *size > least {
            report.figure(&format!("cost of a question, {size} agents to {least}"), p50 / before, "times");
        }
    }
    skilled(folder, &mut report)?;
    Ok(report)
}

/// Measures agents that have a few skills each, in memory: each skill is one more vector.
fn skilled(folder: &Path, report: &mut Report) -> Result<(), BenchError> {
    let (population, questions) = population(folder)?;
    let population = Arc::new(population.with_skills(SKILLS));
    let mut truth = Truth::new(Arc::clone(&population), questions, NEAREST);
    let finder = finder(None, &population)?;
    for from in (0..SKILLED).step_by(BATCH as usize) {
        let entries = (from..SKILLED.min(from + BATCH)).map(|number| population.entry(number)).collect();
        now(finder.put(entries, true)).map_err(broken)?;
    }
    (0..SKILLED).for_each(|number| truth.see(number));
    let name = |what: &str| format!("{SKILLED} agents of {SKILLS} skills, {what}");
    let (p50, p99, _) = ask(&finder, &truth, Blend::Best)?;
    report.figure(&name("question, p50 of processor time"), p50, "ms");
    report.figure(&name("question, p99 of processor time"), p99, "ms");
    report.figure(&name("recall@10 of the nearest vectors"), ask(&finder, &truth, Blend::Meaning)?.2, "");
    Ok(())
}

/// Opens the index that was built.
pub(super) fn open(folder: &Path) -> Result<Report, BenchError> {
    let mut report = Report::default();
    let (population, _) = population(folder)?;
    let began = Instant::now();
    let finder = index(folder, &Arc::new(population))?;
    let name = |what: &str| format!("{} agents read from the file, {what}", finder.len());
    report.figure(&name("time"), began.elapsed().as_secs_f64(), "s");
    report.figure(&name("memory of the process"), resident(), "MiB");
    Ok(report)
}

fn index(folder: &Path, population: &Arc<Population>) -> Result<Finder, BenchError> {
    finder(Some(folder.join("index")), population)
}

fn finder(folder: Option<PathBuf>, population: &Arc<Population>) -> Result<Finder, BenchError> {
    let full: Arc<Population> = Arc::clone(population);
    let embedders = Embedders { fast: Arc::new(Static::load()), full: Some(full) };
    let settings = FinderSettings { folder, embedders };
    Ok(Finder::open(settings, &|_| {}).map_err(broken)?.0)
}

/// Asks all questions: the time in the middle and of the slowest hundredth, in milliseconds, and the recall.
fn ask(finder: &Finder, truth: &Truth, blend: Blend) -> Result<(f64, f64, f64), BenchError> {
    let (mut times, mut recall) = (Vec::new(), 0.0);
    for (number, question) in truth.questions().iter().enumerate() {
        let ask = Ask { audience: Audience::public(), ..Ask::of(&question.text, NEAREST) };
        let began = clock();
        let found = now(finder.find_by(&ask, blend)).map_err(broken)?;
        times.push((clock() - began) * 1e3);
        let ids: Vec<&str> = found.hits.iter().map(|hit| hit.id.as_str()).collect();
        recall += truth.recall(number, &ids);
    }
    times.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| times.get(((times.len() as f64 - 1.0) * share) as usize).copied().unwrap_or(0.0);
    Ok((at(0.5), at(0.99), recall / times.len().max(1) as f64))
}

/// The result of work that does not wait: without a runtime the finder does all its work on this thread.
fn now<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().expect("these embedders answer at once")
}

/// Processor time of this thread, in seconds.
fn clock() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Memory of this process, in MiB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: f64 = resident.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0.0);
    kib / 1024.0
}
