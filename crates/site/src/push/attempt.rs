//! DeliveryAttempt and Courier: the seam through which a delivery leaves.
//!
//! Promises: one call is one attempt. The real one is the egress; stories have one that follows a script,
//! because virtual time and real sockets do not go together.

use std::time::Duration;

use agentsite_egress::{DeliveryOutcome as Receipt, Egress};
use agentsite_protocol::{DeliveryProof, PushConfig, Timestamp};
use futures::future::BoxFuture;

/// One attempt of one delivery. No `Debug`: the config is secret and the body is the caller's.
pub(crate) struct DeliveryAttempt {
    pub(crate) config: PushConfig,
    pub(crate) body: Vec<u8>,
    pub(crate) proof: DeliveryProof,
    pub(crate) timeout: Duration,
    pub(crate) now: Timestamp,
}

/// Carries a delivery to its receiver.
pub(crate) trait Courier: Send + Sync + std::fmt::Debug + 'static {
    /// Tries once and says what became of it.
    fn carry(&self, attempt: DeliveryAttempt) -> BoxFuture<'_, Receipt>;
}

impl Courier for Egress {
    fn carry(&self, attempt: DeliveryAttempt) -> BoxFuture<'_, Receipt> {
        Box::pin(async move {
            let DeliveryAttempt { config, body, proof, timeout, now } = attempt;
            self.tell(&config, body, &proof, timeout, now).await
        })
    }
}
