//! Server: the agent's own program, started as an A2A server on a free port of this machine.
//!
//! Promises: it gets `PORT` and `HOST`, and of the site's variables only those that are named; what it prints
//! goes to the agent's log line by line, bounded. It runs in its own process group: dropping the server kills
//! the whole group. It does not restart itself; see `supervisor`.

use std::io;
use std::path::Path;

use tokio::net::TcpListener;
use url::Url;

use crate::child::{Child, ChildCommand};
use crate::sandbox::Confined;
use crate::{A2aRuntime, AgentLog, Environment};

/// Where the server listens; only this machine needs to reach it.
const HOST: &str = "127.0.0.1";

/// How the server is started.
#[derive(Debug)]
pub(super) struct ServerCommand(ChildCommand);

impl ServerCommand {
    /// Works out everything that is the same for each start.
    pub(super) fn new(
        runtime: A2aRuntime,
        folder: &Path,
        environment: &Environment,
        confined: Confined,
    ) -> Self {
        let A2aRuntime { command, pass_env, env, .. } = runtime;
        Self(ChildCommand::new(command, folder, environment, &pass_env, &env, confined))
    }

    /// Starts the server on a free port.
    pub(super) async fn start(&self, log: &AgentLog) -> io::Result<Server> {
        let port = free_port().await?;
        let child = self.0.serve(&[("HOST", HOST), ("PORT", &port.to_string())], log)?;
        let origin = Url::parse(&format!("http://{HOST}:{port}/")).expect("an address of numbers is one");
        Ok(Server { child, origin })
    }

    /// What must be done before the server can be started.
    pub(super) fn missing(&self) -> Option<String> {
        self.0.missing()
    }

    /// What the site's people read when the server cannot be started.
    pub(super) fn why_not(&self, error: &io::Error) -> String {
        self.0.why_not(error)
    }
}

/// A port that was free a moment ago. Another program may take it before the server does; then the server
/// ends and the next start gets another.
async fn free_port() -> io::Result<u16> {
    TcpListener::bind((HOST, 0)).await?.local_addr().map(|address| address.port())
}

/// A running server.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    origin: Url,
}

impl Server {
    /// Where it listens.
    pub(super) const fn origin(&self) -> &Url {
        &self.origin
    }

    /// Waits until it has ended, and says how. Can be dropped and called again.
    pub(super) async fn ended(&mut self) -> String {
        self.child.ended().await
    }

    /// Asks it to end, kills what is left after a grace, and takes its last words to the log.
    pub(super) async fn stop(self) {
        self.child.stop().await;
    }
}
