//! Circuits: the endpoints that are paused because they fail, shared by all callers.
//!
//! Promises: one circuit for each endpoint, however many clients call it; a bounded number of endpoints, of
//! which the one unused for longest is forgotten. Each opening and closing is logged. `circuit` makes the
//! decisions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_protocol::Rng;
use tokio::time::Instant;

use crate::DeliveryOutcome;
use crate::circuit::{Circuit, Transition};

/// Endpoints remembered; at 200 bytes each this is a fifth of a megabyte.
const MOST: usize = 1_024;

/// The endpoints that are paused because they fail. Cheap to clone; clones are the same.
#[derive(Debug, Clone)]
pub struct Circuits(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    began: Instant,
    rng: Arc<dyn Rng>,
    // A std lock: held for one decision, never across an await.
    known: Mutex<HashMap<String, EndpointState>>,
    openings: AtomicU64,
}

#[derive(Debug, Default)]
struct EndpointState {
    circuit: Circuit,
    used: Duration,
    /// What went wrong last.
    why: String,
}

impl Circuits {
    /// No endpoint has failed yet.
    #[must_use]
    pub fn new(rng: Arc<dyn Rng>) -> Self {
        let (known, openings) = (Mutex::default(), AtomicU64::new(0));
        Self(Arc::new(Inner { began: Instant::now(), rng, known, openings }))
    }

    /// How many endpoints are paused now.
    #[must_use]
    pub fn open_now(&self) -> usize {
        let now = self.now();
        self.lock().values().filter(|known| known.circuit.resting(now).is_some()).count()
    }

    /// How often an endpoint was paused.
    #[must_use]
    pub fn openings(&self) -> u64 {
        self.0.openings.load(Ordering::Relaxed)
    }

    /// Asks to call an endpoint.
    ///
    /// # Errors
    /// [`CircuitOpen`] when the endpoint is paused now.
    pub fn enter(&self, endpoint: &str) -> Result<CircuitPermit, CircuitOpen> {
        let now = self.now();
        let mut all = self.lock();
        if !all.contains_key(endpoint) && all.len() >= MOST {
            let oldest = all.iter().min_by_key(|(_, known)| known.used).map(|(name, _)| name.clone());
            oldest.and_then(|name| all.remove(&name));
        }
        let known = all.entry(endpoint.to_owned()).or_default();
        known.used = now;
        match known.circuit.enter(now) {
            Ok(()) => {
                Ok(CircuitPermit { circuits: self.clone(), endpoint: endpoint.to_owned(), reported: false })
            }
            Err(rest) => Err(CircuitOpen::new(endpoint, &known.why, rest)),
        }
    }

    /// Asks to deliver to an origin for an account; the error is the remaining pause of the origin for it.
    ///
    /// # Errors
    /// How long to wait.
    pub fn enter_for(&self, account: &str, origin: &str) -> Result<CircuitPermit, Duration> {
        self.enter(&format!("{origin} for {account}")).map_err(|open| open.rest)
    }

    /// Why an endpoint is paused now, if it is.
    #[must_use]
    pub fn resting(&self, endpoint: &str) -> Option<CircuitOpen> {
        let now = self.now();
        let all = self.lock();
        let known = all.get(endpoint)?;
        known.circuit.resting(now).map(|rest| CircuitOpen::new(endpoint, &known.why, rest))
    }

    fn change(&self, endpoint: &str, change: impl FnOnce(&mut EndpointState, Duration) -> Transition) {
        let now = self.now();
        let mut all = self.lock();
        let Some(known) = all.get_mut(endpoint) else { return };
        match change(known, now) {
            Transition::None => {}
            Transition::Closed => {
                tracing::info!(endpoint, "the endpoint answers again and is called as before");
            }
            Transition::Opened(rest) => {
                self.0.openings.fetch_add(1, Ordering::Relaxed);
                let (why, seconds) = (known.why.as_str(), rest.as_secs_f32());
                tracing::warn!(
                    endpoint,
                    why,
                    "the endpoint fails repeatedly: it is paused for {seconds:.1} s, then tried once"
                );
            }
        }
    }

    fn chance(&self) -> f64 {
        let mut bytes = [0; 4];
        self.0.rng.fill(&mut bytes);
        f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
    }

    fn now(&self) -> Duration {
        self.0.began.elapsed()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, EndpointState>> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An endpoint failed repeatedly and is paused: nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{endpoint} is paused for {} s, because it failed repeatedly: {why}", .rest.as_secs() + 1)]
pub struct CircuitOpen {
    /// Which one.
    pub endpoint: String,
    /// What went wrong last.
    pub why: String,
    /// How long still.
    pub rest: Duration,
}

impl CircuitOpen {
    fn new(endpoint: &str, why: &str, rest: Duration) -> Self {
        Self { endpoint: endpoint.to_owned(), why: why.to_owned(), rest }
    }
}

/// The leave to call an endpoint once. Dropped without a report, it teaches nothing about the endpoint.
#[derive(Debug)]
pub struct CircuitPermit {
    circuits: Circuits,
    endpoint: String,
    reported: bool,
}

impl CircuitPermit {
    /// Reports that the endpoint answered, with any content: the circuit closes.
    pub fn answered(mut self) {
        self.reported = true;
        self.circuits.change(&self.endpoint, |known, _| known.circuit.answered());
    }

    /// Reports that the network failed, or that the server cannot serve.
    pub fn failed(mut self, why: &str) {
        self.reported = true;
        let chance = self.circuits.chance();
        self.circuits.change(&self.endpoint, |known, now| {
            why.clone_into(&mut known.why);
            known.circuit.failed(now, chance)
        });
    }

    /// Reports how a delivery went: no answer is a failure, any answer closes the circuit, because waiting is
    /// what costs.
    pub fn learn(self, outcome: &DeliveryOutcome) {
        match outcome {
            DeliveryOutcome::Later { why, answered: false, .. } => self.failed(why),
            DeliveryOutcome::Taken | DeliveryOutcome::Refused(_) | DeliveryOutcome::Later { .. } => {
                self.answered();
            }
        }
    }
}

impl Drop for CircuitPermit {
    fn drop(&mut self) {
        if !self.reported {
            let abandon = |known: &mut EndpointState, now| {
                known.circuit.abandoned(now);
                Transition::None
            };
            self.circuits.change(&self.endpoint, abandon);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Always;

    impl Rng for Always {
        fn fill(&self, buffer: &mut [u8]) {
            buffer.fill(0xff);
        }
    }

    const FAILURE: &str = "h cannot be reached";

    #[tokio::test(start_paused = true)]
    async fn an_endpoint_that_fails_rests_and_is_tried_again() {
        let circuits = Circuits::new(Arc::new(Always));
        for _ in 0..3 {
            circuits.enter("a").unwrap().failed(FAILURE);
        }
        let refused = circuits.enter("a").unwrap_err();
        assert!(refused.to_string().contains(FAILURE), "{refused}");
        assert!(circuits.resting("a").is_some() && circuits.resting("b").is_none());
        assert_eq!((circuits.open_now(), circuits.openings()), (1, 1));
        assert!(circuits.enter("b").is_ok(), "others are not concerned");
        tokio::time::advance(Duration::from_secs(1)).await;
        let trial = circuits.enter("a").unwrap();
        assert!(circuits.enter("a").is_err());
        trial.answered();
        assert!(circuits.enter("a").is_ok(), "any answer closes the circuit");
        assert_eq!(circuits.open_now(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_trial_that_is_dropped_leaves_the_next_one_to_others() {
        let circuits = Circuits::new(Arc::new(Always));
        for _ in 0..3 {
            circuits.enter("a").unwrap().failed(FAILURE);
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        drop(circuits.enter("a").unwrap());
        assert!(circuits.enter("a").is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn the_endpoint_unused_for_longest_is_forgotten() {
        let circuits = Circuits::new(Arc::new(Always));
        for number in 0..=MOST {
            circuits.enter(&number.to_string()).unwrap().answered();
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        let all = circuits.lock();
        assert!(all.len() == MOST && !all.contains_key("0"));
    }
}
