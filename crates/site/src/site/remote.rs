//! The verb of a site by which its callers talk with agents from elsewhere: an entry of the registry is
//! opened as an agent of this site.
//!
//! Promises: only who sees the entry opens it, and only callers who are known talk through it: the site is
//! no relay for strangers. It runs like any agent elsewhere that a file declares: through the egress, with
//! a circuit for each endpoint, within limits, with durable tasks. It is not listed, because the registry
//! lists the entry. It is closed when the entry is suspended, removed or seen by fewer, and when too many
//! are open. No credential of the site goes with it. Where several processes serve the site, an agent that
//! is reached only through the mesh is opened in the process that runs the mesh, too, and its tasks run
//! there.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentsite_host::{A2aRuntime, AgentLog, LaunchError, Manifest, Runner, Runtime, Workshop};
use agentsite_peers::{Peers, site_of_host};
use agentsite_protocol::listing::ListingId;
use agentsite_protocol::{AgentName, Caller, Ids};
use agentsite_registry::{EntryAgent, Registry};

use super::agents::Agents;
use crate::SiteError;
use crate::local_agents::{Entry, Holder, LocalAgents};
use agentsite_tasks::Tasks;

/// Most entries that are open at once: each costs a supervisor and perhaps a connection.
const MAX_OPEN: usize = 64;

/// The kind of the calls between processes that open an entry.
const OPEN: &str = "open-entry";

/// How long another process may take to open an entry: it reads it and makes a runner.
const OPEN_TIME: Duration = Duration::from_secs(30);

/// The entries that are open, the one opened longest ago first.
#[derive(Debug, Default)]
struct OpenEntries {
    // A std lock: held for a look at a short list, never across an await.
    open: Mutex<Vec<(ListingId, AgentName)>>,
}

impl OpenEntries {
    /// Notes an entry as opened just now; gives those that must make space.
    fn opened(&self, id: &ListingId, name: &AgentName) -> Vec<(ListingId, AgentName)> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(known, _)| known != id);
        open.push((id.clone(), name.clone()));
        let over = open.len().saturating_sub(MAX_OPEN);
        open[..open.len() - 1].iter().take(if over > 0 { MAX_OPEN } else { 0 }).cloned().collect()
    }

    fn closed(&self, id: &ListingId) -> Option<AgentName> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let at = open.iter().position(|(known, _)| known == id)?;
        Some(open.remove(at).1)
    }
}

/// The agents from elsewhere that are called through this site.
#[derive(Debug)]
pub(super) struct RemoteAgents {
    open: OpenEntries,
    registry: Arc<Registry>,
    local: Arc<LocalAgents>,
    agents: Agents,
    workshop: Workshop,
    tasks: Tasks,
    ids: Ids,
    peers: Peers,
}

impl RemoteAgents {
    /// Opens entries of this registry as agents, also for other processes of the site.
    pub(super) fn new(registry: Arc<Registry>, agents: Agents, peers: Peers) -> Arc<Self> {
        let (local, workshop) = (agents.local.clone(), agents.workshop.clone());
        let (tasks, ids) = (agents.tasks.clone(), agents.ids.clone());
        let open = OpenEntries::default();
        let remote = Arc::new(Self { open, registry, local, agents, workshop, tasks, ids, peers });
        remote.serve_processes();
        remote
    }

    /// Opens entries for processes that do not run the mesh.
    fn serve_processes(self: &Arc<Self>) {
        let (here, serving) = (Arc::downgrade(self), Arc::downgrade(self));
        let calls = self.tasks.control().process_calls();
        calls.serve(
            OPEN,
            move |_| here.upgrade().is_some_and(|remote| remote.peers.is_running_here()),
            move |_, work, _| {
                let remote = serving.upgrade();
                async move {
                    let id = serde_json::from_value::<ListingId>(work).ok();
                    let opened = match (remote, id) {
                        (Some(remote), Some(id)) => remote.open_here(&Caller::local(), &id).await,
                        _ => Err(SiteError::Stopping),
                    };
                    let answer = opened.map(drop).map_err(|error| error.to_string());
                    serde_json::to_value(answer).unwrap_or_default()
                }
            },
        );
    }

    /// Opens an entry of the registry, so that it is called like an agent of this site; gives the name by
    /// which it is called.
    ///
    /// # Errors
    /// [`SiteError::NoSuchListing`] when it is not for this caller; [`SiteError::BadListing`] when it cannot
    /// be called or no more may be open.
    pub(super) async fn open(&self, caller: &Caller, id: &ListingId) -> Result<AgentName, SiteError> {
        let name = self.open_here(caller, id).await?;
        self.open_at_mesh(&name, id).await?;
        Ok(name)
    }

    /// Has the process that runs the mesh open an entry that cannot be called from here.
    async fn open_at_mesh(&self, name: &AgentName, id: &ListingId) -> Result<(), SiteError> {
        let control = self.tasks.control();
        let is_here = self.local.get(name).is_none_or(|entry| entry.runner.is_here());
        if is_here || control.processes().is_elsewhere(name) {
            return Ok(());
        }
        let opened: Result<Result<(), String>, _> =
            control.process_calls().call(OPEN, name, id, OPEN_TIME).await;
        let away = "no process of this site runs the mesh at the moment; try again in some seconds";
        opened.map_err(|_| SiteError::Unreachable(away.into()))?.map_err(SiteError::BadListing)
    }

    async fn open_here(&self, caller: &Caller, id: &ListingId) -> Result<AgentName, SiteError> {
        let agent = self.registry.agent_of(caller, id).await?;
        let EntryAgent { manifest, owner, instance, since, warnings } = agent;
        let name = manifest.name.clone();
        let holder = Some(Holder { owner, instance, since, warnings });
        let before = self.local.get(&name);
        if before.as_ref().is_some_and(|known| !known.hidden) {
            let why = format!("an agent of this site is called {name}; rename it, then try again");
            return Err(SiteError::BadListing(why));
        }
        let same = |known: &Arc<Entry>| known.manifest == manifest && known.holder == holder;
        if before.as_ref().is_some_and(same) {
            self.open.opened(id, &name);
            return Ok(name);
        }
        self.make_room(id, &name).await?;
        let log = AgentLog::new(self.ids.clock().clone());
        let runner = self.runner(&manifest, &log);
        let runner = runner.map_err(|error| SiteError::BadListing(format!("{name}: {error}")))?;
        self.local.put(Entry { hidden: true, ..Entry::held(manifest, runner, log, None, holder) });
        if let Some(before) = before {
            before.runner.stop().await;
        }
        self.agents.relay_changes(&name);
        self.tasks.control().recover(Some(&name)).await?;
        Ok(name)
    }

    /// Makes the runner of an entry. One that is reached only through the mesh runs where the mesh does.
    fn runner(&self, manifest: &Manifest, log: &AgentLog) -> Result<Arc<dyn Runner>, LaunchError> {
        let servers = &self.agents.servers;
        if !servers.is_shared() || !needs_mesh(manifest) {
            return self.workshop.launch(manifest, None, log);
        }
        let peers = self.peers.clone();
        Ok(servers.runner_where(Arc::new(move || peers.is_running_here()), manifest, &self.workshop, log))
    }

    /// Closes an entry, if it is open: whoever opens it again is judged anew.
    pub(super) async fn close(&self, id: &ListingId) {
        if let Some(name) = self.open.closed(id) {
            self.agents.uninstall(&name).await;
        }
    }

    /// Closes the idle entry that was opened longest ago when one more would be too many.
    async fn make_room(&self, id: &ListingId, name: &AgentName) -> Result<(), SiteError> {
        let others = self.open.opened(id, name);
        if others.is_empty() {
            return Ok(());
        }
        let idle = |name: &AgentName| {
            self.local.get(name).is_none_or(|entry| entry.running() == 0 && entry.waiting() == 0)
        };
        let Some((idle, _)) = others.iter().find(|(_, name)| idle(name)) else {
            self.open.closed(id);
            let why = format!(
                "{MAX_OPEN} agents from elsewhere are at work through this site; try again in a minute"
            );
            return Err(SiteError::BadListing(why));
        };
        self.close(idle).await;
        Ok(())
    }
}

/// Whether an agent is reached through the mesh and in no other way.
fn needs_mesh(manifest: &Manifest) -> bool {
    let Runtime::A2a(A2aRuntime { card: Some(card), .. }) = &manifest.runtime else { return false };
    card.host_str().is_some_and(|host| site_of_host(host).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> ListingId {
        ListingId::of("example.org", "agents", name)
    }

    #[test]
    fn the_one_opened_longest_ago_makes_room_first() {
        let remote = OpenEntries::default();
        let name: AgentName = "far-x".parse().expect("a name");
        for number in 0..MAX_OPEN {
            assert!(remote.opened(&id(&number.to_string()), &name).is_empty());
        }
        assert!(remote.opened(&id("0"), &name).is_empty(), "opened again is not one more");
        let others = remote.opened(&id("new"), &name);
        assert_eq!((&others[0].0, others.len()), (&id("1"), MAX_OPEN));
        assert!(remote.closed(&id("1")).is_some() && remote.closed(&id("1")).is_none());
    }
}
