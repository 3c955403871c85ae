//! How a command is started: its program, its folder, its variables, its bounds.
//!
//! Promises: a command sees only the variables named here and in its `agent.toml`; a relative path is
//! relative to the agent's folder. When it cannot be started, the caller gets the reason and the log the
//! location.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf, absolute};
use std::process::Stdio;

use agentsite_protocol::{ByteSize, Period};

use super::{ProcessGroup, input};
use crate::sandbox::{Confined, Program};
use crate::{Environment, ExecRuntime, Job, Stdin, program};

/// The variable in which a command finds the credential that it asked for.
const CREDENTIAL: &str = "AGENTSITE_CREDENTIAL";

/// Everything about a command that is the same for all tasks.
pub(super) struct Start {
    command: Vec<String>,
    stdin: Stdin,
    folder: PathBuf,
    variables: BTreeMap<String, String>,
    confined: Confined,
    pub(super) cpu: Option<Period>,
    pub(super) memory: Option<ByteSize>,
    pub(super) file_size: Option<ByteSize>,
}

impl Start {
    /// Works out everything that is the same for all tasks.
    pub(super) fn new(
        exec: ExecRuntime,
        folder: &Path,
        environment: &Environment,
        confined: Confined,
    ) -> Self {
        let folder = absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let variables = environment.of_program(&folder, confined.home(), &exec.pass_env, &exec.env);
        let (cpu, memory, file_size) = (exec.cpu, exec.memory, exec.file_size);
        Self { command: exec.command, stdin: exec.stdin, folder, variables, confined, cpu, memory, file_size }
    }

    /// The program as `agent.toml` names it.
    pub(super) fn program(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }

    /// What must be done before the command can be started.
    pub(super) fn missing(&self) -> Option<String> {
        let path = self.variables.get("PATH").map_or("", String::as_str);
        program::find(self.program(), &self.folder, path).err()
    }

    /// What the command reads.
    pub(super) fn input(&self, job: &Job) -> Vec<u8> {
        input::bytes(self.stdin, job)
    }

    /// What of the message the command cannot be given.
    pub(super) fn unreadable(&self, job: &Job) -> Option<&'static str> {
        input::unreadable(self.stdin, job)
    }

    /// Starts the command with three pipes.
    pub(super) fn spawn(&self, job: &Job) -> Result<ProcessGroup, Error> {
        let mut variables = BTreeMap::from([
            ("AGENTSITE_TASK".to_owned(), job.task.to_string()),
            ("AGENTSITE_CONTEXT".to_owned(), job.context.as_str().to_owned()),
            ("AGENTSITE_AGENT".to_owned(), job.agent.as_str().to_owned()),
            ("AGENTSITE_ATTEMPT".to_owned(), job.attempt.to_string()),
        ]);
        variables.extend(self.variables.clone());
        let credential = job.ephemeral.credential.as_ref();
        variables
            .extend(credential.map(|credential| (CREDENTIAL.to_owned(), credential.secret().to_owned())));
        let program = Program { command: &self.command, folder: &self.folder, variables };
        let mut command = self.confined.command(program)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        ProcessGroup::spawn(command, &self.confined)
    }

    /// The file of a program that is named by a path; `None` for one that is looked for in PATH.
    fn file(&self) -> Option<PathBuf> {
        self.program().contains('/').then(|| self.folder.join(self.program()))
    }

    /// What the caller learns when the command cannot be started; it names no place on this machine.
    pub(super) fn why_it_did_not_start(&self, error: &Error) -> String {
        let program = self.program();
        match (error.kind(), self.file()) {
            (ErrorKind::NotFound, _) if !self.folder.is_dir() => {
                format!("`{program}` cannot run: the agent's folder is gone; put it back or remove the agent")
            }
            (ErrorKind::NotFound, Some(file)) if file.exists() => format!(
                "`{program}` cannot run: the interpreter that its first line names is not installed; correct the line or install it"
            ),
            (ErrorKind::NotFound, Some(_)) => format!(
                "there is no file `{program}`; check `command` in agent.toml, a path is relative to the agent's folder"
            ),
            (ErrorKind::NotFound, None) => format!(
                "there is no program `{program}` in PATH; install it, or write its path into `command` in agent.toml"
            ),
            (ErrorKind::PermissionDenied, _) => {
                format!("`{program}` is not executable; make it executable with chmod +x")
            }
            _ => format!("`{program}` could not be started: {error}"),
        }
    }

    /// The same for the log, with the places.
    pub(super) fn why_it_did_not_start_in_full(&self, error: &Error) -> String {
        let path = self.variables.get("PATH").map_or("", String::as_str);
        let folder = self.folder.display();
        format!("{} (folder {folder}, PATH {path}: {error})", self.why_it_did_not_start(error))
    }
}
