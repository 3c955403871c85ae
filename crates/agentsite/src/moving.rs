//! Moving: the data of a site from one store into another, for `migrate` and `restore`.
//!
//! Promises: the source is only read, while no site runs on it; a target that holds other data is never
//! written over; a move that was broken off is continued by the same call; success means that every table was
//! read back and is the same on both sides. The password of a database is never shown. It prints nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentsite_store::copying::{self, CopyProgress, CopyReport, RowSink, RowSource};
use agentsite_store::{SqliteSink, SqliteSource, StoreError, StoreKey};
use agentsite_store_pg::{PgSink, PgSource};

use crate::config::{Config, is_postgres, shown_store};
use crate::exit::{CliError, Exit};
use crate::instance::DataFolder;
use crate::sitekey::{self, SiteKey};

/// What names a variable that holds the URL of a database.
const VARIABLE: &str = "env:";

/// Where the data of a site is, or will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// A data folder.
    Folder(PathBuf),
    /// A database of PostgreSQL, by its URL.
    Database(String),
}

/// What a move has done.
#[derive(Debug)]
pub(crate) struct Moved {
    /// Both sides, table by table.
    pub(crate) report: CopyReport,
    /// Whether the same data was there already, so that it was only compared.
    pub(crate) was_there: bool,
}

impl Place {
    /// Reads what the user named: a folder, a URL, a file that holds a URL, or `env:NAME`.
    ///
    /// # Errors
    /// [`CliError`] when it is none of them.
    pub(crate) fn read(word: &str, variables: &BTreeMap<String, String>) -> Result<Self, CliError> {
        if is_postgres(word) {
            return Ok(Self::Database(word.to_owned()));
        }
        let expected = "write the URL of the database there: postgres://user:password@host/database";
        if let Some(name) = word.strip_prefix(VARIABLE) {
            let url = variables.get(name).map(|value| value.trim()).filter(|value| is_postgres(value));
            return url
                .map(|url| Self::Database(url.to_owned()))
                .ok_or_else(|| CliError::usage(format!("the variable {name}: {expected}")));
        }
        // The rest of a URL may hold a password, so it is not repeated.
        if let Some((scheme, _)) = word.split_once("://") {
            let what = "name a data folder, or a database as postgres://user@host/database";
            return Err(CliError::usage(format!("`{scheme}://` is not a place for data: {what}")));
        }
        let path = Path::new(word);
        if !path.is_file() {
            return Ok(Self::Folder(path.to_owned()));
        }
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let url = text.trim();
        if is_postgres(url) {
            return Ok(Self::Database(url.to_owned()));
        }
        Err(CliError::usage(format!("{word} is a file: name the data folder that it is in, or {expected}")))
    }

    /// The database that the configuration names, if it names one.
    ///
    /// # Errors
    /// [`CliError`] when the file with its URL cannot be read.
    pub(crate) fn configured(config: &Config) -> Result<Option<Self>, CliError> {
        Ok(crate::store::url(config)?.map(Self::Database))
    }

    /// How it is shown: without a password.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Folder(folder) => folder.display().to_string(),
            Self::Database(url) => shown_store(url),
        }
    }

    /// Whether both are the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Folder(one), Self::Folder(other)) => {
                let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
                real(one) == real(other)
            }
            (one, other) => one == other,
        }
    }

    /// The configuration of a site whose data folder is this one.
    fn config(&self, config: &Config) -> Config {
        match self {
            Self::Folder(folder) => Config { data: folder.clone(), ..config.clone() },
            Self::Database(_) => config.clone(),
        }
    }

    /// An error of this store, for people.
    pub(crate) fn failed(&self, error: StoreError) -> CliError {
        let what = match error {
            StoreError::Engine(what) => what,
            StoreError::Locked => "a site is running on this data folder: stop it first".to_owned(),
            other => other.to_string(),
        };
        CliError::error(format!("{}: {what}", self.shown()))
    }

    /// Opens it to read everything.
    async fn source(&self, key: &StoreKey) -> Result<Box<dyn RowSource>, StoreError> {
        match self {
            Self::Database(url) => Ok(Box::new(Box::pin(PgSource::open(url, key)).await?)),
            Self::Folder(folder) => {
                let (database, key) = (DataFolder::at(folder).database(), key.clone());
                Ok(Box::new(blocking(move || SqliteSource::open(&database, &key)).await?))
            }
        }
    }
}

/// The key that the data is sealed with: both sides have the same.
///
/// # Errors
/// [`CliError`] when it is missing, or when a site in the target's folder would use another one.
pub(crate) fn key_of(
    from: &Place,
    to: &Place,
    config: &Config,
    variables: &BTreeMap<String, String>,
) -> Result<StoreKey, CliError> {
    if let Place::Folder(folder) = from
        && !DataFolder::at(folder).database().exists()
    {
        let what = format!("there is no data of a site in {}: site.db is missing", folder.display());
        return Err(CliError::new(Exit::NotFound, what));
    }
    let found = match SiteKey::find(&from.config(config), variables)? {
        None => SiteKey::find(&to.config(config), variables)?,
        found => found,
    };
    let key = found.ok_or_else(|| {
        CliError::error(format!(
            "{}: the key of the data is missing: give it with key_file, AGENTSITE_DATA_KEY or the systemd credential agentsite-data-key",
            from.shown()
        ))
    })?;
    if matches!(to, Place::Folder(_)) {
        let there = SiteKey::find(&to.config(config), variables)?;
        if there.is_some_and(|there| there.bytes() != key.bytes()) {
            return Err(CliError::error(format!(
                "{}: its site.key is another key than that of the data: move that file away, then try again",
                to.shown()
            )));
        }
    }
    Ok(key)
}

/// Moves everything. The target is complete when this gives no difference.
///
/// # Errors
/// [`CliError`] with what to do.
pub(crate) async fn migrate(
    from: &Place,
    to: &Place,
    key: &StoreKey,
    config: &Config,
    variables: &BTreeMap<String, String>,
    progress: CopyProgress<'_>,
) -> Result<Moved, CliError> {
    let mut source = from.source(key).await.map_err(|error| from.failed(error))?;
    let mut sink: Box<dyn RowSink> = match to {
        Place::Database(url) => {
            let mut sink = Box::pin(PgSink::open(url, key)).await.map_err(|error| to.failed(error))?;
            if sink.holds_data() {
                drop(sink);
                return compared(source.as_mut(), to, key, progress).await;
            }
            Box::pin(sink.prepare(false)).await.map_err(|error| to.failed(error))?;
            Box::new(sink)
        }
        Place::Folder(folder) => {
            let data = DataFolder::at(folder);
            data.create()?;
            if data.database().exists() {
                // One that was broken off after its last step has left its mark.
                let database = data.database();
                if !data.is_in_use() {
                    SqliteSink::settle(&database).map_err(|error| to.failed(error))?;
                }
                return compared(source.as_mut(), to, key, progress).await;
            }
            if SiteKey::find(&to.config(config), variables)?.is_none() {
                let kept = sitekey::keep(&to.config(config), key);
                kept.map_err(|error| CliError::file("write", &data.key(), &error))?;
            }
            let (database, key) = (data.database(), key.clone());
            let made = blocking(move || SqliteSink::place(&database, &key)).await;
            Box::new(made.map_err(|error| to.failed(error))?)
        }
    };
    let report = copying::copy(source.as_mut(), sink.as_mut(), progress).await;
    let report = report.map_err(|error| failed_between(from, to, error))?;
    Ok(Moved { report, was_there: false })
}

/// The target holds data: the same, or another site's.
async fn compared(
    source: &mut dyn RowSource,
    to: &Place,
    key: &StoreKey,
    progress: CopyProgress<'_>,
) -> Result<Moved, CliError> {
    let other = || {
        let what = "the target already holds the data of a site, and it is not the same: name an empty one";
        CliError::error(format!("{}: {what}", to.shown()))
    };
    let mut target = match to.source(key).await {
        Ok(target) => target,
        // The data of another site has another key.
        Err(StoreError::WrongKey) => return Err(other()),
        Err(error) => return Err(to.failed(error)),
    };
    let report = copying::compare(source, target.as_mut(), progress).await;
    let report = report.map_err(|error| to.failed(error))?;
    if report.difference().is_some() { Err(other()) } else { Ok(Moved { report, was_there: true }) }
}

/// Fills a database from a backup, which is a copy of the caller's own.
///
/// # Errors
/// [`CliError`] with what to do; the database is not complete then.
pub(crate) async fn restore(
    backup: PathBuf,
    named: &Path,
    mut sink: PgSink,
    to: &Place,
    key: &StoreKey,
    progress: CopyProgress<'_>,
) -> Result<CopyReport, CliError> {
    let sealed = key.clone();
    let source = blocking(move || SqliteSource::open_backup(&backup, &sealed)).await;
    let mut source = source.map_err(|error| CliError::error(format!("{}: {error}", named.display())))?;
    let report = copying::copy(&mut source, &mut sink, progress).await.map_err(|error| to.failed(error))?;
    match difference(&report) {
        Some(what) => Err(CliError::error(format!("{}: {what}", to.shown()))),
        None => Ok(report),
    }
}

/// What is wrong with a copy, if it is not the same as its source.
pub(crate) fn difference(report: &CopyReport) -> Option<String> {
    let table = report.difference()?;
    Some(format!(
        "the table {} has {} rows with checksum {:032x} in the source and {} rows with checksum {:032x} in the target: the copy does not count; look at the server's disk and log, then run the command again",
        table.table, table.from.rows, table.from.sum, table.to.rows, table.to.sum
    ))
}

fn failed_between(from: &Place, to: &Place, error: StoreError) -> CliError {
    let what = match error {
        StoreError::Engine(what) => what,
        other => other.to_string(),
    };
    CliError::error(format!(
        "{} to {}: {what}; run the same command again to continue",
        from.shown(),
        to.shown()
    ))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(StoreError::Engine(format!("the work was broken off: {error}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_folder_a_url_a_file_with_a_url_or_a_variable() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("database.url");
        std::fs::write(&file, "postgres://site:secret@db/agents\n").unwrap();
        let variables = BTreeMap::from([("STORE".to_owned(), "postgres://a/b".to_owned())]);
        let read = |word: &str| Place::read(word, &variables);
        let named = read(file.to_str().unwrap()).unwrap();
        assert_eq!(named, Place::Database("postgres://site:secret@db/agents".into()));
        assert_eq!(named.shown(), "postgres://site:***@db/agents");
        assert_eq!(read("env:STORE").unwrap(), Place::Database("postgres://a/b".into()));
        assert_eq!(read("some-data").unwrap(), Place::Folder("some-data".into()));
        for wrong in ["env:NOTHING", "mysql://u:secret@h/d", folder.path().join("site.db").to_str().unwrap()]
        {
            std::fs::write(folder.path().join("site.db"), "SQLite").unwrap();
            let refused = read(wrong).unwrap_err();
            assert_eq!(refused.exit(), Exit::Usage);
            assert!(!refused.to_string().contains("secret"), "{refused}");
        }
    }

    #[test]
    fn a_folder_is_sealed_with_one_key() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (config, none) = (Config::default(), BTreeMap::new());
        let folder = |dir: &tempfile::TempDir| Place::Folder(dir.path().to_owned());
        let nothing = key_of(&folder(&one), &folder(&two), &config, &none).unwrap_err();
        assert_eq!(nothing.exit(), Exit::NotFound);
        std::fs::write(one.path().join("site.db"), "").unwrap();
        let missing = key_of(&folder(&one), &folder(&two), &config, &none).unwrap_err().to_string();
        assert!(missing.contains("AGENTSITE_DATA_KEY"), "{missing}");
        std::fs::write(one.path().join("site.key"), "11".repeat(32)).unwrap();
        assert_eq!(key_of(&folder(&one), &folder(&two), &config, &none).unwrap().bytes(), &[0x11; 32]);
        std::fs::write(two.path().join("site.key"), "22".repeat(32)).unwrap();
        let other = key_of(&folder(&one), &folder(&two), &config, &none).unwrap_err().to_string();
        assert!(other.contains("another key"), "{other}");
    }
}
