//! Work that one process of a site does at a time: it runs while the process has the lease of the work.
//!
//! Promises: the work stops when the process is no longer a member, before it joins again, and begins again
//! where the lease goes. It is shown as waiting in the other processes. Two processes never have the lease;
//! work that must not overlap at all is guarded by the store, because a process that slept may still run for
//! a moment until it notices.

use agentsite_store::ProcessId;
use tokio_util::sync::CancellationToken;

use crate::capability::{Capability, CapabilityWorker, WorkerScope};
use crate::lifetime::Lifetime;
use crate::processes::Processes;
use crate::workers::{Worker, Workers};

impl Capability {
    /// Starts its workers: those of the scope of the site run in the process that has their lease.
    pub fn start_workers(&self, workers: &Workers, lifetime: &Lifetime, processes: &Processes) {
        for work in &self.workers {
            let stop = lifetime.stopping().clone();
            if work.scope == WorkerScope::Site && processes.is_shared() {
                let (workers, processes) = (workers.clone(), processes.clone());
                lifetime.spawn(run_leased(work.clone(), workers, processes, stop));
            } else {
                lifetime.spawn(work.run(workers.register(work.name, work.about), stop));
            }
        }
    }
}

/// Runs the work whenever this process has its lease, until the token fires.
async fn run_leased(work: CapabilityWorker, workers: Workers, processes: Processes, stop: CancellationToken) {
    let lease = format!("worker/{}", work.name);
    loop {
        let worker = workers.register(work.name, work.about);
        let Some(own) = obtain(&lease, &worker, &processes, &stop).await else { return };
        let (token, mut membership) = (stop.child_token(), processes.membership());
        let run = work.run(worker, token.clone());
        tokio::pin!(run);
        let lost = async { drop(membership.wait_for(|id| *id != Some(own)).await) };
        tokio::select! {
            () = &mut run => {}
            () = lost => {
                token.cancel();
                run.await;
            }
        }
        if stop.is_cancelled() {
            // So that another process continues before this one has left.
            if let Err(error) = processes.release(&lease).await {
                tracing::debug!(lease, %error, "A lease was not given back; it ends with the process.");
            }
            return;
        }
    }
}

/// Waits for the lease; gives the number under which the process has it, or none when the token fires.
async fn obtain(
    lease: &str,
    worker: &Worker,
    processes: &Processes,
    stop: &CancellationToken,
) -> Option<ProcessId> {
    loop {
        if stop.is_cancelled() {
            return None;
        }
        if let Some(own) = processes.id() {
            match processes.acquire(lease).await {
                Ok(true) if processes.id() == Some(own) => return Some(own),
                Ok(_) => worker.idle("another process does this work"),
                Err(error) => worker.failing(&error.to_string()),
            }
        }
        tokio::select! {
            () = stop.cancelled() => return None,
            () = tokio::time::sleep(processes.pause()) => {}
        }
    }
}
