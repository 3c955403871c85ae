//! Commands as agents: one process for each task.
//!
//! Promises: what the command prints is streamed back as it comes; its stderr goes to the agent's log and,
//! when it fails, into the error message. Nothing that a command does (printing without end, never ending,
//! not reading, forking, dying) holds the site up or costs it memory. When the run is cancelled or dropped,
//! the whole process group ends.
//!
//! It watches no deadline: the site cancels. It does not restart anything.

mod answer;
mod complaint;
mod ending;
mod group;
mod input;
mod start;

#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::{ByteSize, Outcome};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

pub(crate) use group::ProcessGroup;

use crate::sandbox::Confined;
use crate::{AgentLog, Environment, ExecRuntime, Health, Job, Limits, Reporter, Runner};
use answer::Answer;
use complaint::Complaint;
use start::Start;

/// How long a command that is asked to end may take to tidy up before it is killed. A command that ignores
/// the request must be gone a second after its deadline, on a busy machine, too.
const GRACE: Duration = Duration::from_millis(700);

/// How long to wait for more output after the command itself has ended. Its group is killed by then, so only
/// a process that left the group can still hold the pipe; a full pipe of rightful output is read however long
/// it takes.
const DRAIN: Duration = Duration::from_secs(1);

/// Runs a command for each task.
pub(crate) struct ExecRunner {
    start: Arc<Start>,
    output: ByteSize,
    log: AgentLog,
}

impl ExecRunner {
    /// Makes the runner of a command. `folder` is where the command runs; `environment` is where `pass_env`
    /// looks.
    pub(crate) fn new(
        exec: ExecRuntime,
        limits: &Limits,
        folder: &Path,
        environment: &Environment,
        confined: Confined,
        log: AgentLog,
    ) -> Self {
        Self { start: Arc::new(Start::new(exec, folder, environment, confined)), output: limits.output, log }
    }
}

/// The program only: its variables may be secrets.
impl fmt::Debug for ExecRunner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ExecRunner")
            .field("program", &self.start.program())
            .field("output", &self.output)
            .finish()
    }
}

impl Runner for ExecRunner {
    fn run(&self, job: Job, report: Reporter) -> BoxFuture<'static, Outcome> {
        let (start, log) = (self.start.clone(), self.log.clone());
        let answer = Answer::new(report, self.output);
        Box::pin(async move { run(&start, &job, answer, Complaint::new(log)).await })
    }

    fn health(&self) -> Health {
        self.start.missing().map_or(Health::Ready, Health::Needs)
    }
}

/// Why a command was stopped before it ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// The task was cancelled.
    Cancelled,
    /// The task has ended; its steps are no longer taken.
    Gone,
    /// It printed more than it may.
    TooMuch,
}

async fn run(start: &Start, job: &Job, mut answer: Answer, mut complaint: Complaint) -> Outcome {
    if job.cancel.is_cancelled() {
        return Outcome::Canceled(None);
    }
    if let Some(why) = start.unreadable(job) {
        return Outcome::Rejected(job.words(why));
    }
    let mut group = match start.spawn(job) {
        Ok(group) => group,
        Err(error) => {
            complaint.note(&start.why_it_did_not_start_in_full(&error));
            return job.failed(start.why_it_did_not_start(&error));
        }
    };
    let ended = conduct(start, job, &mut group, &mut answer, &mut complaint).await;
    match ended {
        Ok(status) => start.outcome(job, status, answer.last_line(), &complaint.tail()),
        Err(stop) => {
            group.terminate(GRACE).await;
            match stop {
                Stop::Cancelled | Stop::Gone => Outcome::Canceled(None),
                Stop::TooMuch => job.failed(start.printed_too_much(answer.most())),
            }
        }
    }
}

/// Feeds, reads and waits, all at once, until the command has ended and everything it printed was reported.
async fn conduct(
    start: &Start,
    job: &Job,
    group: &mut ProcessGroup,
    answer: &mut Answer,
    complaint: &mut Complaint,
) -> Result<io::Result<ExitStatus>, Stop> {
    let stdin = group.child().stdin.take().expect("start asks for a pipe");
    let stdout = group.child().stdout.take().expect("start asks for a pipe");
    let stderr = group.child().stderr.take().expect("start asks for a pipe");
    let (ended, drained) = (CancellationToken::new(), CancellationToken::new());

    // The output of a command that must end is still read, so that it does not die of a closed pipe while it
    // tidies up.
    let program = async {
        let status = tokio::select! {
            biased;
            status = group.wait() => Ok(status),
            () = job.cancel.cancelled() => Err(Stop::Cancelled),
        };
        match status {
            Ok(_) => ended.cancel(),
            Err(_) => drop(group.terminate(GRACE).await),
        }
        status
    };
    let complaining = async {
        complaint.follow(stderr, &drained).await;
        Ok(())
    };
    let work = async { futures::try_join!(program, answer.follow(stdout, &drained), complaining) };
    let draining = async {
        ended.cancelled().await;
        tokio::time::sleep(DRAIN).await;
        drained.cancel();
    };
    // Neither of these two ends the run: the command may never read, and may be done long before the drain
    // time is over.
    let beside = async {
        tokio::join!(input::feed(stdin, start.input(job)), draining);
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        done = work => done.map(|(status, (), ())| status),
        never = beside => match never {},
    }
}
