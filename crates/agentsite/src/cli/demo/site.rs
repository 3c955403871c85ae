//! One site of a planet: a process of this same program in a folder of its own.
//!
//! Promises: it is ready when [`PlanetSite::ready`] returns. It ends when it is stopped or killed, and by
//! itself when this process ends in any way: its standard input is then closed. It listens on loopback only.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::roster::Member;
use crate::cli::GlobalFlags;
use crate::cli::shell::{RunningClient, Shell, config_error, field};
use crate::exit::{CliError, Exit};
use crate::serve::{self, EmbeddedMode, Startup};

/// What a site says on its standard output when it is ready.
const READY: &str = "ready";

/// The verb with which such a process is started.
const VERB: &str = "demo-site";

/// How long a site may take to stop in good order before it is killed.
const STOP: Duration = Duration::from_secs(10);

/// Lines of its log that are shown when a site does not start.
const LAST_LINES: usize = 5;

/// A running site.
#[derive(Debug)]
pub(super) struct PlanetSite {
    pub(super) name: String,
    /// Its agents, for people.
    pub(super) agents: &'static str,
    /// Its DID; known once it is ready.
    pub(super) did: String,
    folder: PathBuf,
    process: Child,
    /// Closed when this process ends, which ends the site.
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    shell: Shell,
}

impl PlanetSite {
    /// Writes the site's folder and starts its process; `mesh` are further lines of its section `[mesh]`.
    pub(super) fn start(
        shell: &Shell,
        member: &Member,
        folder: PathBuf,
        mesh: &str,
    ) -> Result<Self, CliError> {
        write_folder(&folder, member, mesh).map_err(|error| CliError::file("write to", &folder, &error))?;
        let program = std::env::current_exe()
            .map_err(|error| CliError::error(format!("cannot start sites: {error}")))?;
        let log = fs::File::create(folder.join("site.log"))
            .map_err(|error| CliError::file("write to", &folder, &error))?;
        let mut command = Command::new(program);
        command.args([VERB, "--listen", "127.0.0.1:0"]).current_dir(&folder).env_clear();
        command.envs(kept_variables(&shell.variables));
        // A group of its own: ctrl-C reaches this process, which then stops its sites in order.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).process_group(0).kill_on_drop(true);
        let mut process =
            command.spawn().map_err(|error| CliError::error(format!("cannot start a site: {error}")))?;
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let everywhere = GlobalFlags {
            config: Some(folder.join("agentsite.toml")),
            data: Some(folder.join("agentsite-data")),
            ..GlobalFlags::default()
        };
        let shell = Shell::new(everywhere, kept_variables(&shell.variables), shell.output);
        let (name, agents) = (member.name.clone(), member.agents);
        Ok(Self { name, agents, did: String::new(), folder, process, input, output, shell })
    }

    /// Waits until it is ready.
    pub(super) async fn ready(&mut self) -> Result<(), CliError> {
        let mut line = String::new();
        if let Some(output) = self.output.take() {
            let _ = BufReader::new(output).read_line(&mut line).await;
        }
        if line.trim() != READY {
            let log = fs::read_to_string(self.folder.join("site.log")).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
            return Err(CliError::error(format!("the site {} did not start:\n{last}", self.name)));
        }
        let mesh: Value = self.client()?.get("api/mesh").await?;
        self.did = field(&mesh, "site");
        Ok(())
    }

    /// The way to it.
    pub(super) fn client(&self) -> Result<RunningClient, CliError> {
        self.shell.site()
    }

    /// Its address on this machine.
    pub(super) fn url(&self) -> Result<String, CliError> {
        Ok(self.client()?.client.base().as_str().trim_end_matches('/').to_owned())
    }

    /// Runs a command of this program in the folder of the site; gives what it printed.
    pub(super) async fn command(&self, arguments: &[&str]) -> Result<String, CliError> {
        let program = std::env::current_exe()
            .map_err(|error| CliError::error(format!("cannot start a command: {error}")))?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.folder).env_clear().kill_on_drop(true);
        command.envs(kept_variables(&self.shell.variables)).stdin(Stdio::null());
        let ran = command.output().await;
        let ran = ran.map_err(|error| CliError::error(format!("cannot start a command: {error}")))?;
        if !ran.status.success() {
            let said = String::from_utf8_lossy(&ran.stderr).trim().to_owned();
            return Err(CliError::error(format!("agentsite {}: {said}", arguments.join(" "))));
        }
        Ok(String::from_utf8_lossy(&ran.stdout).trim().to_owned())
    }

    /// Its process.
    pub(super) fn pid(&self) -> u32 {
        self.process.id().unwrap_or_default()
    }

    /// Kills it, as a power cut would.
    pub(super) async fn kill(&mut self) -> Result<(), CliError> {
        let killed = self.process.kill().await;
        killed.map_err(|error| CliError::error(format!("cannot kill {}: {error}", self.name)))
    }

    /// Stops it in good order, and kills it when that takes too long.
    pub(super) async fn stop(mut self) {
        drop(self.input.take());
        if tokio::time::timeout(STOP, self.process.wait()).await.is_err() {
            // It may have ended meanwhile.
            let _ = self.process.kill().await;
        }
    }
}

/// What a site of a planet sees of the environment: how to find programs, and no settings of other sites.
fn kept_variables(variables: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let keeps = |name: &str| ["PATH", "HOME", "TMPDIR", "LANG", "NO_COLOR"].contains(&name);
    variables
        .iter()
        .filter(|(name, _)| keeps(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn write_folder(folder: &Path, member: &Member, mesh: &str) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let name = &member.name;
    // Only sites of this planet have its secret, so the addresses that they name may be dialed.
    let config = format!(
        "demos = false\n\n[site]\nname = \"{name}\"\n\n[mesh]\nenabled = true\n\
         listen = [\"/ip4/127.0.0.1/tcp/0\"]\nallow_private_addresses = true\n{mesh}"
    );
    fs::write(folder.join("agentsite.toml"), config)?;
    for (path, text) in member.files {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

/// Serves the site of the current folder until standard input is closed: what a planet starts.
pub(in crate::cli) async fn serve_until_closed(shell: &Shell) -> Result<Exit, CliError> {
    let reader = shell.reader(Vec::new());
    let loaded = reader.load().map_err(|error| config_error(&error))?;
    let (stop, (ready, is_ready)) = (CancellationToken::new(), oneshot::channel());
    let (closed, output) = (stop.clone(), shell.output);
    tokio::task::spawn_blocking(move || {
        // Whatever the end of the input is: the one who started this site is gone.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        closed.cancel();
    });
    tokio::spawn(async move {
        if is_ready.await.is_ok() {
            let _ = output.line(READY);
        }
    });
    let startup = Startup { loaded, reader, output, guest: Some(EmbeddedMode { ready, stop }) };
    Box::pin(serve::run(startup)).await
}
