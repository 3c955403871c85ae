//! The verbs of a site about pushes: receivers of a task, and deliveries in the outbox.
//!
//! Promises: a task of another owner answers like none; the secrets of a receiver are shown only to the owner
//! of its task. The outbox is for admins.

use std::sync::Arc;

use agentsite_protocol::{Caller, Message, PushConfig, TaskId};
use agentsite_store::DeliveryQuery;

use super::{MAX_PAGE, Site, admin_only};
use crate::push::NewReceiver;
use crate::tasks::{TaskHook, excerpt};
use crate::{DeliveryView, SiteError};

impl Site {
    /// Whether receivers are told about tasks here.
    #[must_use]
    pub fn pushes(&self) -> bool {
        self.0.push.check_on().is_ok()
    }

    /// The receiver that comes with a message, if it may be kept, as what writes it with the message.
    pub(super) async fn receiver(
        &self,
        caller: &Caller,
        receiver: PushConfig,
        message: &Message,
    ) -> Result<Arc<dyn TaskHook>, SiteError> {
        let receiver = self.0.push.prepare(receiver)?;
        if let Some(Ok(task)) = message.task_id.as_ref().map(|id| id.parse::<TaskId>()) {
            let task = self.0.tasks.stored_id(caller, task);
            self.0.push.check_room(task, &receiver.id).await?;
        }
        Ok(Arc::new(NewReceiver::new(self.0.push.clone(), receiver)))
    }

    /// Adds a receiver to a task, or lets it take the place of the one of the same id; one without an id gets
    /// one.
    ///
    /// # Errors
    /// [`SiteError::NoSuchTask`], also when it is somebody else's; [`SiteError::PushOff`],
    /// [`SiteError::BadPush`], [`SiteError::TooManyReceivers`].
    pub async fn put_push_config(
        &self,
        caller: &Caller,
        task: TaskId,
        config: PushConfig,
    ) -> Result<PushConfig, SiteError> {
        let (_, head) = self.0.tasks.head(caller, task).await?;
        self.0.push.expect_deliveries(head.id, || self.0.tasks.is_live(head.id));
        let kept = self.0.push.put(&head, config).await?;
        Ok(PushConfig { task_id: task.to_string(), ..kept })
    }

    /// One receiver of a task.
    ///
    /// # Errors
    /// [`SiteError::NoSuchTask`], also when it is somebody else's; [`SiteError::NoSuchReceiver`],
    /// [`SiteError::PushOff`].
    pub async fn push_config(
        &self,
        caller: &Caller,
        task: TaskId,
        id: &str,
    ) -> Result<PushConfig, SiteError> {
        let found = self.push_configs(caller, task).await?.into_iter().find(|config| config.id == id);
        found.ok_or_else(|| SiteError::NoSuchReceiver(excerpt(id)))
    }

    /// The receivers of a task, by id; there are at most ten.
    ///
    /// # Errors
    /// [`SiteError::NoSuchTask`], also when it is somebody else's; [`SiteError::PushOff`].
    pub async fn push_configs(&self, caller: &Caller, task: TaskId) -> Result<Vec<PushConfig>, SiteError> {
        let (holder, head) = self.0.tasks.head(caller, task).await?;
        let mut configs = self.0.push.list(&head).await?;
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
    pub async fn remove_push_config(&self, caller: &Caller, task: TaskId, id: &str) -> Result<(), SiteError> {
        let (_, head) = self.0.tasks.head(caller, task).await?;
        self.0.push.remove(&head, id).await
    }

    /// The deliveries in the outbox, in the order in which they were added.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins.
    pub async fn letters(
        &self,
        caller: &Caller,
        mut query: DeliveryQuery,
    ) -> Result<Vec<DeliveryView>, SiteError> {
        admin_only(caller)?;
        query.limit = query.limit.clamp(1, MAX_PAGE);
        self.0.push.deliveries(query).await
    }

    /// One delivery in the outbox.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins; [`SiteError::NoSuchLetter`].
    pub async fn letter(&self, caller: &Caller, id: u64) -> Result<DeliveryView, SiteError> {
        admin_only(caller)?;
        self.0.push.delivery(id).await
    }

    /// Tries a delivery again, with a new deadline, whether it was given up or waits.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins; [`SiteError::NoSuchLetter`].
    pub async fn send_letter_again(&self, caller: &Caller, id: u64) -> Result<DeliveryView, SiteError> {
        admin_only(caller)?;
        self.0.push.retry(caller.owner().as_str(), id).await
    }

    /// Removes a delivery.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins; [`SiteError::NoSuchLetter`].
    pub async fn drop_letter(&self, caller: &Caller, id: u64) -> Result<(), SiteError> {
        admin_only(caller)?;
        self.0.push.drop_delivery(caller.owner().as_str(), id).await
    }
}
