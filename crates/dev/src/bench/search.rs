//! `agentsite bench search`: how the index carries 10,000, 100,000 and 1,000,000 agents, and how many
//! questions and registrations a second.
//!
//! Promises: agents are made up from a few hundred cards and their real vectors
//! (`agentsite_search::population`), the same at every run. Each part runs in a process of its own, whose
//! memory the kernel tells. Times of questions are processor times of the thread that answers, encoding left
//! out, so that other work on the machine does not show; rates are of the clock. Recall is against the true
//! nearest of all vectors before they were rounded.

mod cards;
mod rates;
mod sizes;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use agentsite_search::population::{Population, Sample};
use clap::{Args, ValueEnum};
use futures::future::BoxFuture;

use super::BenchArgs;
use super::process::this_program;
use super::report::Report;
use crate::bench::{BenchError, Progress};

/// What a process of the bench does.
#[derive(Debug, Args)]
pub struct SearchPartArgs {
    /// Which part
    #[arg(value_enum)]
    part: Part,
    /// The folder of the bench
    folder: PathBuf,
    /// Agents, growing
    #[arg(long)]
    sizes: Vec<u64>,
    /// Seconds for each rate
    #[arg(long)]
    seconds: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Makes the vectors of the cards.
    Cards,
    /// Builds the index to each size and measures it.
    Sizes,
    /// Opens the index that was built.
    Open,
    /// Questions and registrations a second.
    Rates,
}

/// Measures the index, part by part.
pub(super) async fn measure(
    args: &BenchArgs,
    folder: &Path,
    progress: &Progress,
) -> Result<Report, BenchError> {
    let mut report = Report::default();
    let parts = [
        (Part::Cards, "the vectors of the cards"),
        (Part::Sizes, "the index, size by size"),
        (Part::Open, "the index from its file"),
        (Part::Rates, "questions and registrations a second"),
    ];
    for (part, what) in parts {
        progress.note(what);
        let mut command = this_program()?;
        let name = part.to_possible_value().expect("no part is skipped");
        command
            .arg("bench-search")
            .arg(name.get_name())
            .arg(folder)
            .arg("--seconds")
            .arg(args.seconds.to_string());
        args.sizes.iter().for_each(|size| {
            command.arg("--sizes").arg(size.to_string());
        });
        let failed = |error: std::io::Error| BenchError::error(format!("cannot measure {what}: {error}"));
        let done = command.stderr(Stdio::inherit()).output().await.map_err(failed)?;
        if !done.status.success() {
            return Err(BenchError::error(format!("the process that measures {what} failed")));
        }
        let told = serde_json::from_slice(&done.stdout);
        report.join(told.map_err(|error| BenchError::error(format!("cannot read of {what}: {error}")))?);
    }
    Ok(report)
}

/// Measures one part; the binary prints it as JSON for the process that started it.
///
/// # Errors
/// [`BenchError`] when the index cannot be built or opened.
pub fn measure_part(args: SearchPartArgs, progress: &Progress) -> BoxFuture<'_, Result<Report, BenchError>> {
    Box::pin(part(args, progress))
}

async fn part(args: SearchPartArgs, progress: &Progress) -> Result<Report, BenchError> {
    let SearchPartArgs { part, folder, sizes, seconds } = args;
    match part {
        Part::Cards => cards::make(&folder),
        // Beside the runtime, so that a question is answered on the thread whose time is read.
        Part::Sizes | Part::Open => {
            let progress = progress.clone();
            let work = std::thread::spawn(move || match part {
                Part::Open => sizes::open(&folder),
                _ => sizes::grow(&folder, &sizes, &progress),
            });
            tokio::task::spawn_blocking(|| work.join())
                .await
                .map_err(broken)?
                .map_err(|_| broken("it stopped"))?
        }
        Part::Rates => rates::measure(&folder, seconds, progress).await,
    }
}

fn broken(why: impl std::fmt::Display) -> BenchError {
    BenchError::error(format!("the search could not be measured: {why}"))
}

/// Agents like the cards, with the questions.
fn population(folder: &Path) -> Result<(Population, Vec<Sample>), BenchError> {
    let (cards, questions) = cards::read(folder)?;
    Ok((Population::new(cards, &questions), questions))
}
