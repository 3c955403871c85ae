//! Keeper: keeps one child process alive and reports its health.
//!
//! Promises: it alone starts and stops the child, and it alone writes the standing, except that the
//! session of the child declares it ready. A child that ends, or that is no longer served, is started again
//! after a wait that `supervision` decides. Stopping the keeper ends the child with it.

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::Period;
use futures::future::BoxFuture;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Bulletin, Child, ChildCommand, LAST_WORDS, Supervision};
use crate::{AgentLog, LogSource};

/// How long to wait for the exit of a child that hung up: its status says more than a closed pipe does.
const HUNG_UP: Duration = Duration::from_millis(500);

/// Both directions of the talk with a child.
#[derive(Debug)]
pub(crate) struct Pipes {
    /// What the child reads.
    pub(crate) stdin: ChildStdin,
    /// What the child writes.
    pub(crate) stdout: ChildStdout,
}

/// Keeps one child alive; `T` is the way to call it.
#[derive(Debug)]
pub(crate) struct Keeper<T> {
    command: ChildCommand,
    bulletin: Arc<Bulletin<T>>,
    log: AgentLog,
    stop: CancellationToken,
    child: Option<Child>,
}

impl<T> Keeper<T> {
    /// A keeper that has not begun.
    pub(crate) const fn new(
        command: ChildCommand,
        bulletin: Arc<Bulletin<T>>,
        log: AgentLog,
        stop: CancellationToken,
    ) -> Self {
        Self { command, bulletin, log, stop, child: None }
    }

    /// Works until it is stopped. `serve` handles each new child: it declares it ready on the bulletin, works
    /// until the connection ends, and returns the reason, or `None` when the child closed it.
    pub(crate) async fn run<S>(mut self, serve: S)
    where
        S: Fn(Pipes, Arc<Bulletin<T>>) -> BoxFuture<'static, Option<String>>,
    {
        let stop = self.stop.clone();
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.keep(&serve) => {}
        }
        self.bulletin.down("it was stopped".into());
        if let Some(child) = self.child.take() {
            child.stop().await;
        }
    }

    async fn keep<S>(&mut self, serve: &S)
    where
        S: Fn(Pipes, Arc<Bulletin<T>>) -> BoxFuture<'static, Option<String>>,
    {
        let (mut supervision, began) = (Supervision::default(), Instant::now());
        loop {
            let started = began.elapsed();
            let reason = self.live(serve).await;
            if self.bulletin.is_ready() {
                supervision.answered(started);
            }
            let wait = supervision.lost(began.elapsed());
            self.fall(&reason, wait);
            if let Some(child) = self.child.take() {
                child.stop().await;
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// One life of the child; says why it ended.
    async fn live<S>(&mut self, serve: &S) -> String
    where
        S: Fn(Pipes, Arc<Bulletin<T>>) -> BoxFuture<'static, Option<String>>,
    {
        self.bulletin.starting();
        let pipes = match self.command.speak(&self.log) {
            Ok((child, stdin, stdout)) => {
                self.child = Some(child);
                Pipes { stdin, stdout }
            }
            Err(error) => return self.command.why_not(&error),
        };
        let child = self.child.as_mut().expect("it was started above");
        let mut serving = serve(pipes, self.bulletin.clone());
        tokio::select! {
            biased;
            ended = child.ended() => {
                // Its last output is still in the pipe.
                let _ = tokio::time::timeout(LAST_WORDS, serving).await;
                ended
            }
            reason = &mut serving => match reason {
                Some(reason) => reason,
                None => {
                    let ended = tokio::time::timeout(HUNG_UP, child.ended()).await;
                    ended.unwrap_or_else(|_| "its server closed its output; see its log".into())
                }
            },
        }
    }

    fn fall(&self, reason: &str, wait: Duration) {
        if let Some(missing) = self.command.missing() {
            self.log.push(LogSource::Site, &missing);
            tracing::warn!("the agent needs setup: {missing}");
            return self.bulletin.needs(missing);
        }
        let told = format!("{reason}; it is started again in {}", Period(wait));
        self.log.push(LogSource::Site, &told);
        tracing::warn!("the agent is down: {told}");
        self.bulletin.down(told);
    }
}
