//! The server of the tests: a real PostgreSQL from the system's package.
//!
//! Promises: takes the one that `AGENTSITE_TEST_POSTGRES` names. Else the first test process starts one under
//! a lock, all others use it, and it ends by itself when no test has asked for it for two minutes. Each test
//! has a schema of its own, which goes with it. Without the programs the tests fail and say what to install.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio_postgres::{Client, NoTls};

use super::key;
use crate::{PgSettings, PgStore};

/// Where Debian and others put the programs of the server.
const PROGRAMS: &[&str] = &["/usr/lib/postgresql", "/usr/local/pgsql", "/opt/postgresql"];

/// Looks at a starting server, 20 ms apart: two minutes, because a busy machine is slow.
const STARTS: usize = 6_000;

/// Who may log in how: one role needs its password, so that a wrong one can be tried.
const LOGINS: &str = "local all guarded scram-sha-256\nlocal all all trust\nhost all guarded 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n";

/// A schema of the test's server.
#[derive(Clone)]
pub(super) struct Place(Arc<Inner>);

struct Inner {
    pub(super) base: String,
    schema: String,
}

impl Place {
    pub(super) async fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let schema = format!("t{}_{number}", std::process::id());
        let base = address().await;
        let place = Self(Arc::new(Inner { base, schema }));
        // A process of an earlier run may have had the same number.
        place
            .admin()
            .await
            .batch_execute(&format!("DROP SCHEMA IF EXISTS {} CASCADE", place.0.schema))
            .await
            .unwrap();
        place
    }

    pub(super) fn schema(&self) -> &str {
        &self.0.schema
    }

    /// The address without the schema.
    pub(super) fn base(&self) -> &str {
        &self.0.base
    }

    pub(super) fn url(&self) -> String {
        with_schema(&self.0.base, &self.0.schema)
    }

    /// The address for a role of this test's own, by which its connections are distinguished from others.
    pub(super) async fn own_role(&self) -> String {
        let schema = &self.0.schema;
        let sql = format!(
            "DROP ROLE IF EXISTS {schema}; CREATE ROLE {schema} LOGIN; GRANT ALL ON DATABASE postgres TO {schema};
             GRANT pg_signal_backend TO {schema}"
        );
        self.admin().await.batch_execute(&sql).await.unwrap();
        self.url().replace("postgres@", &format!("{schema}@"))
    }

    pub(super) async fn open(&self) -> PgStore {
        PgStore::open(PgSettings::new(self.url(), key())).await.unwrap()
    }

    /// A connection besides those of the store.
    pub(super) async fn admin(&self) -> Client {
        connect(&self.0.base).await
    }

    /// Lets time pass for the processes of the site.
    pub(super) async fn pass(&self, time: Duration) {
        let (schema, millis) = (&self.0.schema, time.as_millis());
        let sql = format!(
            "UPDATE {schema}.processes SET joined_at = joined_at - {millis}, renewed_at = renewed_at - {millis}, until = until - {millis}, in_time_since = in_time_since - {millis}"
        );
        self.admin().await.batch_execute(&sql).await.unwrap();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let schema = &self.schema;
        let role = format!(
            "DO $$ BEGIN IF to_regrole('{schema}') IS NOT NULL THEN DROP OWNED BY {schema} CASCADE; DROP ROLE {schema}; END IF; END $$"
        );
        let (base, sql) = (self.base.clone(), format!("DROP SCHEMA IF EXISTS {schema} CASCADE; {role}"));
        // Connections of the store may still be open; they hold no locks.
        let gone = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async { drop(connect(&base).await.batch_execute(&sql).await) });
        });
        drop(gone.join());
    }
}

fn with_schema(base: &str, schema: &str) -> String {
    format!("{base}{}search_path={schema}", if base.contains('?') { "&" } else { "?" })
}

pub(super) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The address of the server of this run.
#[expect(
    clippy::disallowed_methods,
    reason = "xtask tells tests where the counterparts are by the environment"
)]
async fn address() -> String {
    if let Ok(url) = std::env::var("AGENTSITE_TEST_POSTGRES") {
        return url;
    }
    static SHARED: OnceLock<String> = OnceLock::new();
    let asked = tokio::task::spawn_blocking(|| {
        let url = SHARED.get_or_init(shared).clone();
        // A test may take longer than the server waits for the next one.
        std::fs::write(folder().join("used"), "").unwrap();
        url
    });
    asked.await.unwrap()
}

/// The server that all test processes of this user share; the first one starts it.
#[expect(clippy::zombie_processes, reason = "the watcher outlives this process and ends by itself")]
fn shared() -> String {
    let folder = folder();
    std::fs::create_dir_all(&folder).unwrap();
    let lock = std::fs::File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    std::fs::write(folder.join("used"), "").unwrap();
    let url = address_of(&folder);
    if !answers(&url) {
        for entry in ["data", ".s.PGSQL.5432.lock"] {
            let _ = std::fs::remove_dir_all(folder.join(entry));
            let _ = std::fs::remove_file(folder.join(entry));
        }
        init(&folder);
        let mut child = run(&folder, &["fsync=off".into(), "full_page_writes=off".into()]);
        assert!(is_ready(&mut child, &url), "the server has ended at once");
        // Ends the server when the file has not been written for a while.
        let script = "while sleep 10; do test -n \"$(find \"$1\" -mmin -2)\" || { kill \"$2\"; exit; }; done";
        let mut watch = Command::new("sh");
        watch.args(["-c", script, "sh"]).arg(folder.join("used")).arg(child.id().to_string());
        watch
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
    }
    url
}

/// The folder of the server that is shared.
fn folder() -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    std::env::temp_dir().join(format!("agentsite-postgres-{user}"))
}

fn address_of(folder: &Path) -> String {
    format!("postgres://postgres@/postgres?host={}", folder.display())
}

/// A server of one test, for settings that others must not have; it ends with the value.
pub(super) struct Own {
    folder: tempfile::TempDir,
    child: Child,
    /// Where it listens on 127.0.0.1.
    pub(super) port: u16,
}

impl Own {
    /// Starts a server that listens at a free port of this machine, and on a socket. `prepare` may put files
    /// into its folder and gives the settings that name them.
    pub(super) fn start(prepare: impl Fn(&Path) -> Vec<String>) -> Self {
        let folder = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").unwrap();
        init(folder.path());
        let mut settings = prepare(folder.path());
        settings.extend(["fsync=off".into(), "listen_addresses=127.0.0.1".into()]);
        for entry in std::fs::read_dir(folder.path()).unwrap().flatten() {
            if let Some((user, group)) = postgres_user().filter(|_| entry.path().is_file()) {
                std::os::unix::fs::chown(entry.path(), Some(user), Some(group)).unwrap();
            }
        }
        loop {
            // Another program may take the port before the server does.
            let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let mut child = run(folder.path(), &[&settings[..], &[format!("port={port}")]].concat());
            if is_ready(&mut child, &format!("{}&port={port}", address_of(folder.path()))) {
                return Self { folder, child, port };
            }
            let log = std::fs::read_to_string(folder.path().join("log")).unwrap_or_default();
            assert!(log.contains("Address already in use"), "the server has ended at once: {log}");
        }
    }

    /// Its address on the socket of its folder.
    pub(super) fn socket(&self) -> String {
        format!("{}&port={}", address_of(self.folder.path()), self.port)
    }

    /// A file of its folder.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes a database in a folder.
fn init(folder: &Path) {
    let (programs, user) = (programs(), postgres_user());
    if let Some((user, group)) = user {
        std::os::unix::fs::chown(folder, Some(user), Some(group)).unwrap();
    }
    let data = folder.join("data");
    let mut init = as_user(&programs.join("initdb"), user);
    init.args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "-D"]);
    let made = init.arg(&data).stdout(Stdio::null()).output().unwrap();
    assert!(made.status.success(), "initdb failed: {}", String::from_utf8_lossy(&made.stderr));
    std::fs::write(data.join("pg_hba.conf"), LOGINS).unwrap();
}

/// Runs a server on the database in a folder; it listens on a socket in the folder.
fn run(folder: &Path, settings: &[String]) -> Child {
    let data = folder.join("data");
    let mut server = as_user(&programs().join("postgres"), postgres_user());
    server.arg("-D").arg(&data).arg("-k").arg(folder);
    for setting in ["listen_addresses=", "max_connections=200", "autovacuum=off"] {
        server.args(["-c", setting]);
    }
    for setting in settings {
        server.args(["-c", setting]);
    }
    let log = std::fs::File::create(folder.join("log")).unwrap();
    server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).process_group(0).spawn().unwrap()
}

/// Waits until the server answers; false when it has ended.
fn is_ready(child: &mut Child, url: &str) -> bool {
    for _ in 0..STARTS {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        if answers(url) {
            return true;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
    panic!("the server did not start within two minutes");
}

fn answers(url: &str) -> bool {
    let url = url.to_owned();
    // In a thread of its own, because tests ask from within a runtime.
    let asked = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { tokio_postgres::connect(&url, NoTls).await.is_ok() })
    });
    asked.join().unwrap()
}

/// The folder of the newest server's programs.
fn programs() -> PathBuf {
    let versions = PROGRAMS.iter().filter_map(|place| std::fs::read_dir(place).ok()).flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .filter(|(_, bin)| bin.join("postgres").is_file() && bin.join("initdb").is_file())
        .collect();
    found.sort();
    found
        .pop()
        .expect("there is no server of PostgreSQL: install it, on Debian by `apt-get install postgresql`")
        .1
}

/// The user to run the server as when this process is root, which the server refuses.
fn postgres_user() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let line = users.lines().find(|line| line.starts_with("postgres:"));
    let fields: Vec<&str> = line.expect("there is no user `postgres`").split(':').collect();
    Some((fields[2].parse().unwrap(), fields[3].parse().unwrap()))
}

fn as_user(program: &Path, user: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(program);
    if let Some((user, group)) = user {
        command.uid(user).gid(group).current_dir("/");
    }
    command
}
