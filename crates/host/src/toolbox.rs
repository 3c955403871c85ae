//! The Toolbox seam: an agent that is a set of tools, resources and prompts, as MCP knows them.
//!
//! Promises: one value serves all callers at once; questions back to the caller are part of a reply, so no
//! method waits for a person. Lists come whole, bounded and in an order that does not change by itself;
//! the gateway cuts pages. Notices flow through a bounded channel and are dropped when they are not read
//! fast enough: they are never worth slowing a tool down.
//!
//! It does not know sessions, wire versions or tasks: `site` records calls as tasks and `gateway` implements
//! the protocol.

use std::fmt;
use std::sync::Arc;

use agentsite_protocol::mcp::{
    Abilities, Completing, Completions, Contents, Prompt, PromptCall, PromptText, Reading, Reply, Resource,
    ResourceTemplate, Tool, ToolCall, ToolResult,
};
pub use agentsite_protocol::mcp::{Change, LogLevel, Notice};
use agentsite_protocol::{Caller, JsonMap};
use futures::future::{BoxFuture, ready};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;

use crate::TaskBudget;

/// Notices that may wait between a tool and its caller; more would only be old news.
pub const NOTICE_QUEUE: usize = 64;

/// Changes that may wait for a listener; one that is further behind learns that everything changed.
pub const CHANGE_QUEUE: usize = 64;

/// A set of tools, resources and prompts.
pub trait Toolbox: Send + Sync + fmt::Debug + 'static {
    /// What there is besides tools, and what to tell a model about it all.
    fn about(&self) -> About {
        About::default()
    }

    /// All tools, in a fixed order.
    fn tools(&self, exchange: &Exchange) -> BoxFuture<'_, Result<Arc<[Tool]>, ToolFault>>;

    /// Uses a tool. Dropping the future must stop everything it started.
    fn call(&self, exchange: Exchange, call: ToolCall)
    -> BoxFuture<'_, Result<Reply<ToolResult>, ToolFault>>;

    /// All resources with a fixed address, in a fixed order.
    fn resources(&self, exchange: &Exchange) -> BoxFuture<'_, Result<Vec<Resource>, ToolFault>> {
        let _ = exchange;
        Box::pin(ready(Ok(Vec::new())))
    }

    /// All families of resources, in a fixed order.
    fn templates(&self, exchange: &Exchange) -> BoxFuture<'_, Result<Vec<ResourceTemplate>, ToolFault>> {
        let _ = exchange;
        Box::pin(ready(Ok(Vec::new())))
    }

    /// Reads a resource.
    fn read(
        &self,
        exchange: Exchange,
        reading: Reading,
    ) -> BoxFuture<'_, Result<Reply<Vec<Contents>>, ToolFault>> {
        let _ = exchange;
        Box::pin(ready(Err(ToolFault::NoSuchResource(reading.uri))))
    }

    /// All prompts, in a fixed order.
    fn prompts(&self, exchange: &Exchange) -> BoxFuture<'_, Result<Vec<Prompt>, ToolFault>> {
        let _ = exchange;
        Box::pin(ready(Ok(Vec::new())))
    }

    /// Fills a prompt.
    fn prompt(
        &self,
        exchange: Exchange,
        call: PromptCall,
    ) -> BoxFuture<'_, Result<Reply<PromptText>, ToolFault>> {
        let _ = exchange;
        Box::pin(ready(Err(ToolFault::NoSuchPrompt(call.name))))
    }

    /// What may fill a place of a prompt or a template.
    fn complete(
        &self,
        exchange: &Exchange,
        completing: Completing,
    ) -> BoxFuture<'_, Result<Completions, ToolFault>> {
        let _ = (exchange, completing);
        Box::pin(ready(Ok(Completions::default())))
    }

    /// Tells from now on what changes; `None` when nothing ever does.
    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        None
    }

    /// A caller subscribes to this resource, or no longer does.
    fn watch(&self, uri: &str, on: bool) {
        let _ = (uri, on);
    }
}

/// What a toolbox is, besides its tools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct About {
    /// Its name for programs; the agent's own when empty.
    pub name: String,
    /// Its version; the agent's own when empty.
    pub version: String,
    /// How a model should use it.
    pub instructions: Option<String>,
    /// Whether it has resources.
    pub resources: bool,
    /// Whether it has prompts.
    pub prompts: bool,
    /// Whether it completes arguments.
    pub completions: bool,
    /// Whether its tools log.
    pub logging: bool,
}

/// One request while it is answered: its caller, what the client can do, and the way back to it.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The caller.
    pub caller: Caller,
    /// What the client can do when it is asked back.
    pub abilities: Abilities,
    /// What the client sent along in `_meta`, without the protocol's own keys.
    pub meta: JsonMap,
    /// Fires when the answer is no longer needed.
    pub cancel: CancellationToken,
    /// What the message behind the request may still spend.
    pub budget: TaskBudget,
    notices: Option<mpsc::Sender<Notice>>,
}

impl Exchange {
    /// An exchange whose notices are not read.
    #[must_use]
    pub fn silent(caller: Caller, abilities: Abilities) -> Self {
        Self {
            caller,
            abilities,
            meta: JsonMap::new(),
            cancel: CancellationToken::new(),
            budget: TaskBudget::default(),
            notices: None,
        }
    }

    /// An exchange and the end at which its notices are read.
    #[must_use]
    pub fn new(caller: Caller, abilities: Abilities) -> (Self, mpsc::Receiver<Notice>) {
        let (sender, receiver) = mpsc::channel(NOTICE_QUEUE);
        let exchange = Self { notices: Some(sender), ..Self::silent(caller, abilities) };
        (exchange, receiver)
    }

    /// Tells the client something on the way; lost when the client does not keep up.
    pub fn tell(&self, notice: Notice) {
        if let Some(notices) = &self.notices {
            let _ = notices.try_send(notice);
        }
    }
}

/// Why a toolbox did not do what was asked. What a model could mend is a result with `is_error` instead.
#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolFault {
    /// There is no such tool.
    #[error("there is no tool `{0}` here; list the tools to see which there are")]
    NoSuchTool(String),
    /// There is no such resource.
    #[error("there is no resource `{0}` here; list the resources to see which there are")]
    NoSuchResource(String),
    /// There is no such prompt.
    #[error("there is no prompt `{0}` here; list the prompts to see which there are")]
    NoSuchPrompt(String),
    /// The request is not what the tool, resource or prompt takes.
    #[error("{0}")]
    BadArguments(String),
    /// The client must be able to do something that it did not declare; the value is that capability.
    #[error("{what}")]
    NeedsAbility {
        /// What it must be able to do, as text.
        what: String,
        /// The capability in the protocol's own form.
        capability: Value,
    },
    /// The server behind it cannot be reached or broke off.
    #[error("{0}")]
    Down(String),
    /// It failed in a way that no change of the request mends.
    #[error("{0}")]
    Failed(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_that_nobody_reads_are_dropped_and_do_not_wait() {
        let (exchange, mut read) = Exchange::new(Caller::local(), Abilities::default());
        for progress in 0..(NOTICE_QUEUE * 2) {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            exchange.tell(Notice::Progress { progress: progress as f64, total: None, message: None });
        }
        let mut seen = 0;
        while read.try_recv().is_ok() {
            seen += 1;
        }
        assert_eq!(seen, NOTICE_QUEUE);
    }
}
