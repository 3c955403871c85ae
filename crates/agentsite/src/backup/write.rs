//! Writing a backup: a draft next to the file, the copy of the database into it, then everything else.
//!
//! Promises: until it is whole the backup has no name; it is never written over another file; everything on
//! the way is readable by its owner only. Links, sockets and devices in the agents folder are not followed or
//! read; they are listed as left out.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use agentsite_protocol::Timestamp;
use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::fs::OFlags;
use tar::{Builder, EntryType, Header};

use crate::config::Config;

use super::{
    AGENTS, BackupError, CACHES, CONFIG, Contents, DATA, DATABASE, FORMAT, HEAD, Head, MAX_FILES, VERSION,
};

/// Files of the data folder that a backup does without: they describe the running process, or are made again.
/// The database comes as a copy.
const NOT_DATA: [&str; 3] = ["site.json", "site.db", "ballast"];

/// Largest file of the data folder that is taken as it is: tokens and keys are small.
const MAX_DATA_FILE: u64 = 1 << 20;

/// What a backup is made from.
#[derive(Debug, Clone)]
pub(crate) struct Sources {
    /// The data folder.
    pub(crate) data: PathBuf,
    /// The configuration file; none for data only.
    pub(crate) config: Option<PathBuf>,
    /// The agents folder; none for data only.
    pub(crate) agents: Option<PathBuf>,
}

impl Sources {
    /// What makes the site of a configuration that was read from `file`.
    pub(crate) fn of(config: &Config, file: &Path, data_only: bool) -> Self {
        let whole = !data_only;
        Self {
            data: config.data.clone(),
            config: whole.then(|| file.to_owned()),
            agents: whole.then(|| config.agents.clone()),
        }
    }
}

/// A backup that has no name yet. Dropping it removes what was written.
#[derive(Debug)]
pub(crate) struct Draft {
    to: PathBuf,
    folder: PathBuf,
}

impl Draft {
    /// Makes a private folder next to the file, which must not exist.
    pub(crate) fn begin(to: &Path) -> Result<Self, BackupError> {
        if to.symlink_metadata().is_ok() {
            return Err(BackupError::Exists(to.to_owned()));
        }
        let name = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = to.with_file_name(format!(".{name}.{}.making", std::process::id()));
        let made = fs::DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|error| BackupError::file("make", &folder, error))?;
        Ok(Self { to: to.to_owned(), folder })
    }

    /// Where the copy of the database must be put before [`Self::finish`].
    pub(crate) fn database(&self) -> PathBuf {
        self.folder.join("site.db")
    }

    /// Writes the backup and gives it its name.
    pub(crate) fn finish(self, sources: &Sources, now: Timestamp) -> Result<Contents, BackupError> {
        let part = self.folder.join("backup");
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part);
        let file = file.map_err(|error| BackupError::file("write", &part, error))?;
        let gzip = GzEncoder::new(BufWriter::new(file), Compression::default());
        let mut pack = Pack { tar: Builder::new(gzip), part: part.clone(), contents: Contents::default() };
        pack.head(now)?;
        pack.file(&self.database(), DATABASE)?;
        pack.data(&sources.data)?;
        if let Some(config) = sources.config.as_deref().filter(|file| file.is_file()) {
            pack.file(config, CONFIG)?;
        }
        if let Some(agents) = sources.agents.as_deref().filter(|agents| agents.is_dir()) {
            pack.folder(agents, AGENTS)?;
        }
        let contents = pack.close()?;
        // A link fails where a file of this name has appeared meanwhile; a rename would replace it.
        match fs::hard_link(&part, &self.to) {
            Ok(()) => Ok(contents),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(BackupError::Exists(self.to.clone()))
            }
            Err(_) => fs::rename(&part, &self.to)
                .map(|()| contents)
                .map_err(|error| BackupError::file("write", &self.to, error)),
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

struct Pack {
    tar: Builder<GzEncoder<BufWriter<File>>>,
    part: PathBuf,
    contents: Contents,
}

impl Pack {
    fn head(&mut self, now: Timestamp) -> Result<(), BackupError> {
        let made_by = format!("agentsite {}", env!("CARGO_PKG_VERSION"));
        let head = Head { format: FORMAT.into(), version: VERSION, made_at: now, made_by };
        let text = serde_json::to_vec_pretty(&head).unwrap_or_default();
        let mut header = header(text.len() as u64, 0o600);
        let added = self.tar.append_data(&mut header, HEAD, text.as_slice());
        added.map_err(|error| BackupError::file("write", &self.part, error))
    }

    /// Small files of the data folder.
    fn data(&mut self, data: &Path) -> Result<(), BackupError> {
        for (name, path) in listed(data)? {
            let Ok(about) = path.symlink_metadata() else { continue };
            let skipped = NOT_DATA.iter().any(|one| name.starts_with(one)) || name.starts_with('.');
            if about.is_file() && about.len() <= MAX_DATA_FILE && !skipped {
                self.file(&path, &format!("{DATA}/{name}"))?;
            }
        }
        Ok(())
    }

    /// A folder and what is below it, sorted.
    fn folder(&mut self, folder: &Path, name: &str) -> Result<(), BackupError> {
        for (inner, path) in listed(folder)? {
            let inside = format!("{name}/{inner}");
            let about = path.symlink_metadata().map_err(|error| BackupError::file("read", &path, error))?;
            if about.is_dir() && CACHES.contains(&inner.as_str()) {
                self.leave_out(&inside, "a cache that is rebuilt");
            } else if about.is_dir() {
                self.folder(&path, &inside)?;
            } else if about.is_file() {
                self.file(&path, &inside)?;
            } else if about.is_symlink() {
                self.leave_out(&inside, "a symbolic link");
            } else {
                self.leave_out(&inside, "not a regular file");
            }
        }
        Ok(())
    }

    fn leave_out(&mut self, path: &str, why: &str) {
        self.contents.left_out.push(format!("{path}: {why}"));
    }

    fn file(&mut self, path: &Path, name: &str) -> Result<(), BackupError> {
        if self.contents.files >= MAX_FILES {
            return Err(BackupError::Unsound(format!(
                "there are more than {MAX_FILES} files; move what does not belong to an agent out of the agents folder"
            )));
        }
        let opened =
            OpenOptions::new().read(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(path);
        let file = opened.map_err(|error| BackupError::file("read", path, error))?;
        let about = file.metadata().map_err(|error| BackupError::file("read", path, error))?;
        let size = about.len();
        let mut header = header(size, about.permissions().mode() & 0o777);
        // A file that grows or shrinks meanwhile must not spoil the entries after it.
        let exact = file.take(size).chain(std::io::repeat(0)).take(size);
        let added = self.tar.append_data(&mut header, name, exact);
        added.map_err(|error| BackupError::file("write", &self.part, error))?;
        self.contents.count(name, size);
        Ok(())
    }

    fn close(self) -> Result<Contents, BackupError> {
        let (part, contents) = (self.part, self.contents);
        let finished = || {
            let mut file = self.tar.into_inner()?.finish()?;
            file.flush()?;
            file.get_ref().sync_all()
        };
        finished().map_err(|error| BackupError::file("write", &part, error))?;
        Ok(contents)
    }
}

fn header(size: u64, mode: u32) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(size);
    header.set_mode(mode);
    header
}

/// The names in a folder, sorted, with their paths. Names that are not UTF-8 are passed over.
fn listed(folder: &Path) -> Result<Vec<(String, PathBuf)>, BackupError> {
    let unreadable = |error| BackupError::file("read", folder, error);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if let Ok(name) = entry.file_name().into_string() {
            found.push((name, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}
