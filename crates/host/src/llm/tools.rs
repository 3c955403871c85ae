//! The tools of an agent: other agents that its model may ask.
//!
//! Promises: every tool takes one text and gives one text, both bounded; arguments that are not what the tool wants give words
//! for the model, never a failure of the run. It does not count calls: the run does.

use std::sync::Arc;

use agentsite_client::Egress;
use agentsite_protocol::AgentName;
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::model::{ToolCall, ToolSpec};
use super::remote::RemoteAgent;
use crate::Job;

/// Longest name of a tool that every model server takes.
const MAX_TOOL_NAME: usize = 64;

/// Most bytes of an answer that go back to the model: about 8,000 tokens.
const MAX_RESULT: usize = 32 << 10;

/// Longest description of a tool; each turn pays for it again.
const MAX_DESCRIPTION: usize = 2_000;

/// An agent that a model may ask.
#[derive(Debug, Clone)]
pub(super) struct AgentTool {
    /// The name under which the model calls it.
    pub(super) name: String,
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

/// What a model sends to a tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    message: String,
}

impl AgentTool {
    /// Reads the tools of an agent's file: `agent:NAME` or `agent:URL`. Gives the first that is neither.
    pub(super) fn read(tools: &[String], egress: &Egress) -> Result<Vec<Self>, String> {
        let mut read: Vec<Self> = Vec::new();
        for tool in tools {
            let (label, target) = target(tool, egress).ok_or_else(|| tool.clone())?;
            let name = free_name(&label, &read);
            read.push(Self { name, label, target });
        }
        Ok(read)
    }

    /// How the tool is told to the model, or why the agent cannot be asked now.
    pub(super) async fn spec(&self, job: &Job) -> Result<ToolSpec, String> {
        let does = match &self.target {
            Target::Here(name) => {
                job.calls.describe(name).ok_or_else(|| format!("there is no agent `{name}` here"))?
            }
            Target::Elsewhere(agent) => agent.describe(job.ids.clock().now()).await?,
        };
        let does: String = does.chars().take(MAX_DESCRIPTION).collect();
        let hint = "What to ask, complete in itself: the agent sees nothing else of this conversation.";
        let schema = json!({
            "type": "object",
            "properties": {"message": {"type": "string", "description": hint}},
            "required": ["message"],
            "additionalProperties": false,
        });
        Ok(ToolSpec {
            name: self.name.clone(),
            description: format!("Asks the agent {}. {does}", self.label),
            schema,
        })
    }

    /// Asks the agent and gives its answer, or words about what went wrong.
    pub(super) async fn ask(&self, job: &Job, message: String) -> Result<String, String> {
        match &self.target {
            Target::Here(name) => {
                let answer = job.calls.call(job.from(), name.clone(), message).await;
                answer.map(bounded).map_err(|error| bounded(error.to_string()))
            }
            Target::Elsewhere(agent) => agent.ask(job, message).await.map(bounded).map_err(bounded),
        }
    }
}

/// The tool that a call means and the message for it, or words for the model about what is wrong.
pub(super) fn understand<'a>(
    tools: &'a [AgentTool],
    call: &ToolCall,
) -> Result<(&'a AgentTool, String), String> {
    let Some(tool) = tools.iter().find(|tool| tool.name == call.name) else {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        return Err(format!(
            "there is no tool `{}`; there are: {}",
            excerpt(&call.name, 64),
            names.join(", ")
        ));
    };
    let arguments: Arguments = serde_json::from_str(&call.arguments).map_err(|error| {
        let wrote = excerpt(&call.arguments, 200);
        format!("the arguments must be JSON like {{\"message\": \"…\"}} ({error}); you wrote: {wrote}")
    })?;
    Ok((tool, arguments.message))
}

/// The beginning of a text on one line, for people.
pub(super) fn excerpt(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    line.chars().take(most).chain(['…']).collect()
}

/// The target of a tool, with the name by which people know it.
fn target(tool: &str, egress: &Egress) -> Option<(String, Target)> {
    let target = tool.strip_prefix("agent:")?;
    if target.starts_with("http://") || target.starts_with("https://") {
        let url = Url::parse(target).ok()?;
        let host = url.host_str()?.to_owned();
        return Some((host, Target::Elsewhere(Arc::new(RemoteAgent::new(url, egress)))));
    }
    let name: AgentName = target.parse().ok()?;
    Some((name.to_string(), Target::Here(name)))
}

/// A name for the model that no other tool has.
fn free_name(label: &str, taken: &[AgentTool]) -> String {
    let letters = label.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' });
    let plain: String = "ask_".chars().chain(letters).take(MAX_TOOL_NAME).collect();
    let mut name = plain.clone();
    let mut number = 2;
    while taken.iter().any(|tool| tool.name == name) {
        let suffix = format!("_{number}");
        name = format!("{}{suffix}", &plain[..plain.len().min(MAX_TOOL_NAME - suffix.len())]);
        number += 1;
    }
    name
}

fn bounded(mut text: String) -> String {
    if text.len() > MAX_RESULT {
        let mut end = MAX_RESULT;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str("\n[the answer was longer and is cut here]");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(names: &[&str]) -> Vec<AgentTool> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        AgentTool::read(&names, &Egress::default()).unwrap()
    }

    fn call(name: &str, arguments: &str) -> ToolCall {
        ToolCall { id: "1".into(), name: name.into(), arguments: arguments.into() }
    }

    #[test]
    fn every_tool_has_a_name_of_its_own_that_servers_take() {
        let long = format!("agent:{}", "x".repeat(63));
        let tools = tools(&[
            "agent:calc",
            "agent:https://a.example/one",
            "agent:https://a.example/two",
            &long,
            &long,
        ]);
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names[..3], ["ask_calc", "ask_a_example", "ask_a_example_2"]);
        assert!(names[3].len() == 64 && names[4].len() == 64 && names[3] != names[4]);
    }

    #[test]
    fn what_is_no_agent_is_named() {
        let wrong =
            AgentTool::read(&["agent:calc".into(), "shell:rm".into()], &Egress::default()).unwrap_err();
        assert_eq!(wrong, "shell:rm");
    }

    #[test]
    fn arguments_must_be_what_the_tool_wants() {
        let tools = tools(&["agent:calc"]);
        assert_eq!(understand(&tools, &call("ask_calc", r#"{"message":"2+2"}"#)).unwrap().1, "2+2");
        for bad in ["", "2+2", "{\"message\":4}", "{}", "{\"message\":\"a\",\"shout\":true}", "[\"a\"]extra"]
        {
            let told = understand(&tools, &call("ask_calc", bad)).unwrap_err();
            assert!(told.starts_with("the arguments must be JSON like"), "{told}");
        }
        let told = understand(&tools, &call("ask_bob", "{}")).unwrap_err();
        assert_eq!(told, "there is no tool `ask_bob`; there are: ask_calc");
    }

    #[test]
    fn long_answers_are_cut_between_characters() {
        let cut = bounded("é".repeat(MAX_RESULT));
        assert!(cut.len() < MAX_RESULT + 60 && cut.ends_with("cut here]"));
        assert_eq!(bounded("short".into()), "short");
        assert_eq!(excerpt("a\n b  c", 3), "a b…");
    }
}
