//! The receivers of tasks in memory, and the reads of the outbox.
//!
//! Promises: which receivers a task has is looked up at the moment of the change that notifies them. The rows
//! are in `outbox`.

use agentsite_protocol::{Principal, PushConfig, TaskId};

use super::MemStore;
use super::content::Content;
use crate::{
    Delivery, DeliveryClaimRequest, DeliveryClaims, DeliveryQuery, DeliveryReads, EventDeliveries,
    PushChange, Reply,
};

impl DeliveryReads for MemStore {
    fn push_configs(&self, task: TaskId) -> Reply<'_, Vec<PushConfig>> {
        self.reply(|content| content.push_configs(task))
    }

    fn outbox(&self, query: DeliveryQuery) -> Reply<'_, Vec<Delivery>> {
        self.reply(|content| content.outbox.list(&query))
    }

    fn claim(&self, request: DeliveryClaimRequest) -> Reply<'_, DeliveryClaims> {
        self.reply(|content| content.outbox.claim(&request))
    }
}

impl Content {
    pub(super) fn change_push(&mut self, change: PushChange) {
        match change {
            // A task that is gone gets no receivers, because they would never be removed.
            PushChange::Put(task, config) if self.tasks.contains_key(&task) => {
                self.push.insert((task, config.id.clone()), config);
            }
            PushChange::Put(..) => {}
            PushChange::Remove(task, id) => {
                self.outbox.clear(task, Some(&id));
                self.push.remove(&(task, id));
            }
        }
    }

    pub(super) fn notify(&mut self, notify: &EventDeliveries) {
        let configs: Vec<String> = self.configs_of(notify.task).map(|((_, id), _)| id.clone()).collect();
        let owner = self.tasks.get(&notify.task).map(|kept| kept.head.owner.clone());
        let account = owner.as_ref().map_or("", Principal::account);
        for row in configs.iter().flat_map(|config| notify.rows(account, config)) {
            self.outbox.add(row);
        }
    }

    fn push_configs(&self, task: TaskId) -> Vec<PushConfig> {
        self.configs_of(task).map(|(_, config)| config.clone()).collect()
    }

    fn configs_of(&self, task: TaskId) -> impl Iterator<Item = (&(TaskId, String), &PushConfig)> {
        self.push.iter().filter(move |((of, _), _)| *of == task)
    }
}
