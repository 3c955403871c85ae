//! Calls between the processes of a site: work that is no task, such as a message to an agent that keeps no
//! record, is done by the process that can run its agent, and its answer comes back.
//!
//! Promises: a call is a record of the store, encrypted like every record, and is gone when it was answered.
//! One process takes it, by the revision of the record, before it begins: nothing is done twice. A caller who
//! goes away removes the record, which stops the work. When the process that took a call dies, its caller
//! learns so and the call is not made again. A call that no process takes fails after a while.
//!
//! It does not check callers and does not count limits: who calls has checked, who serves counts.

mod asking;
mod serving;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::{AgentName, Ids, Timestamp};
use agentsite_store::{Collection, Entity, ProcessId, SharedStore, StoreError, Touched};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::lifetime::Lifetime;
use crate::processes::Processes;

/// Where calls are kept while they are under way.
pub(crate) const CALLS: Collection<StoredCall> = Collection::new("process-calls");

/// What a process does with a call; the answer is a value that the caller understands.
type Serve = Arc<dyn Fn(AgentName, Value, CancellationToken) -> BoxFuture<'static, Value> + Send + Sync>;

/// Says whether this process can run an agent now.
type CanRun = Arc<dyn Fn(&AgentName) -> bool + Send + Sync>;

/// A call that is under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub(crate) enum StoredCall {
    /// No process has it yet.
    Asked {
        /// Which kind of work.
        kind: String,
        /// The agent that does it.
        agent: AgentName,
        /// What is to be done.
        work: Value,
        /// Until when the record is kept if nobody removes it.
        until: Timestamp,
    },
    /// A process works on it.
    Taken {
        /// That process.
        by: ProcessId,
    },
    /// It is done.
    Answered {
        /// What came of it.
        answer: Value,
    },
}

/// Why a call between processes has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ProcessCallError {
    /// No process could run the agent within the time that a call waits.
    #[error("no process of this site can run {0} now; send the message again when its program is back")]
    Nobody(AgentName),
    /// The process that worked on it died or lost the call.
    #[error("the process that worked on this for {0} was lost; send the message again")]
    Lost(AgentName),
    /// The answer is not what was expected, as from another version of the program.
    #[error(
        "the process that runs {0} answered in a form that this one does not know; run the same version in all processes"
    )]
    Unreadable(AgentName),
    /// The store did not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Calls between the processes of a site. Clones are handles on the same calls.
#[derive(Clone)]
pub struct ProcessCalls(Arc<Parts>);

struct Parts {
    store: SharedStore,
    ids: Ids,
    processes: Processes,
    lifetime: Lifetime,
    // Std locks: held for a look-up, an insert or a removal, never across an await.
    /// What this process serves, by the kind of work.
    served: Mutex<BTreeMap<&'static str, (CanRun, Serve)>>,
    /// The calls of this process that wait for an answer.
    waiting: Mutex<HashMap<String, Arc<Notify>>>,
    /// The calls of others that this process works on, and how each is stopped.
    running: Mutex<HashMap<String, CancellationToken>>,
}

impl fmt::Debug for ProcessCalls {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ProcessCalls({:?})", self.0.processes)
    }
}

impl ProcessCalls {
    pub(crate) fn new(store: SharedStore, ids: Ids, processes: Processes, lifetime: Lifetime) -> Self {
        let (served, waiting, running) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self(Arc::new(Parts { store, ids, processes, lifetime, served, waiting, running }))
    }

    /// Serves one kind of work for agents that this process `can_run`. The work must end soon after its token
    /// fires.
    pub fn serve<F>(
        &self,
        kind: &'static str,
        can_run: impl Fn(&AgentName) -> bool + Send + Sync + 'static,
        serve: impl Fn(AgentName, Value, CancellationToken) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = Value> + Send + 'static,
    {
        let serve: Serve = Arc::new(move |agent, work, cancel| Box::pin(serve(agent, work, cancel)));
        lock(&self.0.served).insert(kind, (Arc::new(can_run), serve));
    }

    /// Whether other processes may serve what this one cannot.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.0.processes.is_shared()
    }

    /// Looks at the calls that were touched: takes those that this process can serve, stops those whose
    /// caller went away, and wakes those that wait for an answer.
    pub(crate) async fn follow(self, touched: Touched) -> Result<String, StoreError> {
        match touched {
            Touched::Entities(entities) => {
                for key in entities.into_iter().filter_map(call_key) {
                    self.look(&key).await?;
                }
            }
            Touched::All => self.look_at_all().await?,
        }
        Ok(format!("{} calls of other processes are under way", lock(&self.0.running).len()))
    }

    /// Looks at all calls, as after an agent has become available in this process.
    pub(crate) async fn look_at_all(&self) -> Result<(), StoreError> {
        let mut keys: Vec<String> =
            CALLS.all(&self.0.store).await?.into_iter().map(|call| call.key).collect();
        // Those that are gone are looked at, too: their work is stopped, their callers learn of it.
        keys.extend(lock(&self.0.running).keys().cloned());
        keys.extend(lock(&self.0.waiting).keys().cloned());
        keys.sort_unstable();
        keys.dedup();
        for key in &keys {
            self.look(key).await?;
        }
        Ok(())
    }

    /// Stops the work on calls of others, as when this process is no longer a member.
    pub(crate) fn abandon(&self) {
        lock(&self.0.running).drain().for_each(|(_, cancel)| cancel.cancel());
    }

    async fn look(&self, key: &str) -> Result<(), StoreError> {
        if let Some(waiting) = lock(&self.0.waiting).get(key) {
            waiting.notify_one();
        }
        match CALLS.get(&self.0.store, key).await? {
            Some(call) => self.take(call).await,
            None => {
                lock(&self.0.running).remove(key).into_iter().for_each(|cancel| cancel.cancel());
                Ok(())
            }
        }
    }
}

fn call_key(entity: Entity) -> Option<String> {
    match entity {
        Entity::Record { collection, key } if collection == CALLS.name() => Some(key),
        _ => None,
    }
}

fn lock<T>(locked: &Mutex<T>) -> MutexGuard<'_, T> {
    locked.lock().unwrap_or_else(PoisonError::into_inner)
}
