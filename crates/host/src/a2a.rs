//! A2A agents: a remote one by its card, or a server that the site starts and keeps alive.
//!
//! Promises: the agent is unchanged; what it streams is passed on as it comes, its questions become the
//! site's questions, a task that is cancelled here is cancelled there. A run that is started again finds its
//! task at the agent instead of beginning another. A server that dies is started again, slower each time; an
//! endpoint that fails repeatedly is paused and the agent's next one is used. Everything goes through the
//! site's egress. It does not know bindings and versions of A2A: the client does.

mod contexts;
mod memo;
mod run;
mod server;
mod supervisor;
mod work;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentsite_client::A2aClient;
use agentsite_protocol::{AgentCard, ByteSize, Outcome};
use futures::future::BoxFuture;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::child::Watch;
use crate::sandbox::Bounds;
use crate::{A2aRuntime, AgentLog, Health, Job, LaunchError, Manifest, Reporter, Runner, Workshop};
use contexts::Contexts;
use run::RemoteRun;
use server::ServerCommand;
use supervisor::{AgentAccess, AgentLocation, Supervisor};

/// Runs tasks at an A2A agent.
#[derive(Debug)]
pub struct A2aRunner {
    watch: Watch<A2aClient>,
    contexts: Arc<Contexts>,
    start_timeout: Duration,
    output: ByteSize,
    supervisor: TaskTracker,
    stop: CancellationToken,
    /// Dropping the runner stops the supervisor, and that the server.
    _stop_when_dropped: DropGuard,
}

impl A2aRunner {
    /// Makes the runner and starts its supervisor in the background; must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`LaunchError`] when a variable that the manifest names is not set.
    pub(crate) fn launch(
        runtime: A2aRuntime,
        manifest: &Manifest,
        folder: &Path,
        workshop: &Workshop,
        log: AgentLog,
    ) -> Result<Arc<dyn Runner>, LaunchError> {
        let token = workshop.token(runtime.token_env.as_deref())?;
        let (start_timeout, binding) = (runtime.start_timeout.0, runtime.binding);
        let egress = match &runtime.site {
            Some(did) => workshop.egress.calling_site(did),
            None => workshop.egress.clone(),
        };
        let way = match runtime.card.clone() {
            Some(card) => AgentLocation::Elsewhere { card, second_way: runtime.second_way.clone() },
            None => {
                let confined = workshop.confinement.of(manifest, folder, Bounds::default())?;
                AgentLocation::Here(Box::new(ServerCommand::new(
                    runtime,
                    folder,
                    &workshop.environment,
                    confined,
                )))
            }
        };
        let stop = CancellationToken::new();
        let approach = AgentAccess {
            egress,
            circuits: workshop.circuits.clone(),
            token,
            binding: binding.map(Into::into),
        };
        let (supervisor, watch) = Supervisor::new(way, approach, start_timeout, log, stop.clone());
        let tracker = TaskTracker::new();
        let span = tracing::info_span!("a2a_supervisor", agent = %manifest.name);
        tracker.spawn(supervisor.run().instrument(span));
        tracker.close();
        Ok(Arc::new(Self {
            watch,
            contexts: Arc::default(),
            start_timeout,
            output: manifest.limits.output,
            supervisor: tracker,
            _stop_when_dropped: stop.clone().drop_guard(),
            stop,
        }))
    }
}

impl Runner for A2aRunner {
    fn run(&self, job: Job, report: Reporter) -> BoxFuture<'static, Outcome> {
        let run = RemoteRun::new(
            job,
            report,
            self.watch.clone(),
            self.contexts.clone(),
            self.start_timeout,
            self.output,
        );
        Box::pin(run.run())
    }

    fn health(&self) -> Health {
        // One whose endpoints all fail is down although its card can be had.
        let resting = self.watch.way().and_then(|client| client.resting());
        match (self.watch.health(), resting) {
            (Health::Ready, Some(why)) => Health::Down(why),
            (health, _) => health,
        }
    }

    fn notice(&self) -> Option<String> {
        self.watch.notice()
    }

    fn card(&self) -> Option<Arc<AgentCard>> {
        self.watch.way().map(|client| client.card().clone())
    }

    fn stop(&self) -> BoxFuture<'static, ()> {
        self.stop.cancel();
        let supervisor = self.supervisor.clone();
        Box::pin(async move { supervisor.wait().await })
    }
}
