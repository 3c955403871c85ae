//! The process as its operator sees it, for the gateway: the configuration, and the doctor.
//!
//! Promises: the gateway's handle on what only the binary knows; files are read and written on blocking
//! threads. What is in force is what the site was started with, and what a reload has applied since. It
//! decides nothing: `config` and `doctor` do.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_gateway::{
    BackupMade, ConfigProblem, ConfigValue, ConfigVerdict, ConfigView, Doing, Examination, Examined,
    Operator, OperatorError,
};
use agentsite_protocol::Caller;
use agentsite_site::Site;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use crate::backup::{BackupError, Contents, Draft, Sources};
use crate::config::change::{changed, needs_restart, waiting_for_restart};
use crate::config::docs::{self, Explained};
use crate::config::save::{SaveError, digest, save};
use crate::config::{ConfigError, Loaded, Reader};
use crate::doctor::{self, Running};
use crate::instance::DataFolder;
use crate::telemetry::check_rules;

/// What a site was started with and what has been reloaded since. Clones are handles on the same.
#[derive(Debug, Clone)]
pub(super) struct ActiveConfig {
    started: Arc<Loaded>,
    // A std lock: held to copy or to replace a handle, never across an await.
    reloaded: Arc<Mutex<Arc<Loaded>>>,
}

impl ActiveConfig {
    pub(super) fn new(started: Loaded) -> Self {
        let started = Arc::new(started);
        Self { reloaded: Arc::new(Mutex::new(started.clone())), started }
    }

    /// What was read again; gives the keys that wait for a restart.
    pub(super) fn reload(&self, loaded: Loaded) -> Vec<String> {
        let waiting = waiting_for_restart(&self.started, &loaded);
        *self.lock() = Arc::new(loaded);
        waiting
    }

    fn reloaded(&self) -> Arc<Loaded> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Loaded>> {
        self.reloaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every key with the value in force and where that came from. A value that waits for a restart is not in
    /// force.
    fn values(&self) -> Vec<ConfigValue> {
        let newer = docs::explained(&self.reloaded());
        let in_force = |one: Explained| {
            let known = newer.iter().find(|other| other.shown.key == one.shown.key);
            let applied =
                |other: &&Explained| other.shown.value == one.shown.value || !needs_restart(&other.shown.key);
            value(known.filter(applied).unwrap_or(&one))
        };
        docs::explained(&self.started).into_iter().map(in_force).collect()
    }

    /// The outcome of a configuration.
    fn verdict(&self, loaded: &Loaded) -> ConfigVerdict {
        ConfigVerdict {
            ok: true,
            problem: None,
            changed: changed(&self.reloaded(), loaded),
            restart: waiting_for_restart(&self.started, loaded),
            warnings: loaded.warnings.clone(),
        }
    }
}

/// Checks a text as the configuration file; including the rules for the log, because they take effect
/// immediately.
fn judged(reader: &Reader, text: &str) -> Result<Loaded, ConfigProblem> {
    let loaded = reader.judge(text).map_err(problem)?;
    match check_rules(&loaded.config.telemetry.log) {
        Ok(()) => Ok(loaded),
        Err(what) => Err(problem(loaded.wrong(text, "telemetry.log", &what))),
    }
}

fn value(one: &Explained) -> ConfigValue {
    let shown = &one.shown;
    ConfigValue {
        key: shown.key.clone(),
        value: (!shown.value.is_null()).then(|| docs::written(&shown.value)),
        origin: shown.origin.clone(),
        source: one.source,
        meaning: one.meaning.clone(),
        kind: one.kind.clone(),
        variable: one.variable.clone(),
        flag: one.flag,
        restart: needs_restart(&shown.key),
    }
}

fn problem(error: ConfigError) -> ConfigProblem {
    match error {
        ConfigError::Place { place, what, .. } => {
            ConfigProblem { line: Some(place.line), column: Some(place.column), what }
        }
        other => ConfigProblem { line: None, column: None, what: other.to_string() },
    }
}

/// The binary as an operator.
#[derive(Debug)]
pub(super) struct Process {
    reader: Reader,
    in_force: ActiveConfig,
    data: DataFolder,
    site: Site,
    reload: Arc<Notify>,
    /// What the doctor found last; held while it looks, so that it looks once at a time.
    looking: tokio::sync::Mutex<()>,
    // A std lock: held to copy or replace what was found, never across an await.
    found: Mutex<Option<Examination>>,
}

impl Process {
    pub(super) fn new(
        reader: Reader,
        in_force: ActiveConfig,
        data: DataFolder,
        site: Site,
        reload: Arc<Notify>,
    ) -> Self {
        Self {
            reader,
            in_force,
            data,
            site,
            reload,
            looking: tokio::sync::Mutex::default(),
            found: Mutex::default(),
        }
    }

    async fn look(&self) -> Examination {
        let _once = self.looking.lock().await;
        let status = self.site.status(&Caller::admin()).await.ok();
        let status = status.and_then(|status| serde_json::to_value(status).ok());
        let url = self.data.announced().map(|site| site.url);
        let running = Running::Yes { url, status };
        let (reader, runtime) = (self.reader.clone(), Handle::current());
        let examined = spawn_blocking(move || match reader.load() {
            Err(error) => doctor::unreadable(&error),
            Ok(loaded) => runtime.block_on(doctor::examine(&loaded, reader.variables(), &running)),
        });
        let examined_check = |check: doctor::Check| Examined {
            name: check.name,
            verdict: check.verdict.word(),
            words: check.words,
        };
        let checks = examined.await.unwrap_or_default().into_iter().map(examined_check).collect();
        let examination = Examination { ran_at: self.site.ids().clock().now(), checks };
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(examination.clone());
        examination
    }
}

fn broken_off<T>(_: T) -> OperatorError {
    OperatorError::File("the operation on the file was interrupted; try again".into())
}

impl Operator for Process {
    fn config(&self) -> Doing<'_, Result<ConfigView, OperatorError>> {
        Box::pin(async {
            let reader = self.reader.clone();
            let text = spawn_blocking(move || reader.text()).await.map_err(broken_off)?;
            let text = match text {
                // A file that was named and has gone is empty, so that it can be written again.
                Err(ConfigError::Read { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                    None
                }
                text => text.map_err(|error| OperatorError::File(error.to_string()))?,
            };
            let file = self.reader.file();
            let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
            Ok(ConfigView {
                file: file.display().to_string(),
                exists: text.is_some(),
                digest: digest(text.as_deref()),
                text: text.unwrap_or_default(),
                values: self.in_force.values(),
                restart: waiting_for_restart(&self.in_force.started, &self.in_force.reloaded()),
            })
        })
    }

    fn check(&self, text: String) -> Doing<'_, ConfigVerdict> {
        let verdict = match judged(&self.reader, &text) {
            Ok(loaded) => self.in_force.verdict(&loaded),
            Err(problem) => ConfigVerdict { problem: Some(problem), ..ConfigVerdict::default() },
        };
        Box::pin(async { verdict })
    }

    fn save(&self, text: String, was: String) -> Doing<'_, Result<ConfigVerdict, OperatorError>> {
        Box::pin(async move {
            let loaded = judged(&self.reader, &text).map_err(OperatorError::Wrong)?;
            let verdict = self.in_force.verdict(&loaded);
            let file = self.reader.file().to_owned();
            let saved = spawn_blocking(move || save(&file, &text, &was)).await.map_err(broken_off)?;
            saved.map_err(|error| match error {
                SaveError::Moved => OperatorError::Moved,
                SaveError::Write { .. } => OperatorError::File(error.to_string()),
            })?;
            // Known at once, so that the next reader sees it; the reload that follows applies it.
            self.in_force.reload(loaded);
            self.reload.notify_one();
            Ok(verdict)
        })
    }

    fn backup(&self, file: PathBuf, data_only: bool) -> Doing<'_, Result<BackupMade, OperatorError>> {
        Box::pin(async move {
            let failed = |error: BackupError| match error {
                BackupError::Exists(_) => OperatorError::Exists(error.to_string()),
                other => OperatorError::File(other.to_string()),
            };
            let reader = self.reader.clone();
            let loaded = spawn_blocking(move || reader.load()).await.map_err(broken_off)?;
            let config = loaded.map_err(|error| OperatorError::File(error.to_string()))?.config;
            let sources = Sources::of(&config, self.reader.file(), data_only);
            let draft = Draft::begin(&file).map_err(failed)?;
            let copied = self.site.operations().backup(&Caller::admin(), &draft.database()).await;
            copied.map_err(|error| OperatorError::File(error.to_string()))?;
            let now = self.site.ids().clock().now();
            let written = spawn_blocking(move || draft.finish(&sources, now)).await.map_err(broken_off)?;
            let Contents { database, config, agents, files, bytes, left_out } = written.map_err(failed)?;
            Ok(BackupMade { file, database, config, agents, files, bytes, left_out })
        })
    }

    fn examine(&self) -> Doing<'_, Examination> {
        Box::pin(self.look())
    }

    fn last_examination(&self) -> Option<Examination> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn reader(folder: &std::path::Path) -> Reader {
        let variables = BTreeMap::from([("AGENTSITE_SITE_NAME".to_owned(), "from outside".to_owned())]);
        Reader::new(Some(&folder.join("agentsite.toml")), variables, vec![("demos", "false".into())])
    }

    #[test]
    fn what_is_in_force_names_its_origin_and_what_waits_for_a_restart_is_not_in_force() {
        let folder = tempfile::tempdir().unwrap();
        let reader = reader(folder.path());
        let in_force = ActiveConfig::new(reader.judge("[limits]\nconnections = 7\n").unwrap());
        let later = reader.judge("[limits]\nconnections = 9\n[telemetry]\nlog = \"debug\"\n").unwrap();
        assert_eq!(in_force.reload(later), ["limits.connections"]);
        let values = in_force.values();
        let find = |key: &str| values.iter().find(|one| one.key == key).unwrap();
        let shown = |key: &str| (find(key).value.as_deref().unwrap(), find(key).source, find(key).restart);
        assert_eq!(shown("limits.connections"), ("7", "file", true));
        assert_eq!(shown("telemetry.log"), ("debug", "file", false));
        assert_eq!(shown("site.name"), ("from outside", "environment", true));
        assert_eq!(shown("demos"), ("false", "flag", true));
        assert_eq!(shown("limits.body").1, "default");
        assert!(find("limits.body").meaning.contains("Largest body"));
        assert_eq!(find("demos").flag, Some("--no-demos"));
        assert_eq!(find("limits.body").variable, "AGENTSITE_LIMITS_BODY");
    }

    #[test]
    fn a_text_is_judged_with_its_place_and_what_it_would_change() {
        let folder = tempfile::tempdir().unwrap();
        let reader = reader(folder.path());
        let in_force = ActiveConfig::new(reader.judge("").unwrap());
        let wrong = |text: &str| judged(&reader, text).unwrap_err();
        let problem = wrong("\n[limits]\nbody = \"1MB\"\n");
        assert!(problem.line == Some(3) && problem.what.contains("invalid size"), "{problem:?}");
        let problem = wrong("[telemetry]\nlog = \"agentsite=loud\"\n");
        assert!(problem.line == Some(2) && problem.what.contains("is not a rule for the log"), "{problem:?}");
        let text = "[telemetry]\nlog = \"warn\"\n[site]\ndescription = \"d\"\n";
        let right = in_force.verdict(&judged(&reader, text).unwrap());
        assert!(right.ok);
        assert_eq!(right.changed, ["site.description", "telemetry.log"]);
        assert_eq!(right.restart, ["site.description"]);
    }
}
