//! Facts about a site, told as stories on the memory store with a virtual clock and seeded chance.
//!
//! What is shared by the stories is here: a site, agents that follow a script, and a way to ask them.

mod callers;
mod capabilities;
mod challenges;
mod choices;
mod concierge;
mod connected;
mod conversations;
mod cost;
mod crashes;
mod federation;
mod find;
mod hooks;
mod identity;
mod journal;
mod library;
mod limits;
mod local_agents;
mod mesh_vectors;
mod names;
mod processes;
mod push;
mod queries;
mod registry;
mod remote;
mod rooms;
mod talk;
mod toolkit;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use agentsite_host::{Environment, Manifest, Runner, ScriptedRunner, Workshop};
use agentsite_protocol::{AgentName, Caller, Clock, Message, Rng, Role, Task, TaskState, Timestamp};
use agentsite_store::{MemStore, SharedStore};

use crate::site::SiteParts;
use crate::{Sent, Site, SiteError, SiteSection, SiteSettings, TaskWatch, World};
use agentsite_tasks::TaskHook;

/// A clock that moves only when a story moves it.
#[derive(Debug, Default)]
struct StoryClock(AtomicI64);

impl StoryClock {
    fn advance(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::Relaxed);
    }
}

impl Clock for StoryClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// Bytes that differ each time and are the same in each run.
#[derive(Debug, Default)]
struct StoryRng(AtomicU64);

impl Rng for StoryRng {
    fn fill(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            let mut word = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            chunk.copy_from_slice(&(word ^ (word >> 31)).to_le_bytes()[..chunk.len()]);
        }
    }
}

/// The settings of a site whose section `[site]` differs from the default.
fn introduced(change: impl FnOnce(&mut SiteSection)) -> SiteSettings {
    let mut settings = SiteSettings::default();
    change(&mut settings.site);
    settings
}

/// A site in a story.
pub(crate) struct Story {
    pub(crate) site: Site,
    store: MemStore,
    clock: Arc<StoryClock>,
    rng: Arc<StoryRng>,
    courier: Arc<push::StoryCourier>,
    scout: Arc<registry::StoryScout>,
}

impl Story {
    pub(crate) async fn begin() -> Self {
        Self::with(SiteSettings::default()).await
    }

    async fn with(settings: SiteSettings) -> Self {
        let clock = Arc::new(StoryClock::default());
        clock.advance(1_700_000_000_000);
        Self::open(settings, MemStore::new(), clock, Arc::default()).await
    }

    /// A site with one more hook of tasks.
    async fn with_hook(hook: Arc<dyn TaskHook>) -> Self {
        let clock = Arc::new(StoryClock::default());
        clock.advance(1_700_000_000_000);
        Self::open_with(SiteSettings::default(), MemStore::new(), clock, Arc::default(), vec![hook]).await
    }

    async fn open(
        settings: SiteSettings,
        store: MemStore,
        clock: Arc<StoryClock>,
        rng: Arc<StoryRng>,
    ) -> Self {
        Self::open_with(settings, store, clock, rng, Vec::new()).await
    }

    async fn open_with(
        settings: SiteSettings,
        store: MemStore,
        clock: Arc<StoryClock>,
        rng: Arc<StoryRng>,
        hooks: Vec<Arc<dyn TaskHook>>,
    ) -> Self {
        let world = World { clock: clock.clone(), rng: rng.clone() };
        let workshop = Workshop {
            credentials: Arc::new(agentsite_client::mcp::InMemory::default()),
            confinement: agentsite_host::Confinement::none(),
            ids: world.ids(),
            egress: agentsite_client_for_tests(),
            circuits: agentsite_egress::Circuits::new(world.ids().rng().clone()),
            models: Default::default(),
            environment: Environment::default(),
        };
        let shared: SharedStore = Arc::new(store.clone());
        let courier = Arc::new(push::StoryCourier::default());
        let scout = Arc::new(registry::StoryScout::default());
        let parts = SiteParts { courier: courier.clone(), scout: scout.clone(), hooks };
        let site = Site::open_with(settings, world, shared, workshop, parts).await.unwrap();
        Self { site, store, clock, rng, courier, scout }
    }

    /// The process dies; another one opens what was synced. Agents must be installed again.
    async fn crash(self) -> Self {
        self.crash_to(Vec::new()).await
    }

    /// The same, with further hooks of tasks in the new process.
    async fn crash_to(self, hooks: Vec<Arc<dyn TaskHook>>) -> Self {
        let store = self.store.reopen();
        Self::open_with(SiteSettings::default(), store, self.clock, self.rng, hooks).await
    }

    fn agent(&self, name: &str, runner: impl Runner) -> AgentName {
        self.agent_with(name, "", Arc::new(runner))
    }

    fn agent_with(&self, name: &str, more: &str, runner: Arc<dyn Runner>) -> AgentName {
        let manifest = manifest(name, more);
        self.site.agents().install_runner(manifest, runner);
        name.parse().unwrap()
    }

    async fn send(&self, agent: &AgentName, text: &str) -> TaskWatch {
        let Sent::Task(watch) = self.try_send(&Caller::local(), agent, self.says(text)).await.unwrap() else {
            panic!("the agent answers with tasks")
        };
        watch
    }

    async fn ask(&self, agent: &AgentName, text: &str) -> Task {
        self.send(agent, text).await.settled().await
    }

    async fn try_send(
        &self,
        caller: &Caller,
        agent: &AgentName,
        message: Message,
    ) -> Result<Sent, SiteError> {
        self.site.send(caller, agent, message).await
    }

    fn says(&self, text: &str) -> Message {
        Message::text(self.site.ids().message(), Role::User, text)
    }

    /// A further message of the same task.
    fn answers(&self, task: &Task, text: &str) -> Message {
        Message { task_id: Some(task.head.id.to_string()), ..self.says(text) }
    }
}

fn manifest(name: &str, more: &str) -> Manifest {
    let text = format!(
        "name = \"{name}\"\ndescription = \"An agent named {name}\"\nvisibility = \"public\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n{more}"
    );
    Manifest::read(&text).unwrap()
}

fn agentsite_client_for_tests() -> agentsite_egress::Egress {
    agentsite_egress::Egress::default()
}

fn echo() -> ScriptedRunner {
    ScriptedRunner::new().echo()
}

fn state(task: &Task) -> TaskState {
    task.head.state
}

fn last_words(task: &Task) -> String {
    task.status.message.as_ref().map(Message::plain_text).unwrap_or_default()
}
