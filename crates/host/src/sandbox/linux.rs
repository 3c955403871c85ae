//! The sandbox on Linux: what the kernel offers, and the policy of each program.
//!
//! Promises: what works is determined by trying it in a separate process, strictest form first; every program
//! is then started in the strictest form that worked. Reasons for what does not work are kept for the
//! operator.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use agentsite_protocol::AgentName;
use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use tokio::process::Command;

use super::control::Control;
use super::paths::{Surroundings, real};
use super::policy::{Policy, ProcessLimits, Tier};
use super::{AgentSandbox, Bounds, ConfinementSettings, LAUNCHER_VERB, Program, SandboxError, bound};
use crate::Sandbox;

/// The executable of the running site, even when the file was replaced since.
const SELF: &str = "/proc/self/exe";

/// Files of its folder that an agent must not change: they say what the sandbox allows, and which of its
/// tools were approved.
const FROZEN: [&str; 2] = ["agent.toml", "tools.lock"];

/// What the site found out about this machine.
#[derive(Debug)]
pub(super) struct Launcher {
    homes: PathBuf,
    surroundings: Surroundings,
    tier: Tier,
    control: Control,
    /// Version of Landlock; zero when there is none.
    landlock: i32,
    /// Why namespaces do not work.
    complaint: Option<String>,
}

impl Launcher {
    /// Tries out what works.
    pub(super) fn detect(settings: ConfinementSettings) -> Option<Self> {
        let ConfinementSettings { homes, sealed, hidden, operator_home } = settings;
        let homes = std::path::absolute(&homes).unwrap_or(homes);
        private_folder(&homes).ok()?;
        let all = |paths: Vec<PathBuf>| paths.iter().map(|path| real(&absolute(path))).collect();
        let surroundings = Surroundings { home: operator_home, sealed: all(sealed), hidden: all(hidden) };
        let mut found = Self {
            homes: real(&homes),
            surroundings,
            tier: Tier::Reaper,
            control: Control::find(),
            landlock: 0,
            complaint: None,
        };
        let tiers = [Tier::Namespaces { own_proc: true }, Tier::Namespaces { own_proc: false }, Tier::Reaper];
        for (tier, with_groups) in tiers.into_iter().flat_map(|tier| [(tier, true), (tier, false)]) {
            let control = if with_groups { found.control.clone() } else { Control::default() };
            match found.tries(tier, &control) {
                Ok(landlock) => {
                    (found.tier, found.landlock, found.control) = (tier, landlock, control);
                    return Some(found);
                }
                Err(why) => {
                    tracing::debug!(?tier, with_groups, "a form of the sandbox does not work here: {why}");
                    found.complaint.get_or_insert(why);
                }
            }
        }
        None
    }

    /// Runs nothing under a policy like that of an agent; gives the version of Landlock.
    fn tries(&self, tier: Tier, control: &Control) -> Result<i32, String> {
        let home = Home::open(&self.homes.join(".trial")).map_err(|error| error.to_string())?;
        let policy = Policy {
            program: None,
            name: String::new(),
            arguments: Vec::new(),
            variables: BTreeMap::new(),
            folder: "/".into(),
            read: self.surroundings.readable(&[], Path::new("/usr/bin/true"), Path::new("/"), ""),
            write: vec![home.folder],
            frozen: Vec::new(),
            scratch: home.scratch,
            root: home.root,
            tier,
            network: false,
            limits: ProcessLimits::default(),
            groups: control.groups(Sandbox::default().memory.0, Sandbox::default().processes),
        };
        let (file, number) = memory_file(&policy).map_err(|error| error.to_string())?;
        // A thread of this process waits for it, so it may start here; the file is inherited by number.
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).map_err(|error| error.to_string())?;
        let tried = std::process::Command::new(SELF)
            .args([LAUNCHER_VERB, &number])
            .env_clear()
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        let words = String::from_utf8_lossy(&tried.stderr).trim().to_owned();
        let version = String::from_utf8_lossy(&tried.stdout).trim().parse();
        match version {
            Ok(version) if tried.status.success() => Ok(version),
            _ => Err(if words.is_empty() { tried.status.to_string() } else { words }),
        }
    }

    pub(super) fn summary(&self) -> String {
        let namespaces = match self.tier {
            Tier::Namespaces { own_proc: true } => "namespaces, ",
            Tier::Namespaces { own_proc: false } => "namespaces with a shared /proc, ",
            Tier::Reaper => "",
        };
        let groups = if self.control.bounds_memory() { ", control groups" } else { "" };
        format!("{namespaces}Landlock {}, system call filter{groups}", self.landlock)
    }

    pub(super) fn shortfalls(&self) -> Vec<String> {
        let mut missing = Vec::new();
        let why = self.complaint.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
        let isolated = matches!(self.tier, Tier::Namespaces { .. });
        if !isolated {
            missing.push(format!(
                "user namespaces cannot be used{why}: agents can see the names of other processes and reach Unix sockets of other programs; \
                 allow them with `sysctl kernel.apparmor_restrict_unprivileged_userns=0` or `kernel.unprivileged_userns_clone=1`"
            ));
        }
        if self.tier == (Tier::Namespaces { own_proc: false }) {
            missing.push(
                "a private /proc cannot be mounted: agents can see the names of other processes".into(),
            );
        }
        match (self.landlock, isolated) {
            (0, true) => missing.push("this kernel has no Landlock: only namespaces guard files".into()),
            (0, false) => missing.push(
                "this kernel has neither Landlock nor user namespaces: agents can read and write what the site's user can".into(),
            ),
            (1..6, false) => missing.push(
                "Landlock is older than version 6: agents can send signals to other processes of the site's user".into(),
            ),
            _ => {}
        }
        if !self.control.bounds_memory() {
            missing.push(
                "control groups cannot be made: memory is bounded for each process of an agent, not for all together".into(),
            );
        }
        if !self.control.bounds_processes() && !self.counts_processes() {
            missing.push(
                "control groups cannot be made: the number of an agent's processes is not bounded".into(),
            );
        }
        missing
    }

    /// Whether the kernel counts the processes of a program by themselves. It never does for the superuser.
    fn counts_processes(&self) -> bool {
        matches!(self.tier, Tier::Namespaces { .. }) && !rustix::process::geteuid().is_root()
    }

    pub(super) fn agent(
        self: &Arc<Self>,
        name: &AgentName,
        settings: &Sandbox,
        folder: &Path,
    ) -> Result<AgentSandbox, SandboxError> {
        let folder = real(&absolute(folder));
        let all = |key: &str, paths: &[String]| -> Result<Vec<PathBuf>, SandboxError> {
            paths.iter().map(|path| self.declared(key, path, &folder)).collect()
        };
        Ok(AgentSandbox {
            launcher: self.clone(),
            read: all("read", &settings.read)?,
            write: all("write", &settings.write)?,
            settings: settings.clone(),
            home: self.homes.join(name.as_str()),
            folder,
        })
    }

    /// A path that a manifest declares.
    fn declared(&self, key: &str, path: &str, folder: &Path) -> Result<PathBuf, SandboxError> {
        let below_home = path.strip_prefix("~/").or_else(|| (path == "~").then_some(""));
        let full = match (below_home, &self.surroundings.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => folder.join(path),
        };
        // A view is built name by name, so a path goes down only.
        let goes_up = full.components().any(|component| component == Component::ParentDir);
        let full = if goes_up { real(&full) } else { full };
        let wrong = |what: &str| Err(SandboxError(format!("sandbox.{key} names `{path}`, {what}")));
        if !full.exists() {
            return wrong("which does not exist; create it, or correct the path");
        }
        match self.surroundings.uncovers(&full) {
            Some(_) => wrong("which contains or is part of the site's own data; name a narrower path"),
            None => Ok(full),
        }
    }
}

impl AgentSandbox {
    /// The command of the launcher with the policy of the program.
    pub(super) fn command(&self, program: &Program<'_>, bounds: &Bounds) -> io::Result<Command> {
        let file = find(program)?;
        let policy = self.policy(program, file, bounds)?;
        let (policy, number) = memory_file(&policy)?;
        let mut command = Command::new(SELF);
        command.arg0("agentsite").args([LAUNCHER_VERB, &number]).env_clear().current_dir("/");
        bound(&mut command, &Bounds::of_launcher(), Some(policy));
        Ok(command)
    }

    fn policy(&self, program: &Program<'_>, file: PathBuf, bounds: &Bounds) -> io::Result<Policy> {
        let home = Home::open(&self.home)?;
        let launcher = &self.launcher;
        let mut variables = program.variables.clone();
        let isolated = matches!(launcher.tier, Tier::Namespaces { .. });
        let temporary = if isolated { Path::new("/tmp") } else { &home.scratch };
        variables.entry("TMPDIR".into()).or_insert_with(|| temporary.display().to_string());
        let path = variables.get("PATH").map_or("", String::as_str);
        let mut read = launcher.surroundings.readable(program.command, &file, &self.folder, path);
        read.extend(self.read.iter().cloned());
        let mut write = vec![self.folder.clone(), home.folder];
        write.extend(self.write.iter().cloned());
        let (memory, processes) = (self.settings.memory.0, self.settings.processes);
        Ok(Policy {
            name: program.name().to_owned(),
            arguments: program.command.iter().skip(1).cloned().collect(),
            folder: program.folder.to_owned(),
            frozen: FROZEN.iter().map(|name| self.folder.join(name)).collect(),
            scratch: home.scratch,
            root: home.root,
            tier: launcher.tier,
            network: self.settings.network,
            limits: ProcessLimits {
                data: Some(memory),
                address_space: bounds.memory,
                cpu: bounds.cpu_seconds(),
                file_size: Some(bounds.file_size.unwrap_or(self.settings.file_size.0)),
                open_files: Some(bounds.open_files),
                processes: launcher.counts_processes().then_some(processes),
            },
            groups: launcher.control.groups(memory, processes),
            program: Some(file),
            variables,
            read,
            write,
        })
    }
}

/// The private folders of an agent.
struct Home {
    folder: PathBuf,
    scratch: PathBuf,
    root: PathBuf,
}

impl Home {
    fn open(folder: &Path) -> io::Result<Self> {
        let (scratch, root) = (folder.join("tmp"), folder.join(".root"));
        for one in [folder, &scratch, &root] {
            private_folder(one)?;
        }
        Ok(Self { folder: folder.to_owned(), scratch, root })
    }
}

fn private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// A file in memory that holds the policy, and its number.
fn memory_file(policy: &Policy) -> io::Result<(OwnedFd, String)> {
    let mut file = fs::File::from(memfd_create("agentsite-policy", MemfdFlags::CLOEXEC)?);
    file.write_all(&serde_json::to_vec(policy)?)?;
    seek(&file, SeekFrom::Start(0))?;
    let file = OwnedFd::from(file);
    let number = file.as_raw_fd().to_string();
    Ok((file, number))
}

/// The file of a program, and whether it can be executed; the launcher itself could only say so on stderr.
fn find(program: &Program<'_>) -> io::Result<PathBuf> {
    if !program.folder.is_dir() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let name = program.file();
    let candidates: Vec<PathBuf> = if program.name().contains('/') {
        vec![name]
    } else {
        let path = program.variables.get("PATH").map_or("", String::as_str);
        path.split(':')
            .filter(|folder| !folder.is_empty())
            .map(|folder| Path::new(folder).join(&name))
            .collect()
    };
    let mut refused = io::ErrorKind::NotFound;
    for file in candidates {
        match fs::metadata(&file) {
            Ok(about) if about.is_file() && about.permissions().mode() & 0o111 != 0 => {
                return interpreted(&file).map(|()| file);
            }
            Ok(_) => refused = io::ErrorKind::PermissionDenied,
            Err(_) => {}
        }
    }
    Err(refused.into())
}

/// A script needs the interpreter that its first line names.
fn interpreted(file: &Path) -> io::Result<()> {
    use std::io::Read;

    let mut start = [0; 256];
    let read = fs::File::open(file).and_then(|mut file| file.read(&mut start)).unwrap_or(0);
    let Some(line) = start[..read].strip_prefix(b"#!") else { return Ok(()) };
    let line =
        String::from_utf8_lossy(line.split(|byte| *byte == b'\n').next().unwrap_or_default()).into_owned();
    match line.split_whitespace().next() {
        Some(interpreter) if interpreter.starts_with('/') && !Path::new(interpreter).exists() => {
            Err(io::ErrorKind::NotFound.into())
        }
        _ => Ok(()),
    }
}
