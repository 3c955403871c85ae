//! Fork: the system calls of the launcher that Rust has no safe form for.
//!
//! Promises: a fork happens only in a process that has exactly one thread, which is checked, so that the
//! child may continue as ordinary Rust code. Together with `sandbox.rs` these are the only unsafe blocks of
//! this crate, see `docs/decisions/0001-unsafe-in-sandbox.md`.

use std::io;

use nix::unistd::Pid;

/// Which side of a fork this is.
pub(super) enum Side {
    /// The new process.
    Child,
    /// The process that forked; the id is that of the child.
    Parent(Pid),
}

/// Forks, with the child in new namespaces. `namespaces` are flags of clone(2); zero gives a plain fork.
///
/// # Errors
/// What the system says, or that the process has more than one thread.
pub(super) fn fork(namespaces: libc::c_int) -> io::Result<Side> {
    if std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() > 1) {
        return Err(io::Error::other("the launcher has several threads"));
    }
    let flags = libc::c_long::from(namespaces | libc::SIGCHLD);
    let zero: libc::c_long = 0;
    // SAFETY: without CLONE_VM and with a zero stack this is fork(2): the child continues on a copy of this
    // stack. The process has one thread, so no lock can be held by a thread that does not exist in the child.
    #[expect(unsafe_code, reason = "fork has no safe form; see docs/decisions/0001-unsafe-in-sandbox.md")]
    let made = unsafe { libc::syscall(libc::SYS_clone, flags, zero, zero, zero, zero) };
    match made {
        0 => Ok(Side::Child),
        id if id > 0 => i32::try_from(id)
            .map(|id| Side::Parent(Pid::from_raw(id)))
            .map_err(|_| io::Error::other("the system gave a process id out of range")),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Marks a descriptor, known only by its number, to be closed on exec. A closed one is ignored.
pub(super) fn close_on_exec(number: i32) {
    // SAFETY: the call changes a flag of a descriptor and no memory; a wrong number is an error that is
    // ignored.
    #[expect(
        unsafe_code,
        reason = "a bare number has no safe form; see docs/decisions/0001-unsafe-in-sandbox.md"
    )]
    let _ = unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
}
