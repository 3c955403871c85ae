//! Tells when something in the agents folder may have changed.
//!
//! Promises: a burst of changes is reported once, soon after it ends; a folder that appears later is noticed;
//! watched are the agents folder and the folders in it, not deeper ones. Where the system cannot watch, it
//! looks once a second. It does not say what has changed: `scan` finds out.

use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::scan;

/// Quiet time that ends a burst: editors write a file in several steps within a few milliseconds.
const QUIET: Duration = Duration::from_millis(150);

/// Longest burst: a folder that is written to all the time must not keep changes from being seen within a
/// second.
const LONGEST: Duration = Duration::from_millis(500);

/// How often is looked where the system cannot watch.
const EVERY: Duration = Duration::from_secs(1);

/// One "look again" is enough, however many things changed.
const SIGNALS: usize = 1;

/// Watches an agents folder.
#[derive(Debug)]
pub(crate) struct Watch {
    agents: PathBuf,
    watcher: Option<RecommendedWatcher>,
    changes: mpsc::Receiver<()>,
}

impl Watch {
    /// Begins to watch. It never fails: where the system cannot watch, it logs a warning and the folder is
    /// scanned every second.
    pub(crate) fn begin(agents: &Path) -> Self {
        let (changed, changes) = mpsc::channel(SIGNALS);
        let folder = std::path::absolute(agents).unwrap_or_else(|_| agents.to_owned());
        let log = own_log();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| matters(&event, &folder, log)) {
                let _ = changed.try_send(());
            }
        });
        let watcher = watcher.inspect_err(warn).ok();
        let mut watch = Self { agents: agents.to_owned(), watcher, changes };
        watch.follow();
        watch
    }

    /// Watches the folders that exist now. To be called before each scan: what is made between the two is
    /// then seen by one of them.
    pub(crate) fn follow(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        let above = self.agents.ancestors().skip(1).map(or_here).find(|folder| folder.is_dir());
        let inside = scan::folders(&self.agents).unwrap_or_default();
        let agents = self.agents.is_dir().then(|| self.agents.clone());
        let mut folders = above.map(Path::to_owned).into_iter().chain(agents).chain(inside);
        let failed = folders.find_map(|folder| watcher.watch(&folder, RecursiveMode::NonRecursive).err());
        // A folder that disappeared at this moment is not a reason to give up; the end of the watches is.
        if let Some(error) = failed.filter(|error| matches!(error.kind, notify::ErrorKind::MaxFilesWatch)) {
            warn(&error);
            self.watcher = None;
        }
    }

    /// Waits for the next change, and for the burst that it belongs to.
    pub(crate) async fn changed(&mut self) {
        if self.watcher.is_none() {
            return tokio::time::sleep(EVERY).await;
        }
        if self.changes.recv().await.is_none() {
            return std::future::pending().await;
        }
        let burst =
            async { while let Ok(Some(())) = tokio::time::timeout(QUIET, self.changes.recv()).await {} };
        let _ = tokio::time::timeout(LONGEST, burst).await;
    }
}

/// An empty path means the current folder.
fn or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

/// Tells a file from all others.
type FileId = (u64, u64);

/// The file that this process writes its log to, if standard error is one.
fn own_log() -> Option<FileId> {
    let log = std::fs::File::from(std::io::stderr().as_fd().try_clone_to_owned().ok()?);
    log.metadata().ok().filter(std::fs::Metadata::is_file).map(|found| (found.dev(), found.ino()))
}

/// Reading a file is not a change; outside of the agents folder nothing matters but the folder itself and
/// those above it, and inside of it the site's own log does not: a look that it causes could write the next
/// line.
fn matters(event: &notify::Event, agents: &Path, log: Option<FileId>) -> bool {
    let read = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        _ => false,
    };
    let is_log = |path: &Path| log.is_some() && file_id(path) == log;
    let ours = |path: &PathBuf| (path.starts_with(agents) && !is_log(path)) || agents.starts_with(path);
    !read && (event.paths.is_empty() || event.paths.iter().any(ours))
}

fn file_id(path: &Path) -> Option<FileId> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

fn warn(error: &notify::Error) {
    tracing::warn!(%error, "cannot watch the agents folder; it is scanned every second instead");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Long enough for any machine; a test that passes never waits for it.
    const PATIENCE: Duration = Duration::from_secs(20);

    async fn sees(watch: &mut Watch, change: impl FnOnce()) {
        change();
        tokio::time::timeout(PATIENCE, watch.changed()).await.expect("the change is seen");
        watch.follow();
    }

    #[tokio::test]
    async fn a_folder_that_appears_later_is_seen_and_so_is_what_is_put_into_it() {
        let root = tempfile::tempdir().unwrap();
        let agents = root.path().join("agents");
        let mut watch = Watch::begin(&agents);
        sees(&mut watch, || std::fs::create_dir(&agents).unwrap()).await;
        sees(&mut watch, || std::fs::create_dir(agents.join("x")).unwrap()).await;
        sees(&mut watch, || std::fs::write(agents.join("x/agent.toml"), "name = 1").unwrap()).await;
        sees(&mut watch, || std::fs::remove_dir_all(agents.join("x")).unwrap()).await;
    }

    #[tokio::test]
    async fn reading_is_no_change_and_neither_is_what_happens_beside_the_folder() {
        let root = tempfile::tempdir().unwrap();
        let agents = root.path().join("agents");
        std::fs::create_dir_all(agents.join("x")).unwrap();
        std::fs::write(agents.join("x/agent.toml"), "name = 1").unwrap();
        let mut watch = Watch::begin(&agents);
        std::fs::read(agents.join("x/agent.toml")).unwrap();
        std::fs::write(root.path().join("other"), "1").unwrap();
        // The marker comes after the others; when it is reported, nothing else was reported before it.
        std::fs::write(agents.join("x/marker"), "1").unwrap();
        tokio::time::timeout(PATIENCE, watch.changed()).await.expect("the marker is seen");
        assert!(watch.changes.try_recv().is_err());
    }

    #[test]
    fn the_log_of_the_site_itself_is_no_change_wherever_it_lies() {
        let root = tempfile::tempdir().unwrap();
        let (log, other) = (root.path().join("site.log"), root.path().join("other.log"));
        std::fs::write(&log, "a line").unwrap();
        std::fs::write(&other, "a line").unwrap();
        let written = EventKind::Access(AccessKind::Close(AccessMode::Write));
        let event = |path: &Path| notify::Event::new(written).add_path(path.into());
        assert!(!matters(&event(&log), root.path(), file_id(&log)));
        assert!(matters(&event(&other), root.path(), file_id(&log)));
    }

    #[test]
    fn only_writing_matters() {
        let event = |kind, path: &str| notify::Event::new(kind).add_path(path.into());
        let open = EventKind::Access(AccessKind::Open(AccessMode::Any));
        let written = EventKind::Access(AccessKind::Close(AccessMode::Write));
        let agents = Path::new("/agents/here/agents");
        assert!(!matters(&event(open, "/agents/here/agents/x/agent.toml"), agents, None));
        assert!(matters(&event(written, "/agents/here/agents/x/agent.toml"), agents, None));
        assert!(matters(&event(written, "/agents/here/./agents"), agents, None));
        assert!(
            !matters(&event(written, "/agents/here/site.log"), agents, None),
            "another folder of that name"
        );
    }
}
