//! The doctor: looks at everything that a site needs, and names the fix for what is wrong.
//!
//! Promises: every check is a line with its result; a failed one says what to do. It changes nothing, and
//! leaves the database alone while a site uses it. It is asked from the command line and from inside of a
//! running site, with the same answers. The checks themselves are in `checks` and `agents`.

mod agents;
mod checks;
mod database;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::config::{ConfigError, Loaded};
use crate::sandbox::possible_confinement;
use crate::store;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// All is well.
    Ok,
    /// It works, but needs attention.
    Warn,
    /// It does not work.
    Fail,
}

/// One check and how it ended.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Check {
    /// What was checked.
    pub(crate) name: String,
    /// How it ended.
    pub(crate) verdict: Verdict,
    /// What was found, and for a failed one what to do.
    pub(crate) words: String,
}

impl Verdict {
    /// The word for it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

impl Check {
    fn new(name: impl Into<String>, verdict: Verdict, words: impl Into<String>) -> Self {
        Self { name: name.into(), verdict, words: words.into() }
    }

    fn ok(name: impl Into<String>, words: impl Into<String>) -> Self {
        Self::new(name, Verdict::Ok, words)
    }

    fn warn(name: impl Into<String>, words: impl Into<String>) -> Self {
        Self::new(name, Verdict::Warn, words)
    }

    fn fail(name: impl Into<String>, words: impl Into<String>) -> Self {
        Self::new(name, Verdict::Fail, words)
    }
}

/// Whether a site runs on this data, and what it says of itself.
#[derive(Debug)]
pub(crate) enum Running {
    /// None does.
    No,
    /// One does.
    Yes {
        /// Where it listens, as it announced itself in the data folder.
        url: Option<String>,
        /// Its status, when it answered.
        status: Option<Value>,
    },
}

impl Running {
    fn is(&self) -> bool {
        matches!(self, Self::Yes { .. })
    }

    fn status(&self) -> Option<&Value> {
        match self {
            Self::Yes { status, .. } => status.as_ref(),
            Self::No => None,
        }
    }

    fn url(&self) -> Option<&str> {
        match self {
            Self::Yes { url, .. } => url.as_deref(),
            Self::No => None,
        }
    }
}

/// The result when the configuration cannot be read: nothing else can be checked.
pub(crate) fn unreadable(error: &ConfigError) -> Vec<Check> {
    vec![Check::fail("configuration", error.to_string())]
}

/// Looks at everything.
pub(crate) async fn examine(
    loaded: &Loaded,
    variables: &BTreeMap<String, String>,
    running: &Running,
) -> Vec<Check> {
    let mut found = Vec::new();
    let file = loaded.file.as_ref().map_or("defaults, no file".to_owned(), |file| file.display().to_string());
    found.push(Check::ok("configuration", file));
    found.extend(loaded.warnings.iter().map(|warning| Check::warn("environment", warning)));
    found.extend(checks::machine());
    found.extend(checks::sandbox(&possible_confinement(loaded, variables)));
    found.extend(checks::data(&loaded.config));
    found.extend(checks::port(loaded, running));
    found.extend(match store::url(&loaded.config) {
        Ok(Some(url)) => database::of_server(&loaded.config, variables, url).await,
        Ok(None) => checks::database(&loaded.config, variables, running.is()).await,
        Err(error) => vec![Check::fail("database", error.to_string())],
    });
    found.extend(running.status().into_iter().flat_map(checks::of_site));
    found.extend(match running.status() {
        Some(status) => agents::of_site(status),
        None => agents::of_folder(&loaded.config, variables).await,
    });
    found.extend(checks::models(&loaded.config, variables).await);
    found
}
