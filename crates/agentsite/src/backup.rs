//! Backup: everything that makes a site, in one file: its data, its agents and its configuration.
//!
//! Promises: a file is written whole, is new, and can be read by its owner only. It never leaves the agents
//! folder by a link; caches that a tool makes again are left out, and what was left out is listed. Reading a
//! file is bounded and writes only what belongs to a site, below the folders of that site. The format is a
//! gzipped tar with `backup.json` first, so that ordinary tools can read it too.
//!
//! It does not copy a database in use: the store makes that copy (`SqliteStore::backup`) and hands it over.

mod read;
mod write;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use agentsite_protocol::Timestamp;
use serde::{Deserialize, Serialize};

pub(crate) use read::{Archive, Targets, is_archive};
pub(crate) use write::{Draft, Sources};

/// What the format is called in `backup.json`.
const FORMAT: &str = "agentsite-backup";

/// The version of the format that is written; a later one is refused.
const VERSION: u32 = 1;

/// The first entry: what the file is and what was left out.
const HEAD: &str = "backup.json";

/// The copy of the database.
const DATABASE: &str = "data/site.db";

/// Small files of the data folder, such as the admin token.
const DATA: &str = "data";

/// The configuration file.
const CONFIG: &str = "agentsite.toml";

/// The agents folder.
const AGENTS: &str = "agents";

/// Folders that package managers and interpreters make again; often larger than everything else.
const CACHES: [&str; 6] = [".venv", "venv", "node_modules", "__pycache__", ".mypy_cache", ".pytest_cache"];

/// Most files in a backup; a folder of agents with more is not one that was written by people.
const MAX_FILES: usize = 200_000;

/// What a backup may grow to when it is unpacked, as a multiple of its size: text of tasks shrinks to a
/// twentieth, so this leaves space, and a file made to fill the disk is refused.
const MAX_GROWTH: u64 = 200;

/// A small backup may grow to this size regardless of its own size.
const ALWAYS_FITS: u64 = 1 << 30;

/// Why a backup could not be written or read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BackupError {
    /// The file is there already.
    #[error("{} exists already and is left as it is; name another file for the backup", .0.display())]
    Exists(PathBuf),
    /// A file cannot be read or written.
    #[error("cannot {doing} {}: {source}", .path.display())]
    File {
        /// What was being done.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is not a backup that this program can read.
    #[error("this is not a valid backup: {0}")]
    Unsound(String),
    /// A restore would replace something.
    #[error("{0} exists already; use --force to move it aside as *.before-restore")]
    InTheWay(String),
}

impl BackupError {
    fn file(doing: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::File { doing, path: path.to_owned(), source }
    }
}

/// The first entry of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Head {
    format: String,
    version: u32,
    /// When it was made.
    pub(crate) made_at: Timestamp,
    /// Which version of the program made it.
    pub(crate) made_by: String,
}

/// What is in a backup.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Contents {
    /// Bytes of the database.
    pub(crate) database: u64,
    /// Whether the configuration file is in it.
    pub(crate) config: bool,
    /// The folders of agents.
    pub(crate) agents: Vec<String>,
    /// How many files there are in all.
    pub(crate) files: usize,
    /// Bytes of all files.
    pub(crate) bytes: u64,
    /// What is in the agents folder and was left out, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_out: Vec<String>,
}

impl Contents {
    fn count(&mut self, path: &str, bytes: u64) {
        (self.files, self.bytes) = (self.files + 1, self.bytes + bytes);
        if path == DATABASE {
            self.database = bytes;
        }
        self.config |= path == CONFIG;
        let agent = path.strip_prefix("agents/").and_then(|rest| rest.split_once('/'));
        if let Some((agent, _)) = agent
            && self.agents.last().is_none_or(|last| last != agent)
        {
            self.agents.push(agent.to_owned());
        }
    }

    /// What is in it, for people.
    pub(crate) fn lines(&self) -> Vec<String> {
        let size = agentsite_protocol::ByteSize;
        let agents = match self.agents.as_slice() {
            [] => "none".to_owned(),
            agents => agents.join(", "),
        };
        let mut lines = vec![
            format!("database   {}", size(self.database)),
            format!("config     {}", if self.config { CONFIG } else { "none" }),
            format!("agents     {agents}"),
            format!("files      {} ({})", self.files, size(self.bytes)),
        ];
        lines.extend(self.left_out.iter().map(|one| format!("left out   {one}")));
        lines
    }
}
