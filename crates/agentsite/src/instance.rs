//! The running site as others on this machine find it: `site.json` and `admin.token` in the data folder.
//!
//! Promises: the folder and everything in it are their owner's alone, corrected at each start and refused
//! when another user owns them; both files are written whole; `site.json` is there while the site listens and
//! gone after an orderly stop. A file that a killed site left is recognised by the connection that fails. It
//! does not hold a lock: the store does.

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use agentsite_protocol::Timestamp;
use serde::{Deserialize, Serialize};

use crate::exit::{CliError, Exit};

const SITE: &str = "site.json";
const TOKEN: &str = "admin.token";

/// Owner only: the folder holds what was said to agents, and the token.
const PRIVATE_FOLDER: u32 = 0o700;
pub(crate) const PRIVATE_FILE: u32 = 0o600;

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

    /// The key that the database is sealed with, unless the operator keeps it elsewhere.
    pub(crate) fn key(&self) -> PathBuf {
        self.0.join("site.key")
    }

    /// The index of the agents; made anew from the database when it is lost.
    pub(crate) fn index(&self) -> PathBuf {
        self.0.join("index")
    }

    /// The indexes of the libraries; made anew from their documents when they are lost.
    pub(crate) fn libraries(&self) -> PathBuf {
        self.0.join("libraries")
    }

    /// Where each agent has its private home. It is the only part of the data that an agent sees, and only
    /// its own.
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
    /// [`CliError`] when it cannot be made or is not a folder.
    pub(crate) fn create(&self) -> Result<(), CliError> {
        let made = fs::DirBuilder::new().recursive(true).mode(PRIVATE_FOLDER).create(&self.0);
        made.map_err(|error| {
            let what = format!(
                "cannot make the data folder {}: {error}; name another with --data",
                self.0.display()
            );
            CliError::error(what)
        })?;
        self.protect()
    }

    /// Makes the folder and its content private to its owner. A folder of another user is refused: that user
    /// could replace it.
    fn protect(&self) -> Result<(), CliError> {
        let failed = |error: std::io::Error| CliError::file("protect", &self.0, &error);
        // Where a link leads counts, not the link.
        let folder = fs::metadata(&self.0).map_err(failed)?;
        make_private(&self.0, &folder)?;
        for entry in fs::read_dir(&self.0).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let found = match entry.metadata() {
                // A process that removes it meanwhile no longer needs it.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                found => found.map_err(failed)?,
            };
            if !found.is_symlink() {
                make_private(&entry.path(), &found)?;
            }
        }
        Ok(())
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

    /// Keeps the key of an assistant, which is not the admin token: it may do less and is revoked on its own.
    ///
    /// # Errors
    /// [`CliError`] when the file cannot be written.
    pub(crate) fn keep_assistant_key(&self, assistant: &str, key: &str) -> Result<(), CliError> {
        self.write_private(&assistant_file(assistant), &format!("{key}\n"))
    }

    /// The key of an assistant, if one is kept here.
    pub(crate) fn assistant_key(&self, assistant: &str) -> Option<String> {
        let text = fs::read_to_string(self.0.join(assistant_file(assistant))).ok()?;
        Some(text.trim().to_owned()).filter(|key| !key.is_empty())
    }

    /// The site that was announced here, whether or not it still listens.
    pub(crate) fn announced(&self) -> Option<RunningSite> {
        let text = fs::read_to_string(self.0.join(SITE)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// The site that was announced here and whose process is still there. Another program may listen on the
    /// port of a site that was killed, and must not be given the admin token.
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

    /// The error for a command that needs a site when there is none.
    pub(crate) fn not_running(&self) -> CliError {
        let folder = self.0.display();
        CliError::new(Exit::NotRunning, format!("no site is running in {folder}: start it with `agentsite`"))
    }

    /// Writes a file atomically, readable by its owner only.
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

/// The file with the key of an assistant.
fn assistant_file(assistant: &str) -> String {
    format!("assistant-{assistant}.key")
}

/// Removes all permissions except the owner's from a file or folder.
fn make_private(path: &Path, found: &fs::Metadata) -> Result<(), CliError> {
    let me = rustix::process::geteuid().as_raw();
    if found.uid() != me {
        return Err(CliError::error(format!(
            "{} belongs to another user (uid {}, this is uid {me}): run the site as that user, change the owner with chown, or name another folder with --data",
            path.display(),
            found.uid()
        )));
    }
    let mode = found.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let failed = |error: std::io::Error| CliError::file("protect", path, &error);
    fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o700)).map_err(failed)?;
    if fs::metadata(path).map_err(failed)?.permissions().mode() & 0o077 != 0 {
        return Err(CliError::error(format!(
            "{} stays readable for other users, regardless of its permissions: name a folder on a file \
             system with permissions with --data",
            path.display()
        )));
    }
    tracing::warn!(path = %path.display(), "Other users could read a file or folder of the site's data; this was corrected.");
    Ok(())
}

/// Makes the log its owner's alone, when standard error is a file of this user.
pub(crate) fn protect_log() {
    let Ok(log) = std::io::stderr().as_fd().try_clone_to_owned().map(fs::File::from) else { return };
    let Ok(found) = log.metadata() else { return };
    let ours = found.is_file() && found.uid() == rustix::process::geteuid().as_raw();
    if ours && found.permissions().mode() & 0o077 != 0 {
        // A file system without permissions keeps what it has; the log contains no secrets.
        let _ = log.set_permissions(fs::Permissions::from_mode(PRIVATE_FILE));
    }
}

/// Everything that this process makes from here on is its owner's alone, whichever part makes it.
pub(crate) fn keep_private() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
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
    fn what_others_could_read_is_corrected() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::at(&folder.path().join("data"));
        fs::create_dir(&data.0).unwrap();
        fs::create_dir(data.0.join("index")).unwrap();
        for (name, bits) in [("", 0o755), ("index", 0o777)] {
            fs::set_permissions(data.0.join(name), fs::Permissions::from_mode(bits)).unwrap();
        }
        for name in ["site.db", "site.db-wal", "admin.token"] {
            fs::write(data.0.join(name), "").unwrap();
            fs::set_permissions(data.0.join(name), fs::Permissions::from_mode(0o664)).unwrap();
        }
        data.create().unwrap();
        assert_eq!((mode(&data.0), mode(&data.0.join("index"))), (0o700, 0o700));
        for name in ["site.db", "site.db-wal", "admin.token"] {
            assert_eq!(mode(&data.0.join(name)), 0o600, "{name}");
        }
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
