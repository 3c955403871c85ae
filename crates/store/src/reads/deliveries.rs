//! Reads of deliveries: the receivers of a task, the outbox, and the rows that a worker takes to send.
//!
//! Promises: two workers never hold the same row at once. It sends nothing.

use agentsite_protocol::{PushConfig, TaskId};

use crate::{Delivery, DeliveryClaimRequest, DeliveryClaims, DeliveryQuery, Reply};

/// What can be read about deliveries, and how a worker takes them.
pub trait DeliveryReads {
    /// The push configs of a task, by id.
    fn push_configs(&self, task: TaskId) -> Reply<'_, Vec<PushConfig>>;

    /// Rows of the outbox, in the order in which they were added.
    fn outbox(&self, query: DeliveryQuery) -> Reply<'_, Vec<Delivery>>;

    /// Takes rows of the outbox that are due and hides them for a while, so that no two workers send the same
    /// row at once; accounts take turns (see [`DeliveryClaimRequest`]). A row whose lease ran out is
    /// given again. Of the rows of a lane only the first that is not dead is given.
    fn claim(&self, request: DeliveryClaimRequest) -> Reply<'_, DeliveryClaims>;
}
