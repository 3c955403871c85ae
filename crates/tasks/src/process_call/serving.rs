//! The side of a call that serves: takes the record, does the work, and writes the answer.
//!
//! Promises: the work begins only after the record says that this process has it. Work whose record is gone
//! is stopped. A process that is stopping takes no call; another one does.

use agentsite_protocol::Timestamp;
use agentsite_store::{Change, Revised, StoreError, Unjournaled};
use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{CALLS, ProcessCalls, StoredCall, lock};

/// Most calls of others that a process works on or has waiting for a slot; those beyond it wait for another
/// process, or fail after a while. More than the queues of some busy agents hold.
const MOST_RUNNING: usize = 1_024;

impl ProcessCalls {
    /// Takes a call if this process serves its kind, can run its agent, and is the first to take it.
    pub(super) async fn take(&self, call: Revised<StoredCall>) -> Result<(), StoreError> {
        let StoredCall::Asked { kind, agent, work, until } = call.value else { return Ok(()) };
        let served = lock(&self.0.served).get(kind.as_str()).cloned();
        let Some((can_run, serve)) = served else { return Ok(()) };
        let Some(own) = self.0.processes.id() else { return Ok(()) };
        let full = lock(&self.0.running).len() >= MOST_RUNNING;
        if full || self.0.lifetime.is_stopping() || !can_run(&agent) {
            return Ok(());
        }
        let taken = CALLS.put(&call.key, None, call.revision, &StoredCall::Taken { by: own })?.ending(until);
        let cancel = CancellationToken::new();
        lock(&self.0.running).insert(call.key.clone(), cancel.clone());
        match self.0.store.commit(Change::unjournaled(Unjournaled::ProcessOrder).edit(taken)).await {
            Ok(()) => {
                let work = serve(agent, work, cancel.clone());
                self.0.lifetime.spawn(self.clone().answer(call.key, call.revision + 1, until, work, cancel));
                Ok(())
            }
            Err(error) => {
                lock(&self.0.running).remove(&call.key);
                // Another process was first, or the caller went away.
                if matches!(error, StoreError::Moved(_)) { Ok(()) } else { Err(error) }
            }
        }
    }

    /// Does the work and writes its answer, unless the call was given up meanwhile.
    async fn answer(
        self,
        key: String,
        revision: u64,
        until: Timestamp,
        work: BoxFuture<'static, Value>,
        cancel: CancellationToken,
    ) {
        let answer = work.await;
        lock(&self.0.running).remove(&key);
        if cancel.is_cancelled() {
            return;
        }
        let written = match CALLS.put(&key, None, revision, &StoredCall::Answered { answer }) {
            Ok(put) => {
                let change = Change::unjournaled(Unjournaled::ProcessOrder).edit(put.ending(until));
                self.0.store.commit(change).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            tracing::debug!(key, %error, "The answer to a call of another process could not be given.");
        }
    }
}
