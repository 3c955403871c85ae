//! Operation: what both eras can ask of a set of tools, read from parameters and performed.
//!
//! Promises: the same operation does the same in both; what a set of tools does not have (resources, prompts,
//! completions) is a method that is not there. Questions come back as values: each era puts them in its own
//! way. It does not know headers, sessions or codes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use agentsite_protocol::mcp::{
    Completing, CompletionOf, InputNeeded, PromptCall, Reading, Reply, Round, ToolCall,
};
use agentsite_site::{About, Exchange, ToolOutcome, Toolkit};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::answer::Answer;
use super::params::{Params, object, parse, text, wrong};
use crate::failure::Failure;

/// What both eras can ask.
#[derive(Debug, Clone)]
pub(super) enum Operation {
    Tools(Option<String>),
    Resources(Option<String>),
    Templates(Option<String>),
    Prompts(Option<String>),
    McpCall(ToolCall),
    Read(Reading),
    Prompt(PromptCall),
    Complete(Completing),
}

/// How an operation went.
#[derive(Debug)]
pub(super) enum Done {
    Answer(Answer),
    /// More must be known first.
    Input(InputNeeded),
}

impl Operation {
    /// Reads the operation of this method; `None` when there is none in this set of tools.
    pub(super) fn read(method: &str, params: &Params<'_>, about: &About) -> Result<Option<Self>, Failure> {
        let round = Round::default();
        Ok(Some(match method {
            "tools/list" => Self::Tools(cursor(params)?),
            "tools/call" => Self::McpCall(ToolCall {
                name: text(params.name, "name")?.into_owned(),
                arguments: object(params.arguments, "arguments")?,
                round,
            }),
            "resources/list" if about.resources => Self::Resources(cursor(params)?),
            "resources/templates/list" if about.resources => Self::Templates(cursor(params)?),
            "resources/read" if about.resources => {
                Self::Read(Reading { uri: text(params.uri, "uri")?.into_owned(), round })
            }
            "prompts/list" if about.prompts => Self::Prompts(cursor(params)?),
            "prompts/get" if about.prompts => {
                let name = text(params.name, "name")?.into_owned();
                Self::Prompt(PromptCall { name, arguments: strings(params.arguments, "arguments")?, round })
            }
            "completion/complete" if about.completions => Self::Complete(completing(params)?),
            _ => return Ok(None),
        }))
    }

    /// Adds what was answered to earlier questions.
    pub(super) fn with(mut self, answered: Round) -> Self {
        match &mut self {
            Self::McpCall(ToolCall { round, .. })
            | Self::Read(Reading { round, .. })
            | Self::Prompt(PromptCall { round, .. }) => *round = answered,
            _ => {}
        }
        self
    }

    /// Does it.
    pub(super) async fn perform(self, toolkit: &Toolkit, exchange: Exchange) -> Result<Done, Failure> {
        Ok(Done::Answer(match self {
            Self::Tools(cursor) => Answer::Tools(toolkit.tools(&exchange).await?, cursor),
            Self::Resources(cursor) => Answer::Resources(toolkit.resources(&exchange).await?, cursor),
            Self::Templates(cursor) => Answer::Templates(toolkit.templates(&exchange).await?, cursor),
            Self::Prompts(cursor) => Answer::Prompts(toolkit.prompts(&exchange).await?, cursor),
            Self::Complete(completing) => Answer::Completions(toolkit.complete(&exchange, completing).await?),
            Self::McpCall(call) => match toolkit.call(exchange, call).await? {
                ToolOutcome::Reply(Reply::Done(mut result)) => {
                    result.extra.remove("resultType");
                    Answer::Called(result)
                }
                ToolOutcome::Reply(Reply::Input(needed)) => return Ok(Done::Input(needed)),
                ToolOutcome::Task(task) => Answer::Handle(task),
            },
            Self::Read(reading) => match toolkit.read(exchange, reading).await? {
                Reply::Done(contents) => Answer::Read(contents),
                Reply::Input(needed) => return Ok(Done::Input(needed)),
            },
            Self::Prompt(call) => match toolkit.prompt(exchange, call).await? {
                Reply::Done(mut text) => {
                    text.extra.remove("resultType");
                    Answer::Prompt(text)
                }
                Reply::Input(needed) => return Ok(Done::Input(needed)),
            },
        }))
    }
}

/// What a set of tools has besides tools, as far as this method depends on it; the methods that are called
/// most do not.
pub(super) fn about(toolkit: &Toolkit, method: &str) -> About {
    if method.starts_with("tools/") || method.starts_with("tasks/") {
        About::default()
    } else {
        toolkit.about()
    }
}

/// The thing that a request of this method names in its head, too.
pub(super) fn named<'a>(method: &str, params: &Params<'a>) -> Result<Option<Cow<'a, str>>, Failure> {
    Ok(Some(match method {
        "tools/call" | "prompts/get" => text(params.name, "name")?,
        "resources/read" => text(params.uri, "uri")?,
        "tasks/get" | "tasks/update" | "tasks/cancel" => text(params.task_id, "taskId")?,
        _ => return Ok(None),
    }))
}

fn cursor(params: &Params<'_>) -> Result<Option<String>, Failure> {
    params.cursor.map(|raw| text(Some(raw), "cursor").map(Cow::into_owned)).transpose()
}

fn strings(member: Option<&RawValue>, name: &str) -> Result<BTreeMap<String, String>, Failure> {
    member.map_or_else(|| Ok(BTreeMap::new()), |raw| parse(raw, name))
}

fn completing(params: &Params<'_>) -> Result<Completing, Failure> {
    #[derive(Deserialize)]
    struct Reference {
        #[serde(rename = "type")]
        kind: String,
        #[serde(default)]
        name: Option<String>,
        #[serde(default)]
        uri: Option<String>,
    }
    #[derive(Deserialize)]
    struct Argument {
        name: String,
        value: String,
    }
    #[derive(Default, Deserialize)]
    struct Context {
        #[serde(default)]
        arguments: BTreeMap<String, String>,
    }
    let missing = |name: &str| wrong(format!("`{name}` is missing"));
    let reference: Reference = parse(params.reference.ok_or_else(|| missing("ref"))?, "ref")?;
    let argument: Argument = parse(params.argument.ok_or_else(|| missing("argument"))?, "argument")?;
    let context: Context =
        params.context.map_or_else(|| Ok(Context::default()), |raw| parse(raw, "context"))?;
    let of = match (reference.kind.as_str(), reference.name, reference.uri) {
        ("ref/prompt", Some(name), _) => CompletionOf::Prompt(name),
        ("ref/resource", _, Some(uri)) => CompletionOf::Template(uri),
        _ => return Err(wrong("`ref` must be a ref/prompt with a name, or a ref/resource with a uri")),
    };
    Ok(Completing { of, argument: argument.name, value: argument.value, others: context.arguments })
}
