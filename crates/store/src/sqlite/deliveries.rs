//! The reads of deliveries: receivers, the outbox, and what a worker takes.
//!
//! Promises: rows are taken by the one writer, so that no two workers get the same. The rows are in `outbox`,
//! the receivers in `push`.

use agentsite_protocol::{PushConfig, TaskId};

use super::job::Job;
use super::{SqliteStore, outbox, push};
use crate::{Delivery, DeliveryClaimRequest, DeliveryClaims, DeliveryQuery, DeliveryReads, Reply};

impl DeliveryReads for SqliteStore {
    fn push_configs(&self, task: TaskId) -> Reply<'_, Vec<PushConfig>> {
        let vault = self.vault.clone();
        self.readers.read(move |db| push::configs(db, task, &vault))
    }

    fn outbox(&self, query: DeliveryQuery) -> Reply<'_, Vec<Delivery>> {
        self.readers.read(move |db| outbox::list(db, &query))
    }

    fn claim(&self, request: DeliveryClaimRequest) -> Reply<'_, DeliveryClaims> {
        self.ask(move |answer| Job::Claim { request, found: DeliveryClaims::default(), answer })
    }
}
