//! ProcessGroup: a program and everything it starts, ended together.
//!
//! Promises: the program runs bounded, in its own group; dropping the group kills every process in it at
//! once, `terminate` asks first. What outlives the program itself is killed when the program's end is
//! noticed.
//!
//! A confined program has a launcher (see `sandbox`), which ends also what left the group. Without one, a
//! process that leaves the group (`setsid`) is bounded all the same, and loses its pipes.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use crate::sandbox::{Confined, END_ALL};

/// A running program with its process group.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    child: Child,
    /// The group's number, which is the program's; `None` once the group was killed and the number may belong
    /// to others.
    group: Option<Pid>,
    /// Whether the program is the launcher of a confined one: a signal makes it end everything, and it does
    /// so before it ends itself.
    launcher: bool,
}

impl ProcessGroup {
    /// Starts the command as the leader of its own group. The caller sets its pipes.
    ///
    /// # Errors
    /// What the system says when the program cannot be started or a bound cannot be set.
    pub(crate) fn spawn(mut command: Command, confined: &Confined) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok(Self { child, group, launcher: confined.has_launcher() })
    }

    /// The program itself, to take its pipes. Wait for its end with [`Self::wait`], which also ends what it
    /// left behind.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Waits until the program has ended, then kills what it left behind in its group. Can be dropped and
    /// called again.
    ///
    /// # Errors
    /// What the system says when it cannot be waited for.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let ended = self.child.wait().await;
        self.kill();
        ended
    }

    /// Asks the group to end and kills it after `grace`. Gives the program's exit status when it could be
    /// had.
    pub(crate) async fn terminate(&mut self, grace: Duration) -> Option<ExitStatus> {
        self.signal(Signal::TERM);
        if tokio::time::timeout(grace, self.child.wait()).await.is_err() {
            self.end_all();
        }
        self.wait().await.ok()
    }

    /// Kills the group at once. Later calls do nothing: the number may soon belong to another group.
    pub(crate) fn kill(&mut self) {
        self.end_all();
        self.group = None;
    }

    fn end_all(&self) {
        self.signal(if self.launcher { END_ALL } else { Signal::KILL });
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Fails only when no process is left in the group, which is what was wanted.
            let _ = kill_process_group(group, signal);
        }
    }
}

/// The program is reaped by the runtime.
impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}
