//! Service: which tools there are about the site itself, and what their arguments are.
//!
//! Promises: pure; names and schemas are the same for every caller. What they do is in `services`.

use agentsite_protocol::mcp::{TaskSupport, Tool};
use agentsite_protocol::{MAX_FILTER_VALUE, MAX_FILTER_VALUES, TaskState};
use serde_json::{Value, json};

use super::talk::files_schema;

/// Agents found when nothing else is asked for, and most of them.
pub(super) const FOUND: (usize, usize) = (5, 50);

/// Agents or tasks on one page when nothing else is asked for, and most of them.
pub(super) const PAGE: (usize, usize) = (20, 100);

/// A tool about the site itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    FindAgents,
    CallAgent,
    GetTask,
    CancelTask,
    ListTasks,
    ListAgents,
    DescribeAgent,
}

impl Service {
    /// All of them, in the order in which they are listed.
    pub(super) const ALL: [Self; 7] = [
        Self::FindAgents,
        Self::CallAgent,
        Self::GetTask,
        Self::CancelTask,
        Self::ListTasks,
        Self::ListAgents,
        Self::DescribeAgent,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::FindAgents => "find_agents",
            Self::CallAgent => "call_agent",
            Self::GetTask => "get_task",
            Self::CancelTask => "cancel_task",
            Self::ListTasks => "list_tasks",
            Self::ListAgents => "list_agents",
            Self::DescribeAgent => "describe_agent",
        }
    }

    /// Whether it is only listed where there are too many agents to list their tools.
    pub(super) const fn is_for_many(self) -> bool {
        matches!(self, Self::ListAgents | Self::DescribeAgent)
    }

    const fn description(self) -> &'static str {
        match self {
            Self::FindAgents => {
                "Finds the agents that can do what you need, said in plain language: the best first, each with the reason"
            }
            Self::CallAgent => {
                "Calls an agent of this site: with a message in plain language, or with one of its tools and arguments"
            }
            Self::GetTask => "Tells where a task stands and what came of it",
            Self::CancelTask => "Ends a task that is not done",
            Self::ListTasks => "Lists your tasks, the last changed first",
            Self::ListAgents => "Lists the agents of this site by name",
            Self::DescribeAgent => {
                "Tells what an agent can do: its skills, and its tools with their arguments"
            }
        }
    }

    /// The tool as clients see it.
    pub(super) fn tool(self) -> Tool {
        let reads = !matches!(self, Self::CallAgent | Self::CancelTask);
        let hints = match self {
            Self::CallAgent => json!({ "readOnlyHint": false, "openWorldHint": true }),
            Self::CancelTask => json!({
                "readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false,
            }),
            _ => json!({ "readOnlyHint": reads, "openWorldHint": false }),
        };
        Tool {
            name: self.name().into(),
            description: Some(self.description().into()),
            input_schema: self.schema(),
            annotations: hints.as_object().cloned(),
            tasks: if self == Self::CallAgent { TaskSupport::Optional } else { TaskSupport::Never },
            ..Tool::default()
        }
    }

    /// The schema of its arguments.
    pub(super) fn schema(self) -> Value {
        let text = |about: &str| json!({ "type": "string", "description": about });
        let number = |most: usize, about: &str| json!({ "type": "integer", "minimum": 1, "maximum": most, "description": about });
        let (fields, required) = match self {
            Self::FindAgents => (
                json!({
                    "query": text("What you need, in plain language"),
                    "k": number(FOUND.1, "How many; 5 when left out"),
                    "filter": filter_schema(),
                    "reach": reach_schema(),
                }),
                vec!["query"],
            ),
            Self::CallAgent => (
                json!({
                    "agent": text("Its name"),
                    "message": text("What you want, in plain language"),
                    "tool": text("One of its tools, instead of a message"),
                    "arguments": { "type": "object", "description": "The arguments of that tool" },
                    "context": text("Goes on with a conversation: the `context` of an earlier answer"),
                    "task": text("Answers a question of the agent: the `task` that asked"),
                    "files": files_schema(),
                }),
                vec!["agent"],
            ),
            Self::GetTask | Self::CancelTask => (json!({ "task": text("Its id") }), vec!["task"]),
            Self::ListTasks => (
                json!({
                    "agent": text("Only those of this agent"),
                    "state": { "type": "string", "enum": TaskState::ALL.map(TaskState::word), "description": "Only those in this state" },
                    "limit": number(PAGE.1, "How many; 20 when left out"),
                }),
                vec![],
            ),
            Self::ListAgents => (
                json!({ "after": text("Goes on after this name"), "limit": number(PAGE.1, "How many; 20 when left out") }),
                vec![],
            ),
            Self::DescribeAgent => (json!({ "agent": text("Its name") }), vec!["agent"]),
        };
        json!({ "type": "object", "properties": fields, "required": required, "additionalProperties": false })
    }
}

/// The filter as a model may write it.
fn filter_schema() -> Value {
    let words = |about: &str| {
        let value = json!({ "type": "string", "minLength": 1, "maxLength": MAX_FILTER_VALUE });
        json!({ "type": "array", "maxItems": MAX_FILTER_VALUES, "items": value, "description": about })
    };
    json!({
        "type": "object",
        "description": "What a match must be; values of one field are alternatives",
        "properties": {
            "tags": words("Has one of these tags among its skills"),
            "protocols": words("Is called by one of these protocols: a2a, mcp"),
            "inputModes": words("Takes one of these media types"),
            "outputModes": words("Gives one of these media types"),
            "regions": words("Runs in one of these regions"),
            "owners": words("Belongs to one of these owners"),
            "live": { "type": "boolean", "description": "Answered when it was last looked at" },
            "maxPrice": { "type": "number", "minimum": 0, "description": "Costs at most this per call" },
            "minTrust": { "type": "number", "minimum": 0, "maximum": 1, "description": "Is trusted at least this much" },
        },
        "additionalProperties": false,
    })
}

/// How far to look, as a model may write it.
fn reach_schema() -> Value {
    json!({
        "type": "string",
        "enum": ["here", "upstreams"],
        "description": "`upstreams` also asks the registries elsewhere that the operator has named; `here` when left out",
    })
}
