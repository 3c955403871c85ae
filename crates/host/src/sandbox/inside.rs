//! Inside: the steps from the fork to the program, each of which gives something up.
//!
//! Promises: the init process of a namespace builds the view, gives up its powers, starts the program and
//! collects every orphan; when the program ends, it ends, and the kernel ends all processes left in the
//! namespace. The program gets its limits, its rules and its variables, and no open file besides its three
//! pipes.

use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, setsid};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::fork::{Side, close_on_exec, fork};
use super::policy::{Policy, ProcessLimits, Tier};
use super::program_end::ProgramEnd;
use super::{rules, view};

/// The exit code of a program that could not be started, as shells use it.
const NOT_STARTED: i32 = 126;

/// Between the signal that a program may catch and the one it may not, when its processor time is used up.
const CPU_GRACE_SECONDS: u64 = 1;

/// The namespaces in which a program runs, as flags of clone(2).
pub(super) fn namespaces(policy: &Policy) -> libc::c_int {
    match policy.tier {
        Tier::Reaper => 0,
        Tier::Namespaces { .. } => {
            let network = if policy.network { 0 } else { libc::CLONE_NEWNET };
            libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | network
        }
    }
}

/// Continues as the first process; never returns. `go` brings a byte when everything outside is ready, and
/// its end when the launcher is gone; `tell` takes how the program ended.
pub(super) fn begin(policy: &Policy, mut go: io::PipeReader, tell: io::PipeWriter) -> ! {
    let begun =
        go.read_exact(&mut [0]).and_then(|()| first_steps(policy, &go)).and_then(|()| match policy.tier {
            Tier::Namespaces { .. } => init(policy, tell),
            Tier::Reaper => program(policy).map(|never| match never {}),
        });
    match begun {
        Ok(()) => leave(0),
        Err(error) => refuse(&error),
    }
}

fn refuse(error: &io::Error) -> ! {
    let _ = writeln!(io::stderr(), "agentsite: the program was not started: {error}");
    leave(NOT_STARTED)
}

/// Ends a forked process. What the launcher holds is not this process's to tidy up.
#[expect(clippy::disallowed_methods, reason = "a forked process does not return to the main of the launcher")]
fn leave(code: i32) -> ! {
    std::process::exit(code)
}

/// Names the step in an error.
fn step<T>(what: &str, done: io::Result<T>) -> io::Result<T> {
    done.map_err(|error| io::Error::new(error.kind(), format!("{what}: {error}")))
}

fn first_steps(policy: &Policy, go: &io::PipeReader) -> io::Result<()> {
    // Its own session: termination signals reach it through the launcher, and no terminal of the operator is
    // within its reach.
    step("it gets no session", setsid().map_err(io::Error::from))?;
    if matches!(policy.tier, Tier::Namespaces { .. }) {
        step("its view of the files cannot be built", view::enter(policy))?;
    }
    step("its privileges cannot be dropped", rules::drop_capabilities())?;
    // Giving up powers clears the signal, so it is set afterwards.
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    prctl::set_no_new_privs()?;
    if is_gone(go) { Err(io::Error::other("the launcher is gone")) } else { Ok(()) }
}

/// Whether the other end of the pipe is closed.
fn is_gone(pipe: &io::PipeReader) -> bool {
    use rustix::fs::{OFlags, fcntl_setfl};

    let mut pipe = pipe;
    fcntl_setfl(pipe, OFlags::NONBLOCK).is_ok() && matches!(pipe.read(&mut [0]), Ok(0))
}

/// The init process of a namespace.
fn init(policy: &Policy, mut tell: io::PipeWriter) -> io::Result<()> {
    let main = match fork(0)? {
        Side::Child => {
            drop(tell);
            let failed =
                prctl::set_pdeathsig(Signal::SIGKILL).map_err(io::Error::from).and_then(|()| program(policy));
            match failed {
                Ok(never) => match never {},
                Err(error) => refuse(&error),
            }
        }
        Side::Parent(main) => main,
    };
    close_pipes();
    let end = collect(main)?;
    tell.write_all(&end.write())
}

/// Lets go of the pipes of the program, so that their other ends notice when the program closes them.
fn close_pipes() {
    if let Ok(nothing) = std::fs::File::options().read(true).write(true).open("/dev/null") {
        let _ = nix::unistd::dup2_stdin(&nothing);
        let _ = nix::unistd::dup2_stdout(&nothing);
        let _ = nix::unistd::dup2_stderr(&nothing);
    }
}

fn collect(main: Pid) -> io::Result<ProgramEnd> {
    loop {
        match waitpid(None, None) {
            Ok(status) => match ProgramEnd::of(status) {
                Some((pid, end)) if pid == main => return Ok(end),
                _ => {}
            },
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Becomes the program.
fn program(policy: &Policy) -> io::Result<Infallible> {
    let landlock = step("its files cannot be guarded", rules::restrict_files(policy))?;
    step("its system calls cannot be filtered", rules::filter_calls(policy))?;
    step("its limits cannot be set", limit(&policy.limits))?;
    let Some(file) = &policy.program else {
        // Only a probe: the caller reads which version of Landlock is in force.
        let _ = writeln!(io::stdout(), "{landlock}");
        leave(0)
    };
    close_others()?;
    let error = Command::new(file)
        .arg0(&policy.name)
        .args(&policy.arguments)
        .current_dir(&policy.folder)
        .env_clear()
        .envs(&policy.variables)
        .exec();
    Err(io::Error::new(error.kind(), format!("`{}`: {error}", policy.name)))
}

/// Marks every descriptor besides the three pipes to be closed on exec.
fn close_others() -> io::Result<()> {
    let numbers = std::fs::read_dir("/proc/self/fd")?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|number| *number > 2);
    numbers.collect::<Vec<_>>().into_iter().for_each(close_on_exec);
    Ok(())
}

fn limit(limits: &ProcessLimits) -> io::Result<()> {
    let most = [
        (Resource::Data, limits.data, 0),
        (Resource::As, limits.address_space, 0),
        (Resource::Cpu, limits.cpu, CPU_GRACE_SECONDS),
        (Resource::Fsize, limits.file_size, 0),
        (Resource::Nofile, limits.open_files, 0),
        (Resource::Nproc, limits.processes, 0),
        (Resource::Core, Some(0), 0),
    ];
    for (resource, most, grace) in most {
        let Some(most) = most else { continue };
        // Never above the site's own, which the system would refuse.
        let own = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let current = most.min(own);
        let maximum = current.saturating_add(grace).min(own);
        setrlimit(resource, Rlimit { current: Some(current), maximum: Some(maximum) })?;
    }
    Ok(())
}
