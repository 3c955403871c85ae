//! Saving: how the configuration file is replaced by another text.
//!
//! Promises: the file is replaced atomically and keeps its permissions; its previous content is next to it as
//! a backup; a file that has changed meanwhile is left alone. The text is validated before (`reader`).

use std::fmt::Write as _;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The mark of a file that is not there.
const NO_FILE: &str = "none";

/// Why the file was not replaced.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SaveError {
    /// It is not the one that was read.
    #[error("the file has changed")]
    Moved,
    /// The system refuses.
    #[error("cannot write {}: {source}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// The mark of a text, or of no file.
pub(crate) fn digest(text: Option<&str>) -> String {
    let Some(text) = text else { return NO_FILE.into() };
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().fold(String::new(), |mut mark, byte| {
        let _ = write!(mark, "{byte:02x}");
        mark
    })
}

/// Replaces the file whose text has the mark `was`.
///
/// # Errors
/// [`SaveError`]; then the file is as it was.
pub(crate) fn save(file: &Path, text: &str, was: &str) -> Result<(), SaveError> {
    let failed = |source| SaveError::Write { file: file.to_owned(), source };
    // What a link leads to is replaced, not the link.
    let place = match fs::canonicalize(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => file.to_owned(),
        found => found.map_err(failed)?,
    };
    let before = match fs::read_to_string(&place) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        read => Some(read.map_err(failed)?),
    };
    if digest(before.as_deref()) != was {
        return Err(SaveError::Moved);
    }
    if before.is_some() {
        fs::copy(&place, beside(&place, "bak")).map_err(failed)?;
    }
    let draft = beside(&place, "new");
    let written = write(&draft, &place, text);
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written.map_err(failed)
}

fn write(draft: &Path, place: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::File::create(draft)?;
    if let Ok(known) = fs::metadata(place) {
        file.set_permissions(known.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(draft, place)
}

fn beside(place: &Path, end: &str) -> PathBuf {
    let mut name = place.as_os_str().to_owned();
    name.push(".");
    name.push(end);
    name.into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_made_then_replaced_and_what_it_held_lies_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("agentsite.toml");
        save(&file, "one", &digest(None)).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        save(&file, "two", &digest(Some("one"))).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "two");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "the rights stay");
        assert_eq!(fs::read_to_string(folder.path().join("agentsite.toml.bak")).unwrap(), "one");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no draft is left");
    }

    #[test]
    fn a_file_that_changed_meanwhile_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("agentsite.toml");
        fs::write(&file, "theirs").unwrap();
        assert!(matches!(save(&file, "mine", &digest(Some("older"))), Err(SaveError::Moved)));
        assert!(matches!(save(&file, "mine", &digest(None)), Err(SaveError::Moved)));
        assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.toml"), folder.path().join("agentsite.toml"));
        fs::write(&real, "one").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        save(&link, "two", &digest(Some("one"))).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "two");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_told() {
        let missing = Path::new("/nowhere/at/all/agentsite.toml");
        let error = save(missing, "x", &digest(None)).unwrap_err().to_string();
        assert!(error.contains("cannot write /nowhere"), "{error}");
    }
}
