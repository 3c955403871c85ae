//! `agentsite audit`: what happened, and does the data still say what the site wrote?
//!
//! Promises: `journal` asks the running site and prints newest first; `verify` reads only, while the site
//! runs or not, or a backup; it names the first row that does not fit and ends with an error then. `accept`
//! is the operator's word that the data is right as it is; the site must not be running.

use std::path::{Path, PathBuf};

use agentsite_store::{AuditReport, StoreError, StoreKey, Upkeep as _};
use agentsite_store_pg::{PgSettings, PgStore};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::shell::{Shell, escaped, field, list};
use crate::backup::{self, Archive};
use crate::config::{Config, shown_store};
use crate::exit::{CliError, Exit};
use crate::output::Style;
use crate::sitekey::SiteKey;

/// The folder in the data folder into which a backup is unpacked to be checked.
const AUDITING: &str = ".auditing";

/// Arguments of `audit`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Check the journal's chain and signatures, and every key, setting, record, conversation, task and
    /// event.
    Verify {
        /// A backup or another database, sealed with the key of this site; the site's own database without
        /// it.
        file: Option<PathBuf>,
    },
    /// List what happened on the running site, newest first.
    Journal(JournalArguments),
    /// Accept the data as it is, after damage or an intended change from outside; the site must not be
    /// running.
    Accept,
}

/// Which lines of the journal are listed.
#[derive(Debug, Args)]
struct JournalArguments {
    /// Only lines of this kind, such as task.completed; all kinds of a capability with its dot, such as task.
    #[arg(long)]
    kind: Option<String>,
    /// Only lines about this, such as agent:echo, key:ID or site.
    #[arg(long)]
    subject: Option<String>,
    /// Only lines with this text.
    #[arg(long)]
    text: Option<String>,
    /// Most lines; at most 500.
    #[arg(short = 'n', long, default_value_t = 100)]
    lines: usize,
}

/// Does what the verb says.
pub(super) async fn run(shell: &Shell, arguments: Arguments) -> Result<Exit, CliError> {
    match arguments.verb {
        Verb::Journal(wanted) => journal(shell, wanted).await,
        Verb::Verify { file } => verify_any(shell, file).await,
        Verb::Accept => accept(shell),
    }
}

/// Lists lines of the journal.
async fn journal(shell: &Shell, wanted: JournalArguments) -> Result<Exit, CliError> {
    let JournalArguments { kind, subject, text, lines } = wanted;
    let chosen = |name: &str, value: Option<String>| {
        value.map(|value| format!("&{name}={}", escaped(&value))).unwrap_or_default()
    };
    let (kind, subject, text) = (chosen("kind", kind), chosen("subject", subject), chosen("text", text));
    let answer: Value = shell.site()?.get(&format!("api/journal?limit={lines}{kind}{subject}{text}")).await?;
    let output = shell.output;
    for line in list(&answer, "lines") {
        if output.is_json() {
            output.json(&line)?;
            continue;
        }
        let kind = output.paint(Style::Dim, &field(&line, "kind"));
        output.line(&format!(
            "{} {kind} {} {}",
            field(&line, "at"),
            field(&line, "actor"),
            field(&line, "text")
        ))?;
    }
    Ok(Exit::Ok)
}

/// Checks the site's own database, or the file that was named.
async fn verify_any(shell: &Shell, file: Option<PathBuf>) -> Result<Exit, CliError> {
    let config = shell.config()?.config;
    if file.is_none()
        && let Some(url) = crate::store::url(&config)?
    {
        return verify_database(shell, &config, url).await;
    }
    let database = shell.data()?.database();
    let key = SiteKey::find(&config, &shell.variables)?;
    match file {
        Some(file) if backup::is_archive(&file) => {
            verify_backup(shell, &file, &config.data.join(AUDITING), key.as_ref())
        }
        file => {
            let file = file.unwrap_or(database);
            verify(shell, &file, &file, key.as_ref())
        }
    }
}

/// Takes the data as it is.
fn accept(shell: &Shell) -> Result<Exit, CliError> {
    let config = shell.config()?.config;
    let database = shell.data()?.database();
    let key = SiteKey::find(&config, &shell.variables)?
        .ok_or_else(|| CliError::error("the key of the site is missing: start the site once"))?;
    let accepted = agentsite_store::accept(&database, &key);
    accepted.map_err(|error| CliError::error(format!("{}: {error}", database.display())))?;
    shell.output.line(
        "accepted: the present data now counts as written by the site; the journal starts a new chain",
    )?;
    Ok(Exit::Ok)
}

/// Looks at the database of a backup, unpacked for the time it takes.
fn verify_backup(
    shell: &Shell,
    file: &Path,
    folder: &Path,
    key: Option<&StoreKey>,
) -> Result<Exit, CliError> {
    // One that was broken off before left its copy.
    let _ = std::fs::remove_dir_all(folder);
    let unpacked = Archive::at(file).unpack_database(folder);
    let unpacked = unpacked.map_err(|error| CliError::error(format!("{}: {error}", file.display())));
    let verdict = unpacked.and_then(|database| verify(shell, file, &database, key));
    let _ = std::fs::remove_dir_all(folder);
    verdict
}

/// Checks the journal in the database of PostgreSQL.
async fn verify_database(shell: &Shell, config: &Config, url: String) -> Result<Exit, CliError> {
    let place = shown_store(&url);
    let key = SiteKey::existing(config, &shell.variables)?.key;
    let opened = PgStore::open(PgSettings { readers: 1, ..PgSettings::new(url, key) }).await;
    let store = opened.map_err(|error| CliError::error(format!("{place}: {error}")))?;
    let found = store.audit().await;
    if let Err(error) = store.close().await {
        tracing::debug!(%error, "The database was not closed in order.");
    }
    tell(shell, &place, found)
}

/// Checks a database; messages name `file`, which it is or came from.
fn verify(shell: &Shell, file: &Path, database: &Path, key: Option<&StoreKey>) -> Result<Exit, CliError> {
    tell(shell, &file.display().to_string(), agentsite_store::audit(database, key))
}

/// Says what an audit has found in `file`, or in a database.
fn tell(shell: &Shell, file: &str, found: Result<AuditReport, StoreError>) -> Result<Exit, CliError> {
    let found = found.map_err(|error| match error {
        StoreError::Tampered(what) | StoreError::Corrupt(what) => what,
        other => other.to_string(),
    });
    let found = found.and_then(|report| {
        let site = agentsite_site::verify_heads(report.identity.as_deref(), &report.heads)?;
        Ok((report, site))
    });
    let output = shell.output;
    match found {
        Ok((report, site)) => {
            let signed = report.heads.last().map_or(0, |head| head.seq);
            if output.is_json() {
                output.json(&json!({
                    "ok": true, "file": file, "site": site, "journalLines": report.lines, "signedHeads": report.heads.len(),
                    "signedUpTo": signed, "rows": report.rows, "tasks": report.tasks, "events": report.events,
                }))?;
            } else {
                let words = format!(
                    "{} journal lines ({} signed heads, the last at line {signed}), {} protected rows, {} tasks with {} events",
                    report.lines,
                    report.heads.len(),
                    report.rows,
                    report.tasks,
                    report.events
                );
                output.line(&format!("{}  {words}", output.paint(Style::Good, "ok")))?;
                output.note(&format!("site {}", site.as_deref().unwrap_or("without an identity yet")));
            }
            Ok(Exit::Ok)
        }
        Err(what) if output.is_json() => {
            output.json(&json!({ "ok": false, "file": file, "firstBad": what }))?;
            Err(CliError::reported(Exit::Error))
        }
        Err(what) => Err(CliError::error(format!("{file}: {what}"))),
    }
}
