//! Child: a program of an agent that runs as long as the agent does, and communicates with the site through
//! its pipes.
//!
//! Promises: it sees only the variables that were named, runs bounded in its own process group and in the
//! agent's folder; what it writes to stderr goes to the agent's log. [`Keeper`] starts it again when it ends,
//! slower each time. Dropping the child kills its whole group.
//!
//! It is independent of the protocol: [`Lines`] cuts a pipe into messages, the rest is for the runner that
//! serves the child.

mod keeper;
mod lines;
mod pump;
mod standing;
mod supervision;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf, absolute};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::task::JoinSet;

use crate::exec::ProcessGroup;
use crate::sandbox::{Confined, Program};
use crate::{AgentLog, Environment, LogSource, program};

pub(crate) use keeper::{Keeper, Pipes};
pub(crate) use lines::Lines;
pub(crate) use standing::{Bulletin, Watch, bulletin};
pub(crate) use supervision::Supervision;

/// How long a child may take to end by itself; one with an open request often does not, and is killed then.
const GRACE: Duration = Duration::from_secs(2);

/// How long to keep reading after the child has ended: its last output is still in the pipe and explains its
/// end.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How a child is started.
pub(crate) struct ChildCommand {
    command: Vec<String>,
    folder: PathBuf,
    variables: BTreeMap<String, String>,
    confined: Confined,
}

/// The program only: variables may be secrets.
impl fmt::Debug for ChildCommand {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ChildCommand").field("program", &self.command.first()).finish_non_exhaustive()
    }
}

impl ChildCommand {
    /// Works out everything that is the same for each start. `pass` names variables of the site, `set` gives
    /// the agent's own.
    pub(crate) fn new(
        command: Vec<String>,
        folder: &Path,
        environment: &Environment,
        pass: &[String],
        set: &BTreeMap<String, String>,
        confined: Confined,
    ) -> Self {
        let folder = absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let variables = environment.of_program(&folder, confined.home(), pass, set);
        Self { command, folder, variables, confined }
    }

    /// The agent's folder, in which it runs.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts it as a server: it reads nothing, everything that it prints goes to the log, and `more` is
    /// added to its variables.
    pub(crate) fn serve(&self, more: &[(&str, &str)], log: &AgentLog) -> io::Result<Child> {
        let mut command = self.command(more)?;
        command.stdin(Stdio::null());
        let mut child = Child::spawn(command, &self.confined, log)?;
        if let Some(out) = child.group.child().stdout.take() {
            child.pumps.spawn(pump::pump(out, LogSource::Out, log.clone()));
        }
        Ok(child)
    }

    /// Starts it with pipes on its standard input and output.
    pub(crate) fn speak(&self, log: &AgentLog) -> io::Result<(Child, ChildStdin, ChildStdout)> {
        let mut command = self.command(&[])?;
        command.stdin(Stdio::piped());
        let mut child = Child::spawn(command, &self.confined, log)?;
        let stdin = child.group.child().stdin.take().expect("a pipe was asked for");
        let stdout = child.group.child().stdout.take().expect("a pipe was asked for");
        Ok((child, stdin, stdout))
    }

    fn command(&self, more: &[(&str, &str)]) -> io::Result<Command> {
        let mut variables = self.variables.clone();
        variables.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let program = Program { command: &self.command, folder: &self.folder, variables };
        let mut command = self.confined.command(program)?;
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    /// What must be done before it can be started.
    pub(crate) fn missing(&self) -> Option<String> {
        let path = self.variables.get("PATH").map_or("", String::as_str);
        let name = self.command.first().map_or("", String::as_str);
        program::find(name, &self.folder, path).err()
    }

    /// What the site's people read when it cannot be started.
    pub(crate) fn why_not(&self, error: &io::Error) -> String {
        let program = self.command.first().map_or("", String::as_str);
        match error.kind() {
            io::ErrorKind::NotFound => {
                format!(
                    "its server cannot be started: there is no program `{program}`; check `command` in agent.toml"
                )
            }
            io::ErrorKind::PermissionDenied => {
                format!(
                    "its server cannot be started: `{program}` is not executable; make it executable with \
                     chmod +x"
                )
            }
            _ => format!("its server `{program}` cannot be started: {error}"),
        }
    }
}

/// A running child.
#[derive(Debug)]
pub(crate) struct Child {
    group: ProcessGroup,
    pumps: JoinSet<()>,
}

impl Child {
    fn spawn(command: Command, confined: &Confined, log: &AgentLog) -> io::Result<Self> {
        let mut group = ProcessGroup::spawn(command, confined)?;
        let mut pumps = JoinSet::new();
        if let Some(err) = group.child().stderr.take() {
            pumps.spawn(pump::pump(err, LogSource::Err, log.clone()));
        }
        Ok(Self { group, pumps })
    }

    /// Waits until it has ended, and says how. Can be dropped and called again.
    pub(crate) async fn ended(&mut self) -> String {
        match self.group.wait().await {
            Ok(status) => format!("its server ended by itself ({status}); see its log"),
            Err(error) => format!("its server cannot be watched: {error}"),
        }
    }

    /// Asks it to end, kills what is left after a grace, and takes its last words to the log.
    pub(crate) async fn stop(mut self) {
        self.group.terminate(GRACE).await;
        // Only a process that left the group can hold the pipes open longer; its words are not waited for.
        let _ = tokio::time::timeout(LAST_WORDS, self.pumps.join_all()).await;
    }
}
