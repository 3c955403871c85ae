//! Which documents there are: the files of a folder, or those that the program carries with it.
//!
//! Promises: nothing outside of the folder is read, wherever links point; a file that is reached in two ways
//! is found once; loops end; hidden files are passed over. Bounded in files, entries and depth. It reads
//! names, sizes and times; only [`load`] reads a file.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::document::{Content, Found, Version};
use super::own;
use super::read::{Kind, Unreadable};

/// Most documents of one library.
pub(super) const MAX_FILES: usize = 10_000;

/// Most entries of folders that are visited in one scan; a folder of a million pictures is not a library.
const MAX_ENTRIES: usize = 200_000;

/// How deeply folders may be nested.
const MAX_DEPTH: usize = 16;

/// Where the documents of a library are.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// In a folder; documents are named with its own name before theirs.
    Folder(PathBuf),
    /// In the program: the documentation of agentsite.
    Own,
}

/// What a scan found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// In order of their names.
    pub(super) found: Vec<Found>,
    /// What was passed over and why.
    pub(super) passed_over: Vec<String>,
}

impl Source {
    /// Where a library of this path lies, seen from the agent's folder.
    pub(super) fn of(path: Option<&str>, folder: &Path) -> Self {
        path.map_or(Self::Own, |path| Self::Folder(folder.join(path)))
    }

    /// Whether the program carries the documents, so that they are always there and never change.
    pub(super) const fn is_carried(&self) -> bool {
        matches!(self, Self::Own)
    }

    /// Looks at what is there.
    ///
    /// # Errors
    /// When the folder itself cannot be read.
    pub(super) fn scan(&self) -> std::io::Result<Scan> {
        match self {
            Self::Own => Ok(Scan { found: own::documents(), passed_over: Vec::new() }),
            Self::Folder(folder) => Walk::over(folder),
        }
    }

    /// What the library contains, as text.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Own => "the documentation of agentsite".into(),
            Self::Folder(folder) => folder.display().to_string(),
        }
    }
}

/// Reads a document, at most as much as its kind may have.
pub(super) fn load(found: &Found) -> Result<Vec<u8>, Unreadable> {
    let path = match &found.content {
        Content::Carried(text) => return Ok(text.as_bytes().to_vec()),
        Content::File(path) => path,
    };
    let most = found.kind.largest();
    let too_large = |size| Unreadable::TooLarge { size, most };
    if found.version.size > most {
        return Err(too_large(found.version.size));
    }
    let closed = |error: std::io::Error| Unreadable::Closed(error.to_string());
    let mut bytes = Vec::new();
    File::open(path).map_err(closed)?.take(most + 1).read_to_end(&mut bytes).map_err(closed)?;
    if bytes.len() as u64 > most { Err(too_large(bytes.len() as u64)) } else { Ok(bytes) }
}

/// One walk through a folder.
struct Walk {
    root: PathBuf,
    scan: Scan,
    seen: HashSet<PathBuf>,
    entries: usize,
}

impl Walk {
    fn over(folder: &Path) -> std::io::Result<Scan> {
        let root = folder.canonicalize()?;
        fs::read_dir(&root)?;
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let mut walk = Self {
            root: root.clone(),
            scan: Scan::default(),
            seen: HashSet::from([root.clone()]),
            entries: 0,
        };
        let mut open = vec![(root, name.unwrap_or_default(), 0)];
        while let Some((folder, name, depth)) = open.pop() {
            walk.folder(&folder, &name, depth, &mut open);
        }
        walk.scan.found.sort_by(|a, b| a.file.cmp(&b.file));
        Ok(walk.scan)
    }

    fn folder(&mut self, folder: &Path, name: &str, depth: usize, open: &mut Vec<(PathBuf, String, usize)>) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.pass_over(format!("{name}: {error}")),
        };
        // In order, so that the same files are left out each time when there are too many; links last, so
        // that files keep their own names.
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).take(MAX_ENTRIES).collect();
        paths.sort_by_key(|path| (path.is_symlink(), path.clone()));
        for path in paths {
            self.entries += 1;
            if self.entries > MAX_ENTRIES || self.scan.found.len() >= MAX_FILES {
                return self.pass_over(format!(
                    "{name}: there are more than {MAX_FILES} documents or {MAX_ENTRIES} entries"
                ));
            }
            let last = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if last.starts_with('.') {
                continue;
            }
            let name = if name.is_empty() { last } else { format!("{name}/{last}") };
            if let Some(inner) = self.entry(&path, name, depth) {
                open.push(inner);
            }
        }
    }

    /// Takes a document, or gives the folder to go into.
    fn entry(&mut self, path: &Path, name: String, depth: usize) -> Option<(PathBuf, String, usize)> {
        let real = path.canonicalize().ok()?;
        if !real.starts_with(&self.root) {
            self.pass_over(format!("{name}: leads out of the folder"));
            return None;
        }
        let about = fs::metadata(&real).ok()?;
        if about.is_dir() {
            if depth >= MAX_DEPTH {
                self.pass_over(format!("{name}: folders are nested more than {MAX_DEPTH} deep"));
                return None;
            }
            return self.seen.insert(real.clone()).then_some((real, name, depth + 1));
        }
        let kind = Kind::of(path).filter(|_| about.is_file())?;
        if self.seen.insert(real.clone()) {
            let version = Version { size: about.len(), modified: about.modified().ok() };
            self.scan.found.push(Found { file: name, content: Content::File(real), kind, version });
        }
        None
    }

    fn pass_over(&mut self, what: String) {
        if !self.scan.passed_over.contains(&what) && self.scan.passed_over.len() < 100 {
            self.scan.passed_over.push(what);
        }
    }
}
