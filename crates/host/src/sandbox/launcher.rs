//! Launcher: the small process between the site and the program of an agent.
//!
//! Promises: it confines the program before its first instruction runs, passes requests to end on to it, and
//! ends as the program ended, after everything that the program started has ended, too. SIGUSR1, or the death
//! of the site, ends all of it at once. When any part of the confinement cannot be set up, the program is not
//! started, and a line on stderr says why.
//!
//! It is the site's own executable, started again with a hidden verb; see `docs/decisions/` on the sandbox.
//! It reads no configuration, and has one thread.

use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::control::Groups;
use super::fork::{Side, fork};
use super::inside;
use super::policy::{Policy, Tier};
use super::program_end::ProgramEnd;

/// The exit code of a program that could not be started, as shells use it.
const NOT_STARTED: u8 = 126;

/// What the site sends to end the program and all of its descendants at once; the same as [`super::END_ALL`].
const END_ALL: Signal = Signal::SIGUSR1;

/// Runs the launcher: reads the policy from this open file, and ends as the program ends.
#[must_use]
pub fn launch(policy: u32) -> ExitCode {
    let ended = read(policy).and_then(|policy| Supervisor::start(&policy)?.supervise());
    match ended {
        Ok(ProgramEnd::Code(code)) => ExitCode::from(code),
        Ok(ProgramEnd::Signal(signal)) => die_of(signal),
        Err(error) => {
            let _ = writeln!(io::stderr(), "agentsite: the program was not started: {error}");
            ExitCode::from(NOT_STARTED)
        }
    }
}

fn read(descriptor: u32) -> io::Result<Policy> {
    // Opening the link gives a descriptor of our own, which is closed on exec; the inherited one is closed
    // before the program runs.
    let mut text = Vec::new();
    fs::File::open(format!("/proc/self/fd/{descriptor}"))?.read_to_end(&mut text)?;
    serde_json::from_slice(&text).map_err(io::Error::from)
}

/// Ends this process by the same signal.
fn die_of(signal: Signal) -> ExitCode {
    let _ = SigSet::empty().thread_set_mask();
    let _ = kill(Pid::this(), signal);
    // Only a signal that is ignored gets here.
    ExitCode::from(NOT_STARTED)
}

/// The launcher once the program has been forked off.
struct Supervisor {
    /// The first process of the program: the init process of its namespace, or the program itself.
    first: Pid,
    tier: Tier,
    groups: Groups,
    /// How the program ended, reported by its init process.
    told: io::PipeReader,
    /// Held open as long as the launcher lives.
    _alive: io::PipeWriter,
    signals: SigSet,
}

impl Supervisor {
    fn start(policy: &Policy) -> io::Result<Self> {
        let signals = block_signals()?;
        prctl::set_child_subreaper(true)?;
        let groups = Groups::make(&policy.groups)?;
        let (told, tell) = io::pipe()?;
        let (alive, mut go) = io::pipe()?;
        let namespaces = inside::namespaces(policy);
        let first = match fork(namespaces)? {
            Side::Child => {
                drop((told, go));
                inside::begin(policy, alive, tell)
            }
            Side::Parent(first) => first,
        };
        drop((alive, tell));
        let_go_of_pipes();
        let ready =
            groups.admit(first).and_then(|()| if namespaces == 0 { Ok(()) } else { map_users(first) });
        if let Err(error) = ready.and_then(|()| go.write_all(b"!")) {
            let _ = kill(first, Signal::SIGKILL);
            let _ = waitpid(first, None);
            groups.remove();
            return Err(error);
        }
        Ok(Self { first, tier: policy.tier, groups, told, _alive: go, signals })
    }

    /// Waits for the end of the program, and for that of everything that it left behind.
    fn supervise(mut self) -> io::Result<ProgramEnd> {
        let mut end = None;
        while end.is_none() {
            match self.signals.wait()? {
                Signal::SIGCHLD => end = self.reap()?,
                END_ALL => drop(kill(self.first, Signal::SIGKILL)),
                // A signal asks the program to end. Its own processes form a separate group.
                signal => drop(killpg(self.first, signal)),
            }
        }
        self.end_the_rest();
        if self.groups.ran_out_of_memory() {
            let words = "agentsite: a process was ended because the agent used more memory than it may (sandbox.memory)";
            let _ = writeln!(io::stderr(), "{words}");
        }
        self.groups.remove();
        end.ok_or_else(|| io::Error::other("the program was lost"))
    }

    /// Collects ended processes; gives the end of the program when it is among them.
    fn reap(&mut self) -> io::Result<Option<ProgramEnd>> {
        let mut end = None;
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return Ok(end),
                Ok(status) => match ProgramEnd::of(status) {
                    Some((pid, how)) if pid == self.first => end = Some(self.end_of_program(how)),
                    _ => {}
                },
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// An init process tells how the program ended; when it was killed itself, that is the end.
    fn end_of_program(&mut self, first: ProgramEnd) -> ProgramEnd {
        if self.tier == Tier::Reaper {
            return first;
        }
        let mut told = [0; 5];
        match self.told.read_exact(&mut told) {
            Ok(()) => ProgramEnd::read(told).unwrap_or(first),
            Err(_) => first,
        }
    }

    /// Ends what outlived the program. A process namespace has done so already; otherwise orphans have become
    /// our children.
    fn end_the_rest(&self) {
        loop {
            let children = fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
            for child in children.split_whitespace().filter_map(|id| id.parse().ok()) {
                let _ = kill(Pid::from_raw(child), Signal::SIGKILL);
            }
            match waitpid(None, None) {
                Err(Errno::ECHILD) => return,
                Err(Errno::EINTR) | Ok(_) => {}
                Err(_) => return,
            }
        }
    }
}

/// Only the program reads its input and writes its output; stderr stays, for errors of the launcher itself.
fn let_go_of_pipes() {
    if let Ok(nothing) = fs::File::options().read(true).write(true).open("/dev/null") {
        let _ = nix::unistd::dup2_stdin(&nothing);
        let _ = nix::unistd::dup2_stdout(&nothing);
    }
}

/// From now on these signals are taken one by one. Until here the site's death kills this process; from here
/// on it gets a signal, so that the program can be ended first.
fn block_signals() -> io::Result<SigSet> {
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGCHLD, END_ALL, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT]
    {
        signals.add(signal);
    }
    signals.thread_block()?;
    prctl::set_pdeathsig(END_ALL)?;
    Ok(signals)
}

/// Gives the program the users and groups that this process has: all of them for the superuser, otherwise
/// only its own.
fn map_users(first: Pid) -> io::Result<()> {
    let of = |file: &str| PathBuf::from(format!("/proc/{first}/{file}"));
    if rustix::process::geteuid().is_root() {
        let whole =
            |file: &str| fs::write(of(file), identity(&fs::read_to_string(format!("/proc/self/{file}"))?));
        if whole("uid_map").is_ok() {
            return whole("gid_map");
        }
    }
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    fs::write(of("uid_map"), format!("{user} {user} 1"))?;
    fs::write(of("setgroups"), "deny")?;
    fs::write(of("gid_map"), format!("{group} {group} 1"))
}

/// The map of a namespace in which every id means what it means here.
fn identity(map: &str) -> String {
    let mut lines = String::new();
    for line in map.lines() {
        let mut fields = line.split_whitespace();
        if let (Some(inside), Some(_), Some(count)) = (fields.next(), fields.next(), fields.next()) {
            lines.push_str(&format!("{inside} {inside} {count}\n"));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::identity;

    #[test]
    fn a_map_of_identity_keeps_the_ranges() {
        assert_eq!(identity("         0     100000      65536\n 70000 5 1\n"), "0 0 65536\n70000 70000 1\n");
    }
}
