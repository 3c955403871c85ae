//! The Site: it opens, starts, stops and reports, sends messages, and hands out one handle per capability.
//!
//! Promises: every verb of a handle checks its Caller first. Opening recovers what an earlier process left;
//! stopping finishes what it can and loses nothing that was accepted.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use agentsite_host::{AgentLog, Workshop};
use agentsite_peers::Peers;
use agentsite_protocol::{AgentName, Caller, Ids, TaskId, Timestamp};
use agentsite_registry::{Challenges, EgressScout, Names, Scout};
use agentsite_rooms::Conversations;
use agentsite_rooms::room::Rooms;
use agentsite_store::SharedStore;
use futures::future::BoxFuture;
use prometheus_client::registry::Registry as MetricsRegistry;

use crate::error::admin_only;
use crate::identity::Identity;
use crate::local_agents::LocalAgents;
use crate::push::Courier;
use crate::retention::Expirer;
use crate::secret::Secret;
use crate::{CheckReport, Recovery, Sent, SiteError, SiteSettings, Submission, Workers, World, audit};
use agentsite_tasks::{Capability, Lifetime, ProcessReport, TaskHook, Tasks};

mod access;
mod agents;
mod assembly;
mod browse;
mod cards;
mod concierge;
mod connect;
mod conversation_access;
mod find;
mod finding;
mod founding;
mod intake;
mod listings;
mod login;
mod mesh;
mod operation;
mod pins;
mod process_status;
mod push;
mod queries;
mod registry;
mod remote;
mod retry;
mod toolkit;
mod usage;

use assembly::{OPENING, SiteState};
use intake::{MessageIntake, submit};
use toolkit::ToolkitParts;

pub use access::ApiKeys;
pub use agents::Agents;
pub use cards::Cards;
pub use connect::{ConnectedAgent, ConnectedAgents};
pub use find::Matches;
pub use finding::{Search, SearchStatus};
pub use login::AgentLogins;
pub use mesh::PeerAgents;
pub use operation::{Operations, StatusReport};
pub use process_status::ProcessStatus;
pub use push::Deliveries;
pub use queries::{QueryWatch, SavedQueries};
pub use registry::SiteRegistry;
pub use toolkit::{ToolOutcome, ToolTask, ToolTaskState, ToolTasks, Toolkit, ToolkitError};
pub use usage::{UsageDay, UsageFigures, UsageReport};

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
    settings: Arc<SiteSettings>,
    started_at: Timestamp,
    store: SharedStore,
    local: Arc<LocalAgents>,
    ids: Ids,
    lifetime: Lifetime,
    identity: Arc<Identity>,
    secret: Secret,
    workers: Workers,
    intake: MessageIntake,
    expirer: Expirer,
    /// What each capability contributes, in the order in which they are prepared and their hooks are called.
    capabilities: Vec<Capability>,
    tasks: Tasks,
    agents: Agents,
    cards: Cards,
    challenges: Arc<Challenges>,
    connected: ConnectedAgents,
    conversations: Conversations,
    rooms: Rooms,
    deliveries: Deliveries,
    keys: ApiKeys,
    logins: AgentLogins,
    names: Arc<Names>,
    operations: Operations,
    peers: Peers,
    peer_agents: PeerAgents,
    queries: SavedQueries,
    registry: SiteRegistry,
    search: Search,
    toolkit: Arc<ToolkitParts>,
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
    ) -> Result<Self, SiteError> {
        let egress = workshop.egress.clone();
        let scout = Arc::new(EgressScout { egress: egress.clone(), rng: world.rng.clone() });
        let parts = SiteParts { courier: Arc::new(egress), scout, hooks: Vec::new() };
        Self::open_with(settings, world, store, workshop, parts).await
    }

    /// Opens a site with other parts than the real ones.
    pub(crate) async fn open_with(
        settings: SiteSettings,
        world: World,
        store: SharedStore,
        workshop: Workshop,
        SiteParts { courier, scout, hooks }: SiteParts,
    ) -> Result<Self, SiteError> {
        let state = SiteState::read(settings, world, store, workshop, scout).await?;
        let log = AgentLog::new(state.ids.clock().clone());
        let running = state.run(courier, hooks);
        let inner = Arc::new(state.join(running));
        inner.local.put(concierge::entry(Arc::downgrade(&inner), log));
        inner.connected.expect_programs();
        Ok(Self(inner))
    }

    /// Takes up what an earlier process left and starts the background work. Boxed, so that the work is
    /// compiled in this crate and not by the binary.
    ///
    /// # Errors
    /// [`SiteError::Store`] when the store cannot be read or written.
    pub fn start(&self) -> BoxFuture<'_, Result<Recovery, SiteError>> {
        Box::pin(self.start_work())
    }

    async fn start_work(&self) -> Result<Recovery, SiteError> {
        for capability in &self.0.capabilities {
            capability.run_preparation().await?;
        }
        let recovery = self.0.tasks.control().recover(None).await?;
        if recovery.put_off > 0 {
            self.0.lifetime.spawn(self.0.tasks.control().recover_later());
        }
        let processes = self.0.tasks.control().processes();
        processes.release(OPENING).await?;
        for capability in &self.0.capabilities {
            capability.start_workers(&self.0.workers, &self.0.lifetime, &processes);
        }
        Ok(recovery)
    }

    /// Takes no more work, waits a while for what runs, then ends the runners and closes the store. Queued
    /// work stays queued for the next start.
    pub async fn stop(&self) {
        if !self.0.lifetime.drain(self.0.settings.site.drain.0).await {
            let left = self.0.tasks.control().live_count();
            tracing::warn!(
                left,
                "Some tasks did not finish in time; they are taken up again at the next start."
            );
            self.0.lifetime.halt(RUNNER_STOP).await;
        }
        let runners = self.0.local.all();
        let ends = runners.iter().map(|entry| entry.runner.stop());
        let _ = tokio::time::timeout(RUNNER_STOP, futures::future::join_all(ends)).await;
        if let Err(error) = audit::sign_end(&self.0.store, &self.0.identity).await {
            tracing::warn!(%error, "The end of the journal could not be signed.");
        }
        if let Err(error) = self.0.tasks.control().processes().leave().await {
            tracing::warn!(%error, "This process did not leave the site in order; the others notice when its lease is over.");
        }
        if let Err(error) = self.0.store.close().await {
            tracing::error!(%error, "The store did not close cleanly.");
        }
    }

    /// How the site is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.settings.site.name
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
        let (entry, mut request) = self.0.intake.accept(caller, agent, submission)?;
        if let Some(receiver) = receiver {
            request
                .attached
                .push(Box::pin(self.0.deliveries.attached(caller, receiver, &request.message)).await?);
        }
        submit(&self.0.tasks, caller, &entry, request).await
    }

    /// How the site fares.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins.
    pub async fn status(&self, caller: &Caller) -> Result<StatusReport, SiteError> {
        admin_only(caller)?;
        Ok(StatusReport {
            name: self.0.settings.site.name.clone(),
            version: env!("CARGO_PKG_VERSION"),
            started_at: self.0.started_at,
            agents: self.0.agents.list(caller),
            broken: self.0.agents.broken(caller),
            workers: self.0.workers.list(),
            store: self.0.store.stats().await?,
            storage: self.0.operations.storage(caller).await?,
            search: self.0.search.finding.status(),
            live_tasks: self.0.tasks.control().live_count(),
            processes: self.processes().await?,
            checks: self.run_checks().await,
        })
    }

    /// Every process that serves the site; none where one process does.
    async fn processes(&self) -> Result<Vec<ProcessStatus>, SiteError> {
        let own = self.0.tasks.control().processes().id();
        let living = self.0.store.processes().await?;
        let views: Vec<_> = living.into_iter().map(|view| (ProcessReport::of(&view), view)).collect();
        Ok(ProcessStatus::all(&views, own))
    }

    async fn run_checks(&self) -> Vec<CheckReport> {
        let mut reports = Vec::new();
        for capability in &self.0.capabilities {
            reports.extend(capability.run_checks().await);
        }
        reports
    }

    /// Adds the figures of all capabilities to a registry, for `/metrics`.
    pub fn register_metrics(&self, registry: &mut MetricsRegistry) {
        self.0.capabilities.iter().for_each(|capability| capability.register_metrics(registry));
    }

    /// What each capability contributes.
    #[cfg(test)]
    pub(crate) fn capabilities(&self) -> &[Capability] {
        &self.0.capabilities
    }

    /// The agents that the site runs.
    #[must_use]
    pub fn agents(&self) -> &Agents {
        &self.0.agents
    }

    /// The signed cards of the site and its agents, and the keys that sign them.
    #[must_use]
    pub fn cards(&self) -> &Cards {
        &self.0.cards
    }

    /// The challenges of other hubs that the site answers.
    #[must_use]
    pub fn challenges(&self) -> &Challenges {
        &self.0.challenges
    }

    /// The agents whose programs connect to the site.
    #[must_use]
    pub fn connected(&self) -> &ConnectedAgents {
        &self.0.connected
    }

    /// The rooms of callers and agents.
    #[must_use]
    pub fn rooms(&self) -> &Rooms {
        &self.0.rooms
    }

    /// The conversations of callers.
    #[must_use]
    pub fn conversations(&self) -> &Conversations {
        &self.0.conversations
    }

    /// Receivers of pushes, and what leaves the site for them.
    #[must_use]
    pub fn deliveries(&self) -> &Deliveries {
        &self.0.deliveries
    }

    /// Keys, tokens and browser sessions.
    #[must_use]
    pub fn keys(&self) -> &ApiKeys {
        &self.0.keys
    }

    /// The logins of agents to their servers.
    #[must_use]
    pub fn logins(&self) -> &AgentLogins {
        &self.0.logins
    }

    /// The names that are reserved for their previous owners.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.0.names
    }

    /// What admins do and see of the site as a whole.
    #[must_use]
    pub fn operations(&self) -> &Operations {
        &self.0.operations
    }

    /// The place of the site in the mesh.
    #[must_use]
    pub fn peers(&self) -> &Peers {
        &self.0.peers
    }

    /// The agents of other sites, by name and site.
    #[must_use]
    pub fn peer_agents(&self) -> &PeerAgents {
        &self.0.peer_agents
    }

    /// The queries that callers have saved.
    #[must_use]
    pub fn queries(&self) -> &SavedQueries {
        &self.0.queries
    }

    /// The agents from elsewhere that are registered here.
    #[must_use]
    pub fn registry(&self) -> &SiteRegistry {
        &self.0.registry
    }

    /// Every agent that the site runs or knows, to be listed and found.
    #[must_use]
    pub fn search(&self) -> &Search {
        &self.0.search
    }

    /// How many processes serve the site, kept up to date: what a caller may have is divided by it.
    #[must_use]
    pub fn process_count(&self) -> Arc<AtomicUsize> {
        self.0.tasks.control().processes().counted()
    }

    /// The tasks of the site.
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.0.tasks
    }

    /// Removes finished work that has expired, now rather than at the next look; gives how many tasks went.
    ///
    /// # Errors
    /// [`SiteError::Store`].
    pub async fn expire(&self) -> Result<usize, SiteError> {
        self.0.expirer.expire().await
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
