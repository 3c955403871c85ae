//! Push: deliveries about tasks to their receivers, from the outbox, until they are taken or given up.
//!
//! Promises: the deliveries about a task are written in the transaction of the events themselves; each
//! receiver gets them in order and at least once, under an id that stays the same over all attempts; a
//! receiver that is slow or down does not hold up others. After a deadline, or a refusal, a delivery is kept
//! as dead until its task goes. Secrets of a config leave the store only towards its receiver and its owner.
//!
//! Where a receiver may be is the egress's judgement; the wire form is `protocol`'s.

mod attempt;
mod back_off;
mod capability;
mod deliver;
mod hook;
mod identify;
mod metrics;
mod outbox;
mod section;
mod worker;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use agentsite_egress::{Circuits, Egress};
use agentsite_protocol::{Ids, JournalKind, JournalLine, PushConfig, TaskHead, TaskId};
use agentsite_store::{Change, PushChange, SharedStore};
use tokio::sync::Notify;

pub(crate) use attempt::Courier;
#[cfg(test)]
pub(crate) use attempt::DeliveryAttempt;
pub(crate) use hook::NewReceiver;
pub use outbox::DeliveryView;
pub use section::PushSection;

use crate::SiteError;
use crate::identity::Identity;
use agentsite_tasks::IdCipher;
use capability::{RECEIVER_ADDED, RECEIVER_REMOVED};
use hook::LiveReceivers;
use metrics::PushMetrics;

/// Receivers that one task may have: its caller, a supervisor and a few dashboards; each costs a row for
/// every event.
pub(crate) const MAX_CONFIGS: usize = 10;

/// Everything about pushes of one site.
#[derive(Debug)]
pub(crate) struct Push {
    settings: PushSection,
    store: SharedStore,
    ids: Ids,
    identity: Arc<Identity>,
    metrics: PushMetrics,
    egress: Egress,
    courier: Arc<dyn Courier>,
    /// Wakes the worker.
    signal: Notify,
    /// The live tasks that are known to have receivers.
    receivers: LiveReceivers,
    /// The ids that anonymous callers get.
    cipher: IdCipher,
    /// Deliveries in flight, by account and the receiver's origin. A std lock: held for one look-up, never
    /// across an await.
    in_flight: Mutex<HashMap<(String, String), usize>>,
    /// Receivers that are left alone because they do not answer.
    circuits: Circuits,
    /// Held while a receiver is added, so that their number stays within its limit.
    adding: tokio::sync::Mutex<()>,
}

/// What a site gives to its pushes.
#[derive(Debug)]
pub(crate) struct PushParts {
    pub(crate) settings: PushSection,
    pub(crate) store: SharedStore,
    pub(crate) ids: Ids,
    pub(crate) identity: Arc<Identity>,
    pub(crate) egress: Egress,
    pub(crate) courier: Arc<dyn Courier>,
    pub(crate) cipher: IdCipher,
}

impl Push {
    pub(crate) fn new(parts: PushParts) -> Arc<Self> {
        let PushParts { settings, store, ids, identity, egress, courier, cipher } = parts;
        // Apart from the circuits of agents: whom callers name as receivers must not decide which agents are
        // called.
        let circuits = Circuits::new(ids.rng().clone());
        Arc::new(Self {
            settings,
            store,
            ids,
            identity,
            metrics: PushMetrics::default(),
            egress,
            courier,
            signal: Notify::new(),
            receivers: LiveReceivers::default(),
            cipher,
            in_flight: Mutex::default(),
            circuits,
            adding: tokio::sync::Mutex::default(),
        })
    }

    /// Wakes the worker, because there may be deliveries now.
    pub(crate) fn wake(&self) {
        self.signal.notify_one();
    }

    /// Says that a task has receivers; `is_live` tells whether it waits for a slot or runs.
    pub(crate) fn expect_deliveries(&self, task: TaskId, is_live: impl Fn() -> bool) {
        if is_live() {
            self.receivers.insert(task);
            // It may have settled meanwhile, and then nothing else would remove it.
            if !is_live() {
                self.receivers.remove(task);
            }
        }
    }

    /// Refuses when the operator has switched pushes off.
    pub(crate) fn check_on(&self) -> Result<(), SiteError> {
        if self.settings.enabled { Ok(()) } else { Err(SiteError::PushOff) }
    }

    /// A config that may be kept: checked, with an id, of a task that is named later.
    pub(crate) fn prepare(&self, mut config: PushConfig) -> Result<PushConfig, SiteError> {
        self.check_on()?;
        config.check().map_err(SiteError::BadPush)?;
        self.egress.receiver(&config).map_err(SiteError::BadPush)?;
        if config.id.is_empty() {
            config.id = self.ids.push_config();
        }
        Ok(config)
    }

    /// Adds a receiver, or lets it take the place of the one of the same id.
    pub(crate) async fn put(&self, head: &TaskHead, config: PushConfig) -> Result<PushConfig, SiteError> {
        let mut config = self.prepare(config)?;
        config.task_id = head.id.to_string();
        let _one_at_a_time = self.adding.lock().await;
        self.check_space(head.id, &config.id).await?;
        let text = format!("added the receiver {}", identify::origin(&config.url));
        let line = self.line(RECEIVER_ADDED, head, text);
        self.store.commit(Change::new(line).edit(PushChange::Put(head.id, config.clone()))).await?;
        Ok(config)
    }

    /// Refuses one receiver more than a task may have.
    pub(crate) async fn check_space(&self, task: TaskId, id: &str) -> Result<(), SiteError> {
        let known = self.store.push_configs(task).await?;
        if known.len() < MAX_CONFIGS || known.iter().any(|config| config.id == id) {
            return Ok(());
        }
        let what = format!("the task has {MAX_CONFIGS} push configs, as many as it may; delete one first");
        Err(SiteError::QuotaExceeded(what))
    }

    /// The receivers of a task, by id.
    pub(crate) async fn list(&self, head: &TaskHead) -> Result<Vec<PushConfig>, SiteError> {
        self.check_on()?;
        Ok(self.store.push_configs(head.id).await?)
    }

    /// Removes a receiver and what was still to be told to it; removing one that is not there changes
    /// nothing.
    pub(crate) async fn remove(&self, head: &TaskHead, id: &str) -> Result<(), SiteError> {
        self.check_on()?;
        let line = self.line(RECEIVER_REMOVED, head, "removed a receiver".into());
        Ok(self.store.commit(Change::new(line).edit(PushChange::Remove(head.id, id.to_owned()))).await?)
    }

    /// A line about the receivers of a task, by its owner.
    fn line(&self, kind: JournalKind, head: &TaskHead, text: String) -> JournalLine {
        let line = JournalLine::new(kind, self.ids.clock().now(), head.owner.as_str(), text);
        line.about_task(head.id, Some(head.agent.clone()))
    }
}
