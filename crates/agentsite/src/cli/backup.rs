//! `agentsite backup` and `agentsite restore`: all data to a file and back.
//!
//! Promises: a backup is whole and consistent, taken through the running site or, when none runs, from its store; a restore refuses while
//! a site runs and keeps what was there until the new data is in place.

use std::path::PathBuf;

use agentsite_store::{SqliteStore, Store, StoreMetrics};
use clap::Args;
use serde_json::Value;

use super::shell::Shell;
use crate::exit::{CliError, Exit};

/// Arguments of both.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The file.
    file: PathBuf,
}

/// Writes a backup.
pub(super) async fn backup(shell: &Shell, arguments: Arguments) -> Result<Exit, CliError> {
    let file = std::path::absolute(&arguments.file)
        .map_err(|error| CliError::file("use", &arguments.file, &error))?;
    if file.exists() {
        return Err(CliError::error(format!("{} is there already and is left as it is", file.display())));
    }
    match online(shell, &file).await {
        Err(error) if error.exit() == Exit::NotRunning => offline(shell, &file).await?,
        done => done?,
    }
    said(shell, "backed up to", &file)
}

async fn online(shell: &Shell, file: &std::path::Path) -> Result<(), CliError> {
    let body = serde_json::json!({ "file": file });
    let _: Value = shell.site()?.post("api/backup", &body).await?;
    Ok(())
}

async fn offline(shell: &Shell, file: &std::path::Path) -> Result<(), CliError> {
    let database = shell.data()?.database();
    if !database.exists() {
        return Err(CliError::new(
            Exit::NotFound,
            format!("there is no data to back up: {} is missing", database.display()),
        ));
    }
    let told =
        |error: agentsite_store::StoreError| CliError::error(format!("{}: {error}", database.display()));
    let path = database.clone();
    let opened = tokio::task::spawn_blocking(move || SqliteStore::open(&path, StoreMetrics::default())).await;
    let store = opened.map_err(|error| CliError::error(error.to_string()))?.map_err(told)?;
    let copied = store.backup(file).await.map_err(told);
    store.close().await.map_err(told)?;
    copied
}

/// Brings a backup back.
pub(super) async fn restore(shell: &Shell, arguments: Arguments) -> Result<Exit, CliError> {
    let file = arguments.file;
    if !file.is_file() {
        return Err(CliError::new(Exit::NotFound, format!("there is no file {}", file.display())));
    }
    let data = shell.data()?;
    data.create()?;
    let database = data.database();
    // The lock of the store refuses while a site runs; its sentence says what to do.
    let (from, to) = (file.clone(), database.clone());
    let restored = tokio::task::spawn_blocking(move || agentsite_store::restore(&from, &to)).await;
    let restored = restored.map_err(|error| CliError::error(error.to_string()))?;
    restored.map_err(|error| CliError::error(format!("{}: {error}", file.display())))?;
    said(shell, "restored from", &file)
}

fn said(shell: &Shell, what: &str, file: &std::path::Path) -> Result<Exit, CliError> {
    if shell.output.is_json() {
        shell.output.json(&serde_json::json!({ "file": file }))?;
    } else {
        shell.output.line(&format!("{what} {}", file.display()))?;
    }
    Ok(Exit::Ok)
}
