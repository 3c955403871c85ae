//! RemoteWork: the agent's task while we wait for it.
//!
//! Promises: when a caller stops waiting, for any reason, the task is cancelled at the agent, unless it was
//! released. It is independent of the task's content.

use std::sync::Arc;
use std::time::Duration;

use agentsite_client::A2aClient;

/// How long the agent may take to take note of a cancel; the caller waits for it.
const CANCEL: Duration = Duration::from_secs(2);

/// The agent's task while we wait for it. Dropped, it is cancelled in the background, unless it was let be.
pub(super) struct RemoteWork {
    client: Arc<A2aClient>,
    pub(super) task: String,
    ours: bool,
}

impl RemoteWork {
    pub(super) fn new(client: &Arc<A2aClient>, task: String) -> Self {
        Self { client: client.clone(), task, ours: true }
    }

    /// Leaves the task to the agent: it is settled.
    pub(super) fn let_be(&mut self) {
        self.ours = false;
    }

    /// Asks the agent to stop, and waits a little for it.
    pub(super) async fn cancel(mut self) {
        self.ours = false;
        cancel(self.client.clone(), self.task.clone()).await;
    }
}

impl Drop for RemoteWork {
    fn drop(&mut self) {
        if self.ours
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            // It is not joined: it ends by itself after two seconds at most.
            runtime.spawn(cancel(self.client.clone(), self.task.clone()));
        }
    }
}

async fn cancel(client: Arc<A2aClient>, task: String) {
    match tokio::time::timeout(CANCEL, client.cancel_task(&task)).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the agent did not accept a cancellation"),
        Err(_) => tracing::debug!("the agent did not confirm a cancellation in time"),
    }
}
