//! The fingerprint of an agent: by which the processes of a site notice that they have different files.
//!
//! Promises: equal files give equal fingerprints, wherever the folder is. A large folder costs a bounded
//! time: beyond the limits only names and sizes count. It reads files and says nothing about what they mean.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agentsite_host::Manifest;
use sha2::{Digest as _, Sha256};

/// Most files that count; the rest of a larger folder does not.
const MAX_FILES: usize = 1_000;

/// Most bytes that are read; of further files only names and sizes count.
const MAX_BYTES: u64 = 8 << 20;

/// What is shown of the hash: enough that two agents never share it by chance.
const SHOWN: usize = 8;

/// The fingerprint of an agent from its manifest and its folder.
pub(super) fn fingerprint(manifest: &Manifest, folder: Option<&Path>) -> String {
    let mut hash = Sha256::new();
    hash.update(format!("{manifest:?}"));
    let mut left = MAX_BYTES;
    for path in folder.map(files).unwrap_or_default() {
        let name = folder.and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(&path);
        let size = path.metadata().map_or(0, |data| data.len());
        hash.update(name.as_os_str().as_encoded_bytes());
        hash.update(size.to_le_bytes());
        if let Some(rest) = left.checked_sub(size) {
            left = rest;
            hash.update(std::fs::read(&path).unwrap_or_default());
        }
    }
    hash.finalize().iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect()
}

/// The files below a folder, by path; hidden ones do not count.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let (mut found, mut folders) = (BTreeSet::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for entry in entries.flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(b".") || found.len() >= MAX_FILES {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => drop(found.insert(entry.path())),
                _ => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        Manifest::read(
            "name = \"a\"\ndescription = \"A.\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n",
        )
        .unwrap()
    }

    #[test]
    fn equal_files_in_two_folders_have_one_fingerprint() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for folder in [&one, &two] {
            std::fs::create_dir(folder.path().join("docs")).unwrap();
            std::fs::write(folder.path().join("docs/a.md"), "words").unwrap();
        }
        let of = |folder: &tempfile::TempDir| fingerprint(&manifest(), Some(folder.path()));
        assert_eq!(of(&one), of(&two));
        std::fs::write(two.path().join("docs/a.md"), "other").unwrap();
        assert_ne!(of(&one), of(&two));
        assert_ne!(fingerprint(&manifest(), None), of(&one));
    }
}
