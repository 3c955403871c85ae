//! Toolkit: the site, or one of its agents, as a set of tools.
//!
//! Promises: whoever asks sees only what it may call. An agent that is a set of tools shows its own; an agent
//! that is talked to is one tool; the whole site is all its agents and a few tools about them. A call is
//! admitted like a message, within the same limits, and one that is handed back as a task is a task of the
//! site: durable, listed, cancellable by every other face.
//!
//! It does not know how the protocol is spoken: `gateway` does.

mod answer;
mod changes;
mod hosted;
mod offers;
mod parts;
mod prompts;
mod resources;
mod service;
mod services;
mod talk;
mod task;
mod tool_tasks;
mod transcript;

use std::sync::Arc;

use agentsite_host::{About, Exchange, ToolFault, Toolbox};
use agentsite_protocol::mcp::{
    Completing, Completions, Contents, Prompt, PromptCall, PromptText, Reading, Reply, Resource,
    ResourceTemplate, Tool, ToolCall, ToolResult,
};
use agentsite_protocol::{AgentName, Caller};
use serde_json::Value;

pub(super) use parts::ToolkitParts;
pub use task::{ToolTask, ToolTaskState};
pub use tool_tasks::ToolTasks;

use super::Site;
use crate::local_agents::Entry;
use crate::remote_toolbox::RemoteToolbox;
use crate::{SiteError, TaskError};
use offers::Offer;

/// How a model should use the whole site.
const HOW_TO_USE: &str = "This is a site of agents. Each agent is a tool that takes a message in plain language, or is a set of tools whose \
names begin with its own. `find_agents` says which agent fits a request; `call_agent` calls any of them by name. An answer comes with the \
ids `task` and `context`: send `context` to go on with a conversation, and `task` to answer a question of the agent. `get_task`, \
`cancel_task` and `list_tasks` are for work that takes long.";

/// The site, or one of its agents, as a set of tools.
#[derive(Debug, Clone)]
pub struct Toolkit {
    site: Arc<ToolkitParts>,
    /// For whom it was made; changes are told to this one.
    caller: Caller,
    /// Under which address the site is reached, for cards.
    base: Option<Arc<str>>,
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
pub enum ToolOutcome {
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

impl From<TaskError> for ToolkitError {
    fn from(error: TaskError) -> Self {
        Self::Site(error.into())
    }
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
                let entry = self.0.local.visible(caller, name)?;
                match entry.runner.toolbox() {
                    Some(toolbox) => Kind::Hosted(entry, toolbox),
                    None => Kind::Agent(entry),
                }
            }
        };
        Ok(Toolkit { site: self.0.toolkit.clone(), caller: caller.clone(), base: None, kind })
    }
}

impl Toolkit {
    /// The same, with the address under which the site is reached, such as `https://example.org`: cards then
    /// name it and are signed.
    #[must_use]
    pub fn at(self, base: &str) -> Self {
        Self { base: Some(base.into()), ..self }
    }

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
        let talked_to = |name: String, version: String, instructions: String| About {
            name,
            version,
            instructions: Some(instructions),
            resources: true,
            prompts: true,
            completions: true,
            logging: false,
        };
        match &self.kind {
            Kind::Whole => {
                let site = &self.site.settings.site;
                let words = format!("{}. {HOW_TO_USE}", site.description.trim_end().trim_end_matches('.'));
                talked_to(site.name.clone(), env!("CARGO_PKG_VERSION").into(), words)
            }
            Kind::Agent(entry) => {
                let (name, manifest) = (entry.manifest.name.to_string(), &entry.manifest);
                let words = format!(
                    "{} Send it a `message`; its answer comes with `context`, to go on with the conversation, and `task`, to answer a question.",
                    manifest.description
                );
                talked_to(name, manifest.version.clone(), words)
            }
            Kind::Hosted(entry, toolbox) => {
                let mut about = toolbox.about();
                if about.name.is_empty() {
                    about.name = entry.manifest.name.to_string();
                }
                if about.version.is_empty() {
                    about.version.clone_from(&entry.manifest.version);
                }
                about
            }
        }
    }

    /// All tools, in a fixed order.
    ///
    /// # Errors
    /// [`ToolkitError`] says what is wrong.
    pub async fn tools(&self, exchange: &Exchange) -> Result<Arc<[Tool]>, ToolkitError> {
        Ok(match &self.kind {
            Kind::Hosted(_, toolbox) => toolbox.tools(exchange).await?,
            Kind::Agent(entry) => offers::listed(offers::of_agent(entry)).into(),
            Kind::Whole => offers::listed(offers::of_site(&self.site, exchange).await).into(),
        })
    }

    /// The schema of a tool's arguments where others than the site wrote it; `None` for the site's own tools
    /// and for those that are not there.
    ///
    /// # Errors
    /// [`ToolkitError`] says what is wrong.
    pub async fn foreign_schema(
        &self,
        exchange: &Exchange,
        name: &str,
    ) -> Result<Option<Value>, ToolkitError> {
        let offer = match &self.kind {
            Kind::Hosted(_, toolbox) => {
                let tools = toolbox.tools(exchange).await?;
                let tool = tools.iter().find(|tool| tool.name == name);
                return Ok(tool.map(|tool| tool.input_schema.clone()));
            }
            Kind::Agent(entry) => offers::in_agent(entry, name),
            Kind::Whole => offers::in_site(&self.site, exchange, name).await,
        };
        Ok(offer.as_ref().and_then(offers::foreign_schema))
    }

    /// Uses a tool.
    ///
    /// # Errors
    /// [`ToolkitError`] says what is wrong.
    pub async fn call(&self, exchange: Exchange, call: ToolCall) -> Result<ToolOutcome, ToolkitError> {
        let offer = match &self.kind {
            Kind::Hosted(entry, toolbox) => {
                return Box::pin(hosted::call(&self.site, entry, toolbox, exchange, call)).await;
            }
            Kind::Agent(entry) => offers::in_agent(entry, &call.name),
            Kind::Whole => offers::in_site(&self.site, &exchange, &call.name).await,
        };
        let site = &self.site;
        match offer {
            None => Err(ToolFault::NoSuchTool(agentsite_tasks::excerpt(&call.name)).into()),
            Some(Offer::Service(service)) => Box::pin(service.call(site, exchange, call)).await,
            Some(Offer::Agent(entry)) => talk::say(site, &entry, exchange, call.arguments, &call.round).await,
            Some(Offer::Skill(entry, at)) => {
                let skill = &entry.manifest.skills[at];
                Box::pin(talk::use_skill(site, &entry, skill, exchange, call.arguments, &call.round)).await
            }
            Some(Offer::Tool(entry, toolbox, tool)) => {
                let call = ToolCall { name: tool.name, ..call };
                Box::pin(hosted::call(site, &entry, &toolbox, exchange, call)).await
            }
        }
    }

    /// All resources with a fixed address, in a fixed order.
    ///
    /// # Errors
    /// [`ToolkitError`] says what is wrong.
    pub async fn resources(&self, exchange: &Exchange) -> Result<Vec<Resource>, ToolkitError> {
        match &self.kind {
            Kind::Hosted(_, toolbox) => Ok(toolbox.resources(exchange).await?),
            Kind::Whole | Kind::Agent(_) => self.site_resources(&exchange.caller).await,
        }
    }

    /// All families of resources, in a fixed order.
    ///
    /// # Errors
    /// [`ToolkitError`] says what is wrong.
    pub async fn templates(&self, exchange: &Exchange) -> Result<Vec<ResourceTemplate>, ToolkitError> {
        match &self.kind {
            Kind::Hosted(_, toolbox) => Ok(toolbox.templates(exchange).await?),
            Kind::Whole | Kind::Agent(_) => Ok(resources::templates()),
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
            Kind::Hosted(entry, toolbox) => {
                let cancel = exchange.cancel.clone();
                let weight = |all: &Vec<Contents>| all.iter().map(Contents::size).sum();
                let toolbox = RemoteToolbox::near(entry, toolbox, &self.site.calls);
                hosted::within(&self.site, entry, &cancel, toolbox.read(exchange, reading), weight).await
            }
            Kind::Whole | Kind::Agent(_) => {
                self.site_resource(&exchange.caller, &reading.uri).await.map(Reply::Done)
            }
        }
    }

    /// All prompts, in a fixed order.
    ///
    /// # Errors
    /// [`ToolkitError`] says what is wrong.
    pub async fn prompts(&self, exchange: &Exchange) -> Result<Vec<Prompt>, ToolkitError> {
        match &self.kind {
            Kind::Hosted(_, toolbox) => Ok(toolbox.prompts(exchange).await?),
            Kind::Whole | Kind::Agent(_) => Ok(self.site_prompts(&exchange.caller)),
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
            Kind::Hosted(entry, toolbox) => {
                let cancel = exchange.cancel.clone();
                let weight = |text: &PromptText| text.messages.iter().map(|one| one.content.size()).sum();
                let toolbox = RemoteToolbox::near(entry, toolbox, &self.site.calls);
                hosted::within(&self.site, entry, &cancel, toolbox.prompt(exchange, call), weight).await
            }
            Kind::Whole | Kind::Agent(_) => self.site_prompt(&exchange.caller, &call).map(Reply::Done),
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
            Kind::Whole | Kind::Agent(_) => self.site_completions(&exchange.caller, &completing).await,
        }
    }

    /// The calls of its tools that became tasks.
    #[must_use]
    pub const fn tasks(&self) -> ToolTasks<'_> {
        ToolTasks { toolkit: self }
    }

    /// The agents of this toolkit that the caller may call.
    fn agents(&self, caller: &Caller) -> Vec<Arc<Entry>> {
        match &self.kind {
            Kind::Whole => self.site.local.list(caller),
            Kind::Agent(entry) | Kind::Hosted(entry, _) => {
                let visible = entry.is_for(caller);
                Some(entry.clone()).filter(|_| visible).into_iter().collect()
            }
        }
    }
}
