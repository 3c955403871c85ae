//! The reads of deliveries: receivers, the outbox, and what a worker takes.
//!
//! Promises: rows are taken by the one writer, so that no two workers get the same. The rows are in `outbox`,
//! the receivers in `push`.

use agentsite_protocol::{PushConfig, TaskId};

use super::job::Job;
use super::{SqliteStore, outbox, push};
use crate::{ClaimRequest, Claims, DeliveryReads, OutboxQuery, Parcel, Reply};

impl DeliveryReads for SqliteStore {
    fn push_configs(&self, task: TaskId) -> Reply<'_, Vec<PushConfig>> {
        let vault = self.vault.clone();
        self.readers.read(move |db| push::configs(db, task, &vault))
    }

    fn outbox(&self, query: OutboxQuery) -> Reply<'_, Vec<Parcel>> {
        self.readers.read(move |db| outbox::list(db, &query))
    }

    fn claim(&self, request: ClaimRequest) -> Reply<'_, Claims> {
        self.ask(move |answer| Job::Claim { request, found: Claims::default(), answer })
    }
}
