//! `agentsite migrate`: the data of a site from its file into PostgreSQL, and back.
//!
//! Promises: shows how far it is while it works, and at the end both sides table by table; ends with an error
//! unless they are the same. It moves the data only: agents, configuration and the rest of the data folder
//! stay where they are.

use std::time::{Duration, Instant};

use agentsite_store::copying::{CopyPhase, CopyReport, CopyStep};
use clap::Args;
use serde_json::json;

use super::shell::Shell;
use crate::exit::{CliError, Exit};
use crate::instance::keep_private;
use crate::moving::{self, Moved, Place};
use crate::output::{Output, Style};

/// How often a line about progress is written: rarely enough to be read.
const TELL: Duration = Duration::from_secs(2);

/// Arguments of `migrate`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Where the data is: a data folder, postgres://…, a file that holds such a URL, or env:NAME. Left out,
    /// it is the database that the configuration names (store, store_file, AGENTSITE_STORE).
    #[arg(long, value_name = "PLACE")]
    from: Option<String>,
    /// Where it goes, named in the same ways; it must be empty. Left out, it is the database that the
    /// configuration names.
    #[arg(long, value_name = "PLACE", required_unless_present = "from")]
    to: Option<String>,
}

/// Moves the data.
pub(super) async fn run(shell: &Shell, arguments: Arguments) -> Result<Exit, CliError> {
    keep_private();
    let config = shell.config()?.config;
    let place = |word: Option<String>, flag: &str| match word {
        Some(word) => Place::read(&word, &shell.variables),
        None => Place::configured(&config)?.ok_or_else(|| {
            CliError::usage(format!("name {flag}, or set store, store_file or AGENTSITE_STORE"))
        }),
    };
    let (from, to) = (place(arguments.from, "--from")?, place(arguments.to, "--to")?);
    if from.is(&to) {
        return Err(CliError::usage(format!("{}: --from and --to are the same place", from.shown())));
    }
    let key = moving::key_of(&from, &to, &config, &shell.variables)?;
    let mut progress = Progress::new(shell.output);
    let mut tell = |step: CopyStep| progress.tell(step);
    let moved = moving::migrate(&from, &to, &key, &config, &shell.variables, &mut tell);
    let moved = Box::pin(moved).await?;
    report(shell.output, &from, &to, &moved)
}

/// Lines about progress.
pub(super) struct Progress {
    output: Output,
    told: Instant,
}

impl Progress {
    /// The first line comes when the work takes long.
    pub(super) fn new(output: Output) -> Self {
        Self { output, told: Instant::now() }
    }

    /// Tells of a step, unless another was told just now.
    pub(super) fn tell(&mut self, step: CopyStep) {
        if self.told.elapsed() < TELL {
            return;
        }
        self.told = Instant::now();
        let doing = match step.doing {
            CopyPhase::Comparing => "comparing",
            CopyPhase::Copying => "copying",
            CopyPhase::Verifying => "verifying",
        };
        self.output.note(&format!("{doing} {}: {} rows", step.table, step.rows));
    }
}

fn report(output: Output, from: &Place, to: &Place, moved: &Moved) -> Result<Exit, CliError> {
    let wrong = moving::difference(&moved.report);
    if output.is_json() {
        output.json(&json!({
            "ok": wrong.is_none(), "from": from.shown(), "to": to.shown(), "alreadyThere": moved.was_there,
            "tables": tables(&moved.report),
        }))?;
        return if wrong.is_some() { Err(CliError::reported(Exit::Error)) } else { Ok(Exit::Ok) };
    }
    print(output, &moved.report)?;
    if let Some(wrong) = wrong {
        return Err(CliError::error(format!("{}: {wrong}", to.shown())));
    }
    let done = if moved.was_there { "was there already, unchanged" } else { "copied" };
    let rows: u64 = moved.report.tables.iter().map(|table| table.to.rows).sum();
    let ok = output.paint(Style::Good, "ok");
    output.line(&format!("{ok}  {rows} rows {done} and verified, with the journal's chain"))?;
    match to {
        Place::Database(_) => {
            output.line(&format!("start the site with store = \"{}\" and the same data key", to.shown()))?;
        }
        Place::Folder(folder) => {
            output.line(&format!("start the site with --data {} and without store", folder.display()))?;
        }
    }
    output.note(&format!("{} was not changed; remove it when you no longer need it", from.shown()));
    Ok(Exit::Ok)
}

/// Both sides as a table for people.
pub(super) fn print(output: Output, report: &CopyReport) -> Result<(), CliError> {
    let rows: Vec<Vec<String>> = report
        .tables
        .iter()
        .map(|table| {
            let verdict = if table.from == table.to { "same" } else { "DIFFERENT" };
            vec![
                table.table.to_owned(),
                table.from.rows.to_string(),
                table.to.rows.to_string(),
                format!("{:032x}", table.from.sum),
                format!("{:032x}", table.to.sum),
                verdict.to_owned(),
            ]
        })
        .collect();
    let heading = ["TABLE", "ROWS FROM", "ROWS TO", "CHECKSUM FROM", "CHECKSUM TO", ""];
    Ok(output.table(&heading, &rows)?)
}

/// Both sides for programs.
pub(super) fn tables(report: &CopyReport) -> Vec<serde_json::Value> {
    let side = |sum: agentsite_store::copying::CopySum| json!({ "rows": sum.rows, "checksum": format!("{:032x}", sum.sum) });
    report
        .tables
        .iter()
        .map(|table| json!({ "table": table.table, "from": side(table.from), "to": side(table.to) }))
        .collect()
}
