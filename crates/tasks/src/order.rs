//! Orders between the processes of a site: to cancel a task that another process runs, to take up one that
//! was released.
//!
//! Promises: an order is a record of the store, so it outlives both processes; the process that holds the
//! task obeys it, and a process that takes the task up later obeys it first. An order that nobody needs any
//! more goes after an hour. It carries no authority: the process that writes it has checked the caller.

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::{TaskId, Timestamp};
use agentsite_store::{Change, Collection, Entity, RecordChange, StoreError, Touched, Unjournaled};
use serde::{Deserialize, Serialize};

use crate::live::TaskOrder;
use crate::supervisor::TaskSupervisor;

/// Where orders are kept, by task and what is ordered.
pub(crate) const ORDERS: Collection<ProcessOrder> = Collection::new("task-orders");

/// How long an order is kept that nobody removes: far longer than a task stays without a process.
const KEPT: Duration = Duration::from_secs(3_600);

/// What one process asks of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "order")]
pub(crate) enum ProcessOrder {
    /// End the task.
    Cancel {
        /// The task.
        task: TaskId,
    },
    /// Take the task up: its agent does not run in the process that accepted it.
    TakeUp {
        /// The task.
        task: TaskId,
        /// Its last event, so that each release has its own order.
        seq: u64,
    },
}

impl ProcessOrder {
    /// The record of an order that is given now.
    pub(crate) fn record(self, now: Timestamp) -> Result<RecordChange, StoreError> {
        Ok(ORDERS.put(&self.key(), None, 0, &self)?.ending(now.plus(KEPT)))
    }

    fn key(self) -> String {
        match self {
            Self::Cancel { task } => format!("{task}-cancel"),
            Self::TakeUp { task, seq } => format!("{task}-{seq}"),
        }
    }
}

impl TaskSupervisor {
    /// Asks the process that holds a task to end it. One order is enough, whoever gave it.
    pub(crate) async fn order_cancel(&self, task: TaskId) -> Result<(), StoreError> {
        let order = ProcessOrder::Cancel { task }.record(self.ids.clock().now())?;
        match self.store.commit(Change::unjournaled(Unjournaled::ProcessOrder).edit(order)).await {
            Err(StoreError::Moved(_)) => Ok(()),
            written => written,
        }
    }

    /// Whether somebody ordered to cancel a task.
    pub(crate) async fn is_cancel_ordered(&self, task: TaskId) -> Result<bool, StoreError> {
        Ok(ORDERS.get(&self.store, &ProcessOrder::Cancel { task }.key()).await?.is_some())
    }

    /// Removes an order that was obeyed; another process may have done so, and time does it in the end.
    async fn remove_order(&self, key: &str, revision: u64) {
        let change = Change::unjournaled(Unjournaled::ProcessOrder).edit(ORDERS.remove(key, revision));
        if let Err(error) = self.store.commit(change).await {
            tracing::debug!(key, %error, "An order was not removed; it goes by itself.");
        }
    }

    /// Obeys one order if it concerns this process.
    async fn obey(self: &Arc<Self>, key: &str) -> Result<(), StoreError> {
        let Some(order) = ORDERS.get(&self.store, key).await? else { return Ok(()) };
        let done = match order.value {
            ProcessOrder::Cancel { task } => match self.live.get(task) {
                Some(live) => live.orders.try_send(TaskOrder::Cancel).is_ok(),
                None => false,
            },
            ProcessOrder::TakeUp { task, .. } => self.take_released(task).await?,
        };
        if done {
            self.remove_order(key, order.revision).await;
        }
        Ok(())
    }

    /// Obeys the orders that were touched.
    pub(crate) async fn obey_orders(self: Arc<Self>, touched: Touched) -> Result<String, StoreError> {
        let keys: Vec<String> = match touched {
            Touched::Entities(entities) => entities.into_iter().filter_map(order_key).collect(),
            Touched::All => ORDERS.all(&self.store).await?.into_iter().map(|order| order.key).collect(),
        };
        for key in &keys {
            self.obey(key).await?;
        }
        Ok("no order waits".into())
    }
}

fn order_key(entity: Entity) -> Option<String> {
    match entity {
        Entity::Record { collection, key } if collection == ORDERS.name() => Some(key),
        _ => None,
    }
}
