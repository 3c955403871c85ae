//! Calls of an agent that is a set of tools: within the limits of the agent, answered at once or handed back
//! as a task.
//!
//! Promises: a call waits for a place like a message, is cut off at the agent's own time and size, and a
//! toolbox that breaks down breaks nothing else. A call that is to be followed is a task of the site before
//! its client hears of it.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use agentsite_host::{Ephemeral, Exchange, ToolFault, Toolbox, ToolboxRunner};
use agentsite_protocol::mcp::{Content, Reply, TaskSupport, ToolCall, ToolResult};
use agentsite_protocol::{Caller, Message, Part, Role, Task};
use futures::FutureExt;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::parts::ToolkitParts;
use super::task::view;
use super::{ToolOutcome, ToolkitError};
use crate::SiteError;
use crate::local_agents::Entry;
use crate::remote_toolbox::RemoteToolbox;
use agentsite_tasks::{Slot, TaskError, TaskRequest, check_message};

/// The name of the extension by which clients follow tasks.
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Uses a tool of an agent that is a set of them.
pub(super) async fn call(
    site: &ToolkitParts,
    entry: &Arc<Entry>,
    toolbox: &Arc<dyn Toolbox>,
    exchange: Exchange,
    call: ToolCall,
) -> Result<ToolOutcome, ToolkitError> {
    let tools = toolbox.tools(&exchange).await?;
    let support = tools.iter().find(|tool| tool.name == call.name).map(|tool| tool.tasks).unwrap_or_default();
    let follows = exchange.abilities.tasks;
    let as_task = match support {
        TaskSupport::Required | TaskSupport::AfterInput if !follows => {
            return Err(needs_tasks(&call.name).into());
        }
        TaskSupport::Never => false,
        TaskSupport::Optional => follows,
        TaskSupport::Required => true,
        TaskSupport::AfterInput => !call.round.answers.is_empty(),
    };
    if as_task {
        return submit(site, entry, &exchange.caller, call).await;
    }
    let cancel = exchange.cancel.clone();
    let toolbox = RemoteToolbox::near(entry, toolbox, &site.calls);
    let played = within(site, entry, &cancel, toolbox.call(exchange, call), weight).await?;
    Ok(ToolOutcome::Reply(played))
}

/// Makes a task of a call.
async fn submit(
    site: &ToolkitParts,
    entry: &Arc<Entry>,
    caller: &Caller,
    call: ToolCall,
) -> Result<ToolOutcome, ToolkitError> {
    let message = ToolboxRunner::request(blank(site), &call);
    check_message(&message, site.settings.max_message.0)?;
    let ephemeral =
        Ephemeral { trace: caller.trace().cloned(), state: call.round.state, ..Ephemeral::default() };
    let request = TaskRequest { ephemeral, ..TaskRequest::from(message) };
    let mut watch = site.tasks.send(caller, entry.agent.clone(), request).await?;
    Ok(ToolOutcome::Task(Box::new(view(site, &watch.snapshot()))))
}

/// Tells a task what was answered to its questions. While some are left it waits for the task to say which.
pub(super) async fn answer(
    site: &ToolkitParts,
    caller: &Caller,
    task: &Task,
    answers: BTreeMap<String, Value>,
    all: bool,
) -> Result<(), SiteError> {
    let Some(entry) = site.local.get(&task.head.agent) else { return Err(SiteError::Stopping) };
    let answers: serde_json::Map<String, Value> = answers.into_iter().collect();
    let mut message = blank(site);
    message.parts = vec![Part::data(json!({ "answers": answers }))];
    message.task_id = Some(task.head.id.to_string());
    check_message(&message, site.settings.max_message.0)?;
    let watch = site.tasks.send(caller, entry.agent.clone(), message.into()).await?;
    if !all {
        watch.settled().await;
    }
    Ok(())
}

/// Something that a toolbox does, within the limits of its agent; `weight` says how many bytes it gave.
pub(super) async fn within<T>(
    site: &ToolkitParts,
    entry: &Entry,
    cancel: &CancellationToken,
    work: impl Future<Output = Result<Reply<T>, ToolFault>>,
    weight: fn(&T) -> usize,
) -> Result<Reply<T>, ToolkitError> {
    let (name, limits) = (&entry.manifest.name, &entry.manifest.limits);
    let given_up = || ToolFault::Failed(format!("the call of {name} was given up"));
    let _slot = tokio::select! {
        // In this order: a free slot is taken, whatever the client does meanwhile.
        biased;
        slot = slot(site, entry) => slot?,
        () = cancel.cancelled() => return Err(given_up().into()),
    };
    let began = site.ids.clock().now();
    let ended = tokio::select! {
        ended = AssertUnwindSafe(work).catch_unwind() => ended,
        () = tokio::time::sleep(limits.timeout.0) => {
            let why = format!("{name} did not finish within {} (limits.timeout)", limits.timeout);
            return Err(ToolFault::Failed(why).into());
        }
        () = cancel.cancelled() => return Err(given_up().into()),
    };
    entry.took(site.ids.clock().now().since(began));
    let broke = |_| ToolFault::Failed(format!("{name} broke down; its log may say more"));
    let reply = ended.map_err(broke)??;
    if let Reply::Done(result) = &reply
        && weight(result) as u64 > limits.output.0
    {
        let why = format!("{name} produced more than {} (limits.output)", limits.output);
        return Err(ToolFault::Failed(why).into());
    }
    Ok(reply)
}

/// A slot of this process, unless another one does the work.
async fn slot(site: &ToolkitParts, entry: &Entry) -> Result<Option<Slot>, TaskError> {
    if !RemoteToolbox::needs_slot(entry, &site.calls) {
        return Ok(None);
    }
    site.tasks.control().slot(entry).await.map(Some)
}

fn weight(result: &ToolResult) -> usize {
    let structured = result.structured_content.as_ref().map_or(0, |value| value.to_string().len());
    result.content.iter().map(Content::size).sum::<usize>() + structured
}

fn blank(site: &ToolkitParts) -> Message {
    Message::text(site.ids.message(), Role::User, "")
}

/// The fault of a client that cannot follow what only goes on as a task.
fn needs_tasks(tool: &str) -> ToolFault {
    ToolFault::NeedsAbility {
        what: format!("{tool} takes long and is only for clients that follow tasks ({TASKS})"),
        capability: json!({ "extensions": { TASKS: {} } }),
    }
}
