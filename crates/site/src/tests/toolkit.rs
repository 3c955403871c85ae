//! The site and its agents as sets of tools.
//!
//! What is shared by these stories is here: clients that can do more or less, a set of tools, and a way to
//! call them.

mod agents;
mod hosted;
mod resources;
mod whole;

use std::sync::Arc;

use agentsite_host::{Exchange, ToolFault, Toolbox, ToolboxRunner};
use agentsite_protocol::mcp::{
    Abilities, InputNeeded, InputRequest, Reply, Round, TaskSupport, Tool, ToolCall, ToolResult,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::*;
use crate::{ToolOutcome, Toolkit, ToolkitError};

/// A client that can do nothing but call.
const PLAIN: Abilities = Abilities { forms: false, urls: false, sampling: false, roots: false, tasks: false };

/// A client that fills forms.
const FORMS: Abilities = Abilities { forms: true, ..PLAIN };

/// A client that follows tasks.
const TASKS: Abilities = Abilities { tasks: true, forms: true, ..PLAIN };

/// Tools that do what their names say.
#[derive(Debug)]
struct Tools;

impl Toolbox for Tools {
    fn tools(&self, _: &Exchange) -> BoxFuture<'_, Result<Arc<[Tool]>, ToolFault>> {
        let tool = |name: &str, tasks| Tool {
            name: name.into(),
            description: Some(format!("Does {name}")),
            input_schema: json!({ "type": "object" }),
            tasks,
            ..Tool::default()
        };
        let tools = [
            tool("echo", TaskSupport::Never),
            tool("slow", TaskSupport::Optional),
            tool("ask", TaskSupport::Optional),
            tool("long", TaskSupport::Required),
            tool("broken", TaskSupport::Optional),
            tool("gather", TaskSupport::AfterInput),
            tool("loud", TaskSupport::Never),
            tool("stuck", TaskSupport::Never),
            tool("panics", TaskSupport::Never),
        ];
        Box::pin(std::future::ready(Ok(Arc::from(tools))))
    }

    fn call(&self, _: Exchange, call: ToolCall) -> BoxFuture<'_, Result<Reply<ToolResult>, ToolFault>> {
        Box::pin(async move {
            let said = call.arguments.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
            match call.name.as_str() {
                "echo" | "slow" => Ok(Reply::Done(ToolResult::text(said))),
                "long" => Ok(Reply::Done(ToolResult::error("it failed"))),
                "broken" => Err(ToolFault::Failed("it broke".into())),
                "ask" => Ok(asks(&call, &["one", "two"])),
                "gather" => Ok(asks(&call, &["one"])),
                "loud" => Ok(Reply::Done(ToolResult::text("x".repeat(2_000)))),
                "stuck" => std::future::pending().await,
                "panics" => panic!("on purpose"),
                _ => Err(ToolFault::NoSuchTool(call.name)),
            }
        })
    }
}

/// Asks for these, and gives all answers once they are there.
fn asks(call: &ToolCall, names: &[&str]) -> Reply<ToolResult> {
    let given =
        |name: &&str| call.round.answers.get(*name).and_then(|answer| answer["content"]["it"].as_str());
    let answers: Vec<&str> = names.iter().filter_map(given).collect();
    if answers.len() == names.len() {
        return Reply::Done(ToolResult::text(answers.join("+")));
    }
    let params = json!({ "message": "?", "requestedSchema": { "type": "object", "properties": { "it": { "type": "string" } } } });
    let form =
        InputRequest { method: "elicitation/create".into(), params: params.as_object().unwrap().clone() };
    let requests = names.iter().map(|name| ((*name).to_owned(), form.clone())).collect();
    Reply::Input(InputNeeded { requests, state: Some(json!({ "from": "tool" })) })
}

impl Story {
    /// An agent that is a set of tools.
    fn tools(&self, more: &str) -> AgentName {
        self.agent_with("bench", more, Arc::new(ToolboxRunner::new(Arc::new(Tools))))
    }

    fn kit(&self, agent: &AgentName) -> Toolkit {
        self.site.toolkit(&Caller::local(), Some(agent)).unwrap()
    }

    fn whole(&self) -> Toolkit {
        self.site.toolkit(&Caller::local(), None).unwrap()
    }
}

fn exchange(abilities: Abilities) -> Exchange {
    Exchange::silent(Caller::local(), abilities)
}

fn with(name: &str, arguments: &Value) -> ToolCall {
    let arguments = arguments.as_object().unwrap().clone();
    ToolCall { name: name.into(), arguments, round: Round::default() }
}

async fn call(
    kit: &Toolkit,
    abilities: Abilities,
    name: &str,
    arguments: Value,
) -> Result<ToolOutcome, ToolkitError> {
    kit.call(exchange(abilities), with(name, &arguments)).await
}

/// The result of a call that is answered at once.
pub(super) async fn result(kit: &Toolkit, name: &str, arguments: Value) -> ToolResult {
    match call(kit, PLAIN, name, arguments).await.unwrap() {
        ToolOutcome::Reply(Reply::Done(result)) => result,
        other => panic!("{name}: {other:?}"),
    }
}

fn stranger() -> Caller {
    Caller::anonymous("192.0.2.7".parse().unwrap())
}

fn form(answer: &str) -> Value {
    json!({ "action": "accept", "content": { "it": answer, "answer": answer } })
}
