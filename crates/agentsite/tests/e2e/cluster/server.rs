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
    settings: Vec<String>,
    process: Option<Child>,
}

impl Server {
    /// Makes a database and starts a server on it.
    pub(super) fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same with settings, such as `max_connections=20`.
    pub(super) fn start_with(settings: &[&str]) -> Self {
        let mut server = Self::empty(settings);
        server.init(&[]);
        server.run();
        server
    }

    /// A folder for a server, in which nothing runs yet.
    pub(super) fn empty(settings: &[&str]) -> Self {
        let folder = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").unwrap();
        own(folder.path());
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        Self { folder, settings, process: None }
    }

    /// Makes the database.
    pub(super) fn init(&self, more: &[&str]) {
        let mut made = program("initdb");
        made.args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"]).args(more);
        said(made.arg("-D").arg(self.data()).output().unwrap());
        // One role needs its password, so that a wrong one can be tried.
        let file = self.data().join("pg_hba.conf");
        let logins = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("local all guarded scram-sha-256\n{logins}")).unwrap();
    }

    /// A standby that follows this server and that every commit waits for.
    pub(super) fn standby(&self) -> Self {
        let mut standby = Self::empty(&[]);
        let mut copy = program("pg_basebackup");
        copy.args(["-U", "postgres", "--checkpoint=fast", "-R", "-h"]).arg(self.folder.path());
        said(copy.arg("-D").arg(standby.data()).output().unwrap());
        standby.run();
        self.sql("ALTER SYSTEM SET synchronous_standby_names TO '*'");
        self.sql("SELECT pg_reload_conf()");
        // tidy: waits because the server says that its standby is in step only to those who ask.
        while self.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") != "1" {
            std::thread::yield_now();
        }
        standby
    }

    /// Makes a standby the primary.
    pub(super) fn promote(&self) {
        said(program("pg_ctl").arg("promote").arg("-D").arg(self.data()).output().unwrap());
    }

    /// The address of its database.
    pub(super) fn url(&self) -> String {
        format!("postgres://postgres@/postgres?host={}", self.folder.path().display())
    }

    /// The socket that it listens on.
    pub(super) fn socket(&self) -> PathBuf {
        self.folder.path().join(".s.PGSQL.5432")
    }

    /// The folder of its data.
    pub(super) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Runs a statement and gives what it answered.
    pub(super) fn sql(&self, sql: &str) -> String {
        let mut asked = self.client();
        said(asked.arg(sql).output().unwrap()).trim().to_owned()
    }

    /// A client that lacks only its statement.
    pub(super) fn client(&self) -> Command {
        let mut client = self.session();
        client.arg("-c");
        client
    }

    /// A client that takes its statements from its input.
    pub(super) fn session(&self) -> Command {
        let mut client = program("psql");
        client.args(["-U", "postgres", "-AtqX", "-h"]).arg(self.folder.path());
        client
    }

    /// Stops the server as a machine that is restarted does, and starts it again.
    pub(super) fn restart(&mut self) {
        self.stop("INT");
        self.run();
    }

    /// Ends the server as a machine that dies does.
    pub(super) fn kill(&mut self) {
        self.stop("QUIT");
    }

    /// Starts the server, unless it runs, and waits until it answers.
    pub(super) fn run(&mut self) {
        if let Some(process) = &mut self.process
            && process.try_wait().unwrap().is_none()
        {
            return;
        }
        let folder = self.folder.path();
        let mut server = program("postgres");
        server.arg("-D").arg(self.data()).arg("-k").arg(folder).args(["-c", "listen_addresses="]);
        for setting in &self.settings {
            server.args(["-c", setting]);
        }
        let log = std::fs::File::options().create(true).append(true).open(folder.join("log")).unwrap();
        self.process = Some(server.stdout(Stdio::null()).stderr(log).spawn().unwrap());
        let ready = |folder: &Path| {
            let asked = program("pg_isready").arg("-q").arg("-h").arg(folder).status();
            asked.is_ok_and(|status| status.success())
        };
        // tidy: waits because the server says that it is ready only to those who ask.
        while !ready(folder) {
            let ended = self.process.as_mut().unwrap().try_wait().unwrap();
            let log = || std::fs::read_to_string(folder.join("log")).unwrap_or_default();
            assert!(ended.is_none(), "the server has ended at once: {}", log());
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

/// Makes a folder the server's.
pub(super) fn own(folder: &Path) {
    if let Some((user, group)) = owner() {
        std::os::unix::fs::chown(folder, Some(user), Some(group)).unwrap();
    }
}

/// What a program said, when it succeeded.
fn said(output: std::process::Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
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
