//! Checks of the machine, the data folder, the port, the database and the models.
//!
//! Promises: nothing is left behind, nothing running is disturbed; a database that a site uses is not opened.
//! Each check is an independent function.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use agentsite_egress::Egress;
use agentsite_host::Confinement;
use agentsite_protocol::{ByteSize, Timestamp};
use agentsite_site::World;
use agentsite_store::{SCHEMA_VERSION, SqliteStore, StoreMetrics, Upkeep};
use rustix::process::{Resource, getrlimit};
use serde_json::Value;

use super::{Check, Running, Verdict};
use crate::config::models;
use crate::config::{Config, Loaded};
use crate::instance::DataFolder;
use crate::sitekey::SiteKey;

/// Fewer open files than this and a busy site runs out: each caller and each program of an agent needs some.
const FEW_FILES: u64 = 1_024;

/// Less space than this is soon used up by tasks.
const LITTLE_ROOM: u64 = 1 << 30;

/// With less space than this a site cannot start.
const NO_ROOM: u64 = 32 << 20;

/// The day this check was written; a clock before it is wrong, and certificates and deadlines with it.
const EARLIEST: Timestamp = Timestamp::from_millis(1_760_000_000_000);

/// How long a model server may take to show that it is there.
const MODEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Clock and open files.
pub(super) fn machine() -> Vec<Check> {
    let now = World::system().clock.now();
    let clock = if now < EARLIEST {
        Check::fail("clock", format!("it shows {now}; set the clock of this machine"))
    } else {
        Check::ok("clock", now.to_string())
    };
    let files = match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < FEW_FILES => Check::warn(
            "open files",
            format!("{limit} at once; raise it with `ulimit -n 65536` for many callers"),
        ),
        Some(limit) => Check::ok("open files", format!("{limit} at once")),
        None => Check::ok("open files", "no limit"),
    };
    vec![clock, files]
}

/// What this kernel keeps agents from, and what it cannot.
pub(super) fn sandbox(confinement: &Confinement) -> Vec<Check> {
    let shortfalls = confinement.shortfalls();
    if shortfalls.is_empty() {
        return vec![Check::ok("sandbox", format!("agents are confined by {}", confinement.summary()))];
    }
    shortfalls.into_iter().map(|shortfall| Check::warn("sandbox", shortfall)).collect()
}

/// The data folder can be written to and has space.
pub(super) fn data(config: &Config) -> Vec<Check> {
    let place = config.data.ancestors().find(|place| place.is_dir() || place.as_os_str().is_empty());
    let place = place.filter(|place| !place.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let writable = match tempfile_in(place) {
        Ok(()) if config.data.is_dir() => Check::ok("data folder", config.data.display().to_string()),
        Ok(()) => {
            Check::ok("data folder", format!("{} will be made at the first start", config.data.display()))
        }
        Err(error) => {
            let words = format!(
                "cannot write in {}: {error}; change its owner, or name another with --data",
                place.display()
            );
            Check::fail("data folder", words)
        }
    };
    let space = match rustix::fs::statvfs(place) {
        Err(error) => Check::warn("free disk", format!("cannot be read: {error}")),
        Ok(disk) => match disk.f_bavail.saturating_mul(disk.f_frsize) {
            free if free < NO_ROOM => {
                Check::fail("free disk", format!("{} left; free some space", rounded(free)))
            }
            free if free < LITTLE_ROOM => Check::warn("free disk", format!("{} left", rounded(free))),
            free => Check::ok("free disk", format!("{} left", rounded(free))),
        },
    };
    vec![writable, space]
}

fn rounded(bytes: u64) -> ByteSize {
    ByteSize(bytes & !((1 << 20) - 1))
}

/// Makes a file and takes it away again.
fn tempfile_in(folder: &Path) -> std::io::Result<()> {
    let file = folder.join(format!(".agentsite-doctor-{}", std::process::id()));
    std::fs::OpenOptions::new().write(true).create_new(true).open(&file)?;
    std::fs::remove_file(&file)
}

/// The configured port is free, or the running site of this data folder listens at it.
pub(super) fn port(loaded: &Loaded, running: &Running) -> Vec<Check> {
    let listen = loaded.config.listen;
    let url = running.url().and_then(|url| url.parse::<url::Url>().ok());
    let is_ours = url.as_ref().is_some_and(|url| url.port_or_known_default() == Some(listen.port()));
    let elsewhere = url
        .filter(|_| !is_ours)
        .map_or_else(String::new, |url| format!("; the running site listens at {url}"));
    vec![match TcpListener::bind(listen) {
        Ok(_) => Check::ok("port", format!("{listen} is free{elsewhere}")),
        Err(_) if is_ours => Check::ok("port", format!("{listen} is in use by the running site")),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse && !loaded.is_set("listen") => {
            let what = "is in use by another program or another site, so this site takes another port";
            Check::warn("port", format!("{listen} {what}; choose one with --listen{elsewhere}"))
        }
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            let fix = "end it, or name another address with --listen";
            Check::fail(
                "port",
                format!("{listen} is in use by another program or another site; {fix}{elsewhere}"),
            )
        }
        Err(error) => Check::fail("port", format!("{listen}: {error}; name another address with --listen")),
    }]
}

/// What the capabilities of a running site found when they checked themselves.
pub(super) fn of_site(status: &Value) -> Vec<Check> {
    let one = |check: &Value| {
        let verdict = match check["verdict"].as_str()? {
            "ok" => Verdict::Ok,
            "warn" => Verdict::Warn,
            _ => Verdict::Fail,
        };
        Some(Check::new(check["name"].as_str()?, verdict, check["words"].as_str()?))
    };
    status["checks"].as_array().into_iter().flatten().filter_map(one).collect()
}

/// The database is whole and of a known version. Not opened while a site uses it.
pub(super) async fn database(
    config: &Config,
    variables: &BTreeMap<String, String>,
    running: bool,
) -> Vec<Check> {
    let path = DataFolder::at(&config.data).database();
    if running {
        return vec![Check::ok("database", "in use by the running site; not opened")];
    }
    if !path.exists() {
        return vec![Check::ok("database", "none yet; it is made at the first start")];
    }
    let key = match SiteKey::find(config, variables) {
        Ok(Some(key)) => key,
        Ok(None) if !is_database(&path) => {
            return vec![Check::fail("database", "it is damaged: run `agentsite restore BACKUP`")];
        }
        Ok(None) => {
            return vec![Check::ok(
                "database",
                "of an earlier version; it is brought up to date at the next start",
            )];
        }
        Err(error) => return vec![Check::fail("database", error.to_string())],
    };
    let opened =
        tokio::task::spawn_blocking(move || SqliteStore::open(&path, &key, StoreMetrics::default())).await;
    let store = match opened {
        Ok(Ok(store)) => store,
        Ok(Err(error)) => return vec![Check::fail("database", error.to_string())],
        Err(error) => return vec![Check::fail("database", error.to_string())],
    };
    let stats = store.stats().await;
    let closed = store.close().await;
    vec![match stats.and_then(|stats| closed.map(|()| stats)) {
        Ok(stats) => Check::ok("database", format!("valid, schema {SCHEMA_VERSION}, {} tasks", stats.tasks)),
        Err(error) => Check::fail("database", error.to_string()),
    }]
}

/// Whether a file begins as one of SQLite does.
fn is_database(path: &Path) -> bool {
    let mut begins = [0; 16];
    let read =
        std::fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut begins));
    read.is_ok() && begins == *b"SQLite format 3\0"
}

/// Every configured model server answers; without any, a running Ollama may.
pub(super) async fn models(config: &Config, variables: &BTreeMap<String, String>) -> Vec<Check> {
    let (settings, complaints) = models::models(config, variables);
    let mut checks: Vec<Check> =
        complaints.into_iter().map(|complaint| Check::fail("models", complaint)).collect();
    let egress = Egress::unguarded();
    for provider in &settings.providers {
        let name = format!("model {}", provider.name);
        checks.push(match reached(&egress, &provider.base_url).await {
            Ok(()) => Check::ok(name, format!("{} answers", provider.base_url)),
            Err(error) => Check::fail(name, format!("{error}; check models.{}.base_url", provider.name)),
        });
    }
    if let Some(ollama) = settings.ollama.as_ref().filter(|_| settings.providers.is_empty()) {
        let words = "none; agents of kind llm need one: start Ollama, set OPENAI_API_KEY or ANTHROPIC_API_KEY, or write a [models.NAME] section";
        checks.push(match reached(&egress, ollama).await {
            Ok(()) => Check::ok("models", format!("Ollama answers at {ollama}")),
            Err(_) => Check::ok("models", words),
        });
    }
    checks
}

/// Any answer shows that a server is there.
async fn reached(egress: &Egress, url: &url::Url) -> Result<(), String> {
    let answer = egress.trusting(url).get(url.clone()).timeout(MODEL_TIMEOUT).send().await;
    answer.map(|_| ()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;
    use crate::config::Sources;

    fn config(folder: &Path) -> Config {
        Config { data: folder.join("data"), ..Config::default() }
    }

    #[test]
    fn a_port_that_another_program_has_is_a_failure_unless_the_site_of_this_folder_announced_it() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let listen = taken.local_addr().unwrap();
        let text = format!("listen = \"{listen}\"\n");
        let chosen = Sources { file: Some(("f".into(), text)), ..Sources::default() }.join().unwrap();
        let at = |port: u16| Running::Yes { url: Some(format!("http://127.0.0.1:{port}")), status: None };
        assert_eq!(port(&chosen, &at(listen.port()))[0].verdict, Verdict::Ok);
        let other = if listen.port() == 1 { 2 } else { 1 };
        for running in [Running::No, Running::Yes { url: None, status: None }, at(other)] {
            let check = port(&chosen, &running).remove(0);
            assert_eq!(check.verdict, Verdict::Fail, "{running:?}");
            assert!(check.words.contains("another program"), "{}", check.words);
        }
        let usual = Loaded { origins: BTreeMap::new(), ..chosen };
        let check = port(&usual, &Running::No).remove(0);
        assert!(
            check.verdict == Verdict::Warn && check.words.contains("takes another port"),
            "{}",
            check.words
        );
    }

    #[test]
    fn a_folder_that_can_be_made_is_well_and_nothing_is_left_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let checks = data(&config(folder.path()));
        assert_eq!(checks[0].verdict, Verdict::Ok, "{}", checks[0].words);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn a_damaged_database_is_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path());
        assert_eq!(database(&config, &BTreeMap::new(), false).await[0].verdict, Verdict::Ok);
        std::fs::create_dir(&config.data).unwrap();
        std::fs::write(config.data.join("site.db"), vec![7; 8192]).unwrap();
        let check = database(&config, &BTreeMap::new(), false).await.remove(0);
        assert_eq!(check.verdict, Verdict::Fail, "{}", check.words);
        assert_eq!(database(&config, &BTreeMap::new(), true).await[0].verdict, Verdict::Ok);
    }

    #[tokio::test]
    async fn a_model_server_that_does_not_answer_is_a_failure() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let text = format!("[models.a]\nbase_url = \"http://{free}/v1\"\n");
        let config: Config = toml::from_str(&text).unwrap();
        let checks = models(&config, &BTreeMap::new()).await;
        assert_eq!(checks[0].verdict, Verdict::Fail);
        assert!(checks[0].words.contains("models.a.base_url"));
    }

    #[test]
    fn the_clock_of_this_machine_is_sane() {
        assert_eq!(machine()[0].verdict, Verdict::Ok);
    }
}
