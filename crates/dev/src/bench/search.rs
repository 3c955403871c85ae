//! `agentsite bench search`: how the index carries 10,000, 100,000 and 1,000,000 agents, and how many
//! questions and registrations a second.
//!
//! Promises: agents are generated from a few hundred cards and their real vectors
//! (`agentsite_search::population`), the same at every run. Each part runs in its own process, whose memory
//! the kernel reports. Times of questions are processor times of the thread that answers, encoding left out,
//! so that other work on the machine does not show; rates are of the clock. Recall is against the true
//! nearest of all vectors before they were rounded.

mod cards;
mod rates;
mod sizes;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::str::FromStr;

use agentsite_search::population::{Population, Sample};
use futures::future::BoxFuture;

use super::BenchPlan;
use super::process::this_program;
use super::report::Report;
use crate::bench::{BenchError, Progress};

/// A part of the measurement, which runs in its own process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchPart {
    /// Makes the vectors of the cards.
    Cards,
    /// Builds the index to each size and measures it.
    Sizes,
    /// Opens the index that was built.
    Open,
    /// Questions and registrations a second.
    Rates,
}

/// A text that names no part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown part `{0}`; valid parts: cards, sizes, open, rates")]
pub struct UnknownPart(String);

impl SearchPart {
    /// The parts in the order in which they are measured.
    const ALL: [Self; 4] = [Self::Cards, Self::Sizes, Self::Open, Self::Rates];

    /// Its word on the command line.
    const fn word(self) -> &'static str {
        match self {
            Self::Cards => "cards",
            Self::Sizes => "sizes",
            Self::Open => "open",
            Self::Rates => "rates",
        }
    }

    /// What it measures, for people who wait.
    const fn subject(self) -> &'static str {
        match self {
            Self::Cards => "the vectors of the cards",
            Self::Sizes => "the index, size by size",
            Self::Open => "the index from its file",
            Self::Rates => "questions and registrations a second",
        }
    }
}

impl FromStr for SearchPart {
    type Err = UnknownPart;

    fn from_str(text: &str) -> Result<Self, UnknownPart> {
        Self::ALL.into_iter().find(|part| part.word() == text).ok_or_else(|| UnknownPart(text.into()))
    }
}

/// Measures the index, part by part.
pub(super) async fn measure(
    plan: &BenchPlan,
    folder: &Path,
    progress: &Progress,
) -> Result<Report, BenchError> {
    let mut report = Report::default();
    for part in SearchPart::ALL {
        let what = part.subject();
        progress.note(what);
        let mut command = this_program()?;
        command
            .arg("bench-search")
            .arg(part.word())
            .arg(folder)
            .arg("--seconds")
            .arg(plan.seconds.to_string());
        plan.sizes.iter().for_each(|size| {
            command.arg("--sizes").arg(size.to_string());
        });
        let failed = |error: std::io::Error| BenchError::error(format!("cannot measure {what}: {error}"));
        let done = command.stderr(Stdio::inherit()).output().await.map_err(failed)?;
        if !done.status.success() {
            return Err(BenchError::error(format!("the process that measures {what} failed")));
        }
        let part_report = serde_json::from_slice(&done.stdout);
        report.join(
            part_report
                .map_err(|error| BenchError::error(format!("cannot read the report of {what}: {error}")))?,
        );
    }
    Ok(report)
}

/// Measures one part; the binary prints it as JSON for the process that started it.
///
/// # Errors
/// [`BenchError`] when the index cannot be built or opened.
pub fn measure_search_part(
    part: SearchPart,
    folder: PathBuf,
    sizes: Vec<u64>,
    seconds: u64,
    progress: &Progress,
) -> BoxFuture<'_, Result<Report, BenchError>> {
    Box::pin(measure_part(part, folder, sizes, seconds, progress))
}

async fn measure_part(
    part: SearchPart,
    folder: PathBuf,
    sizes: Vec<u64>,
    seconds: u64,
    progress: &Progress,
) -> Result<Report, BenchError> {
    match part {
        SearchPart::Cards => cards::make(&folder),
        // Outside of the runtime, so that a question is answered on the thread whose time is read.
        SearchPart::Sizes | SearchPart::Open => {
            let progress = progress.clone();
            let work = std::thread::spawn(move || match part {
                SearchPart::Open => sizes::open(&folder),
                _ => sizes::grow(&folder, &sizes, &progress),
            });
            tokio::task::spawn_blocking(|| work.join())
                .await
                .map_err(broken)?
                .map_err(|_| broken("it stopped"))?
        }
        SearchPart::Rates => rates::measure(&folder, seconds, progress).await,
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
