//! `cargo xtask attack`: the attacks of docs/security.md at full scale, against the release binary.
//!
//! Promises: builds the release binary, runs every story of `crates/agentsite/tests/e2e/attack` against it,
//! and prints a table of what was tried and what came of it. Fails when one attack succeeds. The stories
//! themselves, with their limits and checks, are integration tests of the binary; CI runs their short form
//! with all other tests.

use std::fs;

use crate::arguments::Arguments;
use crate::failure::{Failure, Outcome};
use crate::workspace::{Workspace, run as run_command};
use crate::{debian, python, test, tools};

/// What `cargo xtask attack --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask attack [--only AREA]

Attacks the release binary and prints a table of what was tried and what came of it. Areas: access, names, shares,
storage, secrets, clock, sandbox, tampering, deletion, first_start.";

/// Where the stories write the rows of the table.
const REPORT: &str = "target/attack.tsv";

/// Runs the attacks.
pub(crate) fn run(workspace: &Workspace, mut arguments: Arguments) -> Outcome {
    let only: Option<String> = arguments.value("--only")?;
    arguments.finish()?;
    python::set_up(workspace)?;
    debian::proxies(workspace)?;
    tools::faketime(workspace)?;
    run_command(&mut workspace.cargo("build --release --package agentsite"))?;
    let report = workspace.path(REPORT);
    let _ = fs::remove_file(&report);
    let filter = only.map_or_else(|| "attack::".to_owned(), |area| format!("attack::{area}::"));
    // The same packages as all tests, so that nothing is built twice; one after the other, so that no attack
    // disturbs the figures of another.
    let words = "run --workspace --test e2e --no-fail-fast --profile ci --test-threads 1";
    let mut tests = tools::nextest(workspace, words)?;
    test::counterparts(workspace, &mut tests)
        .arg(filter)
        .env("AGENTSITE_ATTACK_FULL", "1")
        .env("AGENTSITE_ATTACK_REPORT", &report)
        .env("AGENTSITE_TEST_BINARY", workspace.path("target/release/agentsite"));
    let outcome = run_command(&mut tests);
    let rows = fs::read_to_string(&report).map_err(|error| Failure::io("no attack has reported", &error))?;
    println!("\n{}", table(&rows));
    outcome
}

/// The rows in columns, sorted by area.
fn table(rows: &str) -> String {
    let mut rows: Vec<Vec<&str>> = rows.lines().map(|row| row.split('\t').collect()).collect();
    rows.sort();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let (area, attack) = (width(0), width(1));
    let mut text = String::new();
    for row in &rows {
        if let [first, second, third] = row.as_slice() {
            text.push_str(&format!("  {first:<area$}  {second:<attack$}  {third}\n"));
        }
    }
    text.push_str(&format!("attacks: {}", rows.len()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_by_area_and_counts_its_rows() {
        let text = table("names\ttake a name\t0 of 4\naccess\tby nginx\trefused\n");
        assert_eq!(text, "  access  by nginx     refused\n  names   take a name  0 of 4\nattacks: 2");
    }
}
