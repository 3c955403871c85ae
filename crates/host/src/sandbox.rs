//! What a child process is bounded by: resource limits, no new privileges, death with its parent.
//!
//! Promises: the bounds are in force before the first instruction of the program runs; when one cannot be set, the program is not
//! started. This file holds the only unsafe block of the workspace, see `docs/decisions/0001-unsafe-in-sandbox.md`.
//!
//! It does not hide the file system or the network from a child, and it does not limit a whole group at once: each limit
//! counts for each process.

use std::io;
use std::time::Duration;

use agentsite_protocol::{ByteSize, Period};
use rustix::process::{Pid, Resource, Rlimit, getpid, getrlimit, setrlimit};
use tokio::process::Command;

/// Files that a process may hold open when its agent says nothing: what a login shell gives, and what `select` can take.
const OPEN_FILES: u64 = 1024;

/// Between the signal that a program may catch and the one it may not, when its processor time is used up.
const CPU_GRACE_SECONDS: u64 = 1;

/// What each process of an agent may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Bytes of address space.
    pub(crate) memory: Option<u64>,
    /// Processor time; parts of a second count as a whole one, because the system counts in seconds.
    pub(crate) cpu: Option<Duration>,
    /// Bytes of the largest file that it may write.
    pub(crate) file_size: Option<u64>,
    /// Files held open at once.
    pub(crate) open_files: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { memory: None, cpu: None, file_size: None, open_files: OPEN_FILES }
    }
}

impl Bounds {
    /// The bounds that a manifest sets.
    pub(crate) fn of(
        memory: Option<ByteSize>,
        cpu: Option<Period>,
        file_size: Option<ByteSize>,
        open_files: Option<u64>,
    ) -> Self {
        Self {
            memory: memory.map(|size| size.0),
            cpu: cpu.map(|time| time.0),
            file_size: file_size.map(|size| size.0),
            open_files: open_files.unwrap_or(OPEN_FILES),
        }
    }

    /// The limits as the system takes them; core files are never written, because they hold secrets and fill disks.
    fn limits(&self) -> [Option<(Resource, Rlimit)>; 5] {
        let cpu = self.cpu.map(|time| time.as_secs() + u64::from(time.subsec_nanos() > 0));
        [
            self.memory.map(|bytes| within(Resource::As, bytes, 0)),
            cpu.map(|seconds| within(Resource::Cpu, seconds.max(1), CPU_GRACE_SECONDS)),
            self.file_size.map(|bytes| within(Resource::Fsize, bytes, 0)),
            Some(within(Resource::Nofile, self.open_files, 0)),
            Some(within(Resource::Core, 0, 0)),
        ]
    }
}

/// A limit that does not reach above the site's own, which the system would refuse.
fn within(resource: Resource, wanted: u64, grace: u64) -> (Resource, Rlimit) {
    let own = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let current = wanted.min(own);
    (resource, Rlimit { current: Some(current), maximum: Some(current.saturating_add(grace).min(own)) })
}

/// Puts a command under bounds; they take effect in the child, between fork and exec.
///
/// The child is killed when the *thread* that forked it ends. Workers of the tokio runtime live as long as the runtime, so starting
/// children on them ties the child to the site; a thread that ends earlier (a blocking task) must not start one.
pub(crate) fn bound(command: &mut Command, bounds: &Bounds) {
    let limits = bounds.limits();
    let parent = getpid();
    // SAFETY: between fork and exec only async-signal-safe work is allowed, because another thread may have held any lock at
    // the fork. `confine` makes plain system calls through rustix on copied values: it allocates nothing, takes no lock, drops
    // nothing that frees memory and does not panic.
    #[expect(unsafe_code, reason = "pre_exec has no safe form; see docs/decisions/0001-unsafe-in-sandbox.md")]
    unsafe {
        command.pre_exec(move || confine(&limits, parent));
    }
}

/// Runs in the child. Errors carry only a number of the system, so making one allocates nothing.
fn confine(limits: &[Option<(Resource, Rlimit)>], parent: Pid) -> io::Result<()> {
    for (resource, limit) in limits.iter().flatten() {
        setrlimit(*resource, *limit)?;
    }
    confine_on_linux(parent)
}

#[cfg(target_os = "linux")]
fn confine_on_linux(parent: Pid) -> io::Result<()> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};

    rustix::thread::set_no_new_privs(true)?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the line above; then nobody would ever send the signal.
    if getppid() == Some(parent) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
}

#[cfg(not(target_os = "linux"))]
fn confine_on_linux(_: Pid) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_is_not_limited_but_files_and_cores_are() {
        let limits = Bounds::default().limits();
        let named: Vec<Resource> = limits.iter().flatten().map(|(resource, _)| *resource).collect();
        assert_eq!(named, [Resource::Nofile, Resource::Core]);
    }

    #[test]
    fn part_of_a_second_counts_as_a_whole_one() {
        let bounds = Bounds { cpu: Some(Duration::from_millis(1500)), ..Bounds::default() };
        let (_, limit) = bounds.limits()[1].unwrap();
        assert_eq!((limit.current, limit.maximum), (Some(2), Some(3)));
    }

    #[test]
    fn a_limit_never_reaches_above_the_sites_own() {
        let own = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
        let (_, limit) = within(Resource::Nofile, u64::MAX, 0);
        assert_eq!(limit.current, Some(own));
    }
}
