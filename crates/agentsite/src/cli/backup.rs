//! `agentsite backup` and `agentsite restore`: the whole site to a file and back.
//!
//! Promises: a backup is whole and consistent, taken through the running site or, when none runs, from its
//! store; it holds the data, the agents and the configuration unless only the data is wanted, and says what
//! is in it. A restore refuses while a site runs, replaces nothing without --force, and keeps what was there.
//! Files of earlier versions, which are plain databases, are restored too. A backup of either engine restores
//! into the one that the configuration names.

use std::path::{Path, PathBuf};

use agentsite_site::{SystemRng, World};
use agentsite_store::{StoreError, StoreKey};
use clap::Args;
use prometheus_client::registry::Registry;
use serde_json::Value;

use super::shell::Shell;
use crate::backup::{Archive, BackupError, Contents, Draft, Sources, Targets, is_archive};
use crate::config::Config;
use crate::exit::{CliError, Exit};
use crate::instance::{DataFolder, keep_private};
use crate::moving::Place;
use crate::sitekey::{self, SiteKey};

/// Arguments of `backup`.
#[derive(Debug, Args)]
pub(super) struct BackupArguments {
    /// The file to write, which must not exist; with --list the file to read.
    file: PathBuf,
    /// Leave the agents and the configuration out.
    #[arg(long)]
    data_only: bool,
    /// List what is in a backup instead of writing one.
    #[arg(long, conflicts_with = "data_only")]
    list: bool,
}

/// Arguments of `restore`.
#[derive(Debug, Args)]
pub(super) struct RestoreArguments {
    /// The backup.
    file: PathBuf,
    /// Replace data, agents and configuration that are there; they are kept as *.before-restore.
    #[arg(long)]
    force: bool,
}

/// Writes a backup, or lists one.
pub(super) async fn backup(shell: &Shell, arguments: BackupArguments) -> Result<Exit, CliError> {
    let file = std::path::absolute(&arguments.file)
        .map_err(|error| CliError::file("use", &arguments.file, &error))?;
    if arguments.list {
        return list(shell, &file);
    }
    if file.symlink_metadata().is_ok() {
        return Err(CliError::error(BackupError::Exists(file).to_string()));
    }
    let contents = match online(shell, &file, arguments.data_only).await {
        Err(error) if error.exit() == Exit::NotRunning => offline(shell, &file, arguments.data_only).await?,
        done => done?,
    };
    report(shell, &format!("backed up to {}", file.display()), &file, &contents)
}

async fn online(shell: &Shell, file: &Path, data_only: bool) -> Result<Contents, CliError> {
    let body = serde_json::json!({ "file": file, "dataOnly": data_only });
    let made: Value = shell.site()?.post("api/backup", &body).await?;
    serde_json::from_value(made).map_err(|error| CliError::error(format!("the site's answer: {error}")))
}

async fn offline(shell: &Shell, file: &Path, data_only: bool) -> Result<Contents, CliError> {
    keep_private();
    let reader = shell.reader(Vec::new());
    let config = shell.config()?.config;
    let data = DataFolder::at(&config.data);
    let database = data.database();
    let place = match Place::configured(&config)? {
        Some(place) => place,
        None => Place::Folder(config.data.clone()),
    };
    if matches!(place, Place::Folder(_)) && !database.exists() {
        return Err(CliError::new(
            Exit::NotFound,
            format!("there is no data to back up: {} is missing", database.display()),
        ));
    }
    let sources = Sources::of(&config, reader.file(), data_only);
    let draft = Draft::begin(file).map_err(|error| CliError::error(error.to_string()))?;
    let failed = |error: StoreError| place.failed(error);
    let key = match &place {
        Place::Folder(_) => SiteKey::find_or_make(&config, &shell.variables, &SystemRng)?,
        Place::Database(_) => SiteKey::existing(&config, &shell.variables)?,
    };
    let store = crate::store::open(&config, &data, key, &mut Registry::default()).await?;
    let copied = store.backup(&draft.database()).await.map_err(failed);
    store.close().await.map_err(failed)?;
    copied?;
    let now = World::system().clock.now();
    draft.finish(&sources, now).map_err(|error| CliError::error(error.to_string()))
}

fn list(shell: &Shell, file: &Path) -> Result<Exit, CliError> {
    there_is(file)?;
    if !is_archive(file) {
        let what = "a database of an earlier version: the data only, without agents and configuration";
        if shell.output.is_json() {
            shell.output.json(&serde_json::json!({ "file": file, "contents": what }))?;
        } else {
            shell.output.line(what)?;
        }
        return Ok(Exit::Ok);
    }
    let read = Archive::at(file).contents();
    let (head, contents) = read.map_err(|error| CliError::error(format!("{}: {error}", file.display())))?;
    report(shell, &format!("made by {} at {}", head.made_by, head.made_at), file, &contents)
}

/// Brings a backup back.
pub(super) async fn restore(shell: &Shell, arguments: RestoreArguments) -> Result<Exit, CliError> {
    let file = arguments.file;
    there_is(&file)?;
    keep_private();
    let failed = |error: BackupError| CliError::error(format!("{}: {error}", file.display()));
    let archive = is_archive(&file).then(|| Archive::at(&file));
    let archived = match &archive {
        Some(archive) => archive.config().map_err(failed)?,
        None => None,
    };
    let (targets, config) = targets(shell, archived.as_deref())?;
    let data = DataFolder::at(&targets.data);
    data.create()?;
    if let Some(to) = Place::configured(&config)? {
        let restored =
            super::restore::into_database(shell, &file, archive, &targets, &config, to, arguments.force);
        return Box::pin(restored).await;
    }
    let Some(archive) = archive else {
        put_in_place(file.clone(), config, &file).await?;
        return report_restored(shell, &file);
    };
    if data.is_in_use() {
        let what = "a site is running on this data; stop it before a restore";
        return Err(CliError::error(format!("{}: {what}", targets.data.display())));
    }
    let database = archive.unpack(&targets, arguments.force).map_err(failed)?;
    let drafts = targets.data.join(".restoring");
    let placed = put_in_place(database, config, &file).await;
    let _ = std::fs::remove_dir_all(drafts);
    placed?;
    report_restored(shell, &file)
}

/// Where the parts go: as the configuration in the backup says when there is none here, or else as the one
/// here does.
fn targets(shell: &Shell, archived: Option<&str>) -> Result<(Targets, Config), CliError> {
    let reader = shell.reader(Vec::new());
    let loaded = match archived {
        Some(text) => reader.judge(text),
        None => reader.load(),
    };
    let config = loaded.map_err(|error| CliError::error(error.to_string()))?.config;
    let (data, agents) = (config.data.clone(), config.agents.clone());
    let in_file = config.store.is_none() && config.store_file.is_none();
    Ok((Targets { data, agents, config: reader.file().to_owned(), in_file }, config))
}

/// Lets the store put a database in place, and the key that came with it. Its lock refuses while a site runs;
/// its error says what to do.
async fn put_in_place(from: PathBuf, config: Config, named: &Path) -> Result<(), CliError> {
    let to = DataFolder::at(&config.data).database();
    let keep = move |key: StoreKey| sitekey::keep(&config, &key);
    let restored = tokio::task::spawn_blocking(move || agentsite_store::restore(&from, &to, keep)).await;
    let restored = restored.map_err(|error| CliError::error(error.to_string()))?;
    restored.map_err(|error| CliError::error(format!("{}: {error}", named.display())))
}

fn there_is(file: &Path) -> Result<(), CliError> {
    if file.is_file() {
        return Ok(());
    }
    Err(CliError::new(Exit::NotFound, format!("there is no file {}", file.display())))
}

fn report(shell: &Shell, title: &str, file: &Path, contents: &Contents) -> Result<Exit, CliError> {
    if shell.output.is_json() {
        shell.output.json(&serde_json::json!({ "file": file, "contents": contents }))?;
        return Ok(Exit::Ok);
    }
    shell.output.line(title)?;
    contents.lines().iter().try_for_each(|line| shell.output.line(line))?;
    Ok(Exit::Ok)
}

fn report_restored(shell: &Shell, file: &Path) -> Result<Exit, CliError> {
    if shell.output.is_json() {
        shell.output.json(&serde_json::json!({ "file": file }))?;
    } else {
        shell.output.line(&format!("restored from {}", file.display()))?;
        shell.output.line("start the site with `agentsite`")?;
    }
    Ok(Exit::Ok)
}
