//! Facts about tasks, told as stories on the memory store with a virtual clock and seeded chance.
//!
//! What is shared by the stories is here: the tasks of a site without the site, agents that follow a script,
//! and a way to ask them.

mod anonymous;
mod crashes;
mod ends;
mod hooks;
mod processes;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentsite_host::{Manifest, NoCalls, Runner, ScriptedRunner};
use agentsite_protocol::{AgentName, Caller, Clock, Ids, Message, Rng, Role, Task, TaskState, Timestamp};
use agentsite_store::{MemStore, StoreError};

use crate::{
    AgentDirectory, IdCipher, Lifetime, Processes, Recovery, TaskAgent, TaskError, TaskHook, TaskHooks,
    TaskMetrics, TaskParts, TaskWatch, Tasks,
};

/// How long a stop in a story waits for what runs.
const DRAIN: Duration = Duration::from_secs(10);

/// A clock that moves only when a story moves it.
#[derive(Debug)]
struct StoryClock(AtomicI64);

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

/// The agents of a story, by name.
type Agents = Arc<Mutex<BTreeMap<AgentName, Arc<TaskAgent>>>>;

/// Tasks in a story.
struct Story {
    tasks: Tasks,
    store: MemStore,
    ids: Ids,
    agents: Agents,
    lifetime: Lifetime,
}

impl Story {
    fn begin() -> Self {
        Self::with_hooks(Vec::new())
    }

    fn with_hook(hook: Arc<dyn TaskHook>) -> Self {
        Self::with_hooks(vec![hook])
    }

    fn with_hooks(hooks: Vec<Arc<dyn TaskHook>>) -> Self {
        let clock = Arc::new(StoryClock(AtomicI64::new(1_700_000_000_000)));
        Self::open(MemStore::new(), Ids::new(clock, Arc::new(StoryRng::default())), hooks)
    }

    fn open(store: MemStore, ids: Ids, hooks: Vec<Arc<dyn TaskHook>>) -> Self {
        let processes = Processes::alone(Arc::new(store.clone()));
        Self::of_process(store, ids, hooks, processes)
    }

    fn of_process(store: MemStore, ids: Ids, hooks: Vec<Arc<dyn TaskHook>>, processes: Processes) -> Self {
        let (agents, lifetime) = (Agents::default(), Lifetime::default());
        let known = agents.clone();
        let parts = TaskParts {
            store: Arc::new(store.clone()),
            ids: ids.clone(),
            metrics: TaskMetrics::default(),
            cipher: IdCipher::new([7; 32]),
            hooks: TaskHooks::new(hooks),
            agents: AgentDirectory::new(move |name| known.lock().unwrap().get(name).cloned()),
            lifetime: lifetime.clone(),
            processes,
        };
        Self { tasks: Tasks::new(parts, |_| Arc::new(NoCalls)), store, ids, agents, lifetime }
    }

    /// The process dies; another one opens what was synced. Agents must be installed again.
    fn crash(self) -> Self {
        self.crash_to(Vec::new())
    }

    /// The same, with hooks in the new process.
    fn crash_to(self, hooks: Vec<Arc<dyn TaskHook>>) -> Self {
        Self::open(self.store.reopen(), self.ids, hooks)
    }

    async fn recover(&self) -> Recovery {
        self.tasks.control().recover(None).await.unwrap()
    }

    /// Stops as a site does: takes no more work, waits for what runs, and gives the rest up.
    async fn stop(&self) {
        if !self.lifetime.drain(DRAIN).await {
            self.lifetime.halt(DRAIN).await;
        }
    }

    fn agent(&self, name: &str, runner: impl Runner) -> Arc<TaskAgent> {
        self.agent_with(name, "", Arc::new(runner))
    }

    fn agent_with(&self, name: &str, more: &str, runner: Arc<dyn Runner>) -> Arc<TaskAgent> {
        let agent = TaskAgent::new(manifest(name, more), runner, None);
        self.agents.lock().unwrap().insert(agent.manifest.name.clone(), agent.clone());
        agent
    }

    async fn try_send(
        &self,
        caller: &Caller,
        agent: &Arc<TaskAgent>,
        message: Message,
    ) -> Result<TaskWatch, TaskError> {
        self.tasks.send(caller, agent.clone(), message.into()).await
    }

    async fn send(&self, agent: &Arc<TaskAgent>, text: &str) -> TaskWatch {
        self.try_send(&Caller::local(), agent, self.says(text)).await.unwrap()
    }

    async fn ask(&self, agent: &Arc<TaskAgent>, text: &str) -> Task {
        self.send(agent, text).await.settled().await
    }

    /// Waits until a task has settled.
    async fn settled(&self, id: agentsite_protocol::TaskId) -> Task {
        self.tasks.watch(&Caller::local(), id, 0).await.unwrap().settled().await
    }

    fn says(&self, text: &str) -> Message {
        Message::text(self.ids.message(), Role::User, text)
    }

    /// A further message of the same task.
    fn answers(&self, task: &Task, text: &str) -> Message {
        Message { task_id: Some(task.head.id.to_string()), ..self.says(text) }
    }
}

fn manifest(name: &str, more: &str) -> Manifest {
    let text = format!(
        "name = \"{name}\"\ndescription = \"An agent named {name}\"\n{more}\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n"
    );
    Manifest::read(&text).unwrap()
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
