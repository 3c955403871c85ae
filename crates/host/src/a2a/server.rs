//! Server: the agent's own program, started as an A2A server on a free port of this machine.
//!
//! Promises: it gets `PORT` and `HOST`, and of the site's variables only those that are named; what it prints goes to the agent's
//! log line by line, bounded. It runs in a process group of its own: dropping the server kills the whole group.
//! It does not restart itself; see `supervisor`.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf, absolute};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::task::JoinSet;
use url::Url;

use crate::exec::ProcessGroup;
use crate::sandbox::Bounds;
use crate::{A2aRuntime, AgentLog, Environment, LogSource};

/// Where the server listens; nobody else than this machine needs to reach it.
const HOST: &str = "127.0.0.1";

/// Longest line that is put together; the log cuts much earlier.
const MAX_LINE: usize = 8 * 1024;

/// How long a server may take to end by itself; one with an open request often does not, and is killed then.
const GRACE: Duration = Duration::from_secs(2);

/// How long to read on after the server has ended: what it wrote last lies in the pipe and says why it died.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How the server is started.
pub(super) struct ServerCommand {
    program: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
    variables: BTreeMap<String, String>,
}

/// The program only: variables may be secrets.
impl fmt::Debug for ServerCommand {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ServerCommand").field("program", &self.program).finish_non_exhaustive()
    }
}

impl ServerCommand {
    /// Works out everything that is the same for each start.
    pub(super) fn new(runtime: A2aRuntime, folder: &Path, environment: &Environment) -> Self {
        let folder = absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let variables = environment.of_program(&folder, &runtime.pass_env, &runtime.env);
        let mut command = runtime.command.into_iter();
        let program = command.next().unwrap_or_default();
        // A path is one of the agent's folder, whatever the site's own folder is; a bare name is looked for in PATH.
        let program = if program.contains('/') { folder.join(program) } else { program.into() };
        Self { program, arguments: command.collect(), folder, variables }
    }

    /// Starts the server on a free port.
    pub(super) async fn start(&self, log: &AgentLog) -> io::Result<Server> {
        let port = free_port().await?;
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .current_dir(&self.folder)
            .env_clear()
            .envs(&self.variables)
            .env("HOST", HOST)
            .env("PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut group = ProcessGroup::spawn(command, &Bounds::default())?;
        let mut pumps = JoinSet::new();
        if let Some(out) = group.child().stdout.take() {
            pumps.spawn(pump(out, LogSource::Out, log.clone()));
        }
        if let Some(err) = group.child().stderr.take() {
            pumps.spawn(pump(err, LogSource::Err, log.clone()));
        }
        let origin = Url::parse(&format!("http://{HOST}:{port}/")).expect("an address of numbers is one");
        Ok(Server { group, origin, pumps })
    }

    /// What the site's people read when the server cannot be started.
    pub(super) fn why_not(&self, error: &io::Error) -> String {
        let program = self.program.display();
        match error.kind() {
            io::ErrorKind::NotFound => {
                format!(
                    "its server cannot be started: there is no program `{program}`; check `command` in agent.toml"
                )
            }
            io::ErrorKind::PermissionDenied => {
                format!(
                    "its server cannot be started: `{program}` may not be executed; make it executable with chmod +x"
                )
            }
            _ => format!("its server `{program}` cannot be started: {error}"),
        }
    }
}

/// A port that was free a moment ago. Another program may take it before the server does; then the server ends and the next
/// start gets another.
async fn free_port() -> io::Result<u16> {
    TcpListener::bind((HOST, 0)).await?.local_addr().map(|address| address.port())
}

/// A running server.
#[derive(Debug)]
pub(super) struct Server {
    group: ProcessGroup,
    origin: Url,
    pumps: JoinSet<()>,
}

impl Server {
    /// Where it listens.
    pub(super) const fn origin(&self) -> &Url {
        &self.origin
    }

    /// Waits until it has ended, and says how. Can be dropped and called again.
    pub(super) async fn ended(&mut self) -> String {
        match self.group.wait().await {
            Ok(status) => format!("its server ended by itself ({status}); see its log"),
            Err(error) => format!("its server cannot be watched: {error}"),
        }
    }

    /// Asks it to end, kills what is left after a grace, and takes its last words to the log.
    pub(super) async fn stop(mut self) {
        self.group.terminate(GRACE).await;
        // Only a process that left the group can hold the pipes open longer; its words are not waited for.
        let _ = tokio::time::timeout(LAST_WORDS, self.pumps.join_all()).await;
    }
}

/// Writes what comes to the log, line by line; a line that is too long is cut into several.
async fn pump(from: impl AsyncRead + Unpin, source: LogSource, log: AgentLog) {
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    while let Ok(piece) = reader.fill_buf().await {
        if piece.is_empty() {
            break;
        }
        let room = piece.len().min(MAX_LINE - line.len());
        let end = piece[..room].iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(room, |at| at + 1);
        line.extend_from_slice(&piece[..taken]);
        reader.consume(taken);
        if end.is_some() || line.len() >= MAX_LINE {
            log.push(source, &String::from_utf8_lossy(&line));
            line.clear();
        }
    }
    if !line.is_empty() {
        log.push(source, &String::from_utf8_lossy(&line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{BEGINNING, VirtualClock};

    #[tokio::test]
    async fn lines_reach_the_log_and_an_endless_one_is_cut() {
        let log = AgentLog::new(VirtualClock::at(BEGINNING));
        let mut text = b"one\ntwo\r\n".to_vec();
        text.extend(vec![b'x'; MAX_LINE + 5]);
        pump(&text[..], LogSource::Out, log.clone()).await;
        let lines = log.tail(10);
        assert_eq!(lines.len(), 4);
        assert_eq!(
            (lines[0].text.as_str(), lines[1].text.as_str(), lines[3].text.as_str()),
            ("one", "two", "xxxxx")
        );
    }

    #[test]
    fn a_server_sees_only_what_is_named() {
        let environment = Environment::new(
            [("TZ", "UTC"), ("KEY", "k"), ("OTHER", "o")].map(|(k, v)| (k.into(), v.into())),
        );
        let runtime = A2aRuntime {
            card: None,
            command: vec!["./agent".into(), "-v".into()],
            env: BTreeMap::from([("MODE".into(), "test".into())]),
            pass_env: vec!["KEY".into(), "MISSING".into()],
            start_timeout: agentsite_protocol::Period::seconds(1),
            token_env: None,
            binding: None,
        };
        let command = ServerCommand::new(runtime, Path::new("/agents/a"), &environment);
        let names: Vec<&str> = command.variables.keys().map(String::as_str).collect();
        assert_eq!(names, ["HOME", "KEY", "LANG", "LC_ALL", "MODE", "PATH", "TZ"]);
        assert_eq!(command.program, Path::new("/agents/a/./agent"));
        assert!(!format!("{command:?}").contains('k'.to_string().repeat(2).as_str()));
    }
}
