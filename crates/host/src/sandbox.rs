//! The sandbox: what the program of an agent may see, reach and use.
//!
//! Promises: on Linux every program that the site starts for an agent runs confined before its first
//! instruction: it sees the system's programs, its own folder and a private home, no other process, and
//! nothing of the site's data; it is bounded in memory, processes, files and time, and nothing that it starts
//! outlives it. When a part cannot be set up, the program is not started. What this kernel cannot enforce is
//! determined once, at the start of the site, and named by [`Confinement::shortfalls`].
//!
//! How it works: `docs/decisions/` on the sandbox. Without a [`Confinement`] (library tests, other systems,
//! an operator who turned it off) a program has resource limits, no new privileges, and dies with its parent.
//! This file and `sandbox/fork.rs` hold the only unsafe blocks of this crate, see
//! `docs/decisions/0001-unsafe-in-sandbox.md`.

#[cfg(target_os = "linux")]
mod control;
#[cfg(target_os = "linux")]
mod fork;
#[cfg(target_os = "linux")]
mod inside;
#[cfg(target_os = "linux")]
mod launcher;
#[cfg(target_os = "linux")]
mod linux;
mod paths;
mod policy;
#[cfg(target_os = "linux")]
mod program_end;
#[cfg(target_os = "linux")]
mod rules;
#[cfg(target_os = "linux")]
mod view;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::{ByteSize, Period};
use rustix::process::{Pid, Resource, Rlimit, Signal, getpid, getrlimit, setrlimit};
use tokio::process::Command;

use crate::{Manifest, Sandbox};

#[cfg(target_os = "linux")]
pub use launcher::launch as run_launcher;
#[cfg(target_os = "linux")]
use linux::Launcher;
#[cfg(not(target_os = "linux"))]
use other::Launcher;

/// The hidden verb with which the site's executable becomes the launcher; its one argument is the number of
/// an open file.
pub const LAUNCHER_VERB: &str = "sandbox-exec";

/// The signal at which the launcher ends the program and all of its descendants at once.
pub(crate) const END_ALL: Signal = Signal::USR1;

/// Files that a process may hold open when its agent says nothing: what a login shell gives, and what
/// `select` can take.
const OPEN_FILES: u64 = 1024;

/// Between the signal that a program may catch and the one it may not, when its processor time is used up.
const CPU_GRACE_SECONDS: u64 = 1;

/// Why an agent cannot be confined as its manifest requires, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SandboxError(String);

/// Where the site's things are, for the sandbox to hide.
#[derive(Debug, Clone, Default)]
pub struct ConfinementSettings {
    /// The folder below which each agent has its private home; it may be inside a sealed one.
    pub homes: PathBuf,
    /// What no agent ever sees.
    pub sealed: Vec<PathBuf>,
    /// What an agent sees only when its manifest says so: the folder with all agents.
    pub hidden: Vec<PathBuf>,
    /// The operator's home.
    pub operator_home: Option<PathBuf>,
}

/// How programs of agents are confined on this machine; cheap to copy.
#[derive(Debug, Clone, Default)]
pub struct Confinement(Option<Arc<Launcher>>);

impl Confinement {
    /// Confines nothing beyond resource limits, for tests and for programs that a person starts.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// Finds out what this kernel can enforce by trying it. The running executable must know
    /// [`LAUNCHER_VERB`].
    #[must_use]
    pub fn detect(settings: ConfinementSettings) -> Self {
        Self(Launcher::detect(settings).map(Arc::new))
    }

    /// What a running agent is not kept from on this machine, one sentence each; empty when everything is
    /// enforced.
    #[must_use]
    pub fn shortfalls(&self) -> Vec<String> {
        match &self.0 {
            Some(launcher) => launcher.shortfalls(),
            None => vec!["agents are not confined: the site supports no sandbox on this system".into()],
        }
    }

    /// How it is enforced, in a few words for an operator.
    #[must_use]
    pub fn summary(&self) -> String {
        self.0.as_ref().map_or_else(|| "none".into(), |launcher| launcher.summary())
    }

    /// The confinement of one agent. `folder` is where its file lies.
    ///
    /// # Errors
    /// [`SandboxError`] when its `[sandbox]` names a path that does not exist or that belongs to the site.
    pub(crate) fn of(
        &self,
        manifest: &Manifest,
        folder: &Path,
        bounds: Bounds,
    ) -> Result<Confined, SandboxError> {
        let launcher = match &self.0 {
            Some(launcher) if manifest.sandbox.enabled => launcher,
            _ => return Ok(Confined { bounds, agent: None }),
        };
        let agent = launcher.agent(&manifest.name, &manifest.sandbox, folder)?;
        Ok(Confined { bounds, agent: Some(agent) })
    }
}

/// The places of one agent.
#[derive(Debug, Clone)]
pub(crate) struct AgentSandbox {
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has a launcher"))]
    launcher: Arc<Launcher>,
    settings: Sandbox,
    folder: PathBuf,
    /// Paths that the manifest adds.
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    home: PathBuf,
}

/// How the programs of one agent are confined.
#[derive(Debug, Clone)]
pub(crate) struct Confined {
    bounds: Bounds,
    agent: Option<AgentSandbox>,
}

/// A program as a manifest names it.
#[derive(Debug)]
pub(crate) struct Program<'a> {
    /// The command: the program and its arguments.
    pub(crate) command: &'a [String],
    /// The agent's folder, absolute.
    pub(crate) folder: &'a Path,
    /// All variables that it sees.
    pub(crate) variables: BTreeMap<String, String>,
}

impl Program<'_> {
    /// The name that the manifest uses.
    fn name(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }

    /// A path is relative to the agent's folder; a bare name is looked for in `PATH`.
    fn file(&self) -> PathBuf {
        let name = self.name();
        if name.contains('/') { self.folder.join(name) } else { name.into() }
    }
}

impl Confined {
    /// Only the limits that are given; for programs of no agent.
    #[cfg(test)]
    pub(crate) const fn bounded(bounds: Bounds) -> Self {
        Self { bounds, agent: None }
    }

    /// The private home of the agent; `None` when it has none.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.agent.as_ref().map(|agent| agent.home.as_path())
    }

    /// Whether the program is started through a launcher.
    pub(crate) const fn has_launcher(&self) -> bool {
        self.agent.is_some()
    }

    /// The command that starts a program under this confinement; its pipes are for the caller to set.
    ///
    /// # Errors
    /// The system's errors for a program that is missing or not executable.
    #[expect(clippy::needless_pass_by_value, reason = "a program is described where it is started")]
    pub(crate) fn command(&self, program: Program<'_>) -> io::Result<Command> {
        match &self.agent {
            Some(agent) => agent.command(&program, &self.bounds),
            None => {
                let mut command = Command::new(program.file());
                command.args(program.command.iter().skip(1)).current_dir(program.folder);
                command.env_clear().envs(&program.variables);
                bound(&mut command, &self.bounds, None);
                Ok(command)
            }
        }
    }
}

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

    /// Those of the launcher, which sets the limits of the program itself.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has a launcher"))]
    fn of_launcher() -> Self {
        Self::default()
    }

    /// Whole seconds of processor time, because the system counts in seconds.
    fn cpu_seconds(&self) -> Option<u64> {
        self.cpu.map(|time| (time.as_secs() + u64::from(time.subsec_nanos() > 0)).max(1))
    }

    /// The limits as the system takes them; core files are never written, because they hold secrets and fill
    /// disks.
    fn limits(&self) -> [Option<(Resource, Rlimit)>; 5] {
        [
            self.memory.map(|bytes| within(Resource::As, bytes, 0)),
            self.cpu_seconds().map(|seconds| within(Resource::Cpu, seconds, CPU_GRACE_SECONDS)),
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

/// Puts a command under bounds; they take effect in the child, between fork and exec. `inherited` is a file
/// that the child keeps open.
///
/// The child is killed when the *thread* that forked it ends. Workers of the tokio runtime live as long as
/// the runtime, so starting children on them ties the child to the site; a thread that ends earlier (a
/// blocking task) must not start one.
fn bound(command: &mut Command, bounds: &Bounds, inherited: Option<OwnedFd>) {
    let limits = bounds.limits();
    let parent = getpid();
    // SAFETY: between fork and exec only async-signal-safe work is allowed, because another thread may have
    // held any lock at the fork. `confine` makes plain system calls through rustix on copied values: it
    // allocates nothing, takes no lock, drops nothing that frees memory and does not panic. The closure owns
    // the inherited file, so it is open when the child runs.
    #[expect(unsafe_code, reason = "pre_exec has no safe form; see docs/decisions/0001-unsafe-in-sandbox.md")]
    unsafe {
        command.pre_exec(move || confine(&limits, parent, inherited.as_ref()));
    }
}

/// Runs in the child. Errors carry only a number of the system, so making one allocates nothing.
fn confine(
    limits: &[Option<(Resource, Rlimit)>],
    parent: Pid,
    inherited: Option<&OwnedFd>,
) -> io::Result<()> {
    for (resource, limit) in limits.iter().flatten() {
        setrlimit(*resource, *limit)?;
    }
    if let Some(file) = inherited {
        rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty())?;
    }
    confine_on_linux(parent)
}

#[cfg(target_os = "linux")]
fn confine_on_linux(parent: Pid) -> io::Result<()> {
    use rustix::process::{getppid, set_parent_process_death_signal};

    rustix::thread::set_no_new_privs(true)?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the line above; then the signal would never be sent.
    if getppid() == Some(parent) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
}

#[cfg(not(target_os = "linux"))]
fn confine_on_linux(_: Pid) -> io::Result<()> {
    Ok(())
}

/// Other systems: resource limits only.
#[cfg(not(target_os = "linux"))]
mod other {
    use super::{
        AgentSandbox, Arc, Bounds, Command, ConfinementSettings, Path, Program, Sandbox, SandboxError, io,
    };

    use agentsite_protocol::AgentName;

    #[derive(Debug)]
    pub(super) enum Launcher {}

    impl Launcher {
        pub(super) fn detect(_: ConfinementSettings) -> Option<Self> {
            None
        }

        pub(super) fn shortfalls(&self) -> Vec<String> {
            match *self {}
        }

        pub(super) fn summary(&self) -> String {
            match *self {}
        }

        pub(super) fn agent(
            self: &Arc<Self>,
            _: &AgentName,
            _: &Sandbox,
            _: &Path,
        ) -> Result<AgentSandbox, SandboxError> {
            match **self {}
        }
    }

    impl AgentSandbox {
        pub(super) fn command(&self, _: Program<'_>, _: &Bounds) -> io::Result<Command> {
            match *self.launcher {}
        }
    }
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
