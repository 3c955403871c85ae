//! The handle for pushes: receivers of a task, and deliveries in the outbox.
//!
//! Promises: a task of another owner answers like none; the secrets of a receiver are shown only to the owner
//! of its task. The outbox is for admins.

use std::sync::Arc;

use agentsite_protocol::{Caller, Message, PushConfig, TaskId};
use agentsite_store::DeliveryQuery;

use super::{MAX_PAGE, admin_only};
use crate::push::{NewReceiver, Push};
use crate::{DeliveryView, SiteError};
use agentsite_tasks::{TaskHook, Tasks, excerpt};

/// What leaves the site about tasks: to which receivers, and how the deliveries fare.
#[derive(Debug, Clone)]
pub struct Deliveries {
    pub(super) push: Arc<Push>,
    pub(super) tasks: Tasks,
}

impl Deliveries {
    /// Whether receivers are told about tasks here.
    #[must_use]
    pub fn are_on(&self) -> bool {
        self.push.check_on().is_ok()
    }

    /// The receiver that comes with a message, if it may be kept, as what writes it with the message.
    pub(super) async fn attached(
        &self,
        caller: &Caller,
        receiver: PushConfig,
        message: &Message,
    ) -> Result<Arc<dyn TaskHook>, SiteError> {
        let receiver = self.push.prepare(receiver)?;
        if let Some(Ok(task)) = message.task_id.as_ref().map(|id| id.parse::<TaskId>()) {
            let task = self.tasks.control().stored_id(caller, task);
            self.push.check_space(task, &receiver.id).await?;
        }
        Ok(Arc::new(NewReceiver::new(self.push.clone(), receiver)))
    }

    /// Adds a receiver to a task, or lets it take the place of the one of the same id; one without an id gets
    /// one.
    ///
    /// # Errors
    /// [`SiteError::NoSuchTask`], also when it is somebody else's; [`SiteError::PushOff`],
    /// [`SiteError::BadPush`], [`SiteError::QuotaExceeded`].
    pub async fn put_receiver(
        &self,
        caller: &Caller,
        task: TaskId,
        config: PushConfig,
    ) -> Result<PushConfig, SiteError> {
        let (_, head) = self.tasks.control().head(caller, task).await?;
        self.push.expect_deliveries(head.id, || self.tasks.control().is_live(head.id));
        let kept = self.push.put(&head, config).await?;
        Ok(PushConfig { task_id: task.to_string(), ..kept })
    }

    /// One receiver of a task.
    ///
    /// # Errors
    /// [`SiteError::NoSuchTask`], also when it is somebody else's; [`SiteError::NoSuchReceiver`],
    /// [`SiteError::PushOff`].
    pub async fn receiver(&self, caller: &Caller, task: TaskId, id: &str) -> Result<PushConfig, SiteError> {
        let found = self.receivers(caller, task).await?.into_iter().find(|config| config.id == id);
        found.ok_or_else(|| SiteError::NoSuchReceiver(excerpt(id)))
    }

    /// The receivers of a task, by id; there are at most ten.
    ///
    /// # Errors
    /// [`SiteError::NoSuchTask`], also when it is somebody else's; [`SiteError::PushOff`].
    pub async fn receivers(&self, caller: &Caller, task: TaskId) -> Result<Vec<PushConfig>, SiteError> {
        let (holder, head) = self.tasks.control().head(caller, task).await?;
        let mut configs = self.push.list(&head).await?;
        configs.iter_mut().for_each(|config| config.task_id = task.to_string());
        if holder.owner().is(&head.owner) {
            return Ok(configs);
        }
        Ok(configs.into_iter().map(PushConfig::without_secrets).collect())
    }

    /// Removes a receiver, and what was still to be told to it; removing one that is not there changes
    /// nothing.
    ///
    /// # Errors
    /// [`SiteError::NoSuchTask`], also when it is somebody else's; [`SiteError::PushOff`].
    pub async fn remove_receiver(&self, caller: &Caller, task: TaskId, id: &str) -> Result<(), SiteError> {
        let (_, head) = self.tasks.control().head(caller, task).await?;
        self.push.remove(&head, id).await
    }

    /// The deliveries in the outbox, in the order in which they were added.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins.
    pub async fn list(
        &self,
        caller: &Caller,
        mut query: DeliveryQuery,
    ) -> Result<Vec<DeliveryView>, SiteError> {
        admin_only(caller)?;
        query.limit = query.limit.clamp(1, MAX_PAGE);
        self.push.deliveries(query).await
    }

    /// One delivery in the outbox.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins; [`SiteError::NoSuchLetter`].
    pub async fn get(&self, caller: &Caller, id: u64) -> Result<DeliveryView, SiteError> {
        admin_only(caller)?;
        self.push.delivery(id).await
    }

    /// Tries a delivery again, with a new deadline, whether it was given up or waits.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins; [`SiteError::NoSuchLetter`].
    pub async fn retry(&self, caller: &Caller, id: u64) -> Result<DeliveryView, SiteError> {
        admin_only(caller)?;
        self.push.retry(caller.owner().as_str(), id).await
    }

    /// Removes a delivery.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins; [`SiteError::NoSuchLetter`].
    pub async fn remove(&self, caller: &Caller, id: u64) -> Result<(), SiteError> {
        admin_only(caller)?;
        self.push.drop_delivery(caller.owner().as_str(), id).await
    }
}
