//! Measures the index at sizes beyond ordinary sites: build, memory, time of a question, recall of the
//! approximate scan, and the start from the log.
//!
//! Promises: agents are made from the cards of a corpus ([`population`](agentsite_search::population)); times
//! are processor times of the measuring thread. Vectors of the cards are kept in the folder, so a second run
//! does not make them again.
//!
//! usage: scale CORPUS QUERIES FOLDER [AGENTS…] (without a number the index that is there is opened)
#![expect(clippy::print_stdout, reason = "a measurement talks on its standard streams")]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use agentsite_search::population::{Population, Sample, Truth};
use agentsite_search::{Ask, Audience, Blend, Embedders, Finder, FinderSettings, Hashed, MiniLm};
use futures::FutureExt;
use rustix::time::{ClockId, clock_gettime};

/// Cards that agents are made from, and questions.
const CARDS: usize = 2_000;
const QUESTIONS: usize = 200;

/// Agents of one `put`.
const BATCH: u64 = 1_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [corpus, queries, folder, sizes @ ..] = words.as_slice() else {
        return Err("usage: scale CORPUS QUERIES FOLDER [AGENTS…]".into());
    };
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder)?;
    let cards = samples(corpus, "text", CARDS, &folder.join("cards.f32"))?;
    let questions = samples(queries, "query", QUESTIONS, &folder.join("questions.f32"))?;
    let population = Arc::new(Population::new(cards, &questions));
    let mut truth = Truth::new(Arc::clone(&population), questions, 10);
    let index = folder.join("index");
    if !sizes.is_empty() {
        let _ = std::fs::remove_dir_all(&index);
    }
    let open = || {
        let embedders =
            Embedders { fast: Arc::new(Hashed::new(256)), full: Some(Arc::<Population>::clone(&population)) };
        Finder::open(FinderSettings { folder: Some(index.clone()), embedders }, &|_| {})
    };
    let empty = resident();
    let (finder, _) = if sizes.is_empty() { Finder::open(memory(), &|_| {})? } else { open()? };
    let mut made = 0;
    for size in sizes {
        let size: u64 = size.parse()?;
        let (began, cpu) = (Instant::now(), clock());
        let before = made;
        while made < size {
            let end = size.min(made + BATCH);
            let entries = (made..end).map(|number| population.entry(number)).collect();
            now(finder.put(entries, true))?;
            made = end;
        }
        println!(
            "{size} agents: {} more in {:.1} s, {:.1} s of processor; {:.0} MiB",
            made - before,
            began.elapsed().as_secs_f64(),
            clock() - cpu,
            resident() - empty
        );
        (before..made).for_each(|number| truth.see(number));
        for blend in [Blend::Meaning, Blend::Words, Blend::Best] {
            measure(&finder, &truth, blend)?;
        }
    }
    drop(finder);
    let (began, cpu) = (Instant::now(), clock());
    let (finder, opened) = open()?;
    println!(
        "opened {} in {:.1} s, {:.1} s of processor; {:.0} MiB",
        opened.entries,
        began.elapsed().as_secs_f64(),
        clock() - cpu,
        resident() - empty
    );
    // Times first: they need no truth, which takes long.
    measure(&finder, &truth, Blend::Best)?;
    if sizes.is_empty() {
        (0..opened.entries as u64).for_each(|number| truth.see(number));
    }
    measure(&finder, &truth, Blend::Meaning)?;
    Ok(())
}

fn memory() -> FinderSettings {
    FinderSettings { folder: None, embedders: Embedders { fast: Arc::new(Hashed::new(8)), full: None } }
}

fn measure(finder: &Finder, truth: &Truth, blend: Blend) -> Result<(), Box<dyn std::error::Error>> {
    let mut times = Vec::new();
    let mut recall = 0.0;
    for (number, question) in truth.questions().iter().enumerate() {
        let ask = Ask { audience: Audience::public(), ..Ask::of(&question.text, 10) };
        let cpu = clock();
        let found = now(finder.find_by(&ask, blend))?;
        times.push(clock() - cpu);
        let ids: Vec<&str> = found.hits.iter().map(|hit| hit.id.as_str()).collect();
        recall += truth.recall(number, &ids);
    }
    times.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize] * 1e3;
    println!(
        "  {blend:?}: p50 {:.2} ms, p99 {:.2} ms, recall@10 of the nearest {:.3}",
        at(0.5),
        at(0.99),
        recall / truth.questions().len() as f64
    );
    Ok(())
}

/// Texts of a file with their vectors.
fn samples(
    file: &str,
    field: &str,
    count: usize,
    kept: &Path,
) -> Result<Vec<Sample>, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot read {file}: {error}"))?;
    let step = (text.lines().count() / count).max(1);
    let texts: Result<Vec<String>, serde_json::Error> = text
        .lines()
        .step_by(step)
        .take(count)
        .map(|line| {
            Ok(serde_json::from_str::<serde_json::Value>(line)?[field]
                .as_str()
                .unwrap_or_default()
                .to_owned())
        })
        .collect();
    let texts: Vec<String> = texts?.into_iter().filter(|text| !text.trim().is_empty()).collect();
    let model = MiniLm::load();
    let bytes = std::fs::read(kept).unwrap_or_default();
    let width = 384;
    let values: Vec<f32> = if bytes.len() == texts.len() * width * 4 {
        bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
    } else {
        let made: Vec<f32> = model.encode(&texts).into_iter().flat_map(|vector| vector.values).collect();
        std::fs::write(kept, made.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())?;
        made
    };
    Ok(texts
        .into_iter()
        .zip(values.chunks(width))
        .map(|(text, vector)| Sample { text, vector: vector.into() })
        .collect())
}

/// Background work: without a runtime the finder does all its work on this thread.
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
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}
