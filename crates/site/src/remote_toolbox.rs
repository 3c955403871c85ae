//! The tools of an agent through the process of the site that can run it, and how this process serves its
//! own to the others.
//!
//! Promises: a call is made once, within the lane and the time of the process that makes it; its questions
//! and faults come back as if the tool were here. Progress and log notices of a tool do not travel, nor does
//! the budget of a calling task. It does not decide where an agent runs.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentsite_host::{About, Exchange, ToolFault, Toolbox};
use agentsite_protocol::mcp::{
    Abilities, Completing, Completions, Contents, Prompt, PromptCall, PromptText, Reading, Reply, Resource,
    ResourceTemplate, Tool, ToolCall, ToolResult,
};
use agentsite_protocol::{AgentName, Caller, JsonMap, Principal};
use agentsite_tasks::{ProcessCalls, WeakTasks};
use futures::future::{BoxFuture, ready};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::local_agents::{Entry, LocalAgents};

/// The kind of a call between processes that uses a toolbox.
const TOOLBOX: &str = "toolbox";

/// What is asked of a toolbox in another process.
#[derive(Debug, Serialize, Deserialize)]
struct ToolboxWork {
    owner: Principal,
    abilities: Abilities,
    meta: JsonMap,
    operation: ToolboxOperation,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ToolboxOperation {
    Call(ToolCall),
    Read(Reading),
    Prompt(PromptCall),
    Complete(Completing),
    Resources,
    Templates,
    Prompts,
}

/// What the process with a server says of its tools.
#[derive(Debug, Default)]
pub(crate) struct ToolMirror(Mutex<Option<(About, Arc<[Tool]>)>>);

impl ToolMirror {
    /// Takes over what that process says.
    pub(crate) fn set(&self, about: About, tools: Arc<[Tool]>) {
        // A std lock: held for a swap, never across an await.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((about, tools));
    }

    fn get(&self) -> Option<(About, Arc<[Tool]>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// From where the lists of a toolbox come.
#[derive(Debug)]
enum Lists {
    /// From what the process with the server says.
    Mirror(Arc<ToolMirror>),
    /// From the toolbox that this process has, too; it only may not run anything.
    Local(Arc<dyn Toolbox>),
}

/// The tools of an agent through the process that can run it.
pub(crate) struct RemoteToolbox {
    agent: AgentName,
    calls: ProcessCalls,
    /// How long one call may take.
    time: Duration,
    lists: Lists,
}

impl fmt::Debug for RemoteToolbox {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RemoteToolbox({})", self.agent)
    }
}

impl RemoteToolbox {
    /// The tools of a server that runs in another process.
    pub(crate) const fn mirrored(
        agent: AgentName,
        calls: ProcessCalls,
        time: Duration,
        mirror: Arc<ToolMirror>,
    ) -> Self {
        Self { agent, calls, time, lists: Lists::Mirror(mirror) }
    }

    /// The toolbox to use for an agent: its own, or the way to another process when this one has no share of
    /// the agent's concurrency.
    pub(crate) fn near(entry: &Entry, toolbox: &Arc<dyn Toolbox>, calls: &ProcessCalls) -> Arc<dyn Toolbox> {
        if !calls.is_shared() || !entry.runner.is_here() || entry.can_run_here() {
            return toolbox.clone();
        }
        let (agent, time) = (entry.manifest.name.clone(), entry.manifest.limits.timeout.0);
        Arc::new(Self { agent, calls: calls.clone(), time, lists: Lists::Local(toolbox.clone()) })
    }

    /// Whether what [`Self::near`] gives takes a slot of this process: the other process takes its own.
    pub(crate) fn needs_slot(entry: &Entry, calls: &ProcessCalls) -> bool {
        !calls.is_shared() || entry.can_run_here()
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        exchange: &Exchange,
        operation: ToolboxOperation,
    ) -> Result<T, ToolFault> {
        let work = ToolboxWork {
            owner: exchange.caller.owner().clone(),
            abilities: exchange.abilities,
            meta: exchange.meta.clone(),
            operation,
        };
        tokio::select! {
            biased;
            () = exchange.cancel.cancelled() => Err(ToolFault::Failed("the answer is no longer needed".into())),
            answer = self.calls.call::<Result<T, ToolFault>>(TOOLBOX, &self.agent, &work, self.time) => {
                answer.unwrap_or_else(|error| Err(ToolFault::Down(error.to_string())))
            }
        }
    }

    fn starting(&self) -> ToolFault {
        ToolFault::Down(format!("the server of {} is being started; try again in some seconds", self.agent))
    }
}

impl Toolbox for RemoteToolbox {
    fn about(&self) -> About {
        match &self.lists {
            Lists::Local(toolbox) => toolbox.about(),
            Lists::Mirror(mirror) => mirror.get().map(|(about, _)| about).unwrap_or_default(),
        }
    }

    fn tools(&self, exchange: &Exchange) -> BoxFuture<'_, Result<Arc<[Tool]>, ToolFault>> {
        match &self.lists {
            Lists::Local(toolbox) => toolbox.tools(exchange),
            Lists::Mirror(mirror) => {
                let tools = mirror.get().map(|(_, tools)| tools);
                Box::pin(ready(tools.ok_or_else(|| self.starting())))
            }
        }
    }

    fn call(
        &self,
        exchange: Exchange,
        call: ToolCall,
    ) -> BoxFuture<'_, Result<Reply<ToolResult>, ToolFault>> {
        Box::pin(async move { self.ask(&exchange, ToolboxOperation::Call(call)).await })
    }

    fn resources(&self, exchange: &Exchange) -> BoxFuture<'_, Result<Vec<Resource>, ToolFault>> {
        if let Lists::Local(toolbox) = &self.lists {
            return toolbox.resources(exchange);
        }
        let exchange = exchange.clone();
        Box::pin(async move { self.ask(&exchange, ToolboxOperation::Resources).await })
    }

    fn templates(&self, exchange: &Exchange) -> BoxFuture<'_, Result<Vec<ResourceTemplate>, ToolFault>> {
        if let Lists::Local(toolbox) = &self.lists {
            return toolbox.templates(exchange);
        }
        let exchange = exchange.clone();
        Box::pin(async move { self.ask(&exchange, ToolboxOperation::Templates).await })
    }

    fn read(
        &self,
        exchange: Exchange,
        reading: Reading,
    ) -> BoxFuture<'_, Result<Reply<Vec<Contents>>, ToolFault>> {
        Box::pin(async move { self.ask(&exchange, ToolboxOperation::Read(reading)).await })
    }

    fn prompts(&self, exchange: &Exchange) -> BoxFuture<'_, Result<Vec<Prompt>, ToolFault>> {
        if let Lists::Local(toolbox) = &self.lists {
            return toolbox.prompts(exchange);
        }
        let exchange = exchange.clone();
        Box::pin(async move { self.ask(&exchange, ToolboxOperation::Prompts).await })
    }

    fn prompt(
        &self,
        exchange: Exchange,
        call: PromptCall,
    ) -> BoxFuture<'_, Result<Reply<PromptText>, ToolFault>> {
        Box::pin(async move { self.ask(&exchange, ToolboxOperation::Prompt(call)).await })
    }

    fn complete(
        &self,
        exchange: &Exchange,
        completing: Completing,
    ) -> BoxFuture<'_, Result<Completions, ToolFault>> {
        if let Lists::Local(toolbox) = &self.lists {
            return toolbox.complete(exchange, completing);
        }
        let exchange = exchange.clone();
        Box::pin(async move { self.ask(&exchange, ToolboxOperation::Complete(completing)).await })
    }
}

/// Serves the tools of the agents that this process can run to the other processes of the site.
pub(crate) fn serve_tools(calls: &ProcessCalls, local: &Arc<LocalAgents>, tasks: &WeakTasks) {
    let (known, local, tasks) = (Arc::downgrade(local), Arc::downgrade(local), tasks.clone());
    let can_run = move |agent: &AgentName| {
        let entry = known.upgrade().and_then(|local| local.get(agent));
        entry.is_some_and(|entry| entry.can_run_here() && entry.runner.toolbox().is_some())
    };
    calls.serve(TOOLBOX, can_run, move |agent, work, cancel| {
        let entry = local.upgrade().and_then(|local| local.get(&agent));
        let tasks = tasks.clone();
        async move {
            let answer = match (entry, serde_json::from_value(work)) {
                (Some(entry), Ok(work)) => serve(&tasks, &entry, work, cancel).await,
                (None, _) => Err(ToolFault::Down(format!("{agent} was removed meanwhile"))),
                (_, Err(error)) => Err(ToolFault::Failed(format!("the call cannot be read: {error}"))),
            };
            serde_json::to_value(answer).unwrap_or_default()
        }
    });
}

/// Serves one operation, within the lane and the time of the agent.
async fn serve(
    tasks: &WeakTasks,
    entry: &Entry,
    work: ToolboxWork,
    cancel: CancellationToken,
) -> Result<Value, ToolFault> {
    let (name, limit) = (&entry.manifest.name, entry.manifest.limits.timeout);
    let down = || ToolFault::Down(format!("the process that runs {name} is stopping; try again"));
    let control = tasks.upgrade().ok_or_else(down)?.control();
    let toolbox = entry.runner.toolbox().ok_or_else(down)?;
    let mut exchange = Exchange::silent(Caller::inside(work.owner), work.abilities);
    (exchange.meta, exchange.cancel) = (work.meta, cancel.clone());
    let work = async {
        let slot = control.slot(entry).await.map_err(|error| ToolFault::Failed(error.to_string()))?;
        let timed = tokio::time::timeout(limit.0, operate(&*toolbox, exchange, work.operation)).await;
        drop(slot);
        timed.unwrap_or_else(|_| {
            Err(ToolFault::Failed(format!("{name} did not finish within {limit} (limits.timeout)")))
        })
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ToolFault::Failed("the answer is no longer needed".into())),
        answer = work => answer,
    }
}

async fn operate(
    toolbox: &dyn Toolbox,
    exchange: Exchange,
    operation: ToolboxOperation,
) -> Result<Value, ToolFault> {
    match operation {
        ToolboxOperation::Call(call) => written(toolbox.call(exchange, call).await?),
        ToolboxOperation::Read(reading) => written(toolbox.read(exchange, reading).await?),
        ToolboxOperation::Prompt(call) => written(toolbox.prompt(exchange, call).await?),
        ToolboxOperation::Complete(completing) => written(toolbox.complete(&exchange, completing).await?),
        ToolboxOperation::Resources => written(toolbox.resources(&exchange).await?),
        ToolboxOperation::Templates => written(toolbox.templates(&exchange).await?),
        ToolboxOperation::Prompts => written(toolbox.prompts(&exchange).await?),
    }
}

fn written(answer: impl Serialize) -> Result<Value, ToolFault> {
    serde_json::to_value(answer).map_err(|error| ToolFault::Failed(error.to_string()))
}
