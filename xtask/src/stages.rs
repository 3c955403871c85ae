//! Runs a list of stages with a heading and the elapsed time of each, and ends with a table.
//!
//! Promises: the last line is `stages: N passed, M failed`, and the result is a failure when M is not zero. A
//! list may stop at its first failure (tests: later stages build on earlier ones) or continue to the end
//! (lints: one run shows everything). Stages run one after the other, never side by side, so their output
//! stays readable.

use std::time::{Duration, Instant};

use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;

/// One step of a longer chore.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stage {
    /// The name for `--only` and the table.
    pub(crate) name: &'static str,
    /// Runs even when `--only` names another stage, because the others need what it prepares.
    pub(crate) always: bool,
    /// What the stage does.
    pub(crate) run: fn(&Workspace) -> Outcome,
}

/// What happens after a stage failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterFailure {
    /// The stages that follow are not run.
    Stop,
    /// The stages that follow are run all the same.
    GoOn,
}

/// What became of one stage.
#[derive(Debug)]
struct Row {
    name: &'static str,
    result: &'static str,
    took: Duration,
}

/// Runs the stages in order, or only the one named.
pub(crate) fn run(
    workspace: &Workspace,
    stages: &[Stage],
    only: Option<&str>,
    after: AfterFailure,
) -> Outcome {
    if let Some(name) = only.filter(|name| !stages.iter().any(|stage| stage.name == *name)) {
        let names: Vec<&str> = stages.iter().map(|stage| stage.name).collect();
        return Err(Failure::Usage(format!(
            "there is no stage `{name}`; the stages are {}",
            names.join(", ")
        )));
    }
    let chosen: Vec<&Stage> =
        stages.iter().filter(|stage| stage.always || only.is_none_or(|name| name == stage.name)).collect();
    let rows = run_chosen(workspace, &chosen, after);
    println!("\n{}", table(&rows));
    let failed: Vec<&str> = rows.iter().filter(|row| row.result == "failed").map(|row| row.name).collect();
    if failed.is_empty() { Ok(()) } else { Err(Failure::new(format!("failed: {}", failed.join(", ")))) }
}

fn run_chosen(workspace: &Workspace, chosen: &[&Stage], after: AfterFailure) -> Vec<Row> {
    let mut rows = Vec::with_capacity(chosen.len());
    let mut stopped = false;
    for (index, stage) in chosen.iter().enumerate() {
        if stopped {
            rows.push(Row { name: stage.name, result: "not run", took: Duration::ZERO });
            continue;
        }
        println!("\n== {} ({} of {}) ==", stage.name, index + 1, chosen.len());
        let begun = Instant::now();
        let outcome = (stage.run)(workspace);
        let took = begun.elapsed();
        let result = match &outcome {
            Ok(()) => "passed",
            Err(Failure::Skipped(_)) => "skipped",
            Err(_) => "failed",
        };
        if let Err(failure) = outcome {
            println!("{failure}");
            stopped = result == "failed" && after == AfterFailure::Stop;
        }
        println!("== {} {result} after {} ==", stage.name, seconds(took));
        rows.push(Row { name: stage.name, result, took });
    }
    rows
}

fn table(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
    let count = |result: &str| rows.iter().filter(|row| row.result == result).count();
    let mut text = String::new();
    for row in rows {
        text.push_str(&format!("  {:<width$}  {:<7}  {:>9}\n", row.name, row.result, seconds(row.took)));
    }
    text.push_str(&format!("stages: {} passed, {} failed", count("passed"), count("failed")));
    text
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(_: &Workspace) -> Outcome {
        Ok(())
    }

    fn fails(_: &Workspace) -> Outcome {
        Err(Failure::new("the roof leaks"))
    }

    fn cannot(_: &Workspace) -> Outcome {
        Err(Failure::Skipped("there is no ladder".into()))
    }

    const STAGES: [Stage; 3] = [
        Stage { name: "ground", always: true, run: passes },
        Stage { name: "roof", always: false, run: fails },
        Stage { name: "paint", always: false, run: passes },
    ];

    fn results(after: AfterFailure) -> Vec<&'static str> {
        let chosen: Vec<&Stage> = STAGES.iter().collect();
        run_chosen(&Workspace::here(), &chosen, after).iter().map(|row| row.result).collect()
    }

    #[test]
    fn tests_stop_at_the_first_failure_and_lints_go_on() {
        assert_eq!(results(AfterFailure::Stop), ["passed", "failed", "not run"]);
        assert_eq!(results(AfterFailure::GoOn), ["passed", "failed", "passed"]);
    }

    #[test]
    fn only_runs_the_named_stage_and_what_it_needs() {
        assert_eq!(run(&Workspace::here(), &STAGES, Some("paint"), AfterFailure::Stop), Ok(()));
        assert!(run(&Workspace::here(), &STAGES, Some("roof"), AfterFailure::Stop).is_err());
    }

    #[test]
    fn a_stage_that_cannot_do_its_work_is_skipped_and_not_failed() {
        let stages = [Stage { name: "gutter", always: false, run: cannot }, STAGES[2]];
        let chosen: Vec<&Stage> = stages.iter().collect();
        let rows = run_chosen(&Workspace::here(), &chosen, AfterFailure::Stop);
        assert_eq!(rows.iter().map(|row| row.result).collect::<Vec<_>>(), ["skipped", "passed"]);
        assert_eq!(run(&Workspace::here(), &stages, None, AfterFailure::GoOn), Ok(()));
    }

    #[test]
    fn an_unknown_stage_is_answered_with_the_known_ones() {
        let failure = run(&Workspace::here(), &STAGES, Some("walls"), AfterFailure::Stop).unwrap_err();
        assert!(failure.to_string().ends_with("ground, roof, paint"), "{failure}");
    }

    #[test]
    fn the_table_ends_with_the_count() {
        let rows = [
            Row { name: "a", result: "passed", took: Duration::from_millis(1500) },
            Row { name: "longer", result: "not run", took: Duration::ZERO },
        ];
        let text = table(&rows);
        assert!(text.starts_with("  a       passed       1.5 s\n"), "{text}");
        assert!(text.ends_with("stages: 1 passed, 0 failed"), "{text}");
    }
}
