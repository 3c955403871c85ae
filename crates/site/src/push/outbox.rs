//! The deliveries in the outbox as admins see them, and what admins can do with them.
//!
//! Promises: a delivery names its receiver by origin only and shows nothing secret. Retrying one gives it a
//! new deadline; dropping one removes it. It sends nothing itself: the worker does.

use agentsite_protocol::{JournalLine, JournalSubject, TaskId, Timestamp};
use agentsite_store::{Change, Delivery, DeliveryChange, DeliveryQuery};
use serde::Serialize;

use super::Push;
use super::capability::DELIVERY_CHANGED;
use super::identify::{delivery_id, origin};
use crate::SiteError;

/// One delivery that waits or was given up, as admins see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryView {
    /// Its number in the outbox.
    pub id: u64,
    /// The id that its receiver sees.
    pub delivery: String,
    /// The task it tells of.
    pub task: Option<TaskId>,
    /// The number of the event it tells of.
    pub event: u64,
    /// Its receiver's id within the task.
    pub config: String,
    /// Where the receiver is: scheme, host and port.
    pub receiver: String,
    /// `waiting` or `dead`.
    pub state: &'static str,
    /// How often it was tried.
    pub attempts: u32,
    /// When it is tried next, or was to be.
    pub due: Timestamp,
    /// When it is given up.
    pub deadline: Timestamp,
    /// What last went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Push {
    /// The deliveries in the outbox, in the order in which they were added.
    pub(crate) async fn deliveries(&self, query: DeliveryQuery) -> Result<Vec<DeliveryView>, SiteError> {
        let mut deliveries = Vec::new();
        let mut known = (None, Vec::new());
        for queued in self.store.outbox(query).await? {
            if let Some(task) = queued.row.task
                && known.0 != Some(task)
            {
                known = (Some(task), self.store.push_configs(task).await?);
            }
            let config = known.1.iter().find(|config| Some(&config.id) == queued.row.lane.as_ref());
            let receiver = config.map_or_else(String::new, |config| origin(&config.url));
            deliveries.push(view(queued, receiver));
        }
        Ok(deliveries)
    }

    /// One delivery.
    pub(crate) async fn delivery(&self, id: u64) -> Result<DeliveryView, SiteError> {
        let query = DeliveryQuery { id: Some(id), limit: 1, ..DeliveryQuery::default() };
        self.deliveries(query).await?.pop().ok_or(SiteError::NoSuchLetter(id))
    }

    /// Tries a delivery again, as if it were new.
    pub(crate) async fn retry(&self, by: &str, id: u64) -> Result<DeliveryView, SiteError> {
        let delivery = self.delivery(id).await?;
        let now = self.ids.clock().now();
        let replay = DeliveryChange::Replay { id, due: now, deadline: now.plus(self.settings.deadline.0) };
        self.change(by, &delivery, replay, "sends again").await?;
        self.wake();
        self.delivery(id).await.or(Ok(delivery))
    }

    /// Removes a delivery.
    pub(crate) async fn drop_delivery(&self, by: &str, id: u64) -> Result<(), SiteError> {
        let delivery = self.delivery(id).await?;
        self.change(by, &delivery, DeliveryChange::Done(id), "drops").await
    }

    async fn change(
        &self,
        by: &str,
        delivery: &DeliveryView,
        change: DeliveryChange,
        verb: &str,
    ) -> Result<(), SiteError> {
        let text = format!("{verb} the delivery to {} about event {}", delivery.receiver, delivery.event);
        let mut line = JournalLine::new(DELIVERY_CHANGED, self.ids.clock().now(), by, text)
            .about(JournalSubject::Delivery(delivery.id));
        line.task = delivery.task;
        Ok(self.store.commit(Change::new(line).edit(change)).await?)
    }
}

fn view(queued: Delivery, receiver: String) -> DeliveryView {
    let Delivery { id, attempts, error, dead, row } = queued;
    let event = row.body.parse().unwrap_or_default();
    let config = row.lane.unwrap_or_default();
    let delivery = row.task.map(|task| delivery_id(task.as_bytes(), &config, event)).unwrap_or_default();
    let state = if dead { "dead" } else { "waiting" };
    let (task, due, deadline) = (row.task, row.due, row.deadline);
    DeliveryView { id, delivery, task, event, config, receiver, state, attempts, due, deadline, error }
}
