//! A set of tools for a model: those of a tool server of this site, or any local toolbox.
//!
//! Promises: a model sees each tool under its own schema; a set of many is offered in two stages (list and
//! describe, then call), because a model that reads hundreds of schemas chooses badly and pays for them in
//! every turn. The output of a tool is bounded, and errors go back to the model as text. It checks no
//! arguments: the tool does.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::mcp::{Abilities, Content, InputNeeded, Reply, Tool, ToolCall, ToolResult};
use agentsite_protocol::{AgentName, Caller, JsonMap};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Offer, excerpt};
use crate::{Exchange, Job, Toolbox};

/// Most tools of one set that are offered one by one; models begin to choose badly at about this number.
const MOST_AT_ONCE: usize = 40;

/// How long a set may take to tell its tools; a run waits for it before its first word.
const PATIENCE: Duration = Duration::from_secs(5);

/// Longest line about a tool in a list.
const LINE: usize = 160;

/// A set of tools that a model may use.
#[derive(Debug, Clone)]
pub(super) struct ToolboxSource {
    /// How people know it; empty for the only set of an agent.
    pub(super) label: String,
    place: ToolboxHandle,
}

#[derive(Debug, Clone)]
enum ToolboxHandle {
    /// An agent of this site that is a set of tools.
    Here(AgentName),
    /// Local.
    AtHand(Arc<dyn Toolbox>),
}

/// The tools of a set as they were when the run began.
#[derive(Clone)]
pub(in crate::llm) struct Stock {
    label: String,
    toolbox: Arc<dyn Toolbox>,
    tools: Arc<[Tool]>,
}

/// The label only: tools are long.
impl fmt::Debug for Stock {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Stock").field("label", &self.label).finish_non_exhaustive()
    }
}

/// What a model does with a set of tools.
#[derive(Debug, Clone)]
pub(super) enum Use {
    /// It calls this tool.
    Tool(String),
    /// It looks for tools.
    List,
    /// It reads about one.
    Describe,
    /// It calls one by its name.
    Call,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::llm) enum ToolOutcome {
    /// The answer.
    Answer(String),
    /// What went wrong, for the model.
    Error(String),
    /// The tool must know something first.
    Question(InputNeeded),
}

impl ToolOutcome {
    /// In one line, for people.
    pub(in crate::llm) fn in_short(&self) -> String {
        match self {
            Self::Answer(words) => format!("answer: {}", excerpt(words, LINE)),
            Self::Error(words) => format!("error: {}", excerpt(words, LINE)),
            Self::Question(_) => "a question".into(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    #[serde(default)]
    search: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
    #[serde(default)]
    arguments: JsonMap,
}

impl ToolboxSource {
    /// The tools of an agent of this site; `None` when that is not a name.
    pub(super) fn of_agent(name: &str) -> Option<Self> {
        let name: AgentName = name.parse().ok()?;
        Some(Self { label: name.to_string(), place: ToolboxHandle::Here(name) })
    }

    /// Local tools.
    pub(super) fn at_hand(label: &str, toolbox: Arc<dyn Toolbox>) -> Self {
        Self { label: label.to_owned(), place: ToolboxHandle::AtHand(toolbox) }
    }

    /// What a model may do with the set, or why it cannot be used now.
    pub(super) async fn offers(&self, job: &Job) -> Result<Vec<Offer>, String> {
        let toolbox = match &self.place {
            ToolboxHandle::AtHand(toolbox) => toolbox.clone(),
            ToolboxHandle::Here(name) => job
                .calls
                .toolbox(&job.from(), name)
                .ok_or_else(|| format!("there is no agent `{name}` here that is a set of tools"))?,
        };
        let exchange = exchange(job);
        let listing = tokio::time::timeout(PATIENCE, toolbox.tools(&exchange));
        let late = |_| format!("it did not list its tools within {} s", PATIENCE.as_secs());
        let tools = listing.await.map_err(late)?.map_err(|fault| fault.to_string())?;
        let stock = Arc::new(Stock { label: self.label.clone(), toolbox, tools });
        Ok(if stock.tools.len() > MOST_AT_ONCE { stock.in_two_stages() } else { stock.one_by_one() })
    }
}

impl Stock {
    fn one_by_one(self: &Arc<Self>) -> Vec<Offer> {
        let offer = |tool: &Tool| Offer {
            name: self.named(&tool.name),
            description: described(tool),
            schema: tool.input_schema.clone(),
            action: super::ToolAction::Use(self.clone(), Use::Tool(tool.name.clone())),
        };
        self.tools.iter().map(offer).collect()
    }

    fn in_two_stages(self: &Arc<Self>) -> Vec<Offer> {
        let (label, count) =
            (if self.label.is_empty() { "this agent" } else { &self.label }, self.tools.len());
        let name = json!({"type": "string", "description": "The name of the tool, as it is listed."});
        let offer = |name: &str, description: String, properties: Value, required: &[&str], how: Use| Offer {
            name: self.named(name),
            description,
            schema: json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false}),
            action: super::ToolAction::Use(self.clone(), how),
        };
        let search = json!({"search": {"type": "string", "description": "Only tools with these words in their name or description."}});
        let arguments =
            json!({"type": "object", "description": "What the tool takes; read its description first."});
        vec![
            offer("list_tools", format!("Lists the {count} tools of {label}."), search, &[], Use::List),
            offer(
                "describe_tool",
                format!("Tells what a tool of {label} does and which arguments it takes."),
                json!({"name": name}),
                &["name"],
                Use::Describe,
            ),
            offer(
                "call_tool",
                format!("Calls a tool of {label}."),
                json!({"name": name, "arguments": arguments}),
                &["name"],
                Use::Call,
            ),
        ]
    }

    fn named(&self, tool: &str) -> String {
        if self.label.is_empty() { tool.to_owned() } else { format!("{}_{tool}", self.label) }
    }

    /// What a call of the model means: a call of a tool, or an answer at once; words for the model when it
    /// means nothing.
    pub(super) fn understand(&self, how: &Use, arguments: &str) -> Result<Ordered, String> {
        match how {
            Use::Tool(name) => {
                let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
                let arguments = read("an object of the tool's arguments", arguments)?;
                Ok(Ordered::Call(ToolCall { name: name.clone(), arguments, ..ToolCall::default() }))
            }
            Use::List => {
                let SearchArguments { search } = read("{\"search\": \"…\"}", arguments)?;
                Ok(Ordered::Answer(self.list(&search)))
            }
            Use::Describe => {
                let Named { name, .. } = read("{\"name\": \"…\"}", arguments)?;
                let tool = self.tool(&name)?;
                let schema = &tool.input_schema;
                Ok(Ordered::Answer(format!("{}\nArguments (JSON Schema): {schema}", described(tool))))
            }
            Use::Call => {
                let Named { name, arguments } = read("{\"name\": \"…\", \"arguments\": {…}}", arguments)?;
                self.tool(&name)?;
                Ok(Ordered::Call(ToolCall { name, arguments, ..ToolCall::default() }))
            }
        }
    }

    /// How people read what the model does.
    pub(super) fn wording(&self, call: &ToolCall) -> String {
        let arguments = Value::Object(call.arguments.clone()).to_string();
        let of = if self.label.is_empty() { String::new() } else { format!("{} ", self.label) };
        format!("uses {of}{}: {arguments}", call.name)
    }

    /// Calls a tool.
    pub(super) async fn call(&self, job: &Job, call: ToolCall) -> ToolOutcome {
        match self.toolbox.call(exchange(job), call).await {
            Ok(Reply::Done(result)) if result.is_error => ToolOutcome::Error(in_words(&result)),
            Ok(Reply::Done(result)) => ToolOutcome::Answer(in_words(&result)),
            Ok(Reply::Input(needed)) => ToolOutcome::Question(needed),
            Err(fault) => ToolOutcome::Error(fault.to_string()),
        }
    }

    fn tool(&self, name: &str) -> Result<&Tool, String> {
        let found = self.tools.iter().find(|tool| tool.name == name);
        found.ok_or_else(|| {
            format!("there is no tool `{}`; list the tools to see which there are", excerpt(name, 64))
        })
    }

    fn list(&self, search: &str) -> String {
        let search = search.to_lowercase();
        let words: Vec<&str> = search.split_whitespace().collect();
        let fits = |tool: &&Tool| {
            let text =
                format!("{} {}", tool.name, tool.description.as_deref().unwrap_or_default()).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        let line = |tool: &Tool| {
            let does = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
            format!("{}: {}", tool.name, excerpt(does, LINE))
        };
        let lines: Vec<String> = self.tools.iter().filter(fits).map(line).collect();
        if lines.is_empty() {
            "no tool has these words; list without search to see all".into()
        } else {
            lines.join("\n")
        }
    }
}

/// What a call of a model means.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ordered {
    /// A tool call.
    Call(ToolCall),
    /// The answer is known.
    Answer(String),
}

fn read<T: serde::de::DeserializeOwned>(form: &str, arguments: &str) -> Result<T, String> {
    let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
    serde_json::from_str(arguments).map_err(|error| {
        let wrote = excerpt(arguments, 200);
        format!("the arguments must be JSON like {form} ({error}); you wrote: {wrote}")
    })
}

fn exchange(job: &Job) -> Exchange {
    let caller = Caller::inside(job.owner.clone()).in_trace(job.ephemeral.trace.clone());
    let mut exchange =
        Exchange::silent(caller, Abilities { forms: true, urls: true, ..Abilities::default() });
    exchange.cancel = job.cancel.child_token();
    exchange.budget = job.ephemeral.budget.clone();
    exchange
}

fn described(tool: &Tool) -> String {
    tool.description.clone().or_else(|| tool.title.clone()).unwrap_or_else(|| tool.name.clone())
}

/// A result as a model reads it: its words, what is for programs where there are none, and a mention of
/// everything else.
pub(super) fn in_words(result: &ToolResult) -> String {
    let pieces: Vec<String> = result.content.iter().map(piece).filter(|words| !words.is_empty()).collect();
    match (&result.structured_content, pieces.is_empty()) {
        (Some(value), true) => value.to_string(),
        (None, true) => "(the tool gave nothing)".into(),
        _ => pieces.join("\n"),
    }
}

fn piece(content: &Content) -> String {
    let (kind, of) = (content.kind.as_str(), content.mime_type.as_deref().unwrap_or("unknown type"));
    match (kind, &content.text, &content.resource) {
        (_, Some(text), _) => text.clone(),
        (_, _, Some(resource)) => match &resource.text {
            Some(text) => format!("{}:\n{text}", resource.uri),
            None => format!("[{} is not text and was left out]", resource.uri),
        },
        ("resource_link", ..) => {
            let uri = content.extra.get("uri").and_then(Value::as_str).unwrap_or_default();
            format!("[see {uri}]")
        }
        _ => format!("[{kind} of {of}, left out]"),
    }
}
