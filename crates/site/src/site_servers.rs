//! The agents that run in one process of a site at a time: which process runs which.
//!
//! These are agents with one server for the whole site (`instances = "site"`), and agents of other sites
//! that are called through the mesh, which one process runs.
//!
//! Promises: a server runs in the process that has its lease and is stopped when that process is no longer a
//! member; when it dies, another one that has the agent gets the lease and starts the server. What the server
//! offers is a record that all processes follow, so that lists and cards are the same everywhere. Where one
//! process serves the site there are no leases and no records: its servers start like all others.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_host::{
    About, AgentLog, Exchange, Manifest, Runner, RuntimeKind, SiteServerRunner, StartServer, Toolbox,
    Workshop,
};
use agentsite_protocol::mcp::{Abilities, Tool};
use agentsite_protocol::{AgentCard, AgentName, Caller};
use agentsite_store::{Change, Collection, ProcessId, SharedStore, StoreError, Unjournaled};
use agentsite_tasks::{Capability, ProcessCalls, Processes, WorkerScope};
use futures::FutureExt;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::Worker;
use crate::local_agents::LocalAgents;
use crate::remote_toolbox::{RemoteToolbox, ToolMirror};

/// What the servers offer, by agent.
const SERVERS: Collection<ServerOffer> = Collection::new("site-servers");

/// What the server of an agent offers, as the process that runs it says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ServerOffer {
    about: About,
    tools: Option<Vec<Tool>>,
    card: Option<AgentCard>,
}

/// Says whether an agent can run in this process now.
type CanRunHere = Arc<dyn Fn() -> bool + Send + Sync>;

/// What decides in which process an agent runs.
#[derive(Clone)]
pub(crate) enum ServerPlace {
    /// The lease of its server: the first process that gets it.
    Lease,
    /// Something else that only one process has.
    Where(CanRunHere),
}

impl std::fmt::Debug for ServerPlace {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Lease => "Lease",
            Self::Where(_) => "Where(…)",
        })
    }
}

/// A server that this process may run.
#[derive(Debug, Clone)]
struct KnownServer {
    place: ServerPlace,
    runner: Arc<SiteServerRunner>,
    mirror: Arc<ToolMirror>,
    /// As which member the process started it.
    since: Option<ProcessId>,
    /// What was last written or read of its offer.
    offer: Option<ServerOffer>,
}

/// The servers that run once for the whole site.
#[derive(Debug)]
pub(crate) struct SiteServers {
    processes: Processes,
    calls: ProcessCalls,
    store: SharedStore,
    local: Arc<LocalAgents>,
    // A std lock: held for a copy or an insert, never across an await.
    known: Mutex<BTreeMap<AgentName, KnownServer>>,
}

impl SiteServers {
    pub(crate) fn new(
        processes: Processes,
        calls: ProcessCalls,
        store: SharedStore,
        local: Arc<LocalAgents>,
    ) -> Arc<Self> {
        Arc::new(Self { processes, calls, store, local, known: Mutex::default() })
    }

    /// What they contribute to a site.
    pub(crate) fn capability(self: &Arc<Self>) -> Capability {
        let capability = Capability::new("site-servers").collections(const { &[SERVERS.name()] });
        if !self.processes.is_shared() {
            return capability;
        }
        let (keeping, following) = (self.clone(), self.clone());
        let about =
            "Runs the servers that run once for the whole site, as far as this process has their leases.";
        capability
            .worker("site-servers", about, WorkerScope::Process, move |worker, stop| {
                keeping.clone().keep(worker, stop)
            })
            .follow(move |_| {
                let servers = following.clone();
                async move { servers.read_offers().await }
            })
    }

    /// Whether several processes serve the site, so that leases are needed.
    pub(crate) fn is_shared(&self) -> bool {
        self.processes.is_shared()
    }

    /// Makes the runner of an agent; its server starts when this process gets the lease.
    pub(crate) fn runner(
        &self,
        manifest: &Manifest,
        folder: Option<&Path>,
        workshop: &Workshop,
        log: &AgentLog,
    ) -> Arc<dyn Runner> {
        self.runner_at(ServerPlace::Lease, manifest, folder, workshop, log)
    }

    /// Makes the runner of an agent that runs where `can_run_here` says so; there it begins at once.
    pub(crate) fn runner_where(
        &self,
        can_run_here: CanRunHere,
        manifest: &Manifest,
        workshop: &Workshop,
        log: &AgentLog,
    ) -> Arc<dyn Runner> {
        self.runner_at(ServerPlace::Where(can_run_here), manifest, None, workshop, log)
    }

    fn runner_at(
        &self,
        place: ServerPlace,
        manifest: &Manifest,
        folder: Option<&Path>,
        workshop: &Workshop,
        log: &AgentLog,
    ) -> Arc<dyn Runner> {
        let start: StartServer = {
            let (manifest, workshop, log) = (manifest.clone(), workshop.clone(), log.clone());
            let folder = folder.map(Path::to_owned);
            Arc::new(move || workshop.launch(&manifest, folder.as_deref(), &log))
        };
        let name = manifest.name.clone();
        let mirror = Arc::new(ToolMirror::default());
        let remote = (manifest.runtime.kind() == RuntimeKind::Mcp).then(|| -> Arc<dyn Toolbox> {
            let (calls, time) = (self.calls.clone(), manifest.limits.timeout.0);
            Arc::new(RemoteToolbox::mirrored(name.clone(), calls, time, mirror.clone()))
        });
        let (processes, agent) = (self.processes.clone(), name.clone());
        let elsewhere = Arc::new(move || processes.is_elsewhere(&agent));
        let runner = Arc::new(SiteServerRunner::new(start, elsewhere, remote));
        let mut since = None;
        if matches!(&place, ServerPlace::Where(can_run_here) if can_run_here()) {
            runner.begin();
            since = self.processes.id();
        }
        let known = KnownServer { place, runner: runner.clone(), mirror, since, offer: None };
        self.lock().insert(name, known);
        runner
    }

    /// The agents whose servers this process runs.
    pub(crate) fn here(&self) -> Vec<AgentName> {
        let known = self.lock();
        known.iter().filter(|(_, server)| server.runner.is_here()).map(|(name, _)| name.clone()).collect()
    }

    async fn keep(self: Arc<Self>, worker: Worker, stop: CancellationToken) {
        let mut membership = self.processes.membership();
        loop {
            membership.borrow_and_update();
            let mut failed = None;
            for (name, server) in self.all() {
                if let Err(error) = self.look_after(&name, &server).await {
                    failed = Some(error);
                }
            }
            match failed {
                Some(error) => worker.failing(&error.to_string()),
                None => worker.idle(&format!("{} servers run here", self.here().len())),
            }
            tokio::select! {
                biased;
                // What still runs needs its server: the site stops it with the agent, and the lease goes with
                // the process.
                () = stop.cancelled() => return,
                _ = membership.changed() => {}
                () = tokio::time::sleep(self.processes.pause()) => {}
            }
        }
    }

    /// One look at one server: starts it with the lease, stops it without, and tells what it offers.
    async fn look_after(&self, name: &AgentName, server: &KnownServer) -> Result<(), StoreError> {
        let KnownServer { place, runner, since, .. } = server;
        if runner.is_retired() {
            return self.drop_retired(name, server).await;
        }
        let own = self.processes.id();
        if runner.is_here() && *since != own {
            // The process was declared dead meanwhile: another one may run the server.
            runner.end().await;
        }
        if own.is_none() {
            return Ok(());
        }
        let can_run_here = match place {
            ServerPlace::Lease => runner.is_here() || self.processes.acquire(&lease(name)).await?,
            ServerPlace::Where(can_run_here) => can_run_here(),
        };
        match (runner.is_here(), can_run_here) {
            (true, false) => runner.end().await,
            (false, true) if self.processes.id() == own => {
                runner.begin();
                self.update(name, runner, |known| known.since = own);
            }
            _ => {}
        }
        // What an agent of another site offers is in its entry.
        let is_offered = runner.is_here() && matches!(place, ServerPlace::Lease);
        if is_offered { self.publish(name, server).await } else { Ok(()) }
    }

    /// Forgets an agent that was removed or replaced, and releases its lease unless its next version has it.
    async fn drop_retired(&self, name: &AgentName, retired: &KnownServer) -> Result<(), StoreError> {
        let last = {
            let mut known = self.lock();
            let same = known.get(name).is_some_and(|server| Arc::ptr_eq(&server.runner, &retired.runner));
            if same {
                known.remove(name);
            }
            same
        };
        let has_lease = last && matches!(retired.place, ServerPlace::Lease);
        if has_lease { self.processes.release(&lease(name)).await } else { Ok(()) }
    }

    /// Writes down what a server offers, when it has changed.
    async fn publish(&self, name: &AgentName, server: &KnownServer) -> Result<(), StoreError> {
        let Some(running) = server.runner.server() else { return Ok(()) };
        let offer = offer(&*running);
        if server.offer.as_ref() == Some(&offer) || offer == ServerOffer::default() {
            return Ok(());
        }
        let revision = SERVERS.get(&self.store, name.as_str()).await?.map_or(0, |kept| kept.revision);
        let put = SERVERS.put(name.as_str(), None, revision, &offer)?;
        self.store.commit(Change::unjournaled(Unjournaled::ProcessOrder).edit(put)).await?;
        self.update(name, &server.runner, |known| known.offer = Some(offer));
        self.local.feeds.tools_changed();
        Ok(())
    }

    /// Takes over what the servers of other processes offer.
    async fn read_offers(&self) -> Result<(), StoreError> {
        let mut changed = false;
        for (name, server) in self.all() {
            if server.runner.is_here() {
                continue;
            }
            let Some(offer) = SERVERS.get(&self.store, name.as_str()).await?.map(|kept| kept.value) else {
                continue;
            };
            if server.offer.as_ref() == Some(&offer) {
                continue;
            }
            server.runner.set_card(offer.card.clone().map(Arc::new));
            if let Some(tools) = &offer.tools {
                server.mirror.set(offer.about.clone(), tools.clone().into());
            }
            self.update(&name, &server.runner, |known| known.offer = Some(offer));
            changed = true;
        }
        if changed {
            self.local.feeds.tools_changed();
        }
        Ok(())
    }

    fn update(&self, name: &AgentName, of: &Arc<SiteServerRunner>, change: impl FnOnce(&mut KnownServer)) {
        if let Some(known) = self.lock().get_mut(name).filter(|known| Arc::ptr_eq(&known.runner, of)) {
            change(known);
        }
    }

    fn all(&self) -> Vec<(AgentName, KnownServer)> {
        self.lock().iter().map(|(name, server)| (name.clone(), server.clone())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<AgentName, KnownServer>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The lease of an agent's server.
fn lease(name: &AgentName) -> String {
    format!("server/{name}")
}

/// What a server offers now; what is not known yet is left out.
fn offer(running: &dyn Runner) -> ServerOffer {
    let unread = Exchange::silent(Caller::local(), Abilities::default());
    let toolbox = running.toolbox();
    let tools = toolbox.as_ref().and_then(|toolbox| toolbox.tools(&unread).now_or_never()?.ok());
    ServerOffer {
        about: toolbox.filter(|_| tools.is_some()).map(|toolbox| toolbox.about()).unwrap_or_default(),
        tools: tools.map(|tools| tools.to_vec()),
        card: running.card().map(|card| (*card).clone()),
    }
}
