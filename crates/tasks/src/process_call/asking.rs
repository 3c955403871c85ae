//! The side of a call that asks: writes the record, waits for the answer, and removes the record.
//!
//! Promises: dropping the future of a call removes its record, which stops the work. It reads the record only
//! when the change feed names it.

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::AgentName;
use agentsite_store::{Change, ProcessId, StoreError, Unjournaled};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{CALLS, ProcessCallError, ProcessCalls, StoredCall, lock};

/// How long a call waits for a process that can run its agent: as long as a run waits for a program that is
/// away.
const NOBODY: Duration = Duration::from_secs(15);

/// How long the record of a call is kept beyond the time of its work when nobody removes it: longer than it
/// can wait for a slot.
const KEPT: Duration = Duration::from_secs(3_600);

/// How often a removal is tried when another process changes the record meanwhile: it changes twice at most.
const REMOVALS: usize = 4;

/// What is known of a call that waits.
enum Standing {
    Open { revision: u64 },
    Taken(ProcessId),
    Answered(Value),
    Gone,
}

/// A call that waits for its answer; dropping it removes its record.
struct WaitingCall {
    calls: ProcessCalls,
    key: String,
    touched: Arc<Notify>,
    /// The write of the record, until it has ended: it goes on when the call is dropped, and is waited for
    /// before the record is removed.
    writing: Option<JoinHandle<Result<(), StoreError>>>,
}

impl ProcessCalls {
    /// Has work done by a process that can run the agent, this one included. `time` is how long the work
    /// itself may take.
    ///
    /// # Errors
    /// [`ProcessCallError`] says why there is no answer.
    pub async fn call<T: DeserializeOwned>(
        &self,
        kind: &str,
        agent: &AgentName,
        work: &impl Serialize,
        time: Duration,
    ) -> Result<T, ProcessCallError> {
        let work = serde_json::to_value(work).map_err(|error| StoreError::Engine(error.to_string()))?;
        let until = self.0.ids.clock().now().plus(time.saturating_add(KEPT));
        let asked = StoredCall::Asked { kind: kind.to_owned(), agent: agent.clone(), work, until };
        let key = self.0.ids.task().to_string();
        let put = CALLS.put(&key, None, 0, &asked)?.ending(until);
        let mut waiting = self.wait(key);
        waiting.write(Change::unjournaled(Unjournaled::ProcessOrder).edit(put)).await?;
        let answer = waiting.answer(agent).await?;
        serde_json::from_value(answer).map_err(|_| ProcessCallError::Unreadable(agent.clone()))
    }

    fn wait(&self, key: String) -> WaitingCall {
        let touched = Arc::new(Notify::new());
        lock(&self.0.waiting).insert(key.clone(), touched.clone());
        WaitingCall { calls: self.clone(), key, touched, writing: None }
    }

    /// Removes the record of a call that nobody waits for.
    async fn remove(&self, key: &str) {
        for _ in 0..REMOVALS {
            match CALLS.get(&self.0.store, key).await {
                Ok(Some(call)) if matches!(self.remove_at(key, call.revision).await, Ok(true)) => return,
                Ok(Some(_)) => {}
                Ok(None) => return,
                Err(error) => {
                    tracing::debug!(key, %error, "A call was not removed; it goes by itself.");
                    return;
                }
            }
        }
    }

    /// Removes a record of this revision; false when it has changed.
    async fn remove_at(&self, key: &str, revision: u64) -> Result<bool, StoreError> {
        let change = Change::unjournaled(Unjournaled::ProcessOrder).edit(CALLS.remove(key, revision));
        match self.0.store.commit(change).await {
            Ok(()) => Ok(true),
            Err(StoreError::Moved(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl WaitingCall {
    async fn write(&mut self, change: Change) -> Result<(), StoreError> {
        let store = self.calls.0.store.clone();
        let writing =
            self.writing.insert(self.calls.0.lifetime.spawn(async move { store.commit(change).await }));
        let written = writing.await.unwrap_or_else(|_| Err(StoreError::Stopped("it was closed".into())));
        self.writing = None;
        written
    }

    async fn answer(&self, agent: &AgentName) -> Result<Value, ProcessCallError> {
        let begun = Instant::now();
        let mut beats = self.calls.0.processes.heartbeat();
        let mut standing = Standing::Open { revision: 1 };
        loop {
            match standing {
                Standing::Answered(answer) => return Ok(answer),
                Standing::Gone => return Err(ProcessCallError::Lost(agent.clone())),
                Standing::Taken(by) if !self.calls.0.processes.is_living(by) => {
                    return Err(ProcessCallError::Lost(agent.clone()));
                }
                // Removed by its revision, so that no process takes it at the same moment.
                Standing::Open { revision } if begun.elapsed() >= NOBODY => {
                    if self.calls.remove_at(&self.key, revision).await? {
                        return Err(ProcessCallError::Nobody(agent.clone()));
                    }
                    standing = self.standing().await?;
                    continue;
                }
                Standing::Open { .. } | Standing::Taken(_) => {}
            }
            tokio::select! {
                () = self.touched.notified() => standing = self.standing().await?,
                // Who is living is known after each renewal.
                _ = beats.changed() => {
                    // The background work that follows the feed has ended then.
                    if self.calls.0.lifetime.is_stopping() {
                        standing = self.standing().await?;
                    }
                }
            }
        }
    }

    async fn standing(&self) -> Result<Standing, StoreError> {
        Ok(match CALLS.get(&self.calls.0.store, &self.key).await? {
            None => Standing::Gone,
            Some(call) => match call.value {
                StoredCall::Asked { .. } => Standing::Open { revision: call.revision },
                StoredCall::Taken { by } => Standing::Taken(by),
                StoredCall::Answered { answer } => Standing::Answered(answer),
            },
        })
    }
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        lock(&self.calls.0.waiting).remove(&self.key);
        let (calls, key, writing) = (self.calls.clone(), std::mem::take(&mut self.key), self.writing.take());
        self.calls.0.lifetime.spawn(async move {
            if let Some(writing) = writing {
                // Whether it was written or not, the removal finds out.
                let _ = writing.await;
            }
            calls.remove(&key).await;
        });
    }
}
