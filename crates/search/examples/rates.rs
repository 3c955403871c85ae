//! Measures how many questions and registrations a second the fast tier carries at 10,000 agents.
//!
//! Promises: made-up agents and questions as `agentsite bench search` has them; each question is new; as many
//! tasks ask as there are cores, two each. A registration is on disk before it is counted. Processor time is
//! that of the process.
//!
//! usage: rates FOLDER [SECONDS]
#![expect(clippy::print_stdout, reason = "a measurement talks on its standard streams")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use agentsite_search::population::{Population, Sample, cards};
use agentsite_search::{Ask, Embedder, Embedders, FindError, Finder, FinderSettings, Static};
use rustix::time::{ClockId, clock_gettime};

/// Agents that are asked for, that are registered, and how many at a time.
const AGENTS: u64 = 10_000;
const REGISTERED: u64 = 20_000;
const BATCH: u64 = 256;

type Failed = Box<dyn std::error::Error>;

fn main() -> Result<(), Failed> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (folder, seconds) = match words.as_slice() {
        [folder] => (folder, 3.0),
        [folder, seconds] => (folder, seconds.parse()?),
        _ => return Err("usage: rates FOLDER [SECONDS]".into()),
    };
    let table = Static::load();
    let sample = |number| {
        let text = cards::card(number);
        Sample { vector: table.encode(&text).values, text }
    };
    let population = Population::new((0..cards::CARDS).map(sample).collect(), &[]);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let finder = open(None)?;
        fill(&finder, &population, AGENTS).await?;
        ask(&Arc::new(finder), Duration::from_secs_f64(seconds)).await?;
        register(Path::new(folder), &population).await
    })
}

fn open(folder: Option<&Path>) -> Result<Finder, FindError> {
    let fast: Arc<dyn Embedder> = Arc::new(Static::load());
    let settings =
        FinderSettings { folder: folder.map(Into::into), embedders: Embedders { fast, full: None } };
    Ok(Finder::open(settings, &|_| {})?.0)
}

async fn fill(finder: &Finder, population: &Population, count: u64) -> Result<(), FindError> {
    for from in (0..count).step_by(BATCH as usize) {
        let entries = (from..count.min(from + BATCH)).map(|number| population.entry(number)).collect();
        finder.put(entries, false).await?;
    }
    Ok(())
}

async fn ask(finder: &Arc<Finder>, time: Duration) -> Result<(), Failed> {
    let next = Arc::new(AtomicUsize::new(0));
    let tasks = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    let (began, cpu) = (Instant::now(), clock());
    let asking = (0..tasks).map(|_| {
        let (finder, next) = (Arc::clone(finder), Arc::clone(&next));
        tokio::spawn(async move {
            let mut asked = 0;
            while began.elapsed() < time {
                let number = next.fetch_add(1, Ordering::Relaxed);
                finder.find(&Ask::of(cards::question(number), 10)).await?;
                asked += 1;
            }
            Ok::<usize, FindError>(asked)
        })
    });
    let mut asked = 0;
    for task in futures::future::join_all(asking).await {
        asked += task??;
    }
    let (seconds, cpu) = (began.elapsed().as_secs_f64(), clock() - cpu);
    println!(
        "questions, fast tier, each new: {:.0} a second, {:.1} µs of processor time each",
        asked as f64 / seconds,
        cpu * 1e6 / asked as f64
    );
    Ok(())
}

async fn register(folder: &Path, population: &Population) -> Result<(), Failed> {
    let index = folder.join("registered");
    let _ = std::fs::remove_dir_all(&index);
    std::fs::create_dir_all(&index)?;
    let finder = open(Some(&index))?;
    let (began, cpu) = (Instant::now(), clock());
    fill(&finder, population, REGISTERED).await?;
    println!(
        "registrations, fast tier, {BATCH} to a write: {:.0} a second, {:.1} µs of processor time each",
        REGISTERED as f64 / began.elapsed().as_secs_f64(),
        (clock() - cpu) * 1e6 / REGISTERED as f64
    );
    Ok(())
}

/// Processor time of this process, in seconds.
fn clock() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
