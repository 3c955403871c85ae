//! The files of the repository as text, read once.
//!
//! Promises: exactly the files git tracks or would add (ignored ones are left out), in path order, with
//! forward slashes. Binary files and files over [`LARGEST_TEXT`] are not listed: no rule applies to them.

use std::fs;
use std::path::Path;

use crate::failure::Failure;
use crate::workspace::{Workspace, capture};

/// Larger files are data, not written text; reading them would only slow the check down.
const LARGEST_TEXT: u64 = 2 * 1024 * 1024;

/// One text file.
#[derive(Debug, Clone)]
pub(crate) struct TextFile {
    /// The path relative to the workspace root.
    pub(crate) path: String,
    /// The whole text.
    pub(crate) text: String,
}

/// Every text file of the repository.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: Vec<TextFile>,
}

impl Tree {
    /// Reads the files git knows or would add.
    pub(crate) fn read(workspace: &Workspace) -> Result<Self, Failure> {
        // A checkout that belongs to another user, as in a container, is read all the same: nothing in it is
        // run.
        let words = "-c safe.directory=* ls-files -co --exclude-standard -z";
        let listed = capture(workspace.program("git").args(words.split(' ')))?;
        Ok(Self::load(&workspace.path(""), listed.split('\0').filter(|path| !path.is_empty())))
    }

    /// Reads the named files; those that are gone, binary or too large are left out.
    pub(crate) fn load<'a>(root: &Path, paths: impl Iterator<Item = &'a str>) -> Self {
        let mut files: Vec<TextFile> = paths
            .filter_map(|path| Some(TextFile { path: path.to_owned(), text: read_text(&root.join(path))? }))
            .collect();
        files.sort_by(|left, right| left.path.cmp(&right.path));
        files.dedup_by(|left, right| left.path == right.path);
        Self { files }
    }

    /// The files, in path order.
    pub(crate) fn files(&self) -> &[TextFile] {
        &self.files
    }

    /// The first line of a file that contains the text, or line one.
    pub(crate) fn line_of(&self, path: &str, wanted: &str) -> usize {
        let found = self.files.iter().find(|file| file.path == path);
        let line = found.and_then(|file| file.text.lines().position(|line| line.contains(wanted)));
        line.unwrap_or_default() + 1
    }
}

fn read_text(path: &Path) -> Option<String> {
    let about = fs::symlink_metadata(path).ok()?;
    if !about.is_file() || about.len() > LARGEST_TEXT {
        return None;
    }
    let text = String::from_utf8(fs::read(path).ok()?).ok()?;
    (!text.contains('\0')).then_some(text)
}
