//! Where the data of a site is: one file in the data folder, or a PostgreSQL database that several processes
//! share.
//!
//! Promises: the configuration alone decides; every failure to open is one sentence that says what to do. A
//! password is read from its file and never shown. It does not know what is stored.

use std::sync::Arc;

use agentsite_site::ProcessSettings;
use agentsite_store::{SharedStore, SqliteStore, StoreError, StoreMetrics};
use agentsite_store_pg::{PgSettings, PgStore};
use prometheus_client::registry::Registry;
use sha2::{Digest as _, Sha256};

use crate::config::{Config, is_postgres, shown_store};
use crate::exit::CliError;
use crate::instance::DataFolder;
use crate::sitekey::SiteKey;

mod figures;

use figures::PoolFigures;

/// The URL of the database; none when the data is in a file.
///
/// # Errors
/// [`CliError`] when the file that holds it cannot be read or holds something else.
pub(crate) fn url(config: &Config) -> Result<Option<String>, CliError> {
    let Some(file) = &config.store_file else { return Ok(config.store.clone()) };
    let text = std::fs::read_to_string(file).map_err(|error| CliError::file("read", file, &error))?;
    let url = text.trim();
    if is_postgres(url) {
        Ok(Some(url.to_owned()))
    } else {
        let what = "write one line there, the URL of the database: postgres://user:password@host/database";
        Err(CliError::error(format!("store_file: {}: {what}", file.display())))
    }
}

/// Opens the store that the configuration names.
///
/// # Errors
/// [`CliError`] with what keeps it from opening.
pub(crate) async fn open(
    config: &Config,
    data: &DataFolder,
    key: SiteKey,
    registry: &mut Registry,
) -> Result<SharedStore, CliError> {
    let metrics = StoreMetrics::default();
    metrics.register(registry);
    let storage = config.storage.settings();
    let (opened, place) = match url(config)? {
        Some(url) => {
            let place = shown_store(&url);
            let settings = PgSettings {
                storage,
                readers: config.cluster.connections,
                metrics,
                ..PgSettings::new(url, key.key.clone())
            };
            let opened = PgStore::open(settings).await.map(|store| {
                let store = Arc::new(store);
                registry.register_collector(Box::new(PoolFigures(store.clone())));
                store as SharedStore
            });
            (opened, place)
        }
        None => {
            let (path, store_key) = (data.database(), key.key.clone());
            let open = move || SqliteStore::open_with(&path, &store_key, storage, metrics);
            let opened = tokio::task::spawn_blocking(open).await;
            let opened =
                opened.map_err(|error| CliError::error(format!("the store cannot be opened: {error}")))?;
            (opened.map(|store| Arc::new(store) as SharedStore), data.database().display().to_string())
        }
    };
    let failed = |error: &StoreError| CliError::error(format!("{place}: {error}"));
    match opened {
        Ok(store) => Ok(store),
        Err(StoreError::WrongKey) => Err(key.withdraw().unwrap_or_else(|| failed(&StoreError::WrongKey))),
        Err(error) => Err(failed(&error)),
    }
}

/// How this process takes part in serving the site.
pub(crate) fn process(config: &Config) -> ProcessSettings {
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    ProcessSettings {
        name: config.cluster.name.clone().unwrap_or_else(|| format!("{machine}:{}", config.listen.port())),
        lease: config.cluster.lease.0,
        settings: fingerprint(config),
    }
}

/// A hash of what all processes of a site should have in common: everything but what belongs to one machine.
fn fingerprint(config: &Config) -> String {
    let own = Config::default();
    let shared = Config {
        listen: own.listen,
        data: own.data,
        store: own.store,
        store_file: own.store_file,
        agents: own.agents,
        key_file: own.key_file,
        tls_cert: own.tls_cert,
        tls_key: own.tls_key,
        cluster: own.cluster,
        telemetry: own.telemetry,
        ..config.clone()
    };
    let text = serde_json::to_string(&shared).unwrap_or_default();
    Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_database_is_read_from_its_file_and_shown_without_its_password() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("database.url");
        std::fs::write(&file, "postgres://site:secret@db/agents\n").unwrap();
        let config = Config { store_file: Some(file.clone()), ..Config::default() };
        let read = url(&config).unwrap().unwrap();
        assert_eq!(read, "postgres://site:secret@db/agents");
        assert_eq!(shown_store(&read), "postgres://site:***@db/agents");
        for (url, shown) in [
            ("postgres://db/agents?user=a&password=secret", "postgres://db/agents?user=a&password=***"),
            ("postgres://site:sec/r@et@db/agents", "postgres://site:***@db/agents"),
            ("postgres://site:secret@/agents?host=/run", "postgres://site:***@/agents?host=/run"),
            ("postgres://site@db:5432/agents", "postgres://site@db:5432/agents"),
        ] {
            assert_eq!(shown_store(url), shown);
        }
        std::fs::write(&file, "secret").unwrap();
        let refused = url(&config).unwrap_err().to_string();
        assert!(refused.contains("postgres://") && !refused.contains("secret\n"), "{refused}");
        assert_eq!(url(&Config::default()).unwrap(), None);
    }

    #[test]
    fn processes_differ_by_what_they_do_and_not_by_where_they_run() {
        let config = Config::default();
        let elsewhere =
            Config { data: "other".into(), store: Some("postgres://a/b".into()), ..Config::default() };
        assert_eq!(fingerprint(&config), fingerprint(&elsewhere));
        assert_ne!(fingerprint(&config), fingerprint(&Config { demos: false, ..Config::default() }));
    }
}
