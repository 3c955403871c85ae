//! The running site as others on this machine find it: `site.json` and `admin.token` in the data folder.
//!
//! Promises: both files are written whole and readable by their owner only; `site.json` is there while the site listens and gone
//! after an orderly stop. A file that a killed site left is recognised by the connection that fails.
//! It does not hold a lock: the store does.

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use agentsite_protocol::Timestamp;
use serde::{Deserialize, Serialize};

use crate::exit::{CliError, Exit};

const SITE: &str = "site.json";
const TOKEN: &str = "admin.token";

/// Owner only: the folder holds what was said to agents, and the token.
const PRIVATE_FOLDER: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// The data folder of a site.
#[derive(Debug, Clone)]
pub(crate) struct DataFolder(PathBuf);

/// A site that listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunningSite {
    /// Its process.
    pub(crate) pid: u32,
    /// Where it is reached from this machine.
    pub(crate) url: String,
    /// Since when.
    pub(crate) started_at: Timestamp,
}

impl DataFolder {
    /// Names the folder; touches nothing.
    pub(crate) fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// The database.
    pub(crate) fn database(&self) -> PathBuf {
        self.0.join("site.db")
    }

    /// The index of the agents; made anew from the database when it is lost.
    pub(crate) fn index(&self) -> PathBuf {
        self.0.join("index")
    }

    /// The indexes of the libraries; made anew from their documents when they are lost.
    pub(crate) fn libraries(&self) -> PathBuf {
        self.0.join("libraries")
    }

    /// Where each agent has its private home. It is the only part of the data that an agent sees, and only its own.
    pub(crate) fn homes(&self) -> PathBuf {
        self.0.join("homes")
    }

    /// Where removed agents go.
    pub(crate) fn trash(&self) -> PathBuf {
        self.0.join("trash")
    }

    /// Makes the folder when it is missing.
    ///
    /// # Errors
    /// [`CliError`] when it cannot be made or is no folder.
    pub(crate) fn create(&self) -> Result<(), CliError> {
        let made = fs::DirBuilder::new().recursive(true).mode(PRIVATE_FOLDER).create(&self.0);
        made.map_err(|error| {
            let what = format!(
                "cannot make the data folder {}: {error}; name another with --data",
                self.0.display()
            );
            CliError::error(what)
        })
    }

    /// Tells others on this machine where the site is.
    ///
    /// # Errors
    /// [`CliError`] when the file cannot be written.
    pub(crate) fn announce(&self, site: &RunningSite) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(site).map_err(|error| CliError::error(error.to_string()))?;
        self.write_private(SITE, &format!("{text}\n"))
    }

    /// Takes the announcement back; it is not missed when it is gone already.
    pub(crate) fn withdraw(&self) {
        let _ = fs::remove_file(self.0.join(SITE));
    }

    /// Keeps the admin token for the command line.
    ///
    /// # Errors
    /// [`CliError`] when the file cannot be written.
    pub(crate) fn keep_token(&self, token: &str) -> Result<(), CliError> {
        self.write_private(TOKEN, &format!("{token}\n"))
    }

    /// The admin token, if one is kept here.
    pub(crate) fn token(&self) -> Option<String> {
        let text = fs::read_to_string(self.0.join(TOKEN)).ok()?;
        Some(text.trim().to_owned()).filter(|token| !token.is_empty())
    }

    /// The site that was announced here, whether or not it still listens.
    pub(crate) fn announced(&self) -> Option<RunningSite> {
        let text = fs::read_to_string(self.0.join(SITE)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// The site that was announced here and whose process is still there. Another program may listen on the port of a site that was
    /// killed, and must not be given the admin token.
    pub(crate) fn running(&self) -> Option<RunningSite> {
        self.announced().filter(|site| self.is_process_of_owner(site.pid))
    }

    /// Whether the process exists and belongs to the user who owns the announcement.
    fn is_process_of_owner(&self, pid: u32) -> bool {
        if !cfg!(target_os = "linux") {
            return true;
        }
        let owner = |path: &Path| fs::metadata(path).ok().map(|metadata| metadata.uid());
        let process = owner(Path::new(&format!("/proc/{pid}")));
        process.is_some() && process == owner(&self.0.join(SITE))
    }

    /// Whether a site runs on this folder: its process holds the database.
    pub(crate) fn is_in_use(&self) -> bool {
        agentsite_store::is_in_use(&self.database())
    }

    /// The sentence for a command that needs a site when there is none.
    pub(crate) fn nobody_home(&self) -> CliError {
        let folder = self.0.display();
        CliError::new(Exit::NotRunning, format!("no site is running in {folder}: start it with `agentsite`"))
    }

    /// Writes a file so that it is there whole or not at all, readable by its owner only.
    fn write_private(&self, name: &str, text: &str) -> Result<(), CliError> {
        let (draft, path) = (self.0.join(format!(".{name}.new")), self.0.join(name));
        let written = || {
            match fs::remove_file(&draft) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file =
                fs::OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(&draft)?;
            file.set_permissions(fs::Permissions::from_mode(PRIVATE_FILE))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&draft, &path)?;
            // The name, too, must outlast a power cut.
            fs::File::open(&self.0)?.sync_all()
        };
        written().map_err(|error| CliError::file("write", &path, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> RunningSite {
        let (url, started_at) = ("http://127.0.0.1:4747".into(), Timestamp::from_millis(0));
        RunningSite { pid: 7, url, started_at }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_site_is_announced_to_its_owner_only_and_withdrawn() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::at(&folder.path().join("a/b"));
        data.create().unwrap();
        assert_eq!(mode(&data.0), 0o700);
        assert_eq!(data.announced(), None);
        data.announce(&site()).unwrap();
        data.announce(&site()).unwrap();
        assert_eq!(data.announced(), Some(site()));
        assert_eq!(mode(&data.0.join("site.json")), 0o600);
        data.withdraw();
        data.withdraw();
        assert_eq!(data.announced(), None);
    }

    #[test]
    fn the_token_is_kept_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::at(folder.path());
        assert_eq!(data.token(), None);
        data.keep_token("secret").unwrap();
        assert_eq!(data.token().as_deref(), Some("secret"));
        assert_eq!(mode(&data.0.join("admin.token")), 0o600);
    }

    #[test]
    fn a_site_whose_process_is_gone_is_not_running() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::at(folder.path());
        data.announce(&RunningSite { pid: std::process::id(), ..site() }).unwrap();
        assert!(data.running().is_some());
        // Larger than any process id of Linux.
        data.announce(&RunningSite { pid: 1 << 30, ..site() }).unwrap();
        assert!(data.announced().is_some() && data.running().is_none());
    }

    #[test]
    fn a_damaged_announcement_counts_as_none() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("site.json"), "{").unwrap();
        assert_eq!(DataFolder::at(folder.path()).announced(), None);
    }

    #[test]
    fn a_file_in_the_place_of_the_folder_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data");
        fs::write(&file, "").unwrap();
        assert!(DataFolder::at(&file).create().unwrap_err().to_string().contains("--data"));
    }
}
