//! Control groups: bounds on all processes of a program together.
//!
//! Promises: where the site may make control groups (version 1 or 2), memory and the number of processes of
//! each program are bounded as a whole; a group is removed when its program has ended. Where it may not,
//! nothing is made, and `Control::find` says so.
//!
//! It does not move the site itself into another group, except into a child of a group that was delegated to
//! it alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::unistd::Pid;

use super::policy::ControlGroup;

/// The folder below the site's own control group in which the groups of programs are made.
const FOLDER: &str = "agentsite";

/// Where control groups can be made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Control {
    /// One folder for both, in version 2.
    unified: Option<PathBuf>,
    /// The folder for memory, in version 1.
    memory: Option<PathBuf>,
    /// The folder for the number of processes, in version 1.
    processes: Option<PathBuf>,
}

impl Control {
    /// Finds out where the site may make control groups, and removes what an earlier site left there.
    pub(crate) fn find() -> Self {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let find = |controller: &str| {
            let folder = group_of(&own, controller)?;
            let mount = mount_of(&mounts, controller)?;
            Some((mount.clone(), mount.join(folder.trim_start_matches('/'))))
        };
        let unified = find("").and_then(|(mount, folder)| unified(&mount, &folder));
        let first = |controller| {
            let (mount, folder) = find(controller)?;
            usable(&folder).or_else(|| usable(&mount))
        };
        if unified.is_some() {
            return Self { unified, ..Self::default() };
        }
        Self { unified, memory: first("memory"), processes: first("pids") }
    }

    /// Whether memory can be bounded.
    pub(crate) const fn bounds_memory(&self) -> bool {
        self.unified.is_some() || self.memory.is_some()
    }

    /// Whether the number of processes can be bounded.
    pub(crate) const fn bounds_processes(&self) -> bool {
        self.unified.is_some() || self.processes.is_some()
    }

    /// The groups of a program.
    pub(crate) fn groups(&self, memory: u64, processes: u64) -> Vec<ControlGroup> {
        let setting = |name: &str, value: u64| (name.to_owned(), value.to_string());
        let mut groups = Vec::new();
        groups.extend(self.unified.clone().map(|parent| ControlGroup {
            parent,
            settings: vec![
                setting("memory.max", memory),
                setting("pids.max", processes),
                ("memory.oom.group".into(), "1".into()),
            ],
            out_of_memory: Some("memory.events".into()),
        }));
        groups.extend(self.memory.clone().map(|parent| ControlGroup {
            parent,
            settings: vec![setting("memory.limit_in_bytes", memory)],
            out_of_memory: Some("memory.oom_control".into()),
        }));
        groups.extend(self.processes.clone().map(|parent| ControlGroup {
            parent,
            settings: vec![setting("pids.max", processes)],
            out_of_memory: None,
        }));
        groups
    }
}

/// The site's own group for a controller; the empty name means version 2.
fn group_of<'a>(groups: &'a str, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        controllers.split(',').any(|one| one == controller).then_some(path)
    })
}

/// Where the hierarchy of a controller is mounted.
fn mount_of(mounts: &str, controller: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let place = place.split(' ').nth(4)?;
        let mut kind = kind.split(' ');
        let (name, options) = (kind.next()?, kind.nth(1)?);
        let fits = match controller {
            "" => name == "cgroup2",
            one => name == "cgroup" && options.split(',').any(|option| option == one),
        };
        fits.then(|| PathBuf::from(place))
    })
}

/// In version 2 a group either holds processes or bounds its children, so the folder goes where children are
/// bounded already: into our own group when it was delegated to us alone, else next to it.
fn unified(mount: &Path, own: &Path) -> Option<PathBuf> {
    let alone = fs::read_to_string(own.join("cgroup.procs")).is_ok_and(|all| all.lines().count() == 1);
    if alone && own != mount {
        let site = own.join("agentsite-site");
        let id = std::process::id().to_string();
        let moved = fs::create_dir_all(&site).and_then(|()| fs::write(site.join("cgroup.procs"), id));
        if moved.is_ok() {
            let _ = fs::write(own.join("cgroup.subtree_control"), "+memory +pids");
            if let Some(found) = bounded(own) {
                return Some(found);
            }
        }
    }
    bounded(own)
        .or_else(|| own.parent().filter(|_| own != mount).and_then(bounded))
        .or_else(|| bounded(mount))
}

/// A folder of ours below this one, when children are bounded there.
fn bounded(parent: &Path) -> Option<PathBuf> {
    let children = fs::read_to_string(parent.join("cgroup.subtree_control")).ok()?;
    let has = |one| children.split_whitespace().any(|controller| controller == one);
    if !(has("memory") && has("pids")) {
        return None;
    }
    let folder = usable(parent)?;
    fs::write(folder.join("cgroup.subtree_control"), "+memory +pids").ok()?;
    Some(folder)
}

/// A folder of ours in which groups can be made; empty groups that were left there are removed.
fn usable(parent: &Path) -> Option<PathBuf> {
    let folder = parent.join(FOLDER);
    match fs::create_dir(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return None,
        _ => {}
    }
    for left in fs::read_dir(&folder).ok()?.flatten().filter(|entry| entry.path().is_dir()) {
        // Named after its launcher; one that still runs may be about to use it. Refused as long as a process
        // is in it.
        if !Path::new("/proc").join(left.file_name()).exists() {
            let _ = fs::remove_dir(left.path());
        }
    }
    let trial = folder.join(format!("trial-{}", std::process::id()));
    fs::create_dir(&trial).ok()?;
    fs::remove_dir(&trial).ok()?;
    Some(folder)
}

/// The control groups of one program.
pub(super) struct Groups(Vec<(PathBuf, Option<String>)>);

impl Groups {
    /// Makes them, bounded and empty.
    pub(super) fn make(groups: &[ControlGroup]) -> io::Result<Self> {
        let mut made = Self(Vec::new());
        for group in groups {
            let folder = group.parent.join(std::process::id().to_string());
            fs::create_dir(&folder).map_err(|error| named(&folder, &error))?;
            made.0.push((folder.clone(), group.out_of_memory.clone()));
            for (name, value) in &group.settings {
                let written = fs::write(folder.join(name), value);
                // Not every kernel has every file; one that is there must take its value.
                if let Err(error) =
                    written.or_else(|error| if folder.join(name).exists() { Err(error) } else { Ok(()) })
                {
                    made.remove();
                    return Err(named(&folder.join(name), &error));
                }
            }
        }
        Ok(made)
    }

    /// Puts a process into all of them; its children follow it.
    pub(super) fn admit(&self, process: Pid) -> io::Result<()> {
        self.0.iter().try_for_each(|(folder, _)| fs::write(folder.join("cgroup.procs"), process.to_string()))
    }

    /// Whether the kernel ended one of their processes for lack of memory.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        self.0.iter().filter_map(|(folder, file)| fs::read_to_string(folder.join(file.as_ref()?)).ok()).any(
            |text| {
                let counts = text.lines().filter_map(|line| line.strip_prefix("oom_kill "));
                counts.into_iter().any(|count| count.trim() != "0")
            },
        )
    }

    /// Removes them; their processes must have ended.
    pub(super) fn remove(&self) {
        for (folder, _) in &self.0 {
            let _ = fs::remove_dir(folder);
        }
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_group_and_its_mount_are_found_in_both_versions() {
        let own = "4:memory:/a/b\n8:cpu,pids:/c\n0::/user.slice/x.scope\n";
        assert_eq!(group_of(own, "memory"), Some("/a/b"));
        assert_eq!(group_of(own, "pids"), Some("/c"));
        assert_eq!(group_of(own, ""), Some("/user.slice/x.scope"));
        let mounts = "30 24 0:26 / /sys/fs/cgroup/unified rw,relatime shared:4 - cgroup2 cgroup2 rw\n\
                      31 24 0:27 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n";
        assert_eq!(mount_of(mounts, ""), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(mount_of(mounts, "memory"), Some("/sys/fs/cgroup/memory".into()));
        assert_eq!(mount_of(mounts, "pids"), None);
    }
}
