//! `cargo xtask retrieval`: how well the finder ranks, on public questions with known answers.
//!
//! Promises: runs the example `retrieval` of the search crate, which asks through the public interface, and
//! keeps the corpus' vectors under `target`. Without the data it says so and succeeds, because the data is
//! not part of the repository.

use std::path::PathBuf;

use crate::arguments::Arguments;
use crate::failure::Outcome;
use crate::workspace::{Workspace, run as run_command};

/// What `cargo xtask retrieval --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask retrieval [--corpus FILE] [--queries FILE]

Prints R@1, R@5, R@10, MRR@10 and nDCG@10, overall and for each source, for words alone, meaning alone, their plain sum and
the product's own ranking. The files are lines of JSON: {id, name, text} and {source, query, relevant: [id]}.

  --corpus FILE    what can be found (default ../shared/data/agent-retrieval/corpus.jsonl)
  --queries FILE   what is asked (default queries.dev.jsonl next to the corpus)";

/// The default path of the data.
pub(crate) const DATA: &str = "../shared/data/agent-retrieval";

/// Runs the measurement.
pub(crate) fn run(workspace: &Workspace, mut arguments: Arguments) -> Outcome {
    let corpus = arguments.value::<PathBuf>("--corpus")?;
    let queries = arguments.value::<PathBuf>("--queries")?;
    arguments.finish()?;
    let corpus = corpus.unwrap_or_else(|| workspace.path(DATA).join("corpus.jsonl"));
    let queries = queries.unwrap_or_else(|| workspace.path(DATA).join("queries.dev.jsonl"));
    for file in [&corpus, &queries] {
        if !file.exists() {
            println!(
                "retrieval: skipped, there is no {}: name the files with --corpus and --queries",
                file.display()
            );
            return Ok(());
        }
    }
    let mut command =
        workspace.cargo("run --release --quiet --package agentsite-search --example retrieval --");
    command.arg(corpus).arg(queries).arg("--cache").arg(workspace.path("target/retrieval"));
    run_command(&mut command)
}
