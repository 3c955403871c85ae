//! The runner of an agent whose server runs once for the whole site (`instances = "site"`), in whichever of
//! its processes has the lease.
//!
//! Promises: the server is started when this process gets the lease and stopped when it loses it. A run that
//! finds no server here waits for it, or until the site hands the task to the process that has it. Tools are
//! used through that process. It does not know leases or other processes: the site tells it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agentsite_protocol::{AgentCard, Message, Outcome, TaskId};
use futures::future::{BoxFuture, ready};
use tokio::sync::watch;

use crate::connected::IsElsewhere;
use crate::{Health, Job, LaunchError, Reporter, Runner, ServerLogin, ToolPins, Toolbox};

/// Starts the server and makes the runner over it.
pub type StartServer = Arc<dyn Fn() -> Result<Arc<dyn Runner>, LaunchError> + Send + Sync>;

/// Runs an agent whose server runs once for the whole site.
pub struct SiteServerRunner {
    start: StartServer,
    /// The runner over the server; none while another process has it.
    server: watch::Sender<Option<Arc<dyn Runner>>>,
    /// Whether another process has it.
    elsewhere: IsElsewhere,
    /// The tools of the server through the process that has it; none for an agent that is talked to.
    remote: Option<Arc<dyn Toolbox>>,
    // Std locks: held for a copy or a swap, never across an await.
    card: Mutex<Option<Arc<AgentCard>>>,
    problem: Mutex<Option<String>>,
    retired: AtomicBool,
}

impl fmt::Debug for SiteServerRunner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SiteServerRunner({:?})", *self.server.borrow())
    }
}

impl SiteServerRunner {
    /// A runner whose server is not started yet.
    #[must_use]
    pub fn new(start: StartServer, elsewhere: IsElsewhere, remote: Option<Arc<dyn Toolbox>>) -> Self {
        Self {
            start,
            server: watch::Sender::new(None),
            elsewhere,
            remote,
            card: Mutex::default(),
            problem: Mutex::default(),
            retired: AtomicBool::new(false),
        }
    }

    /// Starts the server: this process has the lease.
    pub fn begin(&self) {
        if self.is_retired() || self.is_here() {
            return;
        }
        match (self.start)() {
            Ok(server) => {
                *lock(&self.problem) = None;
                self.server.send_replace(Some(server));
            }
            Err(error) => *lock(&self.problem) = Some(error.to_string()),
        }
    }

    /// Stops the server: this process has lost the lease.
    pub async fn end(&self) {
        if let Some(server) = self.server.send_replace(None) {
            server.stop().await;
        }
    }

    /// Takes over the card that the process with the server shows.
    pub fn set_card(&self, card: Option<Arc<AgentCard>>) {
        *lock(&self.card) = card;
    }

    /// The runner over the server, when it is here.
    #[must_use]
    pub fn server(&self) -> Option<Arc<dyn Runner>> {
        self.server.borrow().clone()
    }

    /// Whether the agent was removed or replaced.
    #[must_use]
    pub fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }
}

impl Runner for SiteServerRunner {
    fn run(&self, job: Job, report: Reporter) -> BoxFuture<'static, Outcome> {
        let mut server = self.server.subscribe();
        Box::pin(async move {
            let found = tokio::select! {
                biased;
                () = job.cancel.cancelled() => None,
                found = server.wait_for(Option::is_some) => found.ok().and_then(|found| found.clone()),
            };
            match found {
                Some(server) => server.run(job, report).await,
                None => Outcome::Canceled(None),
            }
        })
    }

    fn reply(&self, job: &Job) -> BoxFuture<'static, Option<Message>> {
        match self.server() {
            Some(server) => server.reply(job),
            None => Box::pin(ready(None)),
        }
    }

    fn is_here(&self) -> bool {
        self.server.borrow().is_some()
    }

    fn memory(&self) -> usize {
        self.server().map_or(0, |server| server.memory())
    }

    fn health(&self) -> Health {
        match (self.server(), lock(&self.problem).clone()) {
            (Some(server), _) => server.health(),
            _ if (self.elsewhere)() => Health::Ready,
            (None, Some(problem)) => Health::Down(problem),
            (None, None) => Health::Starting,
        }
    }

    fn card(&self) -> Option<Arc<AgentCard>> {
        match self.server() {
            Some(server) => server.card(),
            None => lock(&self.card).clone(),
        }
    }

    fn toolbox(&self) -> Option<Arc<dyn Toolbox>> {
        match self.server() {
            Some(server) => server.toolbox(),
            None => self.remote.clone(),
        }
    }

    fn forget(&self, task: TaskId) {
        self.server().into_iter().for_each(|server| server.forget(task));
    }

    fn pins(&self) -> Option<Arc<ToolPins>> {
        self.server().and_then(|server| server.pins())
    }

    fn login(&self) -> Option<Arc<ServerLogin>> {
        self.server().and_then(|server| server.login())
    }

    fn notice(&self) -> Option<String> {
        self.server().and_then(|server| server.notice())
    }

    fn stop(&self) -> BoxFuture<'static, ()> {
        self.retired.store(true, Ordering::Relaxed);
        match self.server.send_replace(None) {
            Some(server) => server.stop(),
            None => Box::pin(ready(())),
        }
    }
}

fn lock<T>(locked: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    locked.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ScriptedRunner, contract};

    #[tokio::test(start_paused = true)]
    async fn a_run_waits_for_the_server_and_is_not_begun_without_it() {
        let server = Arc::new(ScriptedRunner::new().echo());
        let started = server.clone();
        let start: StartServer = Arc::new(move || Ok(started.clone()));
        let runner = Arc::new(SiteServerRunner::new(start, Arc::new(|| false), None));
        assert!(!runner.is_here());
        assert_eq!(runner.health(), Health::Starting);
        let (report, _reports) = Reporter::channel();
        let waiting = tokio::spawn(runner.run(contract::job("hello"), report));
        let canceled = contract::job("no");
        canceled.cancel.cancel();
        let (report, _reports_too) = Reporter::channel();
        assert!(matches!(runner.run(canceled, report).await, Outcome::Canceled(None)));
        runner.begin();
        assert!(runner.is_here());
        assert!(matches!(waiting.await.unwrap(), Outcome::Completed(_)));
        assert_eq!(server.jobs().len(), 1);
        runner.end().await;
        assert!(!runner.is_here());
        runner.stop().await;
        runner.begin();
        assert!(!runner.is_here(), "an agent that was removed starts nothing");
    }
}
