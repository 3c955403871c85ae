//! LocalAgents: the agents of a site, as its callers see them.
//!
//! Promises: the list is swapped whole, so readers never wait; an agent that is replaced lets its running
//! tasks end on the old version. One who may not call an agent is told that it does not exist. It does not
//! read files.

mod card;
mod fingerprint;
mod media;
mod name_map;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agentsite_host::{
    AgentLog, LogSource, Manifest, Runner, Runtime, RuntimeKind, Workshop, load_schemas, setup_notice,
};
use agentsite_library::IndexFolders;
use agentsite_protocol::{AgentInstance, AgentName, Caller, Clock, Principal, Skill, Timestamp, Visibility};
use agentsite_registry::name_shape;
use agentsite_search::Embedders;
use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};

use crate::SiteError;
use crate::feeds::Feeds;
use agentsite_tasks::TaskAgent;

pub(crate) use card::for_both_versions;
use name_map::NameMap;

/// The concierge's name among the agents of a site.
pub(crate) const CONCIERGE: &str = "concierge";

/// How the addresses of resources begin that tell of agents.
pub(crate) const AGENT_RESOURCES: &str = "agentsite://agents/";

/// One agent of the site with everything needed to run it.
#[derive(Debug)]
pub(crate) struct Entry {
    /// What tasks need of it; its fields are read through the entry.
    pub(crate) agent: Arc<TaskAgent>,
    /// What its name looks like, by which names that look alike are found.
    pub(crate) shape: String,
    pub(crate) log: AgentLog,
    pub(crate) folder: Option<PathBuf>,
    /// Belongs to the site itself and is not listed.
    pub(crate) hidden: bool,
    /// To whom it belongs, when it is not the site's own.
    pub(crate) holder: Option<Holder>,
    /// What the operator should look at in its file and the environment, although it may work.
    pub(crate) notice: Option<String>,
    /// By what other processes see whether they have the same files; made when it is first asked for.
    pub(crate) fingerprint: OnceLock<String>,
}

/// To whom an agent belongs that is not the site's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) owner: Principal,
    /// What tells it from every other holder of the name, so that tasks stay with the one they were opened
    /// with.
    pub(crate) instance: AgentInstance,
    pub(crate) since: Timestamp,
    pub(crate) warnings: Vec<String>,
}

/// An agent folder that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenAgent {
    /// The file.
    pub file: String,
    /// What is wrong, with line and column.
    pub error: String,
}

/// An agent as people see it in lists.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentView {
    /// Its name.
    pub name: AgentName,
    /// What it does.
    pub description: String,
    /// Its version.
    pub version: String,
    /// Who may find and call it.
    pub visibility: Visibility,
    /// How it runs.
    pub kind: RuntimeKind,
    /// What it can do.
    pub skills: Vec<Skill>,
    /// ready, starting, needs-setup or down.
    pub health: &'static str,
    /// Why it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What its operator should look at, although it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// Tasks at work.
    pub running: usize,
    /// Tasks that wait.
    pub queued: usize,
    /// Most tasks at work at once.
    pub concurrency: usize,
    /// Most tasks that may wait.
    pub queue: usize,
    /// Where its file lies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Whether it comes with the site.
    pub demo: bool,
}

/// The agents of a site.
#[derive(Debug)]
pub(crate) struct LocalAgents {
    clock: Arc<dyn Clock>,
    /// What libraries make vectors with.
    embedders: Embedders,
    /// Where libraries keep their indexes.
    pub(crate) library_folders: IndexFolders,
    entries: ArcSwap<NameMap<Arc<Entry>>>,
    /// The names of the agents by what they look like.
    // A std lock: held for a few look-ups or an insert, never across an await.
    shapes: Mutex<HashMap<String, BTreeSet<AgentName>>>,
    broken: ArcSwap<Vec<BrokenAgent>>,
    /// When an agent was last added, replaced or taken out, in milliseconds.
    changed_at: AtomicI64,
    /// Who is told of it.
    pub(crate) feeds: Feeds,
    /// Rung with it, for the one who keeps the index in step.
    pub(crate) changed: Notify,
    /// Counts the changes, for everybody who follows them.
    pub(crate) version: watch::Sender<u64>,
}

impl LocalAgents {
    pub(crate) fn new(clock: Arc<dyn Clock>, embedders: Embedders, library_folders: IndexFolders) -> Self {
        let changed_at = AtomicI64::new(clock.now().as_millis());
        let (entries, broken) = (ArcSwap::default(), ArcSwap::default());
        Self {
            clock,
            embedders,
            library_folders,
            entries,
            shapes: Mutex::default(),
            broken,
            changed_at,
            feeds: Feeds::default(),
            changed: Notify::new(),
            version: watch::Sender::new(0),
        }
    }

    /// When an agent was last added, replaced or taken out.
    pub(crate) fn changed_at(&self) -> Timestamp {
        Timestamp::from_millis(self.changed_at.load(Ordering::Relaxed))
    }

    fn change(&self, change: impl Fn(&mut NameMap<Arc<Entry>>)) {
        self.entries.rcu(|entries| {
            let mut entries = NameMap::clone(entries);
            change(&mut entries);
            entries
        });
        self.changed_at.store(self.clock.now().as_millis(), Ordering::Relaxed);
        self.feeds.agents_changed(|uri| uri.starts_with(AGENT_RESOURCES));
        self.changed.notify_one();
        self.version.send_modify(|version| *version += 1);
    }

    /// The agent, if this caller may call it.
    pub(crate) fn visible(&self, caller: &Caller, name: &AgentName) -> Result<Arc<Entry>, SiteError> {
        self.get(name)
            .filter(|entry| entry.is_for(caller))
            .ok_or_else(|| SiteError::NoSuchAgent(name.to_string()))
    }

    /// The agent, whoever asks.
    pub(crate) fn get(&self, name: &AgentName) -> Option<Arc<Entry>> {
        self.entries.load().get(name).cloned()
    }

    /// All agents that this caller may call, by name.
    pub(crate) fn list(&self, caller: &Caller) -> Vec<Arc<Entry>> {
        let seen = |entry: &&Arc<Entry>| !entry.hidden && entry.is_for(caller);
        self.entries.load().values().filter(seen).cloned().collect()
    }

    /// Adds an agent or replaces one; gives the replaced one, whose runner must then be stopped. `None` also
    /// when nothing changed.
    pub(crate) fn install(
        &self,
        mut manifest: Manifest,
        folder: Option<PathBuf>,
        workshop: &Workshop,
        anew: bool,
    ) -> Result<Option<Arc<Entry>>, SiteError> {
        let before = self.get(&manifest.name);
        agentsite_library::complete(&mut manifest);
        load_schemas(&mut manifest, folder.as_deref())
            .map_err(|error| SiteError::Agent(format!("{}: {error}", manifest.name)))?;
        if !anew && before.as_ref().is_some_and(|entry| entry.manifest == manifest && entry.folder == folder)
        {
            return Ok(None);
        }
        let log = before
            .as_ref()
            .map_or_else(|| AgentLog::new(workshop.ids.clock().clone()), |entry| entry.log.clone());
        let launched = match &manifest.runtime {
            Runtime::Library(runtime) => {
                let kept = (&self.embedders, &self.library_folders);
                agentsite_library::launch(runtime, &manifest, folder.as_deref(), workshop, kept, &log)
            }
            _ => workshop.launch(&manifest, folder.as_deref(), &log),
        };
        let runner = launched.map_err(|error| SiteError::Agent(format!("{}: {error}", manifest.name)))?;
        log.push(LogSource::Site, &format!("version {} installed", manifest.version));
        let notice = setup_notice(&manifest, &workshop.environment, &workshop.models);
        self.put(Entry { notice, ..Entry::new(manifest, runner, log, folder) });
        Ok(before)
    }

    pub(crate) fn put(&self, entry: Entry) {
        let entry = Arc::new(entry);
        // Held over the change, so that both always know the same agents.
        let mut shapes = self.shapes();
        shapes.entry(entry.shape.clone()).or_default().insert(entry.manifest.name.clone());
        self.change(|entries| {
            entries.insert(entry.manifest.name.clone(), entry.clone());
        });
    }

    /// The names of the libraries.
    pub(crate) fn libraries(&self) -> Vec<AgentName> {
        let entries = self.entries.load();
        entries.values().filter(|entry| entry.is_library()).map(|entry| entry.manifest.name.clone()).collect()
    }

    /// Names of agents that look like one of these, by name; not that of the concierge.
    pub(crate) fn names_like(&self, shapes: &[String]) -> Vec<AgentName> {
        let known = self.shapes();
        let like: BTreeSet<&AgentName> =
            shapes.iter().filter_map(|shape| known.get(shape)).flatten().collect();
        like.into_iter().filter(|name| name.as_str() != CONCIERGE).cloned().collect()
    }

    fn shapes(&self) -> MutexGuard<'_, HashMap<String, BTreeSet<AgentName>>> {
        self.shapes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names of the site's own agents.
    pub(crate) fn own_names(&self) -> BTreeSet<AgentName> {
        let entries = self.entries.load();
        let own = entries.values().filter(|entry| entry.holder.is_none() && !entry.hidden);
        own.map(|entry| entry.manifest.name.clone()).collect()
    }

    /// The fingerprints of the site's own agents, by which processes of one site compare what they have.
    pub(crate) fn fingerprints(&self) -> BTreeMap<AgentName, String> {
        let entries = self.entries.load();
        let own = entries.values().filter(|entry| entry.holder.is_none() && !entry.hidden);
        let of = |entry: &Arc<Entry>| {
            let make = || fingerprint::fingerprint(&entry.manifest, entry.folder.as_deref());
            (entry.manifest.name.clone(), entry.fingerprint.get_or_init(make).clone())
        };
        own.map(of).collect()
    }

    /// Takes an agent out; its runner must then be stopped.
    pub(crate) fn uninstall(&self, name: &AgentName) -> Option<Arc<Entry>> {
        let mut shapes = self.shapes();
        let before = self.get(name)?;
        self.change(|entries| entries.remove(name));
        if let Some(names) = shapes.get_mut(&before.shape) {
            names.remove(name);
            if names.is_empty() {
                shapes.remove(&before.shape);
            }
        }
        Some(before)
    }

    /// All agents, to be stopped.
    pub(crate) fn all(&self) -> Vec<Arc<Entry>> {
        self.entries.load().values().cloned().collect()
    }

    pub(crate) fn set_broken(&self, broken: Vec<BrokenAgent>) {
        self.broken.store(Arc::new(broken));
    }

    pub(crate) fn broken(&self) -> Vec<BrokenAgent> {
        self.broken.load().to_vec()
    }
}

/// The manifest, the runner and the slots are those of the agent.
impl Deref for Entry {
    type Target = TaskAgent;

    fn deref(&self) -> &TaskAgent {
        &self.agent
    }
}

impl Entry {
    pub(crate) fn new(
        manifest: Manifest,
        runner: Arc<dyn Runner>,
        log: AgentLog,
        folder: Option<PathBuf>,
    ) -> Self {
        Self::held(manifest, runner, log, folder, None)
    }

    /// An agent that belongs to a holder, or to the site itself without one.
    pub(crate) fn held(
        manifest: Manifest,
        runner: Arc<dyn Runner>,
        log: AgentLog,
        folder: Option<PathBuf>,
        holder: Option<Holder>,
    ) -> Self {
        let shape = name_shape(manifest.name.as_str());
        let tenure = holder.as_ref().map(|holder| (holder.instance.clone(), holder.since));
        let agent = TaskAgent::new(manifest, runner, tenure);
        Self { agent, shape, log, folder, hidden: false, holder, notice: None, fingerprint: OnceLock::new() }
    }

    /// Whether this caller may call it; whoever it belongs to may.
    pub(crate) fn is_for(&self, caller: &Caller) -> bool {
        // An agent from elsewhere is called where it is: this site does not relay calls of other sites.
        if self.hidden && self.holder.is_some() && caller.is_peer() {
            return false;
        }
        caller.may_call(&self.manifest.name, self.manifest.visibility)
            || self.holder.as_ref().is_some_and(|holder| holder.owner == *caller.owner())
    }

    /// Whether it answers from documents.
    pub(crate) fn is_library(&self) -> bool {
        matches!(self.manifest.runtime, Runtime::Library(_))
    }

    /// Skills as shown: those of the file, or those an agent elsewhere tells of itself.
    pub(crate) fn skills(&self) -> Vec<Skill> {
        match self.runner.card() {
            Some(card) if self.manifest.skills.is_empty() && !card.skills.is_empty() => card.skills.clone(),
            _ => self.manifest.card_skills(),
        }
    }

    pub(crate) fn view(&self) -> AgentView {
        let health = self.runner.health();
        AgentView {
            name: self.manifest.name.clone(),
            description: self.manifest.description.clone(),
            version: self.manifest.version.clone(),
            visibility: self.manifest.visibility,
            kind: self.manifest.runtime.kind(),
            skills: self.skills(),
            health: health.word(),
            reason: health.reason().map(Into::into),
            notice: self.runner.notice().or_else(|| self.notice.clone()),
            running: self.running(),
            queued: self.waiting(),
            concurrency: self.manifest.limits.concurrency,
            queue: self.manifest.limits.queue,
            folder: self.folder.as_ref().map(|folder| folder.display().to_string()),
            demo: self.folder.is_none() && self.holder.is_none(),
        }
    }
}
