//! Toolkit: the site, or one of its agents, as a set of tools.
//!
//! Promises: whoever asks sees only what it may call. An agent that is a set of tools shows its own; an agent that is talked to is one
//! tool; the whole site is all its agents and a few tools about them. A call is admitted like a message, within the same limits, and
//! one that is handed back as a task is a task of the site: durable, listed, cancellable by every other face.
//!
//! It does not know how the protocol is spoken: `gateway` does.

mod task;

use std::collections::BTreeMap;
use std::sync::Arc;

use agentsite_host::{About, Change, Exchange, ToolFault, Toolbox};
use agentsite_protocol::mcp::{
    Completing, Completions, Contents, Prompt, PromptCall, PromptText, Reading, Reply, Resource,
    ResourceTemplate, Tool, ToolCall, ToolResult,
};
use agentsite_protocol::{AgentName, Caller, TaskId};
use serde_json::Value;
use tokio::sync::broadcast;

pub use task::{ToolTask, ToolTaskState};

use super::Site;
use crate::SiteError;
use crate::hub::Entry;

/// The site, or one of its agents, as a set of tools.
#[derive(Debug, Clone)]
pub struct Toolkit {
    #[expect(dead_code, reason = "agents as tools are submitted through it")]
    site: Site,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    /// The whole site.
    Whole,
    /// An agent that is talked to.
    Agent(Arc<Entry>),
    /// An agent that is a set of tools.
    Hosted(Arc<Entry>, Arc<dyn Toolbox>),
}

/// How a call of a tool went.
#[derive(Debug, Clone, PartialEq)]
pub enum Called {
    /// It came to an end or to a question.
    Reply(Reply<ToolResult>),
    /// It goes on; the task can be followed.
    Task(Box<ToolTask>),
}

/// Why a toolkit did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ToolkitError {
    /// The toolbox says no.
    #[error(transparent)]
    Tool(#[from] ToolFault),
    /// The site says no.
    #[error(transparent)]
    Site(#[from] SiteError),
}

impl Site {
    /// The site, or one of its agents, as a set of tools.
    ///
    /// # Errors
    /// [`SiteError::NoSuchAgent`], also when it is not for this caller.
    pub fn toolkit(&self, caller: &Caller, agent: Option<&AgentName>) -> Result<Toolkit, SiteError> {
        let kind = match agent {
            None => Kind::Whole,
            Some(name) => {
                let entry = self.0.hub.visible(caller, name)?;
                match entry.runner.toolbox() {
                    Some(toolbox) => Kind::Hosted(entry, toolbox),
                    None => Kind::Agent(entry),
                }
            }
        };
        Ok(Toolkit { site: self.clone(), kind })
    }
}

impl Toolkit {
    /// The agent whose tools these are; `None` for the whole site.
    #[must_use]
    pub fn agent(&self) -> Option<&AgentName> {
        match &self.kind {
            Kind::Whole => None,
            Kind::Agent(entry) | Kind::Hosted(entry, _) => Some(&entry.manifest.name),
        }
    }

    /// What there is besides tools.
    #[must_use]
    pub fn about(&self) -> About {
        match &self.kind {
            Kind::Hosted(_, toolbox) => toolbox.about(),
            Kind::Whole | Kind::Agent(_) => About::default(),
        }
    }

    /// All tools, in a fixed order.
    ///
    /// # Errors
    /// [`ToolkitError`] says what is wrong.
    pub async fn tools(&self, exchange: &Exchange) -> Result<Arc<[Tool]>, ToolkitError> {
        match &self.kind {
            Kind::Hosted(_, toolbox) => Ok(toolbox.tools(exchange).await?),
            Kind::Whole | Kind::Agent(_) => Ok(Arc::default()),
        }
    }

    /// Uses a tool.
    ///
    /// # Errors
    /// [`ToolkitError`] says what is wrong.
    pub async fn call(&self, exchange: Exchange, call: ToolCall) -> Result<Called, ToolkitError> {
        match &self.kind {
            Kind::Hosted(_, toolbox) => Ok(Called::Reply(toolbox.call(exchange, call).await?)),
            Kind::Whole | Kind::Agent(_) => Err(ToolFault::NoSuchTool(call.name).into()),
        }
    }

    /// All resources with a fixed address, in a fixed order.
    ///
    /// # Errors
    /// [`ToolkitError`] says what is wrong.
    pub async fn resources(&self, exchange: &Exchange) -> Result<Vec<Resource>, ToolkitError> {
        match &self.kind {
            Kind::Hosted(_, toolbox) => Ok(toolbox.resources(exchange).await?),
            Kind::Whole | Kind::Agent(_) => Ok(Vec::new()),
        }
    }

    /// All families of resources, in a fixed order.
    ///
    /// # Errors
    /// [`ToolkitError`] says what is wrong.
    pub async fn templates(&self, exchange: &Exchange) -> Result<Vec<ResourceTemplate>, ToolkitError> {
        match &self.kind {
            Kind::Hosted(_, toolbox) => Ok(toolbox.templates(exchange).await?),
            Kind::Whole | Kind::Agent(_) => Ok(Vec::new()),
        }
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// [`ToolkitError`] says what is wrong.
    pub async fn read(
        &self,
        exchange: Exchange,
        reading: Reading,
    ) -> Result<Reply<Vec<Contents>>, ToolkitError> {
        match &self.kind {
            Kind::Hosted(_, toolbox) => Ok(toolbox.read(exchange, reading).await?),
            Kind::Whole | Kind::Agent(_) => Err(ToolFault::NoSuchResource(reading.uri).into()),
        }
    }

    /// All prompts, in a fixed order.
    ///
    /// # Errors
    /// [`ToolkitError`] says what is wrong.
    pub async fn prompts(&self, exchange: &Exchange) -> Result<Vec<Prompt>, ToolkitError> {
        match &self.kind {
            Kind::Hosted(_, toolbox) => Ok(toolbox.prompts(exchange).await?),
            Kind::Whole | Kind::Agent(_) => Ok(Vec::new()),
        }
    }

    /// Fills a prompt.
    ///
    /// # Errors
    /// [`ToolkitError`] says what is wrong.
    pub async fn prompt(
        &self,
        exchange: Exchange,
        call: PromptCall,
    ) -> Result<Reply<PromptText>, ToolkitError> {
        match &self.kind {
            Kind::Hosted(_, toolbox) => Ok(toolbox.prompt(exchange, call).await?),
            Kind::Whole | Kind::Agent(_) => Err(ToolFault::NoSuchPrompt(call.name).into()),
        }
    }

    /// What may fill a place of a prompt or a template.
    ///
    /// # Errors
    /// [`ToolkitError`] says what is wrong.
    pub async fn complete(
        &self,
        exchange: &Exchange,
        completing: Completing,
    ) -> Result<Completions, ToolkitError> {
        match &self.kind {
            Kind::Hosted(_, toolbox) => Ok(toolbox.complete(exchange, completing).await?),
            Kind::Whole | Kind::Agent(_) => Ok(Completions::default()),
        }
    }

    /// Tells from now on what changes; `None` when nothing ever does.
    #[must_use]
    pub fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        match &self.kind {
            Kind::Hosted(_, toolbox) => toolbox.changes(),
            Kind::Whole | Kind::Agent(_) => None,
        }
    }

    /// Somebody wants to know (or no longer) when this resource changes.
    pub fn watch(&self, uri: &str, on: bool) {
        if let Kind::Hosted(_, toolbox) = &self.kind {
            toolbox.watch(uri, on);
        }
    }

    /// A call that became a task, as it stands.
    ///
    /// # Errors
    /// [`SiteError::NoSuchTask`], also when it is somebody else's or no call of a tool of this toolkit.
    pub async fn task(&self, caller: &Caller, id: TaskId) -> Result<ToolTask, SiteError> {
        let _ = caller;
        Err(SiteError::NoSuchTask(id.to_string()))
    }

    /// Answers questions of a task; answers to questions that are not open are ignored.
    ///
    /// # Errors
    /// [`SiteError::NoSuchTask`], also when it is somebody else's.
    pub async fn update(
        &self,
        caller: &Caller,
        id: TaskId,
        answers: BTreeMap<String, Value>,
    ) -> Result<(), SiteError> {
        let _ = (caller, answers);
        Err(SiteError::NoSuchTask(id.to_string()))
    }

    /// Ends a task; one that has ended stays as it is.
    ///
    /// # Errors
    /// [`SiteError::NoSuchTask`], also when it is somebody else's.
    pub async fn cancel(&self, caller: &Caller, id: TaskId) -> Result<(), SiteError> {
        let _ = caller;
        Err(SiteError::NoSuchTask(id.to_string()))
    }
}
