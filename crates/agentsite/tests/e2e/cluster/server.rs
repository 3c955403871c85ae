//! A PostgreSQL server of a story's own, from the system's package: it can be stopped and started again.
//!
//! Promises: commits are durable, as an operator would have them. Without the programs the story fails and
//! says what to install. The server ends with the value.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Where Debian puts the programs of the server.
const PROGRAMS: &str = "/usr/lib/postgresql";

/// A running server.
pub(super) struct Server {
    folder: tempfile::TempDir,
    process: Option<Child>,
}

impl Server {
    /// Makes a database and starts a server on it.
    pub(super) fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").unwrap();
        if let Some((user, group)) = owner() {
            std::os::unix::fs::chown(folder.path(), Some(user), Some(group)).unwrap();
        }
        let made = program("initdb")
            .args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "-D"])
            .arg(folder.path().join("data"))
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb failed: {}", String::from_utf8_lossy(&made.stderr));
        let mut server = Self { folder, process: None };
        server.run();
        server
    }

    /// The address of its database.
    pub(super) fn url(&self) -> String {
        format!("postgres://postgres@/postgres?host={}", self.folder.path().display())
    }

    /// A client that reads orders from its input and writes rows to its output.
    pub(super) fn psql(&self) -> Child {
        let mut client = program("psql");
        client.args(["-h", self.folder.path().to_str().unwrap(), "-U", "postgres", "-At"]);
        client.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    /// The rows that a query gives, as text.
    pub(super) fn query(&self, sql: &str) -> String {
        let mut client = program("psql");
        client.args(["-h", self.folder.path().to_str().unwrap(), "-U", "postgres", "-At", "-c", sql]);
        let answer = client.output().unwrap();
        assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
        String::from_utf8(answer.stdout).unwrap()
    }

    /// Stops the server as a machine that is restarted does, and starts it again.
    pub(super) fn restart(&mut self) {
        self.stop("INT");
        self.run();
    }

    fn run(&mut self) {
        let folder = self.folder.path();
        let mut server = program("postgres");
        server.arg("-D").arg(folder.join("data")).arg("-k").arg(folder).args(["-c", "listen_addresses="]);
        let log = std::fs::File::options().create(true).append(true).open(folder.join("log")).unwrap();
        self.process = Some(server.stdout(Stdio::null()).stderr(log).spawn().unwrap());
        let ready = |folder: &Path| {
            let asked = program("pg_isready").arg("-q").arg("-h").arg(folder).status();
            asked.is_ok_and(|status| status.success())
        };
        // tidy: waits because the server says that it is ready only to those who ask.
        while !ready(folder) {
            let ended = self.process.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "the server has ended at once");
            std::thread::yield_now();
        }
    }

    fn stop(&mut self, signal: &str) {
        if let Some(mut process) = self.process.take() {
            let pid = process.id().to_string();
            let _ = Command::new("kill").args([&format!("-{signal}"), &pid]).status();
            let _ = process.wait();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop("QUIT");
    }
}

/// A program of the newest server, run as a user that the server takes.
fn program(name: &str) -> Command {
    let versions = std::fs::read_dir(PROGRAMS).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .filter(|(_, bin)| bin.join("postgres").is_file())
        .collect();
    found.sort();
    let (_, bin) = found.pop().expect("PostgreSQL is missing: run `apt-get install postgresql`");
    let mut command = Command::new(bin.join(name));
    command.stdin(Stdio::null());
    if let Some((user, group)) = owner() {
        command.uid(user).gid(group);
    }
    command
}

/// The user to run the server as when this process is root, which the server refuses.
fn owner() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let line = users.lines().find(|line| line.starts_with("postgres:")).expect("there is a user `postgres`");
    let fields: Vec<&str> = line.split(':').collect();
    Some((fields[2].parse().unwrap(), fields[3].parse().unwrap()))
}
