//! Capability: what one capability of a site contributes, as one value.
//!
//! A capability (keys, pushes, the registry, …) declares its journal kinds and collections, takes part in
//! tasks by a hook, registers metrics, is checked by the doctor, prepares itself when the site starts, and
//! works in the background. The site opens each capability, collects these values in a list and loops over
//! it, so that a new capability adds one element and changes no list of workers, kinds or checks.
//!
//! Promises: a value does nothing by itself; the site calls it. Work can be started more than once, one run
//! after another, so that it can move from one process of a site to another. It does not decide in which
//! process work runs: it only says whether it may run in each of them ([`WorkerScope`]).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use agentsite_protocol::JournalKind;
use agentsite_store::StoreError;
use futures::future::BoxFuture;
use prometheus_client::registry::Registry;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::hook::TaskHook;
use crate::workers::Worker;

/// In which processes of a site a worker runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerScope {
    /// In each: it works on what the process has in memory, such as its index or its connections.
    Process,
    /// In one at a time: it works on what all processes share, and two of them would do the same twice.
    Site,
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckVerdict {
    /// Nothing is wrong.
    Ok,
    /// It works, but needs attention.
    Warn,
    /// It does not work.
    Fail,
}

/// What a check of a running site found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// What was checked.
    pub name: &'static str,
    /// How it ended.
    pub verdict: CheckVerdict,
    /// What was found, and what to do about it.
    pub words: String,
}

/// Which records of a capability's collections were touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordChanges {
    /// Those with these keys.
    Keys(BTreeSet<String>),
    /// Any of them.
    All,
}

type Follow = Arc<dyn Fn(RecordChanges) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync>;
type Prepare = Arc<dyn Fn() -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync>;
type Check = Arc<dyn Fn() -> BoxFuture<'static, CheckReport> + Send + Sync>;
type Register = Arc<dyn Fn(&mut Registry) + Send + Sync>;
type Run = Arc<dyn Fn(Worker, CancellationToken) -> BoxFuture<'static, ()> + Send + Sync>;

/// Background work of a capability.
#[derive(Clone)]
pub struct CapabilityWorker {
    /// Its name, unique in the site.
    pub name: &'static str,
    /// What it does, in a sentence for admins.
    pub about: &'static str,
    /// In which processes it runs.
    pub scope: WorkerScope,
    run: Run,
}

impl CapabilityWorker {
    /// The work itself, until the token fires; it reports by the [`Worker`]. Can be called again when an
    /// earlier run has ended.
    pub fn run(&self, worker: Worker, stop: CancellationToken) -> BoxFuture<'static, ()> {
        (self.run)(worker, stop)
    }
}

impl fmt::Debug for CapabilityWorker {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "CapabilityWorker({}, {:?})", self.name, self.scope)
    }
}

/// What one capability contributes to a site.
#[derive(Clone)]
pub struct Capability {
    /// Its name, unique in the site.
    pub name: &'static str,
    /// The kinds of the journal lines that it writes.
    pub kinds: &'static [JournalKind],
    /// The collections of records in which it keeps its data.
    pub collections: &'static [&'static str],
    /// How it takes part in tasks.
    pub hook: Option<Arc<dyn TaskHook>>,
    /// What it does in the background.
    pub workers: Vec<CapabilityWorker>,
    register: Option<Register>,
    checks: Vec<Check>,
    prepare: Option<Prepare>,
    follow: Option<Follow>,
}

impl fmt::Debug for Capability {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Capability({})", self.name)
    }
}

impl Capability {
    /// A capability that contributes nothing yet.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            kinds: &[],
            collections: &[],
            hook: None,
            workers: Vec::new(),
            register: None,
            checks: Vec::new(),
            prepare: None,
            follow: None,
        }
    }

    /// Declares the kinds of its journal lines.
    #[must_use]
    pub fn kinds(self, kinds: &'static [JournalKind]) -> Self {
        Self { kinds, ..self }
    }

    /// Declares the collections of its records.
    #[must_use]
    pub fn collections(self, collections: &'static [&'static str]) -> Self {
        Self { collections, ..self }
    }

    /// Takes part in tasks. Hooks are called in the order of the capabilities.
    #[must_use]
    pub fn hook(self, hook: Arc<dyn TaskHook>) -> Self {
        Self { hook: Some(hook), ..self }
    }

    /// Adds its figures to `/metrics`.
    #[must_use]
    pub fn metrics(self, register: impl Fn(&mut Registry) + Send + Sync + 'static) -> Self {
        Self { register: Some(Arc::new(register)), ..self }
    }

    /// Adds a check that the doctor makes while the site runs.
    #[must_use]
    pub fn check<F>(mut self, check: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = CheckReport> + Send + 'static,
    {
        self.checks.push(Arc::new(move || Box::pin(check())));
        self
    }

    /// Does this each time the site starts, before tasks are recovered and workers begin. An error ends the
    /// start; what is not needed for the start logs its own.
    #[must_use]
    pub fn prepare<F>(self, prepare: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), StoreError>> + Send + 'static,
    {
        Self { prepare: Some(Arc::new(move || Box::pin(prepare()))), ..self }
    }

    /// Brings what it has in memory in step when records of its collections were touched by any process. It
    /// is called only where several processes serve the site, and also for its own changes.
    #[must_use]
    pub fn follow<F>(self, follow: impl Fn(RecordChanges) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), StoreError>> + Send + 'static,
    {
        Self { follow: Some(Arc::new(move |changes| Box::pin(follow(changes)))), ..self }
    }

    /// Adds background work.
    #[must_use]
    pub fn worker<F>(
        mut self,
        name: &'static str,
        about: &'static str,
        scope: WorkerScope,
        run: impl Fn(Worker, CancellationToken) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let run: Run = Arc::new(move |worker, stop| Box::pin(run(worker, stop)));
        self.workers.push(CapabilityWorker { name, about, scope, run });
        self
    }

    /// Registers its figures.
    pub fn register_metrics(&self, registry: &mut Registry) {
        if let Some(register) = &self.register {
            register(registry);
        }
    }

    /// Makes its checks.
    pub async fn run_checks(&self) -> Vec<CheckReport> {
        let mut reports = Vec::with_capacity(self.checks.len());
        for check in &self.checks {
            reports.push(check().await);
        }
        reports
    }

    /// Whether it has records in memory.
    #[must_use]
    pub fn follows_records(&self) -> bool {
        self.follow.is_some()
    }

    /// Brings its records in memory in step.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn follow_records(&self, changes: RecordChanges) -> Result<(), StoreError> {
        match &self.follow {
            Some(follow) => follow(changes).await,
            None => Ok(()),
        }
    }

    /// Does what must be done before tasks are recovered.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read or written.
    pub async fn run_preparation(&self) -> Result<(), StoreError> {
        match &self.prepare {
            Some(prepare) => prepare().await,
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use agentsite_protocol::{Clock, Timestamp};

    use super::*;
    use crate::lifetime::Lifetime;
    use crate::workers::Workers;

    #[derive(Debug)]
    struct Noon;

    impl Clock for Noon {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(43_200_000)
        }
    }

    #[tokio::test]
    async fn a_capability_is_prepared_checked_and_works_until_the_stop() {
        let count = Arc::new(AtomicUsize::new(0));
        let (prepared, begun) = (count.clone(), count.clone());
        let capability = Capability::new("notes")
            .prepare(move || {
                let prepared = prepared.clone();
                async move {
                    prepared.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                }
            })
            .check(|| async {
                CheckReport { name: "notes", verdict: CheckVerdict::Ok, words: "none are lost".into() }
            })
            .worker("notes", "Removes old notes.", WorkerScope::Site, move |worker, stop| {
                let begun = begun.clone();
                async move {
                    begun.fetch_add(10, Ordering::Relaxed);
                    worker.idle("nothing is old");
                    stop.cancelled().await;
                }
            });
        capability.run_preparation().await.unwrap();
        assert_eq!(capability.run_checks().await[0].words, "none are lost");
        let (workers, lifetime) = (Workers::new(Arc::new(Noon)), Lifetime::default());
        for work in &capability.workers {
            let worker = workers.register(work.name, work.about);
            lifetime.spawn(work.run(worker, lifetime.stopping().clone()));
        }
        assert!(lifetime.drain(Duration::from_secs(60)).await, "the worker ends with the site");
        assert_eq!(count.load(Ordering::Relaxed), 11);
        assert_eq!((workers.list()[0].name.as_str(), workers.list()[0].state), ("notes", "stopped"));
    }

    #[tokio::test]
    async fn a_capability_without_anything_does_nothing() {
        let capability = Capability::new("quiet");
        capability.run_preparation().await.unwrap();
        assert!(capability.run_checks().await.is_empty());
        capability.register_metrics(&mut Registry::default());
        assert_eq!(format!("{capability:?}"), "Capability(quiet)");
    }
}
