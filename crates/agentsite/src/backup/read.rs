//! Reading a backup: what is in it, and bringing it back.
//!
//! Promises: foreign bytes do no harm: paths are plain and relative, links and devices are refused, and the
//! number of files and bytes is bounded before anything is written. Everything is unpacked into private
//! folders next to its place first; nothing that is there is replaced unless that was said, and then it is
//! moved aside.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use tar::{Archive as Tar, EntryType};

use super::{
    AGENTS, ALWAYS_FITS, BackupError, CONFIG, Contents, DATA, DATABASE, FORMAT, HEAD, Head, MAX_FILES,
    MAX_GROWTH, VERSION,
};

/// Largest first entry; it holds four short values.
const MAX_HEAD: u64 = 64 << 10;

/// Longest path of an entry; longer ones are not made by this program.
const MAX_PATH: usize = 1_024;

/// Whether a file begins like an archive rather than like a database.
pub(crate) fn is_archive(path: &Path) -> bool {
    let mut first = [0_u8; 2];
    File::open(path).is_ok_and(|mut file| file.read_exact(&mut first).is_ok() && first == [0x1f, 0x8b])
}

/// Where the parts of a backup go.
#[derive(Debug, Clone)]
pub(crate) struct Targets {
    /// The data folder.
    pub(crate) data: PathBuf,
    /// The agents folder.
    pub(crate) agents: PathBuf,
    /// The configuration file.
    pub(crate) config: PathBuf,
    /// Whether the database is a file in the data folder.
    pub(crate) in_file: bool,
}

/// A backup in one file.
#[derive(Debug)]
pub(crate) struct Archive {
    path: PathBuf,
}

impl Archive {
    /// Names the file; touches nothing.
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Reads the whole file and tells what is in it.
    pub(crate) fn contents(&self) -> Result<(Head, Contents), BackupError> {
        let mut contents = Contents::default();
        let head = self.each(|path, size, _, _| {
            contents.count(path, size);
            Ok(())
        })?;
        if contents.database == 0 {
            return Err(BackupError::Unsound("it contains no database".into()));
        }
        Ok((head, contents))
    }

    /// The configuration file in it.
    pub(crate) fn config(&self) -> Result<Option<String>, BackupError> {
        let mut config = None;
        self.each(|path, _, _, bytes| {
            if path == CONFIG {
                let mut text = String::new();
                bytes
                    .read_to_string(&mut text)
                    .map_err(|error| BackupError::file("read", &self.path, error))?;
                config = Some(text);
            }
            Ok(())
        })?;
        Ok(config)
    }

    /// Unpacks the database into a private folder, which is made for it; gives its path.
    pub(crate) fn unpack_database(&self, folder: &Path) -> Result<PathBuf, BackupError> {
        self.contents()?;
        private_folder(folder)?;
        let database = folder.join("site.db");
        self.each(
            |path, _, _, bytes| if path == DATABASE { write(&database, 0o600, bytes) } else { Ok(()) },
        )?;
        Ok(database)
    }

    /// Looks whether the parts can go to their places; gives what is in the backup and what it would replace.
    pub(crate) fn check(
        &self,
        targets: &Targets,
        force: bool,
    ) -> Result<(Contents, Vec<PathBuf>), BackupError> {
        let (_, contents) = self.contents()?;
        let taken = targets.taken(&contents);
        match taken.first().filter(|_| !force) {
            Some(first) => Err(BackupError::InTheWay(first.display().to_string())),
            None => Ok((contents, taken)),
        }
    }

    /// Brings agents, configuration and small data files to their places. The database is unpacked next to
    /// its place; the path is given, because only the store puts databases in place.
    pub(crate) fn unpack(&self, targets: &Targets, force: bool) -> Result<PathBuf, BackupError> {
        let (contents, taken) = self.check(targets, force)?;
        let draft = targets.data.join(".restoring");
        let _ = fs::remove_dir_all(&draft);
        private_folder(&draft)?;
        self.each(|path, _, mode, bytes| {
            // Data is for its owner only, regardless of the mode of the copy.
            let mode = if path.starts_with("data/") { 0o600 } else { mode };
            write(&draft.join(path), mode, bytes)
        })?;
        for one in taken.iter().filter(|one| **one != targets.database()) {
            move_aside(one)?;
        }
        if !contents.agents.is_empty() {
            bring(&draft.join(AGENTS), &targets.agents)?;
        }
        if contents.config {
            bring(&draft.join(CONFIG), &targets.config)?;
        }
        let data = draft.join(DATA);
        for entry in fs::read_dir(&data).map_err(|error| BackupError::file("read", &data, error))?.flatten() {
            if entry.file_name() != "site.db" {
                bring(&entry.path(), &targets.data.join(entry.file_name()))?;
            }
        }
        Ok(draft.join(DATABASE))
    }

    /// Gives each entry after the head to `take`: its path, size, mode and bytes.
    fn each(
        &self,
        mut take: impl FnMut(&str, u64, u32, &mut dyn Read) -> Result<(), BackupError>,
    ) -> Result<Head, BackupError> {
        let unreadable = |error| BackupError::file("read", &self.path, error);
        let unsound = |error: std::io::Error| BackupError::Unsound(error.to_string());
        let file = File::open(&self.path).map_err(unreadable)?;
        let space = file.metadata().map_err(unreadable)?.len().saturating_mul(MAX_GROWTH).max(ALWAYS_FITS);
        let mut tar = Tar::new(GzDecoder::new(std::io::BufReader::new(file)).take(space));
        let (mut head, mut files, mut bytes) = (None, 0_usize, 0_u64);
        for entry in tar.entries().map_err(unsound)? {
            let mut entry = entry.map_err(unsound)?;
            let path = sound_path(&entry.path().map_err(unsound)?)?;
            if entry.header().entry_type() != EntryType::Regular {
                return Err(BackupError::Unsound(format!("`{path}` is not a regular file")));
            }
            let (size, mode) = (entry.size(), entry.header().mode().unwrap_or(0o600) & 0o777);
            (files, bytes) = (files + 1, bytes.saturating_add(size));
            if files > MAX_FILES || bytes > space {
                return Err(BackupError::Unsound("it would exceed the size limit of a backup".into()));
            }
            match &head {
                None => head = Some(read_head(&path, entry.take(MAX_HEAD))?),
                Some(_) if belongs(&path) => take(&path, size, mode, &mut entry)?,
                Some(_) => return Err(BackupError::Unsound(format!("`{path}` does not belong to a site"))),
            }
        }
        head.ok_or_else(|| BackupError::Unsound("it is empty".into()))
    }
}

impl Targets {
    fn database(&self) -> PathBuf {
        self.data.join("site.db")
    }

    /// What a restore of these contents would replace.
    fn taken(&self, contents: &Contents) -> Vec<PathBuf> {
        let has_agents = fs::read_dir(&self.agents).is_ok_and(|mut agents| agents.next().is_some());
        let taken = [
            (self.database(), self.in_file && self.database().exists()),
            (self.agents.clone(), has_agents && !contents.agents.is_empty()),
            (self.config.clone(), self.config.exists() && contents.config),
        ];
        taken.into_iter().filter(|(_, is)| *is).map(|(path, _)| path).collect()
    }
}

fn read_head(path: &str, bytes: impl Read) -> Result<Head, BackupError> {
    let not_ours = || BackupError::Unsound("it was not made by `agentsite backup`".into());
    if path != HEAD {
        return Err(not_ours());
    }
    let head: Head = serde_json::from_reader(bytes).map_err(|_| not_ours())?;
    if head.format != FORMAT || head.version == 0 {
        return Err(not_ours());
    }
    if head.version > VERSION {
        let what = format!("it was written by {}; use that version or a later one", head.made_by);
        return Err(BackupError::Unsound(what));
    }
    Ok(head)
}

fn belongs(path: &str) -> bool {
    let data = path.strip_prefix("data/").is_some_and(|name| !name.contains('/'));
    data || path == CONFIG || path.strip_prefix("agents/").is_some_and(|rest| rest.contains('/'))
}

/// A path of plain names, as text.
fn sound_path(path: &Path) -> Result<String, BackupError> {
    let text = path.to_str().filter(|text| text.len() <= MAX_PATH && !text.contains(['\0', '\\', '\n']));
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    match text {
        Some(text) if plain && !text.is_empty() && !text.ends_with('/') => Ok(text.to_owned()),
        _ => Err(BackupError::Unsound(format!("the path {path:?} leads out of its folder or is too long"))),
    }
}

fn private_folder(folder: &Path) -> Result<(), BackupError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| BackupError::file("make", folder, error))
}

fn write(path: &Path, mode: u32, bytes: &mut dyn Read) -> Result<(), BackupError> {
    if let Some(parent) = path.parent() {
        private_folder(parent)?;
    }
    let mut written = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        std::io::copy(bytes, &mut file)?;
        file.flush()?;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.sync_all()
    };
    written().map_err(|error| BackupError::file("write", path, error))
}

fn move_aside(path: &Path) -> Result<(), BackupError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let kept = path.with_file_name(format!("{name}.before-restore"));
    let _ = fs::remove_dir_all(&kept);
    let _ = fs::remove_file(&kept);
    fs::rename(path, &kept).map_err(|error| BackupError::file("move", path, error))
}

/// Moves a file or a folder to its place, which is free or an empty folder; copies where the two are on
/// different disks.
fn bring(from: &Path, to: &Path) -> Result<(), BackupError> {
    if let Some(parent) = to.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(|error| BackupError::file("make", parent, error))?;
    }
    match fs::rename(from, to) {
        Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => copy_all(from, to),
        moved => moved,
    }
    .map_err(|error| BackupError::file("write", to, error))
}

fn copy_all(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(|_| ());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy_all(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
