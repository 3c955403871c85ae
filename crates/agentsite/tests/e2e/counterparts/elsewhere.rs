//! A foreign agent: the Python agent of `tests/python`, started next to the site on a free port.
//!
//! Promises: its card answers when `start` returns; killed when dropped; can be killed and started again at
//! the same address.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::site::{eventually, http, repository};

/// A foreign agent.
pub(super) struct Elsewhere {
    child: Child,
    program: PathBuf,
    port: u16,
    interfaces: String,
    /// Where it listens.
    pub(super) url: String,
}

impl Elsewhere {
    /// Starts the agent of A2A 1.0 with these interfaces on its card.
    pub(super) async fn start(python: &Path, interfaces: &str) -> Self {
        Self::program(python, "a2a_agent.py", interfaces).await
    }

    /// Starts a program of `tests/python` that serves an agent at `PORT`.
    pub(super) async fn program(python: &Path, file: &str, interfaces: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let program = repository("tests/python").join(file);
        let child = spawn(python, &program, port, interfaces);
        let (url, interfaces) = (format!("http://127.0.0.1:{port}"), interfaces.to_owned());
        let agent = Self { child, program, port, interfaces, url };
        agent.ready().await;
        agent
    }

    async fn ready(&self) {
        let card = format!("{}/.well-known/agent-card.json", self.url);
        let http = http();
        eventually("its card", async || http.get(&card).send().await.ok().map(drop)).await;
    }

    /// Kills it.
    pub(super) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again where it was.
    pub(super) async fn restart(&mut self, python: &Path) {
        self.kill();
        self.child = spawn(python, &self.program, self.port, &self.interfaces);
        self.ready().await;
    }

    /// The `agent.toml` that names it; `more` are further keys of the runtime.
    pub(super) fn manifest(&self, name: &str, more: &str) -> String {
        let about = format!("name = \"{name}\"\ndescription = \"d\"\n[runtime]\nkind = \"a2a\"\n");
        format!("{about}card = \"{}/.well-known/agent-card.json\"\n{more}", self.url)
    }

    /// Whether it has so many tasks at work.
    pub(super) async fn is_working(&self, count: usize) -> bool {
        let params = json!({"status": "TASK_STATE_WORKING"});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": params});
        let request = http().post(format!("{}/", self.url)).header("a2a-version", "1.0").json(&body);
        let page: Value = request.send().await.unwrap().json().await.unwrap();
        page["result"]["tasks"].as_array().map_or(0, Vec::len) == count
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(python: &Path, program: &Path, port: u16, interfaces: &str) -> Child {
    let mut command = Command::new(python);
    command.arg(program).env("PORT", port.to_string()).env("INTERFACES", interfaces);
    command.stdin(Stdio::null()).spawn().unwrap()
}
