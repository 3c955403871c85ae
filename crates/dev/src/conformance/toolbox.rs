//! The toolbox of the conformance agent: every tool, resource and prompt that the public MCP conformance
//! suite asks for by name.
//!
//! Promises: names, arguments and answers are those of `@modelcontextprotocol/conformance` 0.2.0-alpha.12,
//! for revisions 2025-11-25 and 2026-07-28 and the tasks extension. It only uses the public Toolbox seam: a
//! tool that asks a question returns it and is called again with the answer. The first tool takes no
//! arguments, because the suite calls whichever comes first.
//!
//! It remembers nothing between calls; what it needs on the next round is in the state of the round.

mod content;
mod jobs;
mod notices;
mod prompts;
mod questions;
mod resources;

use std::sync::Arc;

use agentsite_host::{About, CHANGE_QUEUE, Change, Exchange, ToolFault, Toolbox};
use agentsite_protocol::mcp::{
    Completing, Completions, Contents, Prompt, PromptCall, PromptText, Reading, Reply, Resource,
    ResourceTemplate, Tool, ToolCall, ToolResult,
};
use futures::future::{BoxFuture, ready};
use serde_json::{Value, json};
use tokio::sync::broadcast;

/// How a call of a tool went.
type Played = Result<Reply<ToolResult>, ToolFault>;

/// One tool and what it does.
#[derive(Debug)]
struct Fixture {
    tool: Tool,
    play: fn(Stage) -> BoxFuture<'static, Played>,
}

/// What a tool is called with.
struct Stage {
    exchange: Exchange,
    call: ToolCall,
    changes: broadcast::Sender<Change>,
}

/// The tools, resources and prompts of the suite.
#[derive(Debug)]
pub(super) struct SuiteToolbox {
    fixtures: Vec<Fixture>,
    tools: Arc<[Tool]>,
    changes: broadcast::Sender<Change>,
}

impl SuiteToolbox {
    pub(super) fn new() -> Self {
        let fixtures = fixtures();
        let tools = fixtures.iter().map(|fixture| fixture.tool.clone()).collect();
        Self { fixtures, tools, changes: broadcast::Sender::new(CHANGE_QUEUE) }
    }
}

impl Toolbox for SuiteToolbox {
    fn about(&self) -> About {
        About {
            instructions: Some("Each tool plays one scene of the MCP conformance suite.".into()),
            resources: true,
            prompts: true,
            completions: true,
            logging: true,
            ..About::default()
        }
    }

    fn tools(&self, _: &Exchange) -> BoxFuture<'_, Result<Arc<[Tool]>, ToolFault>> {
        Box::pin(ready(Ok(self.tools.clone())))
    }

    fn call(&self, exchange: Exchange, call: ToolCall) -> BoxFuture<'_, Played> {
        let known = self.fixtures.iter().find(|fixture| fixture.tool.name == call.name);
        match known {
            Some(fixture) => (fixture.play)(Stage { exchange, call, changes: self.changes.clone() }),
            None => Box::pin(ready(Err(ToolFault::NoSuchTool(call.name)))),
        }
    }

    fn resources(&self, _: &Exchange) -> BoxFuture<'_, Result<Vec<Resource>, ToolFault>> {
        Box::pin(ready(Ok(resources::all())))
    }

    fn templates(&self, _: &Exchange) -> BoxFuture<'_, Result<Vec<ResourceTemplate>, ToolFault>> {
        Box::pin(ready(Ok(resources::templates())))
    }

    fn read(&self, _: Exchange, reading: Reading) -> BoxFuture<'_, Result<Reply<Vec<Contents>>, ToolFault>> {
        Box::pin(ready(resources::read(&reading.uri).map(Reply::Done)))
    }

    fn prompts(&self, _: &Exchange) -> BoxFuture<'_, Result<Vec<Prompt>, ToolFault>> {
        Box::pin(ready(Ok(prompts::all())))
    }

    fn prompt(
        &self,
        exchange: Exchange,
        call: PromptCall,
    ) -> BoxFuture<'_, Result<Reply<PromptText>, ToolFault>> {
        Box::pin(ready(prompts::fill(&exchange, &call)))
    }

    fn complete(
        &self,
        _: &Exchange,
        completing: Completing,
    ) -> BoxFuture<'_, Result<Completions, ToolFault>> {
        Box::pin(ready(Ok(prompts::complete(&completing))))
    }

    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        Some(self.changes.subscribe())
    }
}

/// All tools in the order in which they are listed.
fn fixtures() -> Vec<Fixture> {
    let mut all = content::fixtures();
    all.extend(notices::fixtures());
    all.extend(questions::fixtures());
    all.extend(jobs::fixtures());
    all
}

impl Fixture {
    /// A tool without arguments.
    fn new(name: &str, description: &str, play: fn(Stage) -> BoxFuture<'static, Played>) -> Self {
        Self::taking(name, description, json!({ "type": "object", "properties": {} }), play)
    }

    fn taking(
        name: &str,
        description: &str,
        schema: Value,
        play: fn(Stage) -> BoxFuture<'static, Played>,
    ) -> Self {
        let tool = Tool {
            name: name.into(),
            description: Some(description.into()),
            input_schema: schema,
            ..Tool::default()
        };
        Self { tool, play }
    }
}

impl Stage {
    /// A text argument; empty when it is missing.
    fn word(&self, name: &str) -> &str {
        self.call.arguments.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// The answer to a question of an earlier round, if it has the form of one.
    fn answer(&self, key: &str) -> Option<&Value> {
        self.call.round.answers.get(key).filter(|answer| answer.is_object())
    }
}

/// Ends a call at once.
fn at_once(played: Played) -> BoxFuture<'static, Played> {
    Box::pin(ready(played))
}

/// A result that is there at once.
fn done(result: ToolResult) -> BoxFuture<'static, Played> {
    at_once(Ok(Reply::Done(result)))
}

#[cfg(test)]
mod tests;
