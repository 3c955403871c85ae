//! Services: the tools about the site itself. They find agents and call them, and tell of tasks.
//!
//! Promises: whoever asks sees only agents that it may call and tasks that are its own; what is not for it
//! answers as not existing. What is wrong with the arguments comes back as a result that a model can mend.

mod describe;
mod found;

use std::sync::Arc;

use agentsite_host::{Exchange, ToolFault};
use agentsite_protocol::mcp::{Reply, ToolCall, ToolResult, misfit};
use agentsite_protocol::{AgentName, TaskHead, TaskId, TaskState};
use agentsite_store::TaskFilter;
use serde_json::{Value, json};

use super::answer::standing;
use super::parts::ToolkitParts;
use super::service::{FOUND, PAGE, Service};
use super::talk::{mendable, say, use_skill, wrong};
use super::{ToolOutcome, ToolkitError, hosted};
use crate::SiteError;
use crate::local_agents::Entry;

impl Service {
    /// Does what is asked.
    pub(super) async fn call(
        self,
        site: &ToolkitParts,
        exchange: Exchange,
        call: ToolCall,
    ) -> Result<ToolOutcome, ToolkitError> {
        let arguments = Value::Object(call.arguments.clone());
        if let Some(why) = misfit(&self.schema(), &arguments) {
            return Ok(wrong(&why));
        }
        if self == Self::CallAgent {
            return call_agent(site, exchange, call).await;
        }
        let done = match self {
            Self::FindAgents => found::find(site, &exchange, &arguments, limit(&arguments, "k", FOUND)).await,
            Self::GetTask => get(site, &exchange, &arguments).await,
            Self::CancelTask => cancel(site, &exchange, &arguments).await,
            Self::ListTasks => list(site, &exchange, &arguments).await,
            Self::ListAgents => {
                Ok(describe::list(site, &exchange, &arguments, limit(&arguments, "limit", PAGE)))
            }
            Self::DescribeAgent | Self::CallAgent => describe::one(site, &exchange, &arguments).await,
        };
        done.or_else(mendable).map(|result| ToolOutcome::Reply(Reply::Done(result)))
    }
}

/// Calls an agent by its name.
async fn call_agent(
    site: &ToolkitParts,
    exchange: Exchange,
    call: ToolCall,
) -> Result<ToolOutcome, ToolkitError> {
    let ToolCall { mut arguments, round, .. } = call;
    let entry = match visible(site, &exchange, &Value::Object(arguments.clone())) {
        Ok(entry) => entry,
        Err(error) => return mendable(error).map(|result| ToolOutcome::Reply(Reply::Done(result))),
    };
    arguments.remove("agent");
    let tool = arguments.remove("tool").and_then(|tool| tool.as_str().map(str::to_owned));
    let given =
        arguments.remove("arguments").and_then(|given| given.as_object().cloned()).unwrap_or_default();
    match (tool, entry.runner.toolbox()) {
        (None, None) => say(site, &entry, exchange, arguments, &round).await,
        (None, Some(_)) if !arguments.contains_key("message") => {
            Ok(wrong("this agent is a set of tools; name one as `tool`, with its `arguments`"))
        }
        // A set of tools may have a model that reads plain language; if not, it says so.
        (None, Some(_)) => say(site, &entry, exchange, arguments, &round).await,
        (Some(name), Some(toolbox)) => {
            let call = ToolCall { name, arguments: given, round };
            match hosted::call(site, &entry, &toolbox, exchange, call).await {
                Err(ToolkitError::Tool(fault @ ToolFault::NoSuchTool(_))) => Ok(wrong(&fault.to_string())),
                called => called,
            }
        }
        (Some(name), None) => {
            let skill =
                entry.manifest.skills.iter().find(|skill| skill.id == name && skill.input_schema.is_some());
            match skill {
                Some(skill) => use_skill(site, &entry, skill, exchange, given, &round).await,
                None => Ok(wrong("this agent has no such tool; send it a `message`")),
            }
        }
    }
}

async fn get(site: &ToolkitParts, exchange: &Exchange, arguments: &Value) -> Result<ToolResult, SiteError> {
    let task = site.tasks.get(&exchange.caller, task_id(arguments)?).await?;
    let told = standing(&task);
    let mut words = format!("{} is {}.", task.head.id, task.head.state.word());
    for part in [task.answer(), last_words(&task)] {
        if !part.is_empty() && !words.contains(&part) {
            words.push('\n');
            words.push_str(&part);
        }
    }
    Ok(ToolResult { structured_content: Some(told), ..ToolResult::text(words) })
}

fn last_words(task: &agentsite_protocol::Task) -> String {
    task.status.message.as_ref().map(agentsite_protocol::Message::plain_text).unwrap_or_default()
}

async fn cancel(
    site: &ToolkitParts,
    exchange: &Exchange,
    arguments: &Value,
) -> Result<ToolResult, SiteError> {
    let task = site.tasks.cancel(&exchange.caller, task_id(arguments)?).await?;
    let words = format!("{} is {}.", task.head.id, task.head.state.word());
    Ok(ToolResult { structured_content: Some(standing(&task)), ..ToolResult::text(words) })
}

async fn list(site: &ToolkitParts, exchange: &Exchange, arguments: &Value) -> Result<ToolResult, SiteError> {
    let states = arguments["state"].as_str().and_then(TaskState::from_word);
    let agent = match arguments["agent"].as_str() {
        Some(_) => Some(visible(site, exchange, arguments)?.manifest.name.clone()),
        None => None,
    };
    // Also for the people who run the site: an assistant wants to know of its own work.
    let owner = Some(exchange.caller.owner().clone());
    let filter = TaskFilter { owner, agent, states: states.into_iter().collect(), ..TaskFilter::default() };
    let page = site.tasks.list(&exchange.caller, filter, None, limit(arguments, "limit", PAGE)).await?;
    let line =
        |head: &TaskHead| format!("{} {} {} {}", head.id, head.agent, head.state.word(), head.updated_at);
    let row = |head: &TaskHead| json!({ "task": head.id, "agent": head.agent, "state": head.state.word(), "context": head.context, "updatedAt": head.updated_at });
    let lines: Vec<String> = page.items.iter().map(line).collect();
    let words = if lines.is_empty() { "You have no such tasks.".to_owned() } else { lines.join("\n") };
    let rows: Vec<Value> = page.items.iter().map(row).collect();
    let more = page.next.is_some();
    Ok(ToolResult {
        structured_content: Some(json!({ "tasks": rows, "more": more })),
        ..ToolResult::text(words)
    })
}

/// The agent that the arguments name, if it is for this caller.
fn visible(site: &ToolkitParts, exchange: &Exchange, arguments: &Value) -> Result<Arc<Entry>, SiteError> {
    let name = arguments["agent"].as_str().unwrap_or_default();
    let missing = || SiteError::NoSuchAgent(agentsite_tasks::excerpt(name));
    let name: AgentName = name.parse().map_err(|_| missing())?;
    site.local.visible(&exchange.caller, &name)
}

fn task_id(arguments: &Value) -> Result<TaskId, SiteError> {
    let id = arguments["task"].as_str().unwrap_or_default();
    id.parse().map_err(|_| SiteError::NoSuchTask(agentsite_tasks::excerpt(id)))
}

/// How many are wanted.
fn limit(arguments: &Value, name: &str, (usual, most): (usize, usize)) -> usize {
    let wanted = arguments[name].as_u64().and_then(|wanted| usize::try_from(wanted).ok());
    wanted.unwrap_or(usual).clamp(1, most)
}
