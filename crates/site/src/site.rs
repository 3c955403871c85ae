//! The Site: one facade over agents, tasks, callers and operations.
//!
//! Promises: every verb checks its Caller first. Opening recovers what an earlier process left; stopping
//! finishes what it can and loses nothing that was accepted.

use std::sync::Arc;
use std::time::Duration;

use agentsite_host::{AgentLog, Ephemeral, Workshop};
use agentsite_library::IndexFolders;
use agentsite_protocol::{AgentName, Caller, Ids, Task, TaskEvent, TaskHead, TaskId, Timestamp};
use agentsite_store::{Edit, Page, SharedStore, TaskCursor, TaskFilter};
use tokio::sync::Mutex;

use crate::anonymous::IdCipher;
use crate::calls::SiteCalls;
use crate::challenges::Challenges;
use crate::connected::Connected;
use crate::conversations::Feed;
use crate::federation::Federation;
use crate::hub::{Entry, Hub};
use crate::identity::Identity;
use crate::keys::Keys;
use crate::lifetime::Lifetime;
use crate::logins::Logins;
use crate::names::Names;
use crate::push::{Courier, Push, PushParts};
use crate::queries::Queries;
use crate::registry::{EgressScout, Registry, Scout};
use crate::secret::Secret;
use crate::settled::SettledClock;
use crate::tasks::{AgentDirectory, TaskHook, TaskHooks, TaskParts, TaskRequest, Tasks, check_message};
use crate::tokens::Tokens;
use crate::usage::UsageHook;
use crate::{
    Recovery, Sent, SiteError, SiteMetrics, SiteSettings, Submission, TaskWatch, Workers, World, audit,
    retention,
};

mod access;
mod agents;
mod asked;
mod browse;
mod cards;
mod challenges;
mod concierge;
mod connect;
mod conversations;
mod far;
mod find;
mod finding;
mod hub;
mod lineage;
mod listings;
mod login;
mod names;
mod operation;
mod pins;
mod push;
mod queries;
mod toolkit;
mod usage;

use far::Far;
use finding::Finding;

pub use asked::AskedTask;
pub use connect::ConnectedAgent;
pub use conversations::{ConversationExport, ConversationWatch, TurnPage};
pub use find::Matches;
pub use hub::{Challenge, HubEdit, HubEntry, HubFormat};
pub use lineage::TaskGraph;
pub use operation::{SearchStatus, StatusReport};
pub use queries::QueryWatch;
pub use toolkit::{Called, ToolTask, ToolTaskState, Toolkit, ToolkitError};
pub use usage::{Figures, UsageDay, UsageReport};

/// Most rows of one page, whatever is asked for.
const MAX_PAGE: usize = 500;

/// How long runners may take to end after the drain; supervised servers get their own grace within it.
const RUNNER_STOP: Duration = Duration::from_secs(5);

/// A folder of agents as a durable, callable site. Clones are handles on the same site.
#[derive(Debug, Clone)]
pub struct Site(Arc<Inner>);

/// Parts of a site that tests replace.
pub(crate) struct SiteParts {
    /// The way out for pushes.
    pub(crate) courier: Arc<dyn Courier>,
    /// How the registry looks around.
    pub(crate) scout: Arc<dyn Scout>,
    /// Further hooks of tasks, called after the site's own.
    pub(crate) hooks: Vec<Arc<dyn TaskHook>>,
}

#[derive(Debug)]
struct Inner {
    settings: SiteSettings,
    started_at: Timestamp,
    store: SharedStore,
    workshop: Workshop,
    hub: Arc<Hub>,
    ids: Ids,
    metrics: SiteMetrics,
    lifetime: Lifetime,
    tasks: Tasks,
    /// The changes of conversations, for their followers.
    feed: Arc<Feed>,
    keys: Arc<Keys>,
    tokens: Option<Tokens>,
    identity: Arc<Identity>,
    secret: Secret,
    logins: Arc<Logins>,
    push: Arc<Push>,
    finding: Finding,
    queries: Queries,
    registry: Arc<Registry>,
    connected: Connected,
    names: Arc<Names>,
    federation: Federation,
    far: Far,
    challenges: Challenges,
    workers: Workers,
    concierge: AgentName,
    /// What a new site must remember and has not committed yet: it goes into the one transaction of the first
    /// start.
    founding: Mutex<Vec<Edit>>,
    settled: Arc<SettledClock>,
}

impl Site {
    /// Opens a site on a store. Install its agents, then [`Self::start`] it.
    ///
    /// # Errors
    /// [`SiteError::Store`] when the store cannot be read.
    pub async fn open(
        settings: SiteSettings,
        world: World,
        store: SharedStore,
        workshop: Workshop,
        metrics: SiteMetrics,
    ) -> Result<Self, SiteError> {
        let egress = workshop.egress.clone();
        let scout = Arc::new(EgressScout { egress: egress.clone(), rng: world.rng.clone() });
        let parts = SiteParts { courier: Arc::new(egress), scout, hooks: Vec::new() };
        Self::open_with(settings, world, store, workshop, metrics, parts).await
    }

    /// Opens a site with other parts than the real ones.
    pub(crate) async fn open_with(
        settings: SiteSettings,
        world: World,
        store: SharedStore,
        workshop: Workshop,
        metrics: SiteMetrics,
        SiteParts { courier, scout, hooks }: SiteParts,
    ) -> Result<Self, SiteError> {
        let settled = SettledClock::open(world.clock, &store).await?;
        let world = World { clock: settled.clone(), ..world };
        let ids = world.ids();
        let folders = IndexFolders::at(settings.libraries.clone());
        let hub = Arc::new(Hub::new(world.clock.clone(), settings.search.embedders.clone(), folders));
        let (secret, new_secret) = Secret::open(&store, &ids).await?;
        let cipher = IdCipher::new(secret.key_for("ids of anonymous callers"));
        let keys = Arc::new(Keys::open(store.clone(), ids.clone()).await?);
        let (identity, new_identity) = Identity::open(store.clone(), ids.clone()).await?;
        let identity = Arc::new(identity);
        let issuer = settings.issuer.clone();
        let tokens = issuer.map(|issuer| Tokens::new(issuer, &workshop.egress, ids.clone()));
        let founding = new_identity.map(Edit::from).into_iter().chain(new_secret.map(Edit::from)).collect();
        let logins = Logins::open(store.clone(), ids.clone(), &secret).await?;
        let workshop = Workshop { credentials: logins.clone(), ..workshop };
        let queries = Queries::open(store.clone(), ids.clone()).await?;
        let challenges = Challenges::open(store.clone(), ids.clone()).await?;
        let federation = Federation::new(&settings.upstreams, scout.clone(), world.clock.clone());
        let keep_names = settings.retention.max_age.0;
        let names = Arc::new(Names::open(store.clone(), ids.clone(), keep_names).await?);
        let registry = Registry::new(settings.hub.clone(), store.clone(), ids.clone(), scout, names.clone());
        let connected = Connected::open(store.clone(), ids.clone(), names.clone()).await?;
        let finding = Finding::open(settings.search.clone(), registry.changes()).await?;
        let push = Push::new(PushParts {
            settings: settings.push.clone(),
            store: store.clone(),
            ids: ids.clone(),
            identity: identity.clone(),
            metrics: metrics.clone(),
            egress: workshop.egress.clone(),
            courier,
            cipher,
        });
        let (feed, lifetime) = (Arc::new(Feed::default()), Lifetime::default());
        let usage = Arc::new(UsageHook::new(store.clone(), metrics.clone()));
        // The order of the hooks: what is counted, what leaves the site, what people follow.
        let own: [Arc<dyn TaskHook>; 3] = [usage, push.clone(), feed.clone()];
        let hooks = TaskHooks::new(own.into_iter().chain(hooks).collect());
        let parts = TaskParts {
            store: store.clone(),
            ids: ids.clone(),
            metrics: metrics.clone(),
            cipher,
            hooks,
            agents: directory(&hub),
            lifetime: lifetime.clone(),
        };
        let tasks = Tasks::new(parts, |tasks| Arc::new(SiteCalls::new(tasks, &hub, ids.clone())));
        let workers = Workers::new(world.clock.clone());
        let concierge = concierge::NAME.parse().expect("the concierge's name is a name");
        let started_at = world.clock.now();
        let log = AgentLog::new(world.clock.clone());
        let inner = Arc::new(Inner {
            settings,
            started_at,
            store,
            workshop,
            ids,
            metrics,
            hub,
            lifetime,
            tasks,
            feed,
            keys,
            tokens,
            identity,
            secret,
            logins,
            push,
            finding,
            queries,
            registry,
            challenges,
            connected,
            names,
            federation,
            far: Far::default(),
            workers,
            concierge,
            founding: Mutex::new(founding),
            settled,
        });
        inner.hub.put(concierge::entry(Arc::downgrade(&inner), log));
        let site = Self(inner);
        site.expect_programs();
        Ok(site)
    }

    /// Takes up what an earlier process left and starts the background work.
    ///
    /// # Errors
    /// [`SiteError::Store`] when the store cannot be read or written.
    pub async fn start(&self) -> Result<Recovery, SiteError> {
        self.commit_founding().await?;
        self.0.names.keep_step(&self.0.hub.own_names()).await?;
        let recovery = self.0.tasks.recover(None).await?;
        if recovery.put_off > 0 {
            self.0.lifetime.spawn(self.0.tasks.clone().recover_later());
        }
        let worker = self
            .0
            .workers
            .register("retention", "Removes finished tasks, old journal lines and expired keys.");
        let retention = self.0.settings.retention.clone();
        let (store, keys, stop) =
            (self.0.store.clone(), self.0.keys.clone(), self.0.lifetime.stopping().clone());
        let settled = self.0.settled.clone();
        self.0.lifetime.spawn(retention::keep_bounded(store, keys, settled, retention, worker, stop.clone()));
        let worker = self.0.workers.register("audit", "Signs the journal, so that nobody can write another.");
        let (store, identity) = (self.0.store.clone(), self.0.identity.clone());
        self.0.lifetime.spawn(audit::keep_signed(store, identity, worker, stop.clone()));
        if let Err(error) = self.drop_strangers().await {
            tracing::warn!(%error, "Agents that went while the site was stopped could not be taken out of the index.");
        }
        // An agent whose file cannot be read at the moment may be a library.
        if self.0.hub.broken().is_empty() {
            self.0.hub.library_folders.keep_only(&self.0.hub.libraries()).await;
        }
        let worker = self
            .0
            .workers
            .register("search", "Keeps the index of agents in step and makes their full vectors.");
        self.0.lifetime.spawn(self.clone().keep_in_step(worker, stop.clone()));
        if self.pushes() {
            let worker =
                self.0.workers.register("push", "Delivers what receivers are to be told about tasks.");
            self.0.lifetime.spawn(self.0.push.clone().send_all(worker, stop.clone()));
        }
        let worker = self
            .0
            .workers
            .register("connected", "Keeps the places of programs that connected and went away.");
        self.0.lifetime.spawn(self.clone().keep_connected(worker, stop.clone()));
        let worker =
            self.0.workers.register("hub", "Looks whether registered agents from elsewhere still answer.");
        self.0.lifetime.spawn(self.0.registry.clone().keep_fresh(worker, stop));
        Ok(recovery)
    }

    /// Takes no more work, waits a while for what runs, then ends the runners and closes the store. Queued
    /// work stays queued for the next start.
    pub async fn stop(&self) {
        if !self.0.lifetime.drain(self.0.settings.drain.0).await {
            let left = self.0.tasks.live_count();
            tracing::warn!(
                left,
                "Some tasks did not finish in time; they are taken up again at the next start."
            );
            self.0.lifetime.halt(RUNNER_STOP).await;
        }
        let runners = self.0.hub.all();
        let ends = runners.iter().map(|entry| entry.runner.stop());
        let _ = tokio::time::timeout(RUNNER_STOP, futures::future::join_all(ends)).await;
        if let Err(error) = audit::sign_end(&self.0.store, &self.0.identity).await {
            tracing::warn!(%error, "The end of the journal could not be signed.");
        }
        if let Err(error) = self.0.store.close().await {
            tracing::error!(%error, "The store did not close cleanly.");
        }
    }

    /// How the site is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.settings.name
    }

    /// Whether the site takes no more work.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.0.lifetime.is_stopping()
    }

    /// Sends a message to an agent: opens a task, continues the one it names, or gets an answer at once.
    ///
    /// # Errors
    /// What is wrong with the message, its receiver, the agent or the task; nothing was accepted then.
    pub async fn send(
        &self,
        caller: &Caller,
        agent: &AgentName,
        submission: impl Into<Submission>,
    ) -> Result<Sent, SiteError> {
        let mut submission: Submission = submission.into();
        let receiver = submission.receiver.take();
        let (entry, mut request) = self.accept(caller, agent, submission)?;
        // Each way has its own box: this future lies inside those of every face, which are moved several
        // times for a request, and one that had room for all ways at once would cost more to move than the
        // way takes.
        if let Some(receiver) = receiver {
            request.attached.push(Box::pin(self.receiver(caller, receiver, &request.message)).await?);
        }
        if entry.is_message_only() {
            let TaskRequest { message, ephemeral, .. } = request;
            let answer = Box::pin(self.0.tasks.ask(caller, &entry, message, ephemeral)).await?;
            return Ok(Sent::Message(answer));
        }
        if entry.may_reply(&request.message) {
            let (message, ephemeral) = (&request.message, &request.ephemeral);
            let answer = Box::pin(self.0.tasks.reply(caller, &entry, message, ephemeral)).await?;
            if let Some(answer) = answer {
                return Ok(Sent::Message(answer));
            }
        }
        Ok(Sent::Task(Box::pin(self.0.tasks.send(caller, entry.agent.clone(), request)).await?))
    }

    /// Checks a message for an agent; gives the agent, and the message with what goes with it.
    fn accept(
        &self,
        caller: &Caller,
        agent: &AgentName,
        submission: Submission,
    ) -> Result<(Arc<Entry>, TaskRequest), SiteError> {
        let entry = self.0.hub.visible(caller, agent)?;
        let (message, ttl, ephemeral) = submission.part()?;
        entry.check_extensions(&ephemeral.extensions)?;
        let ephemeral = Ephemeral { trace: caller.trace().cloned(), ..ephemeral };
        check_message(&message, self.0.settings.max_message.0)?;
        entry.check_media_types(&message)?;
        Ok((entry, TaskRequest { ttl, ephemeral, ..TaskRequest::from(message) }))
    }

    /// The tasks of the site. The verbs about tasks below are the same ones for callers that know the errors
    /// of a site.
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.0.tasks
    }

    /// See [`Tasks::get`].
    ///
    /// # Errors
    /// As there.
    pub async fn task(&self, caller: &Caller, id: TaskId) -> Result<Task, SiteError> {
        Ok(self.0.tasks.get(caller, id).await?)
    }

    /// See [`Tasks::list`].
    ///
    /// # Errors
    /// As there.
    pub async fn list_tasks(
        &self,
        caller: &Caller,
        filter: TaskFilter,
        after: Option<TaskCursor>,
        limit: usize,
    ) -> Result<Page<TaskHead, TaskCursor>, SiteError> {
        Ok(self.0.tasks.list(caller, filter, after, limit).await?)
    }

    /// See [`Tasks::count`].
    ///
    /// # Errors
    /// As there.
    pub async fn count_tasks(&self, caller: &Caller, filter: TaskFilter) -> Result<u64, SiteError> {
        Ok(self.0.tasks.count(caller, filter).await?)
    }

    /// See [`Tasks::cancel`].
    ///
    /// # Errors
    /// As there.
    pub async fn cancel(&self, caller: &Caller, id: TaskId) -> Result<Task, SiteError> {
        Ok(self.0.tasks.cancel(caller, id).await?)
    }

    /// See [`Tasks::watch`].
    ///
    /// # Errors
    /// As there.
    pub async fn watch(&self, caller: &Caller, id: TaskId, after: u64) -> Result<TaskWatch, SiteError> {
        Ok(self.0.tasks.watch(caller, id, after).await?)
    }

    /// See [`Tasks::watch_to_end`].
    ///
    /// # Errors
    /// As there.
    pub async fn watch_to_end(
        &self,
        caller: &Caller,
        id: TaskId,
        after: u64,
    ) -> Result<TaskWatch, SiteError> {
        Ok(self.0.tasks.watch_to_end(caller, id, after).await?)
    }

    /// See [`Tasks::events`].
    ///
    /// # Errors
    /// As there.
    pub async fn events(
        &self,
        caller: &Caller,
        id: TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<TaskEvent>, SiteError> {
        Ok(self.0.tasks.events(caller, id, after, limit).await?)
    }

    /// Removes finished work that has expired, now rather than at the next look; gives how many tasks went.
    ///
    /// # Errors
    /// [`SiteError::Store`].
    pub async fn expire(&self) -> Result<usize, SiteError> {
        retention::expire(&self.0.store, &self.0.keys, &self.0.settled, &self.0.settings.retention).await
    }

    /// Removes a task that has ended, with everything that was said in it; what somebody must still be told
    /// of it leaves first.
    ///
    /// # Errors
    /// [`SiteError::NoSuchTask`], also when it is somebody else's; [`SiteError::TaskBusy`] while it has not
    /// ended; [`SiteError::Forbidden`] when it is a turn of a conversation, which keeps it.
    pub async fn forget(&self, caller: &Caller, id: TaskId) -> Result<(), SiteError> {
        self.0.tasks.forget(caller, id).await?;
        self.expire().await.map(|_| ())
    }

    /// The list of background work, for those who add to it.
    #[must_use]
    pub fn workers(&self) -> &Workers {
        &self.0.workers
    }

    /// Makes ids and tells the time.
    #[must_use]
    pub fn ids(&self) -> &Ids {
        &self.0.ids
    }

    /// The site's own key for one purpose, such as sealing what a caller keeps for it; the same after a
    /// restart.
    #[must_use]
    pub fn key_for(&self, purpose: &str) -> [u8; 32] {
        self.0.secret.key_for(purpose)
    }

    /// What the operator has set.
    #[must_use]
    pub fn settings(&self) -> &SiteSettings {
        &self.0.settings
    }
}

/// The agents of the hub as tasks find them.
fn directory(hub: &Arc<Hub>) -> AgentDirectory {
    let hub = hub.clone();
    AgentDirectory::new(move |name| hub.get(name).map(|entry| entry.agent.clone()))
}

fn admin_only(caller: &Caller) -> Result<(), SiteError> {
    if caller.is_admin() {
        return Ok(());
    }
    Err(SiteError::Forbidden(
        "only the people who run this site may do that; use a key with the scope admin".into(),
    ))
}
