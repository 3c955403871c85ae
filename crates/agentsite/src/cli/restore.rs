//! `agentsite restore` into PostgreSQL: the database from the backup, then agents, configuration and small
//! files as always.
//!
//! Promises: refuses while a process of a site lives, and a database that holds data unless --force keeps it
//! in the schema `NAME_before_restore`; everything is looked at before anything is changed. A restore that
//! was broken off is continued by the same command.

use std::path::{Path, PathBuf};

use agentsite_store::{StoreError, StoreKey};
use agentsite_store_pg::PgSink;
use serde_json::json;

use super::migrate::{self, Progress};
use super::shell::Shell;
use crate::backup::{Archive, BackupError, Targets};
use crate::config::Config;
use crate::exit::{CliError, Exit};
use crate::moving::{self, Place};
use crate::sitekey::{self, SiteKey};

/// The folder in the data folder into which the database of the backup is unpacked.
const UNPACKED: &str = ".restoring-database";

/// Fills the database that the configuration names.
pub(super) async fn into_database(
    shell: &Shell,
    file: &Path,
    archive: Option<Archive>,
    targets: &Targets,
    config: &Config,
    to: Place,
    force: bool,
) -> Result<Exit, CliError> {
    let failed = |error: BackupError| CliError::error(format!("{}: {error}", file.display()));
    if let Some(archive) = &archive {
        archive.check(targets, force).map_err(failed)?;
    }
    let folder = targets.data.join(UNPACKED);
    let _ = std::fs::remove_dir_all(&folder);
    let done = async {
        let copy = match &archive {
            Some(archive) => archive.unpack_database(&folder).map_err(failed)?,
            None => copied(file, &folder)?,
        };
        Box::pin(fill(shell, file, copy, config, &to, force)).await
    };
    let done = done.await;
    let _ = std::fs::remove_dir_all(&folder);
    let report = done?;
    if let Some(archive) = &archive {
        archive.unpack(targets, force).map_err(failed)?;
        let _ = std::fs::remove_dir_all(targets.data.join(".restoring"));
    }
    let output = shell.output;
    if output.is_json() {
        output.json(&json!({ "file": file, "to": to.shown(), "tables": migrate::tables(&report) }))?;
    } else {
        migrate::print(output, &report)?;
        output.line(&format!("restored from {} into {}", file.display(), to.shown()))?;
        output.line("start the site with `agentsite`")?;
    }
    Ok(Exit::Ok)
}

async fn fill(
    shell: &Shell,
    file: &Path,
    copy: PathBuf,
    config: &Config,
    to: &Place,
    force: bool,
) -> Result<agentsite_store::copying::CopyReport, CliError> {
    let Place::Database(url) = to else { return Err(CliError::error("the target is not a database")) };
    let carried = agentsite_store::backup_key(&copy);
    let carried = carried.map_err(|error| CliError::error(format!("{}: {error}", file.display())))?;
    let key = key_of(shell, file, carried.as_ref(), config)?;
    let mut sink = Box::pin(PgSink::open(url, &key)).await.map_err(|error| to.failed(error))?;
    if sink.holds_data() && !force {
        return Err(CliError::error(format!(
            "{} already holds the data of a site; use --force to keep that in another schema (*_before_restore), or name another database",
            to.shown()
        )));
    }
    Box::pin(sink.prepare(force)).await.map_err(|error| to.failed(error))?;
    let known = SiteKey::find(config, &shell.variables)?;
    if known.is_none_or(|known| known.bytes() != key.bytes()) {
        let kept = sitekey::keep(config, &key);
        kept.map_err(|error| CliError::error(format!("cannot write the key of the backup: {error}")))?;
    }
    let mut progress = Progress::new(shell.output);
    moving::restore(copy, file, sink, to, &key, &mut |step| progress.tell(step)).await
}

/// The key that the backup is sealed with: the one that it carries, or the site's.
fn key_of(
    shell: &Shell,
    file: &Path,
    carried: Option<&StoreKey>,
    config: &Config,
) -> Result<StoreKey, CliError> {
    let Some(carried) = carried else {
        return Ok(SiteKey::existing(config, &shell.variables)?.key);
    };
    // A site here would take the key that was given, so the data must be sealed with that.
    match sitekey::given(&shell.variables)? {
        Some(given) if given.bytes() != carried.bytes() => {
            Err(CliError::error(format!("{}: {}", file.display(), StoreError::WrongKey)))
        }
        _ => Ok(carried.clone()),
    }
}

/// Copies a plain database into a private folder.
fn copied(file: &Path, folder: &Path) -> Result<PathBuf, CliError> {
    let copy = folder.join("site.db");
    let made = std::fs::create_dir_all(folder).and_then(|()| std::fs::copy(file, &copy).map(drop));
    made.map_err(|error| CliError::file("copy", file, &error))?;
    Ok(copy)
}
