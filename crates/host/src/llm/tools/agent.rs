//! An agent as a tool: text in, text out.
//!
//! Promises: one text in, one text out. An agent of this site is asked through the site, one elsewhere by
//! A2A. It keeps no conversation: each question is independent.

use std::sync::Arc;

use agentsite_egress::Egress;
use agentsite_protocol::AgentName;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::excerpt;
use crate::Job;
use crate::llm::remote::RemoteAgent;

/// An agent that a model may ask.
#[derive(Debug, Clone)]
pub(in crate::llm) struct AgentTool {
    /// How people know it.
    pub(super) label: String,
    target: Target,
}

#[derive(Debug, Clone)]
enum Target {
    /// An agent of this site.
    Here(AgentName),
    /// An agent elsewhere, by the address of its card.
    Elsewhere(Arc<RemoteAgent>),
}

/// What a model sends to an agent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    message: String,
}

impl AgentTool {
    /// The agent of a name or an address; `None` when it is neither.
    pub(super) fn read(target: &str, egress: &Egress) -> Option<Self> {
        if target.starts_with("http://") || target.starts_with("https://") {
            let url = Url::parse(target).ok()?;
            let label = url.host_str()?.to_owned();
            let target = Target::Elsewhere(Arc::new(RemoteAgent::new(url, egress)));
            return Some(Self { label, target });
        }
        let name: AgentName = target.parse().ok()?;
        Some(Self { label: name.to_string(), target: Target::Here(name) })
    }

    /// What the agent does, or why it cannot be asked now.
    pub(super) async fn describe(&self, job: &Job) -> Result<String, String> {
        let does = match &self.target {
            Target::Here(name) => {
                job.calls.describe(name).ok_or_else(|| format!("there is no agent `{name}` here"))?
            }
            Target::Elsewhere(agent) => agent.describe(job.ids.clock().now()).await?,
        };
        Ok(format!("Asks the agent {}. {does}", self.label))
    }

    /// JSON Schema of what it is sent.
    pub(super) fn schema() -> Value {
        let hint = "What to ask, complete in itself: the agent sees nothing else of this conversation.";
        json!({
            "type": "object",
            "properties": {"message": {"type": "string", "description": hint}},
            "required": ["message"],
            "additionalProperties": false,
        })
    }

    /// The message in the arguments of a call, or words for the model about what is wrong with them.
    pub(super) fn message(arguments: &str) -> Result<String, String> {
        let read: Result<Arguments, _> = serde_json::from_str(arguments);
        read.map(|arguments| arguments.message).map_err(|error| {
            let wrote = excerpt(arguments, 200);
            format!("the arguments must be JSON like {{\"message\": \"…\"}} ({error}); you wrote: {wrote}")
        })
    }

    /// Asks the agent and gives its answer, or words about what went wrong.
    pub(super) async fn ask(&self, job: &Job, message: String) -> Result<String, String> {
        match &self.target {
            Target::Here(name) => {
                job.calls.call(job.from(), name.clone(), message).await.map_err(|error| error.to_string())
            }
            Target::Elsewhere(agent) => agent.ask(job, message).await,
        }
    }
}
