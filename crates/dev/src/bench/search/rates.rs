//! Questions and registrations a second at 10,000 agents, on all cores.
//!
//! Promises: questions with the full model are encoded by the model itself and asked once each; repeated ones
//! come from what it keeps; those of the fast tier are encoded by the static table. A registration is on disk
//! and found by the next question before it is counted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use agentsite_search::population::{Population, cards};
use agentsite_search::{
    Ask, EmbedError, Embedder, Embedders, Finder, FinderSettings, MiniLm, ModelId, Static, Vector, WordPiece,
};
use futures::future::BoxFuture;
use rustix::time::{ClockId, clock_gettime};

use super::{broken, population};
use crate::bench::load::Measured;
use crate::bench::report::{Report, Row};
use crate::bench::{BenchError, Progress};

/// Agents that are asked for.
const AGENTS: u64 = 10_000;

/// Agents that are registered to see how fast, and how many at a time.
const REGISTERED: u64 = 20_000;
const BATCH: u64 = 256;

/// Questions that are asked again and again.
const REPEATED: usize = 200;

/// Products of one token in the full model: six layers of four matrices of 384 by 384 and two of 384 by 1536.
const PRODUCTS: f64 = 6.0 * (4.0 * 384.0 * 384.0 + 2.0 * 384.0 * 1536.0);

/// The full model, except that made-up agents have their made-up vectors at once.
#[derive(Debug)]
struct Mixed(MiniLm, Arc<Population>);

impl Embedder for Mixed {
    fn model(&self) -> &ModelId {
        self.0.model()
    }

    fn dimensions(&self) -> usize {
        self.0.dimensions()
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vector>, EmbedError>> {
        Box::pin(async move {
            if !texts.iter().all(|text| text.starts_with("agent ")) {
                return self.0.embed(texts).await;
            }
            let vectors = self.1.embed(texts).await?;
            Ok(vectors.into_iter().map(|vector| Vector { model: self.model().clone(), ..vector }).collect())
        })
    }
}

/// Measures the rates.
pub(super) async fn measure(folder: &Path, seconds: u64, progress: &Progress) -> Result<Report, BenchError> {
    let mut report = Report::default();
    let time = Duration::from_secs(seconds);
    let population = Arc::new(population(folder)?.0);
    let fast: Arc<dyn Embedder> = Arc::new(Static::load());
    let full: Arc<dyn Embedder> = Arc::new(Mixed(MiniLm::load(), Arc::clone(&population)));
    let deep = filled(&population, Embedders { fast: Arc::clone(&fast), full: Some(full) }, true).await?;
    progress.note("questions by the full model");
    let measured = ask(&deep, time, usize::MAX).await?;
    let tokens: usize =
        (0..100).map(|number| WordPiece::ours().tokens(&cards::question(number), 256).len()).sum();
    let products = PRODUCTS * tokens as f64 / 100.0 * measured.0.requests as f64;
    report.row(Row::of("questions, full model, each new", &measured, None));
    report.figure(
        "products of the full model",
        products / measured.0.seconds / 1e9,
        "thousand million a second",
    );
    progress.note("repeated questions");
    report.row(Row::of("questions, full model, repeated", &ask(&deep, time, REPEATED).await?, None));
    drop(deep);
    progress.note("questions by the fast tier");
    let shallow = filled(&population, Embedders { fast: Arc::clone(&fast), full: None }, false).await?;
    report.row(Row::of("questions, fast tier, each new", &ask(&shallow, time, usize::MAX).await?, None));
    progress.note("registrations");
    register(folder, &population, fast, &mut report).await?;
    Ok(report)
}

async fn filled(
    population: &Population,
    embedders: Embedders,
    full: bool,
) -> Result<Arc<Finder>, BenchError> {
    let (finder, _) = Finder::open(FinderSettings { folder: None, embedders }, &|_| {}).map_err(broken)?;
    for from in (0..AGENTS).step_by(BATCH as usize) {
        let entries = (from..AGENTS.min(from + BATCH)).map(|number| population.entry(number)).collect();
        finder.put(entries, full).await.map_err(broken)?;
    }
    Ok(Arc::new(finder))
}

/// Asks from as many tasks as there are cores, two each, until the time is over; questions repeat after so
/// many.
async fn ask(finder: &Arc<Finder>, time: Duration, different: usize) -> Result<(Measured, f64), BenchError> {
    let next = Arc::new(AtomicUsize::new(0));
    let tasks = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    let (began, cpu) = (Instant::now(), clock());
    let asking = (0..tasks).map(|_| {
        let (finder, next) = (Arc::clone(finder), Arc::clone(&next));
        tokio::spawn(async move {
            let mut times = Vec::new();
            while began.elapsed() < time {
                let number = next.fetch_add(1, Ordering::Relaxed) % different;
                let asked = Instant::now();
                finder.find(&Ask::of(cards::question(number), 10)).await?;
                times.push(asked.elapsed());
            }
            Ok::<_, agentsite_search::FindError>(times)
        })
    });
    let mut times = Vec::new();
    for asked in futures::future::join_all(asking).await {
        times.extend(asked.map_err(broken)?.map_err(broken)?);
    }
    let (seconds, cpu) = (began.elapsed().as_secs_f64(), clock() - cpu);
    times.sort_unstable();
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default();
    let (p50, p99) = (at(0.5), at(0.99));
    let requests = times.len() as u64;
    Ok((Measured { requests, events: 0, seconds, p50, p99 }, cpu * 1e6 / requests.max(1) as f64))
}

/// Registers agents with vectors of the fast tier, each batch written to disk.
async fn register(
    folder: &Path,
    population: &Population,
    fast: Arc<dyn Embedder>,
    report: &mut Report,
) -> Result<(), BenchError> {
    let settings =
        FinderSettings { folder: Some(folder.join("registered")), embedders: Embedders { fast, full: None } };
    let (finder, _) = Finder::open(settings, &|_| {}).map_err(broken)?;
    let (began, cpu) = (Instant::now(), clock());
    for from in (0..REGISTERED).step_by(BATCH as usize) {
        let entries = (from..REGISTERED.min(from + BATCH)).map(|number| population.entry(number)).collect();
        finder.put(entries, false).await.map_err(broken)?;
    }
    let (seconds, cpu) = (began.elapsed().as_secs_f64(), clock() - cpu);
    let last = population.entry(REGISTERED - 1);
    let found = finder.find(&Ask::of(&last.text, 10)).await.map_err(broken)?;
    let seen = found.hits.iter().any(|hit| hit.id == last.id);
    report.figure("registrations, fast tier, 256 to a write", REGISTERED as f64 / seconds, "per second");
    report.figure("processor time of a registration", cpu * 1e6 / REGISTERED as f64, "µs");
    report.figure("the last one is found by the next question", f64::from(u8::from(seen)), "");
    Ok(())
}

/// Processor time of this process, in seconds.
fn clock() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
