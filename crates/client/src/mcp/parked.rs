//! Parked: calls that were set aside until their caller comes back with answers.
//!
//! Promises: they are bounded in number and time, and each has an id that cannot be guessed. Values are
//! dropped outside of the lock. It is independent of what a call is.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_protocol::Rng;

use super::{Limits, McpError};

/// What was set aside on one connection, by its id.
pub(super) struct Parked<T> {
    /// A std lock: it is held for one map operation and never across an await.
    waiting: Mutex<HashMap<String, T>>,
    most: usize,
    patience: Duration,
    rng: Arc<dyn Rng>,
}

impl<T: Send + 'static> Parked<T> {
    pub(super) fn new(limits: &Limits, rng: Arc<dyn Rng>) -> Self {
        Self { waiting: Mutex::default(), most: limits.parked, patience: limits.patience, rng }
    }

    /// Sets a call aside; gives the id under which it is taken up again.
    pub(super) fn park(self: &Arc<Self>, call: T) -> Result<String, McpError> {
        let mut id = String::with_capacity(32);
        for byte in self.rng.bytes16() {
            let _ = write!(id, "{byte:02x}");
        }
        let refused = {
            let mut waiting = self.waiting();
            if waiting.len() >= self.most { Some(call) } else { waiting.insert(id.clone(), call) }
        };
        if let Some(call) = refused {
            drop(call);
            return Err(McpError::TooManyParked(self.most));
        }
        let (parked, late, patience) = (Arc::downgrade(self), id.clone(), self.patience);
        tokio::spawn(async move {
            tokio::time::sleep(patience).await;
            if let Some(parked) = parked.upgrade() {
                drop(parked.take(&late));
            }
        });
        Ok(id)
    }

    /// Takes a call up again.
    pub(super) fn take(&self, id: &str) -> Option<T> {
        self.waiting().remove(id)
    }

    /// Drops all of them.
    pub(super) fn clear(&self) {
        let waiting = std::mem::take(&mut *self.waiting());
        drop(waiting);
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
