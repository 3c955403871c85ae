//! What a process does about the other processes of its site: it stays a member, takes up the tasks of those
//! that died, follows the tasks that they run, and obeys their orders.
//!
//! Promises: a process that loses its membership, because it did not renew in time, gives up what it ran and
//! joins again under a new number; its watchers follow the tasks wherever they continue. On a store that
//! belongs to one process there is nothing to do and no worker.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::TaskId;
use agentsite_store::{Entity, SharedStore, StoreError, Topic, Touched};
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::capability::{Capability, WorkerScope};
use crate::control::TaskControl;
use crate::feed::{Taken, follow_topic};
use crate::followed::catch_up;
use crate::live::LiveTasks;
use crate::order::ORDERS;
use crate::process_call::CALLS;
use crate::processes::ProcessReport;
use crate::supervisor::TaskSupervisor;
use crate::workers::Worker;

/// How often tasks without a process are looked for when no process died: those of processes that left.
const LOOK_FOR_ORPHANS: Duration = Duration::from_secs(1);

/// How long runs may take to stop before the process looks again whether they have.
const RUNNERS_END: Duration = Duration::from_secs(10);

/// Makes the report of this process.
type MakeReport = Arc<dyn Fn() -> ProcessReport + Send + Sync>;

impl TaskControl {
    /// What the tasks of several processes contribute to a site; `report` makes what this process tells the
    /// others.
    #[must_use]
    pub fn cluster(&self, report: impl Fn() -> ProcessReport + Send + Sync + 'static) -> Capability {
        let capability = Capability::new("processes").collections(const { &[ORDERS.name(), CALLS.name()] });
        if !self.0.processes.is_shared() {
            return capability;
        }
        let report: MakeReport = Arc::new(report);
        let (keeping, following, obeying) = (self.0.clone(), self.0.clone(), self.0.clone());
        let serving = self.0.clone();
        capability
            .worker(
                "processes",
                "Tells the other processes what this one has, and takes up the tasks of those that died.",
                WorkerScope::Process,
                move |worker, stop| keep(keeping.clone(), report.clone(), worker, stop),
            )
            .worker(
                "task-feed",
                "Follows the tasks that other processes run and that are watched here.",
                WorkerScope::Process,
                move |worker, stop| {
                    let (store, live) = (following.store.clone(), following.live.clone());
                    let take = {
                        let store = store.clone();
                        move |touched| -> Taken { Box::pin(refresh(store.clone(), live.clone(), touched)) }
                    };
                    follow_topic(store, Topic::Tasks, take, worker, stop)
                },
            )
            .worker(
                "task-orders",
                "Obeys what other processes order about the tasks of this one.",
                WorkerScope::Process,
                move |worker, stop| {
                    let tasks = obeying.clone();
                    let take = move |touched| -> Taken { Box::pin(tasks.clone().obey_orders(touched)) };
                    follow_topic(obeying.store.clone(), Topic::Records, take, worker, stop)
                },
            )
            .worker(
                "process-calls",
                "Does what other processes ask of agents that only this one can run, and awaits their answers.",
                WorkerScope::Process,
                move |worker, stop| {
                    let calls = serving.process_calls.clone();
                    let take = move |touched| -> Taken { Box::pin(calls.clone().follow(touched)) };
                    follow_topic(serving.store.clone(), Topic::Records, take, worker, stop)
                },
            )
    }
}

/// Reports what this process has, and follows the renewals of its membership until the token fires. The
/// membership itself is renewed by [`crate::Processes`], from the join until the process leaves.
async fn keep(tasks: Arc<TaskSupervisor>, report: MakeReport, worker: Worker, stop: CancellationToken) {
    let processes = tasks.processes.clone();
    let mut beats = processes.heartbeat();
    let (mut told, mut looked, mut died) = (None, Instant::now(), 0);
    loop {
        let now = report();
        let reported = if told.as_ref() == Some(&now) { Ok(()) } else { processes.renew(Some(&now)).await };
        let beat = *beats.borrow_and_update();
        match reported {
            _ if beat.fenced => {
                told = None;
                rejoin(&tasks, &worker).await;
            }
            Ok(()) => {
                if told.as_ref() != Some(&now) {
                    // An agent may have become available here for which calls wait.
                    look_at_calls(&tasks, &worker).await;
                }
                told = Some(now);
                share_lanes(&tasks, told.as_ref());
                tasks.hand_over_moved();
                worker.idle(&format!("{} processes serve the site", processes.count()));
                if beat.died != died || looked.elapsed() >= LOOK_FOR_ORPHANS {
                    (looked, died) = (Instant::now(), beat.died);
                    take_orphans(&tasks, &worker).await;
                }
            }
            Err(error) => worker.failing(&error.to_string()),
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            // Ends only with the process: this worker holds the membership.
            _ = beats.changed() => {}
            // What this process reports may change between two renewals, and a renewal may fail.
            () = tokio::time::sleep(processes.pause()) => {}
        }
    }
}

/// Gives each agent of this process its share of the concurrency, which holds for the whole site.
fn share_lanes(tasks: &TaskSupervisor, own: Option<&ProcessReport>) {
    let (living, id) = (tasks.processes.living(), tasks.processes.id());
    for name in own.into_iter().flat_map(|report| report.agents.keys()) {
        // A server that runs once for the whole site has the whole concurrency.
        let alone = living.iter().any(|(_, report)| report.servers.contains(name));
        let has = |report: &ProcessReport| {
            if alone { report.servers.contains(name) } else { report.agents.contains_key(name) }
        };
        let having: Vec<_> =
            living.iter().filter(|(_, report)| has(report)).map(|(view, _)| view.id).collect();
        let rank = having.iter().position(|process| Some(*process) == id);
        if let (Some(agent), Some(rank)) = (tasks.agents.find(name), rank) {
            agent.lane.set_share(having.len(), rank);
        }
    }
}

/// Gives up what this process ran as a member, and joins again.
async fn rejoin(tasks: &TaskSupervisor, worker: &Worker) {
    tracing::warn!(
        process = ?tasks.processes.id(),
        "This process was declared dead because it did not renew its lease in time. It gives up its tasks and joins again."
    );
    tasks.processes.lose();
    // Under its new number the process would be allowed to write what its old runs still had to say.
    tasks.process_calls.abandon();
    let runners = tasks.live.abandon();
    let ended = futures::future::join_all(runners.iter().map(Sender::closed));
    if tokio::time::timeout(RUNNERS_END, ended).await.is_err() {
        worker.failing("some runs did not stop; waiting for them before this process joins again");
        return;
    }
    if let Err(error) = tasks.processes.rejoin().await {
        worker.failing(&error.to_string());
    }
}

async fn look_at_calls(tasks: &TaskSupervisor, worker: &Worker) {
    if let Err(error) = tasks.process_calls.look_at_all().await {
        worker.failing(&error.to_string());
    }
}

async fn take_orphans(tasks: &Arc<TaskSupervisor>, worker: &Worker) {
    match tasks.recover(None).await {
        Ok(taken) if taken.retried + taken.requeued + taken.failed > 0 => tracing::info!(
            retried = taken.retried,
            requeued = taken.requeued,
            failed = taken.failed,
            "Tasks without a process were taken up."
        ),
        Ok(_) => {}
        Err(error) => worker.failing(&error.to_string()),
    }
}

/// Fills the logs of those followed tasks that were touched, and wakes the watchers of tasks that wait for
/// their caller.
async fn refresh(store: SharedStore, live: Arc<LiveTasks>, touched: Touched) -> Result<String, StoreError> {
    let touched = match touched {
        Touched::All => None,
        Touched::Entities(entities) => Some(entities.iter().filter_map(task).collect::<BTreeSet<_>>()),
    };
    let followed = live.followed.all();
    let is_touched = |id: &TaskId| touched.as_ref().is_none_or(|touched| touched.contains(id));
    for (id, log) in followed.iter().filter(|(id, _)| is_touched(id)) {
        catch_up(&store, *id, log).await?;
        if log.is_done() {
            live.followed.remove(*id);
        }
    }
    live.wake_touched(is_touched);
    Ok(format!("{} tasks of other processes are followed", followed.len()))
}

fn task(entity: &Entity) -> Option<TaskId> {
    match entity {
        Entity::Task(id) => Some(*id),
        _ => None,
    }
}
