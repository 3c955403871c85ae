//! ACP agents: programs that implement the Agent Client Protocol on their standard input and output, such as
//! coding agents.
//!
//! Promises: one process for each agent, started with it and again when it ends; one session of it for each
//! conversation. What it says is streamed, what it thinks and does is reported, and where it asks for a
//! permission the task asks its caller. Nothing that the program does holds the site up. Follows
//! <https://agentclientprotocol.com>, version 1.
//!
//! It offers the agent no terminal and no MCP servers, and files only where the manifest allows them. Why the
//! published crate is not used: `docs/decisions/0011-acp-without-its-crate.md`.

mod connection;
mod files;
mod permission;
mod port;
mod prompt;
mod run;
mod sessions;
mod story;
mod turn;
mod wire;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentsite_protocol::{Outcome, TaskId};
use futures::future::BoxFuture;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::child::{ChildCommand, Keeper, Pipes, bulletin};
use crate::sandbox::Bounds;
use crate::{AcpRuntime, AgentLog, Health, Job, LaunchError, Manifest, Reporter, Runner, Workshop};
use connection::{Connection, Terms};
use files::FileDoor;
use run::{AcpRun, SharedState};
use sessions::Sessions;

/// Earlier messages that an agent gets when it has lost a conversation: ten turns of question and answer.
const MEMORY: usize = 20;

/// Runs tasks at an ACP agent.
#[derive(Debug)]
pub(crate) struct AcpRunner {
    house: Arc<SharedState>,
    keeper: TaskTracker,
    stop: CancellationToken,
    /// Dropping the runner stops the keeper, and that the process.
    _stop_when_dropped: DropGuard,
}

impl AcpRunner {
    /// Makes the runner and starts its process in the background; must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`LaunchError`] when the sandbox of the manifest cannot be.
    pub(crate) fn launch(
        runtime: &AcpRuntime,
        manifest: &Manifest,
        folder: &Path,
        workshop: &Workshop,
        log: AgentLog,
    ) -> Result<Self, LaunchError> {
        let confined = workshop.confinement.of(manifest, folder, Bounds::default())?;
        let command = ChildCommand::new(
            runtime.command.clone(),
            folder,
            &workshop.environment,
            &runtime.pass_env,
            &runtime.env,
            confined,
        );
        let folder = command.folder().to_owned();
        let terms = Terms {
            files: FileDoor::new(runtime.files, folder.clone()),
            auth_method: runtime.auth_method.clone(),
            patience: runtime.start_timeout.0,
            log: log.clone(),
        };
        let (bulletin, watch) = bulletin(&log);
        let stop = CancellationToken::new();
        let keeper = Keeper::new(command, Arc::new(bulletin), log, stop.clone());
        let lives = AtomicU64::new(0);
        let serve = move |Pipes { stdin, stdout }, bulletin| -> BoxFuture<'static, Option<String>> {
            let life = lives.fetch_add(1, Ordering::Relaxed) + 1;
            Box::pin(Connection::serve(life, stdout, stdin, terms.clone(), bulletin))
        };
        let tracker = TaskTracker::new();
        let span = tracing::info_span!("acp_keeper", agent = %manifest.name);
        tracker.spawn(keeper.run(serve).instrument(span));
        tracker.close();
        let house = SharedState {
            watch,
            sessions: Sessions::default(),
            folder,
            permissions: runtime.permissions,
            output: manifest.limits.output,
            start_timeout: runtime.start_timeout.0,
        };
        let _stop_when_dropped = stop.clone().drop_guard();
        Ok(Self { house: Arc::new(house), keeper: tracker, stop, _stop_when_dropped })
    }
}

impl Runner for AcpRunner {
    fn run(&self, job: Job, report: Reporter) -> BoxFuture<'static, Outcome> {
        Box::pin(AcpRun { house: self.house.clone(), job, report }.run())
    }

    fn memory(&self) -> usize {
        MEMORY
    }

    fn health(&self) -> Health {
        self.house.watch.health()
    }

    fn notice(&self) -> Option<String> {
        self.house.watch.notice()
    }

    fn forget(&self, task: TaskId) {
        self.house.sessions.forget(task);
    }

    fn stop(&self) -> BoxFuture<'static, ()> {
        self.stop.cancel();
        let keeper = self.keeper.clone();
        Box::pin(async move { keeper.wait().await })
    }
}
