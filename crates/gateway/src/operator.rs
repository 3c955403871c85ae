//! Operator: what admins ask of the program around the site, its configuration and its health.
//!
//! Promises: the gateway knows no file; the binary hands in an [`Operator`] that
//! reads, checks and writes the configuration and looks at the machine. The shapes here are what the REST
//! face tells. A gateway without an operator says that it has none.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use agentsite_protocol::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// A piece of work of an operator.
pub type Doing<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The program that the site runs in.
pub trait Operator: fmt::Debug + Send + Sync {
    /// The configuration in force, and the file that it comes from.
    fn config(&self) -> Doing<'_, Result<ConfigView, OperatorError>>;

    /// What would come of this text as the file; nothing is written.
    fn check(&self, text: String) -> Doing<'_, ConfigVerdict>;

    /// Writes the file, unless it is wrong or has changed since it was read as `was`, and applies what needs
    /// no restart.
    fn save(&self, text: String, was: String) -> Doing<'_, Result<ConfigVerdict, OperatorError>>;

    /// Writes everything that makes the site (its data; its agents and configuration unless `data_only`) to a
    /// new file.
    fn backup(&self, file: PathBuf, data_only: bool) -> Doing<'_, Result<BackupMade, OperatorError>> {
        let _ = (file, data_only);
        Box::pin(async { Err(OperatorError::File("this site is not backed up from here".into())) })
    }

    /// Looks at everything that a site needs.
    fn examine(&self) -> Doing<'_, Examination>;

    /// What the last look found.
    fn last_examination(&self) -> Option<Examination>;
}

/// Why an operator did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// Somebody else changed the file.
    #[error(
        "the file has changed since you read it; copy what you wrote, read it again and put your change in"
    )]
    Moved,
    /// The text is not a configuration.
    #[error("nothing was saved: {0}")]
    Wrong(ConfigProblem),
    /// The file cannot be read or written.
    #[error("{0}")]
    File(String),
    /// A file of this name is there already.
    #[error("{0}")]
    Exists(String),
}

/// What a backup holds. A gateway without an operator tells only the file, so the document requires no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["file"], "additionalProperties" = false))]
pub struct BackupMade {
    /// The file.
    pub file: PathBuf,
    /// Bytes of the database.
    #[schemars(extend("about" = "Bytes of the database"))]
    pub database: u64,
    /// Whether the configuration file is in it.
    pub config: bool,
    /// The folders of agents.
    pub agents: Vec<String>,
    /// How many files there are in all.
    pub files: usize,
    /// Bytes of all files before they were packed.
    pub bytes: u64,
    /// What was left out, and why.
    pub left_out: Vec<String>,
}

/// What is wrong with a configuration, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ConfigProblem {
    /// Line in the file, from 1; none when a variable or a flag is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// What is wrong, and what to do.
    pub what: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(out, "line {line}, column {column}: {}", self.what),
            _ => out.write_str(&self.what),
        }
    }
}

/// What would come, or has come, of a text as the configuration file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConfigVerdict {
    /// Whether it can be the configuration.
    pub ok: bool,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<ConfigProblem>,
    /// What is odd but no error.
    pub warnings: Vec<String>,
    /// Keys whose values differ from those in force.
    pub changed: Vec<String>,
    /// Those of them that need a restart of the site.
    pub restart: Vec<String>,
}

/// The configuration in force.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ConfigView {
    /// Where the file is, or would be.
    pub file: String,
    /// Whether it is there.
    pub exists: bool,
    /// What it holds.
    pub text: String,
    /// The mark of this very text, to be sent back with a change.
    #[schemars(extend("about" = "Sent back as was with a change"))]
    pub digest: String,
    /// Every key with its value.
    pub values: Vec<ConfigValue>,
    /// Keys that were changed in the file since the start and wait for a restart.
    #[schemars(extend("about" = "Changed keys that wait for a restart"))]
    pub restart: Vec<String>,
}

/// One key of the configuration.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ConfigValue {
    /// Its dotted path.
    pub key: String,
    /// Its value in force, as it is written; none when nothing is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Where the value came from, in words.
    pub origin: String,
    /// flag, environment, file or default.
    #[schemars(extend("enum" = ["flag", "environment", "file", "default"]))]
    pub source: &'static str,
    /// What it means.
    pub meaning: String,
    /// What it takes.
    pub kind: String,
    /// Its environment variable.
    pub variable: String,
    /// Its flag, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<&'static str>,
    /// Whether a change needs a restart.
    #[schemars(extend("about" = "Whether a change needs a restart"))]
    pub restart: bool,
}

/// What a look at everything found.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Examination {
    /// When it was made.
    pub ran_at: Timestamp,
    /// Each check.
    pub checks: Vec<Examined>,
}

/// One check and how it ended.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Examined {
    /// What was looked at.
    pub name: String,
    /// ok, warn or fail.
    #[schemars(extend("enum" = ["ok", "warn", "fail"]))]
    pub verdict: &'static str,
    /// What was found, and what to do.
    pub words: String,
}
