//! The processes that share a store: how one joins, stays and leaves, what each has, and how the work of a
//! dead one is taken over.
//!
//! Promises: time is that of the store's clock, the same for all processes. What a process has (leases,
//! tasks) is free for others the moment it leaves or is declared dead. See `process` for the rules of
//! changes. It decides nothing about tasks: it says which are free and gives them to who asks first.

use std::time::Duration;

use agentsite_protocol::{TaskHead, TaskId};

use crate::{ProcessId, ProcessInfo, ProcessView, Reply};

/// How several processes share one store.
pub trait ProcessReads {
    /// Joins for this long: from now on this handle and its clones are the process with the number that it
    /// gives. A handle may join again, under a new number, also while the old one is living or was declared
    /// dead. `None` for a store that belongs to one process, which needs nothing of this.
    fn join(&self, info: ProcessInfo, ttl: Duration) -> Reply<'_, Option<ProcessId>>;

    /// Stays for this long from now on, with a new report or the one before. Declares every other process
    /// dead whose time has passed, and gives what those had: each is given to one caller only. A process
    /// that joined, or was late itself, less than `ttl` ago declares none dead: the store may have been out
    /// of reach for all of them.
    ///
    /// # Errors
    /// [`StoreError::Fenced`](crate::StoreError::Fenced) when this process is not living any more. One whose
    /// time has passed and that was not declared dead is still living.
    fn renew(&self, ttl: Duration, report: Option<String>) -> Reply<'_, Vec<ProcessView>>;

    /// Leaves: leases and tasks are free at once, and changes through this handle are refused like those of
    /// a dead process. Does nothing without a join.
    fn leave(&self) -> Reply<'_, ()>;

    /// All living processes by number, those whose time has passed included.
    fn processes(&self) -> Reply<'_, Vec<ProcessView>>;

    /// Takes a lease for as long as this process lives; true when the process has it now, also from before.
    /// Always true on a store that belongs to one process.
    ///
    /// # Errors
    /// [`StoreError::Fenced`](crate::StoreError::Fenced) without a join, and when this process is not living.
    fn acquire(&self, lease: &str) -> Reply<'_, bool>;

    /// Gives a lease back; does nothing when this process does not have it.
    fn release(&self, lease: &str) -> Reply<'_, ()>;

    /// Tasks that are submitted or working and that no living process holds, by id after `after`, at most so
    /// many: those of processes that died or left, and those that came from elsewhere. None on a store that
    /// belongs to one process: see `open_tasks`.
    fn orphans(&self, after: Option<TaskId>, limit: usize) -> Reply<'_, Vec<TaskHead>>;

    /// Holds those of these tasks that are submitted or working and that no living process holds; gives
    /// their heads, by id. Of several processes that ask for a task one gets it.
    ///
    /// # Errors
    /// [`StoreError::Fenced`](crate::StoreError::Fenced) without a join, and when this process is not living.
    fn adopt(&self, tasks: Vec<TaskId>) -> Reply<'_, Vec<TaskHead>>;
}
