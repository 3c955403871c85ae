//! View: the file system as a confined program sees it.
//!
//! Promises: in its own mount namespace, a program sees the paths of its policy, its own `/proc`, a few
//! devices and private folders for temporary files; nothing else exists for it, so sockets of other programs
//! cannot be reached either. Files that are frozen, and paths that are only read, are mounted read-only.
//!
//! It does not judge which paths are right: `paths` does. It changes nothing outside of the namespace, except
//! that mount points may appear in the program's own folder for temporary files.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use rustix::fs::StatVfsMountFlags;

use super::policy::{Policy, Tier};
use super::rules::DEVICES;

/// Symbolic links followed in one path before it is given up; the kernel's own number.
const MAX_LINKS: usize = 40;

/// Builds the view and moves the calling process into it.
pub(super) fn enter(policy: &Policy) -> io::Result<()> {
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    let tmpfs = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), &policy.root, Some("tmpfs"), tmpfs, Some("mode=755,size=1m"))?;
    let mut view = View { root: policy.root.clone(), bound: Vec::new() };
    view.temporary(policy)?;
    let mut paths: Vec<(&PathBuf, bool)> = policy.read.iter().map(|path| (path, false)).collect();
    paths.extend(policy.write.iter().map(|path| (path, true)));
    paths.sort();
    for (path, writable) in paths {
        view.place(path, writable, 0)?;
    }
    for file in &policy.frozen {
        view.freeze(file)?;
    }
    view.devices(policy)?;
    view.processes(policy)?;
    std::env::set_current_dir(&policy.root)?;
    nix::unistd::pivot_root(".", ".")?;
    umount2(".", MntFlags::MNT_DETACH)?;
    std::env::set_current_dir("/")
}

/// A view that is being built.
struct View {
    root: PathBuf,
    /// What is bound into it already, and whether it can be written.
    bound: Vec<(PathBuf, bool)>,
}

impl View {
    /// Where a path of the machine is in the view.
    fn at(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Private folders for temporary files, under the names that programs expect.
    fn temporary(&self, policy: &Policy) -> io::Result<()> {
        for name in ["/tmp", "/var/tmp"] {
            let place = self.at(Path::new(name));
            fs::create_dir_all(&place)?;
            bind(&policy.scratch, &place)?;
        }
        Ok(())
    }

    /// Shows a path at its own place. Links on the way are shown as links, and where they lead is shown, too.
    fn place(&mut self, path: &Path, writable: bool, links: usize) -> io::Result<()> {
        let mut walked = PathBuf::from("/");
        let mut rest = path.components();
        while let Some(component) = rest.next() {
            let Component::Normal(name) = component else { continue };
            walked.push(name);
            // A path may be gone since the policy was made; there is nothing to show then.
            let Ok(about) = fs::symlink_metadata(&walked) else { return Ok(()) };
            if about.is_symlink() {
                return self.link(&walked, rest.as_path(), writable, links);
            }
        }
        if self.shows(path, writable) {
            return Ok(());
        }
        self.show(path, writable)
    }

    fn shows(&self, path: &Path, writable: bool) -> bool {
        self.bound.iter().any(|(bound, also)| path.starts_with(bound) && (*also || !writable))
    }

    fn link(&mut self, link: &Path, rest: &Path, writable: bool, links: usize) -> io::Result<()> {
        if links >= MAX_LINKS {
            return Ok(());
        }
        let target = fs::read_link(link)?;
        let place = self.at(link);
        if fs::symlink_metadata(&place).is_err() {
            make_parent(&place)?;
            symlink(&target, &place)?;
        }
        let target = link.parent().unwrap_or(Path::new("/")).join(target).join(rest);
        self.place(&plain(&target), writable, links + 1)
    }

    fn show(&mut self, path: &Path, writable: bool) -> io::Result<()> {
        let place = self.at(path);
        if path.is_dir() {
            fs::create_dir_all(&place)?;
        } else {
            make_parent(&place)?;
            fs::File::options().create(true).append(true).open(&place)?;
        }
        bind(path, &place)?;
        if !writable {
            // Landlock guards it as well; a mount that cannot be made read-only stays under that guard.
            let _ = remount_read_only(&place);
        }
        self.bound.push((path.to_owned(), writable));
        Ok(())
    }

    /// Covers a file with a read-only mount of itself, which can be neither written, renamed nor removed.
    fn freeze(&self, file: &Path) -> io::Result<()> {
        let place = self.at(file);
        if !place.exists() {
            return Ok(());
        }
        bind(&place, &place)?;
        remount_read_only(&place)
    }

    fn devices(&self, policy: &Policy) -> io::Result<()> {
        let devices = self.at(Path::new("/dev"));
        fs::create_dir_all(devices.join("shm"))?;
        for device in DEVICES.iter().map(Path::new).filter(|device| device.exists()) {
            let place = self.at(device);
            fs::File::create(&place)?;
            bind(device, &place)?;
        }
        for (name, target) in
            [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")]
        {
            symlink(target, devices.join(name))?;
        }
        let size = policy
            .limits
            .data
            .map_or_else(|| "mode=1777".to_owned(), |most| format!("mode=1777,size={most}"));
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some("tmpfs"), &devices.join("shm"), Some("tmpfs"), flags, Some(size.as_str()))?;
        // Its own terminals, for programs that run others in one. Not every kernel offers them here.
        let terminals = devices.join("pts");
        fs::create_dir_all(&terminals)?;
        let options = Some("newinstance,ptmxmode=0666,mode=620");
        if mount(Some("devpts"), &terminals, Some("devpts"), MsFlags::MS_NOSUID, options).is_ok() {
            symlink("pts/ptmx", devices.join("ptmx"))?;
        }
        Ok(())
    }

    fn processes(&self, policy: &Policy) -> io::Result<()> {
        let place = self.at(Path::new("/proc"));
        fs::create_dir_all(&place)?;
        if policy.tier == (Tier::Namespaces { own_proc: true }) {
            let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
            mount(Some("proc"), &place, Some("proc"), flags, None::<&str>)?;
        } else {
            bind(Path::new("/proc"), &place)?;
        }
        let processors = Path::new("/sys/devices/system");
        if processors.is_dir() {
            let place = self.at(processors);
            fs::create_dir_all(&place)?;
            bind(processors, &place)?;
            let _ = remount_read_only(&place);
        }
        Ok(())
    }
}

fn make_parent(place: &Path) -> io::Result<()> {
    place.parent().map_or(Ok(()), fs::create_dir_all)
}

fn bind(from: &Path, to: &Path) -> io::Result<()> {
    let none: Option<&str> = None;
    mount(Some(from), to, none, MsFlags::MS_BIND | MsFlags::MS_REC, none).map_err(|error| {
        io::Error::new(io::Error::from(error).kind(), format!("{}: {error}", from.display()))
    })
}

/// Keeps the flags that the mount has: a user namespace may not take them away.
fn remount_read_only(place: &Path) -> io::Result<()> {
    let has = rustix::fs::statvfs(place)?.f_flag;
    let mut flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
    for (one, flag) in [
        (StatVfsMountFlags::NOSUID, MsFlags::MS_NOSUID),
        (StatVfsMountFlags::NODEV, MsFlags::MS_NODEV),
        (StatVfsMountFlags::NOEXEC, MsFlags::MS_NOEXEC),
        (StatVfsMountFlags::NOATIME, MsFlags::MS_NOATIME),
        (StatVfsMountFlags::NODIRATIME, MsFlags::MS_NODIRATIME),
        (StatVfsMountFlags::RELATIME, MsFlags::MS_RELATIME),
    ] {
        flags.set(flag, has.contains(one));
    }
    let none: Option<&str> = None;
    Ok(mount(none, place, none, flags, none)?)
}

/// The path without `.` and `..`; links before a `..` were resolved by the caller.
pub(super) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => drop(plain.pop()),
            _ => {}
        }
    }
    plain
}
