//! Where the database is and how it is spoken to: the URL, the schema, TLS and the number of connections.
//!
//! Promises: whatever is wrong with a URL is said before a connection is tried. Understands what
//! tokio-postgres does, and besides `search_path`, `sslrootcert` and the modes `verify-ca` and `verify-full`.
//! It reads no file and no environment.

use std::path::PathBuf;
use std::str::FromStr;

use agentsite_store::{StorageSettings, StoreError, StoreKey, StoreMetrics};
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

/// The schema of the tables, unless the URL names another one.
const SCHEMA: &str = "agentsite";

/// Connections that read, unless the settings say otherwise: on a small machine more only compete for the
/// same cores, and a server of PostgreSQL has about a hundred for everybody.
const READERS: usize = 4;

/// What a store on PostgreSQL is opened with.
#[derive(Debug, Clone)]
pub struct PgSettings {
    /// The address, such as `postgres://user:password@host/database?sslmode=verify-full`. Tables lie in the
    /// schema `agentsite`, or in the one that `search_path` names.
    pub url: String,
    /// The key that secrets are encrypted with; the same for all processes of the site.
    pub key: StoreKey,
    /// What accounts may hold. Ballast and reserve have no meaning here: the disk is the server's.
    pub storage: StorageSettings,
    /// Most connections that read; besides them a store has one that writes, one that listens and
    /// one that renews the membership of its process.
    pub readers: usize,
    /// What the store tells the operator about itself.
    pub metrics: StoreMetrics,
}

impl PgSettings {
    /// Settings without limits.
    #[must_use]
    pub fn new(url: impl Into<String>, key: StoreKey) -> Self {
        Self {
            url: url.into(),
            key,
            storage: StorageSettings::default(),
            readers: READERS,
            metrics: StoreMetrics::default(),
        }
    }
}

/// How far the server's certificate is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verify {
    /// Not at all: the connection is encrypted and nothing more, as `prefer` and `require` mean it.
    Nothing,
    /// Its issuer, not its name.
    Issuer,
    /// Its issuer and its name.
    Full,
}

/// A URL that was read.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) config: Config,
    pub(crate) schema: String,
    pub(crate) verify: Verify,
    pub(crate) roots: Option<PathBuf>,
}

impl Target {
    /// Reads a URL, or the form `host=… user=…`.
    pub(crate) fn read(url: &str) -> Result<Self, StoreError> {
        let (mut schema, mut verify, mut roots, mut mode) = (None, Verify::Nothing, None, None);
        let mut own = |name: &str, value: &str| {
            match (name, value) {
                ("search_path", path) => schema = Some(first_name(path).to_owned()),
                ("sslrootcert", path) => roots = Some(PathBuf::from(path)),
                ("sslmode", "verify-full") => (verify, mode) = (Verify::Full, Some(SslMode::Require)),
                ("sslmode", "verify-ca") => (verify, mode) = (Verify::Issuer, Some(SslMode::Require)),
                // A root without a mode that checks it would be a promise that is not kept.
                _ => return false,
            }
            true
        };
        let rest = without_own(url, &mut own);
        let mut config = Config::from_str(&rest).map_err(|error| bad(&error.to_string()))?;
        if let Some(mode) = mode {
            config.ssl_mode(mode);
        }
        if roots.is_some() && verify == Verify::Nothing && config.get_ssl_mode() == SslMode::Require {
            // As libpq has it: `require` with a root checks the issuer.
            verify = Verify::Issuer;
        }
        let named = config.get_options().and_then(path_in_options).map(str::to_owned);
        let schema = schema.or(named).unwrap_or_else(|| SCHEMA.to_owned());
        if !is_name(&schema) {
            return Err(bad(&format!(
                "the schema `{schema}` is not a name of small letters, digits and underscores"
            )));
        }
        config.application_name("agentsite");
        Ok(Self { config, schema, verify, roots })
    }

    /// The server and the database as people read them, without the password.
    pub(crate) fn shown(&self) -> String {
        let hosts: Vec<String> = self.config.get_hosts().iter().map(|host| format!("{host:?}")).collect();
        let ports: Vec<String> = self.config.get_ports().iter().map(ToString::to_string).collect();
        format!("{} port {}", hosts.join(", "), ports.join(", "))
    }
}

/// Leaves out the password.
impl std::fmt::Debug for Target {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Target({}, {})", self.shown(), self.schema)
    }
}

fn bad(why: &str) -> StoreError {
    StoreError::Engine(format!(
        "the URL of the database cannot be read ({why}): write it like postgres://user:password@host/database"
    ))
}

/// The URL without the parameters that `own` takes.
fn without_own(url: &str, own: &mut dyn FnMut(&str, &str) -> bool) -> String {
    let mut keep = |pair: &&str| match pair.split_once('=') {
        Some((name, value)) => !own(name, &decoded(value)),
        None => true,
    };
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return url.split_whitespace().filter(&mut keep).collect::<Vec<_>>().join(" ");
    }
    let Some((base, query)) = url.split_once('?') else { return url.to_owned() };
    let kept: Vec<&str> = query.split('&').filter(&mut keep).collect();
    if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) }
}

/// A value of a URL without its percent signs.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let pair = after.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn path_in_options(options: &str) -> Option<&str> {
    options.split("search_path=").nth(1).map(first_name)
}

fn first_name(path: &str) -> &str {
    path.split([',', ' ']).next().unwrap_or_default()
}

/// Whether a name needs no quotes, so that it can be part of a statement.
fn is_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    (1..=48).contains(&name.len())
        && name.bytes().next().is_some_and(letter)
        && name.bytes().all(|byte| letter(byte) || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_schema_root_and_mode() {
        let target = Target::read(
            "postgres://u:p@h/d?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem&search_path=site_1,public",
        );
        let target = target.unwrap();
        assert_eq!((target.schema.as_str(), target.verify), ("site_1", Verify::Full));
        assert_eq!(target.roots, Some(PathBuf::from("/etc/ca.pem")));
        assert_eq!(target.config.get_ssl_mode(), SslMode::Require);
        assert!(!format!("{target:?}").contains(":p@"));
    }

    #[test]
    fn without_words_the_schema_is_agentsite_and_prefer_checks_nothing() {
        let target = Target::read("host=h user=u dbname=d").unwrap();
        assert_eq!((target.schema.as_str(), target.verify), ("agentsite", Verify::Nothing));
        assert_eq!(target.config.get_ssl_mode(), SslMode::Prefer);
        let target = Target::read("postgres://h/d?options=-c%20search_path%3Dother").unwrap();
        assert_eq!(target.schema, "other");
    }

    #[test]
    fn a_name_that_needs_quotes_and_an_unknown_mode_are_refused() {
        for url in ["postgres://h/d?search_path=a%22b", "postgres://h/d?sslmode=maybe", "postgres://h:x/d"] {
            let refused = Target::read(url).unwrap_err().to_string();
            assert!(refused.contains("write it like postgres://"), "{refused}");
        }
    }
}
