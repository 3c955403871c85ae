//! A database to measure on: one that was named, or a private server that ends with the bench.
//!
//! Promises: a private server comes from the programs of the system's package, runs as a user without rights,
//! listens only on a socket in its folder, and writes every commit to disk. In a database that was named,
//! everything is in two schemas of the bench, which are removed. It does not tune the server: what is
//! measured is what people get.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use tokio::process::{Child, Command};

use super::process::family_cpu;
use crate::bench::BenchError;

/// Where Debian and others put the programs of the server, by its version.
const PROGRAMS: &[&str] = &["/usr/lib/postgresql", "/usr/local/pgsql", "/opt/postgresql"];

/// Who the server runs as when this is root, which it refuses: the user that its package makes.
const USER: &str = "postgres";

/// Longest wait for a server to answer.
const START: Duration = Duration::from_secs(30);

/// How often a starting or an ending server is asked.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// How often an ending server is asked before it is killed: it has nothing to save.
const END_LOOKS: usize = 250;

/// Rows of one task as the site writes them (task, event, message, journal, feed), and the one row that every
/// commit of the site locks; `:batch` tasks in a transaction. Bodies are as long as an echo's.
const TABLES: &str = "
    CREATE SCHEMA SCHEMA_NAME; SET search_path TO SCHEMA_NAME;
    CREATE TABLE tasks (id bytea PRIMARY KEY, state smallint NOT NULL, seq bigint NOT NULL, created_at bigint NOT NULL,
        updated_at bigint NOT NULL, agent text NOT NULL, owner text NOT NULL, context text NOT NULL);
    CREATE INDEX ON tasks (updated_at, id); CREATE INDEX ON tasks (owner, updated_at);
    CREATE INDEX ON tasks (context, updated_at);
    CREATE TABLE events (task bytea, last_seq bigint, body text NOT NULL, PRIMARY KEY (task, last_seq));
    CREATE TABLE sent (key bytea PRIMARY KEY, task bytea NOT NULL, hash bytea NOT NULL);
    CREATE TABLE journal (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at bigint NOT NULL, actor text NOT NULL,
        task bytea, text text NOT NULL, salt bytea NOT NULL, hash bytea NOT NULL);
    CREATE INDEX ON journal (task);
    CREATE TABLE head (single smallint PRIMARY KEY, seq bigint NOT NULL);
    INSERT INTO head VALUES (1, 0);
    CREATE TABLE feed (last bigint PRIMARY KEY, entities text[] NOT NULL);
    CREATE SEQUENCE batches;";

/// One transaction.
const SCRIPT: &str = "
\\set first random(1, 9000000000000000)
BEGIN;
INSERT INTO tasks SELECT decode(md5((:first::bigint + n)::text), 'hex'), 4, 3, :first::bigint + n, :first::bigint + n, 'echo', 'local', md5(n::text)
    FROM generate_series(1, :batch) n;
INSERT INTO events SELECT decode(md5((:first::bigint + n)::text), 'hex'), 3, repeat('hello world, and what is around it; ', 22)
    FROM generate_series(1, :batch) n;
INSERT INTO sent SELECT sha256((:first::bigint + n)::text::bytea), decode(md5((:first::bigint + n)::text), 'hex'), sha256(n::text::bytea)
    FROM generate_series(1, :batch) n;
SELECT seq FROM head FOR UPDATE;
INSERT INTO journal (at, actor, task, text, salt, hash) SELECT :first::bigint, 'local', decode(md5((:first::bigint + n)::text), 'hex'),
    'local asked echo: hello world; it was done', sha256(n::text::bytea), sha256((n + 1)::text::bytea)
    FROM generate_series(1, :batch) n;
INSERT INTO feed SELECT nextval('batches'), array_agg(md5(n::text)) FROM generate_series(1, :batch) n;
UPDATE head SET seq = seq + :batch;
COMMIT;
";

/// A database, with its server when that is ours.
#[derive(Debug)]
pub(super) struct Database {
    url: String,
    /// The programs of the client.
    programs: PathBuf,
    /// The prefix of the schemas.
    schema: String,
    server: Option<Child>,
}

impl Database {
    /// One that people named.
    pub(super) fn given(url: &str) -> Result<Self, BenchError> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(BenchError::error(
                "`--store` takes the URL of a database, such as postgres://user@host/database",
            ));
        }
        if url.contains("search_path=") {
            return Err(BenchError::error(
                "leave search_path out of `--store`: the bench has schemas of its own",
            ));
        }
        Ok(Self { url: url.into(), programs: programs()?, schema: schema(), server: None })
    }

    /// A private server in the folder.
    pub(super) async fn start(folder: &Path) -> Result<Self, BenchError> {
        let (programs, user) = (programs()?, user()?);
        let place = folder.join("postgres");
        std::fs::create_dir_all(&place).map_err(|error| BenchError::file("make", &place, &error))?;
        if let Some((user, group)) = user {
            std::os::unix::fs::chown(&place, Some(user), Some(group))
                .map_err(|error| BenchError::file("give away", &place, &error))?;
        }
        let data = place.join("data");
        let mut init = run_as(&programs.join("initdb"), user);
        init.args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "-D"]).arg(&data);
        said(init.output().await, "initdb")?;
        let mut server = run_as(&programs.join("postgres"), user);
        server.arg("-D").arg(&data).arg("-k").arg(&place).args(["-c", "listen_addresses="]);
        let log = place.join("log");
        let file = std::fs::File::create(&log).map_err(|error| BenchError::file("write", &log, &error))?;
        server.stdout(Stdio::null()).stderr(file);
        let mut server =
            server.spawn().map_err(|error| BenchError::error(format!("cannot start PostgreSQL: {error}")))?;
        let url = format!("postgres://postgres@/postgres?host={}", place.display());
        let began = Instant::now();
        loop {
            let mut asked = Command::new(programs.join("pg_isready"));
            asked.arg("-q").arg("-h").arg(&place).stdin(Stdio::null());
            if asked.status().await.is_ok_and(|status| status.success()) {
                return Ok(Self { url, programs, schema: schema(), server: Some(server) });
            }
            let ended = server.try_wait().is_ok_and(|ended| ended.is_some());
            if ended || began.elapsed() > START {
                let words = std::fs::read_to_string(&log).unwrap_or_default();
                return Err(BenchError::error(format!("PostgreSQL did not start: {words}")));
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
    }

    /// The URL for the site.
    pub(super) fn store(&self) -> String {
        let joint = if self.url.contains('?') { '&' } else { '?' };
        format!("{}{joint}search_path={}", self.url, self.schema)
    }

    /// Processor time of a server that is ours so far.
    pub(super) fn cpu_seconds(&self) -> Option<f64> {
        self.server.as_ref().and_then(Child::id).map(family_cpu)
    }

    /// Removes what was written.
    pub(super) async fn clear(&self) -> Result<(), BenchError> {
        let schema = &self.schema;
        self.sql(&format!(
            "SET client_min_messages TO warning; DROP SCHEMA IF EXISTS {schema} CASCADE; DROP SCHEMA IF EXISTS {schema}_pgbench CASCADE;"
        ))
        .await
    }

    /// Runs pgbench for so many seconds; gives the time of each transaction in microseconds.
    pub(super) async fn pgbench(
        &self,
        folder: &Path,
        batch: f64,
        clients: usize,
        seconds: u64,
    ) -> Result<Vec<u32>, BenchError> {
        let schema = format!("{}_pgbench", self.schema);
        self.sql(&TABLES.replace("SCHEMA_NAME", &schema)).await?;
        let (script, log) = (folder.join("pgbench.sql"), folder.join(format!("pgbench-{clients}")));
        std::fs::write(&script, SCRIPT).map_err(|error| BenchError::file("write", &script, &error))?;
        let mut bench = Command::new(self.programs.join("pgbench"));
        bench.arg("--file").arg(&script).arg(format!("--define=batch={batch}"));
        bench.args(["--no-vacuum", "--protocol=prepared", "--log"]).arg("--log-prefix").arg(&log);
        bench.arg(format!("--client={clients}")).arg("--jobs=1").arg(format!("--time={seconds}"));
        bench.env("PGOPTIONS", format!("-c search_path={schema}")).arg(&self.url);
        said(bench.stdin(Stdio::null()).kill_on_drop(true).output().await, "pgbench")?;
        let mut times = Vec::new();
        let files = std::fs::read_dir(folder).map_err(|error| BenchError::file("read", folder, &error))?;
        let prefix = format!("pgbench-{clients}.");
        for file in files.flatten().filter(|file| file.file_name().to_string_lossy().starts_with(&prefix)) {
            let text = std::fs::read_to_string(file.path()).unwrap_or_default();
            times.extend(text.lines().filter_map(|line| line.split(' ').nth(2)?.parse::<u32>().ok()));
        }
        if times.is_empty() {
            return Err(BenchError::error("pgbench has made no transaction"));
        }
        Ok(times)
    }

    async fn sql(&self, sql: &str) -> Result<(), BenchError> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--command", sql]).arg(&self.url);
        said(psql.stdin(Stdio::null()).output().await, "psql")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let Some(server) = &mut self.server else { return };
        let pid = server.id().and_then(|pid| rustix::process::Pid::from_raw(i32::try_from(pid).ok()?));
        if let Some(pid) = pid {
            // The data is not needed any more, but its processes and its shared memory must go.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::QUIT);
        }
        for _ in 0..END_LOOKS {
            if !matches!(server.try_wait(), Ok(None)) {
                return;
            }
            std::thread::park_timeout(ASK_EVERY);
        }
    }
}

/// A name that no other bench on the same database has.
fn schema() -> String {
    format!("agentsite_bench_{}", std::process::id())
}

/// The folder of the newest programs.
fn programs() -> Result<PathBuf, BenchError> {
    let versions = PROGRAMS.iter().filter_map(|place| std::fs::read_dir(place).ok()).flatten().flatten();
    let found = versions
        .filter_map(|entry| {
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .filter(|(_, bin)| ["postgres", "initdb", "pgbench"].iter().all(|name| bin.join(name).is_file()))
        .max();
    found.map(|(_, bin)| bin).ok_or_else(|| {
        BenchError::error(
            "PostgreSQL is not installed on this machine, neither server nor pgbench: run `apt-get install postgresql`",
        )
    })
}

/// The user and the group to run the server as, when this is root.
fn user() -> Result<Option<(u32, u32)>, BenchError> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let file = Path::new("/etc/passwd");
    let users = std::fs::read_to_string(file).map_err(|error| BenchError::file("read", file, &error))?;
    let line = users.lines().find(|line| line.split(':').next() == Some(USER));
    let found = line.and_then(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
    });
    let missing = || {
        BenchError::error(format!(
            "PostgreSQL does not run as root and there is no user `{USER}`: run the bench as another user"
        ))
    };
    found.ok_or_else(missing).map(Some)
}

fn run_as(program: &Path, user: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).kill_on_drop(true).current_dir("/");
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
    command
}

/// Success, or what a program said instead.
fn said(output: std::io::Result<Output>, name: &str) -> Result<(), BenchError> {
    let output = output.map_err(|error| BenchError::error(format!("cannot run {name}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(BenchError::error(format!("{name} failed: {}", words.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_named_by_its_url_and_keeps_its_own_schemas() {
        for (url, words) in
            [("site.db", "takes the URL"), ("postgres://h/d?search_path=x", "leave search_path")]
        {
            let refused = Database::given(url).unwrap_err().to_string();
            assert!(refused.contains(words), "{refused}");
        }
        let database = |url: &str| Database {
            url: url.into(),
            programs: PathBuf::new(),
            schema: "s".into(),
            server: None,
        };
        assert_eq!(database("postgres://h/d").store(), "postgres://h/d?search_path=s");
        assert_eq!(database("postgres://h/d?a=b").store(), "postgres://h/d?a=b&search_path=s");
    }
}
