//! The key that the site's data is sealed with, and where it comes from.
//!
//! Promises: the first of these that is there is taken: the variable AGENTSITE_DATA_KEY, the systemd
//! credential `agentsite-data-key`, the file that `key_file` names, the file `site.key` in the data folder. A
//! file that is missing is made, for its owner alone; a file that others may read is corrected, and refused
//! when it belongs to another user. Only a key in the data folder goes into backups. The key is never shown.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use agentsite_protocol::Rng;
use agentsite_store::StoreKey;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

use crate::config::Config;
use crate::exit::CliError;
use crate::instance::{DataFolder, PRIVATE_FILE};

/// The variable that holds the key itself.
const VARIABLE: &str = "AGENTSITE_DATA_KEY";

/// Where systemd puts credentials (`LoadCredential=agentsite-data-key:…`), and what ours is called.
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";
const CREDENTIAL: &str = "agentsite-data-key";

/// A key and where it was found.
#[derive(Debug)]
pub(crate) struct SiteKey {
    /// The key.
    pub(crate) key: StoreKey,
    /// The file that was made for it just now.
    made: Option<PathBuf>,
}

impl SiteKey {
    /// Finds the key, or makes one when there is none yet.
    ///
    /// # Errors
    /// [`CliError`] when it cannot be read, is invalid, or others may read it.
    pub(crate) fn find_or_make(
        config: &Config,
        variables: &BTreeMap<String, String>,
        rng: &dyn Rng,
    ) -> Result<Self, CliError> {
        if let Some(key) = Self::find(config, variables)? {
            return Ok(Self { key, made: None });
        }
        let (path, in_data) = place(config);
        let mut bytes = [0; 32];
        rng.fill(&mut bytes);
        write(&path, &bytes).map_err(|error| CliError::file("write", &path, &error))?;
        Ok(Self { key: belongs(StoreKey::new(bytes), in_data), made: Some(path) })
    }

    /// Finds the key; `None` when there is none yet.
    ///
    /// # Errors
    /// As [`Self::find_or_make`].
    pub(crate) fn find(
        config: &Config,
        variables: &BTreeMap<String, String>,
    ) -> Result<Option<StoreKey>, CliError> {
        if let Some(key) = given(variables)? {
            return Ok(Some(key));
        }
        let (path, in_data) = place(config);
        match fs::read_to_string(&path) {
            Ok(text) => {
                protect(&path)?;
                let bytes = parse(&text).ok_or_else(|| nonsense(&path.display().to_string()))?;
                Ok(Some(belongs(StoreKey::new(bytes), in_data)))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(CliError::file("read", &path, &error)),
        }
    }

    /// Finds the key of data that is there.
    ///
    /// # Errors
    /// [`CliError`] when there is none; as [`Self::find_or_make`].
    pub(crate) fn existing(config: &Config, variables: &BTreeMap<String, String>) -> Result<Self, CliError> {
        let key = Self::find(config, variables)?.ok_or_else(|| {
            CliError::error(
                "the key of the data is missing on this machine: give it with key_file, AGENTSITE_DATA_KEY or the systemd credential agentsite-data-key",
            )
        })?;
        Ok(Self { key, made: None })
    }

    /// Removes a new file that turned out not to be the key of the data; returns the error for that.
    pub(crate) fn withdraw(self) -> Option<CliError> {
        let path = self.made?;
        let _ = fs::remove_file(&path);
        Some(CliError::error(format!(
            "the data is sealed, but its key {} is missing: bring the file back, or restore a backup that contains it",
            path.display()
        )))
    }
}

/// The key that the environment or systemd gives; a file does not replace it.
///
/// # Errors
/// [`CliError`] when it cannot be read or is invalid.
pub(crate) fn given(variables: &BTreeMap<String, String>) -> Result<Option<StoreKey>, CliError> {
    if let Some(text) = variables.get(VARIABLE).filter(|text| !text.trim().is_empty()) {
        return parse(text).map(|bytes| Some(StoreKey::new(bytes))).ok_or_else(|| nonsense(VARIABLE));
    }
    let Some(folder) = variables.get(CREDENTIALS) else { return Ok(None) };
    let path = Path::new(folder).join(CREDENTIAL);
    match fs::read_to_string(&path) {
        Ok(text) => {
            let bytes = parse(&text).ok_or_else(|| nonsense(&path.display().to_string()))?;
            Ok(Some(StoreKey::new(bytes)))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::file("read", &path, &error)),
    }
}

/// Writes the key that came with a backup to where this site looks for it; the one that is there is kept
/// next to it.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn keep(config: &Config, key: &StoreKey) -> io::Result<()> {
    let (path, _) = place(config);
    if path.exists() {
        let mut kept = path.clone().into_os_string();
        kept.push(".before-restore");
        fs::rename(&path, kept)?;
    }
    write(&path, key.bytes())
}

/// The file of the key, and whether it is in the data folder.
fn place(config: &Config) -> (PathBuf, bool) {
    match &config.key_file {
        Some(path) => (path.clone(), false),
        None => (DataFolder::at(&config.data).key(), true),
    }
}

/// The key, marked for backups when it is in the data folder.
fn belongs(key: StoreKey, in_data: bool) -> StoreKey {
    if in_data { key.in_backups() } else { key }
}

/// Writes a key atomically, readable by its owner only, and synced to disk.
fn write(path: &Path, bytes: &[u8; 32]) -> io::Result<()> {
    let mut draft = path.to_owned().into_os_string();
    draft.push(".new");
    let draft = PathBuf::from(draft);
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(&draft)?;
    file.write_all(format!("{text}\n").as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(folder)?.sync_all()
}

/// Makes a key file its owner's alone.
fn protect(path: &Path) -> Result<(), CliError> {
    let failed = |error: io::Error| CliError::file("protect", path, &error);
    let found = fs::metadata(path).map_err(failed)?;
    if found.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        let words = "may be read by others and belongs to another user: make it readable for the site's user alone (chmod 600)";
        return Err(CliError::error(format!("{} {words}", path.display())));
    }
    fs::set_permissions(path, fs::Permissions::from_mode(PRIVATE_FILE)).map_err(failed)
}

/// Reads a key: 64 hexadecimal digits, or base64 of 32 bytes.
fn parse(text: &str) -> Option<[u8; 32]> {
    let text = text.trim();
    if text.len() == 64 && text.is_ascii() {
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        return Some(bytes);
    }
    let decoded = STANDARD.decode(text).or_else(|_| STANDARD_NO_PAD.decode(text)).ok()?;
    decoded.try_into().ok()
}

fn nonsense(place: &str) -> CliError {
    CliError::error(format!(
        "{place} does not contain a key: write 64 hexadecimal digits, such as `openssl rand -hex 32` prints"
    ))
}

#[cfg(test)]
mod tests {
    use agentsite_site::SystemRng;

    use super::*;

    fn config(folder: &Path) -> Config {
        Config { data: folder.to_owned(), ..Config::default() }
    }

    #[test]
    fn a_key_is_made_once_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (config, none) = (config(folder.path()), BTreeMap::new());
        assert_eq!(SiteKey::find(&config, &none).unwrap(), None);
        let made = SiteKey::find_or_make(&config, &none, &SystemRng).unwrap();
        let path = folder.path().join("site.key");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let again = SiteKey::find_or_make(&config, &none, &SystemRng).unwrap();
        assert_eq!(again.key, made.key);
        assert!(again.made.is_none());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "it was corrected");
    }

    #[test]
    fn the_environment_and_credentials_come_before_files() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = config(folder.path());
        config.key_file = Some(folder.path().join("elsewhere"));
        fs::write(folder.path().join("elsewhere"), "11".repeat(32)).unwrap();
        let find = |variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            SiteKey::find(&config, &variables.collect()).unwrap().unwrap()
        };
        assert_eq!(find(&[]).bytes(), &[0x11; 32]);
        let credentials = folder.path().to_str().unwrap();
        fs::write(folder.path().join("agentsite-data-key"), STANDARD.encode([0x22; 32])).unwrap();
        assert_eq!(find(&[("CREDENTIALS_DIRECTORY", credentials)]).bytes(), &[0x22; 32]);
        let variable = "33".repeat(32);
        let both = [("CREDENTIALS_DIRECTORY", credentials), ("AGENTSITE_DATA_KEY", variable.as_str())];
        assert_eq!(find(&both).bytes(), &[0x33; 32]);
    }

    #[test]
    fn what_is_no_key_is_refused_with_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let variables = BTreeMap::from([("AGENTSITE_DATA_KEY".to_owned(), "password".to_owned())]);
        let refused = SiteKey::find(&config(folder.path()), &variables).unwrap_err();
        assert!(refused.to_string().contains("openssl rand -hex 32"), "{refused}");
        assert!(!refused.to_string().contains("password"), "{refused}");
    }
}
