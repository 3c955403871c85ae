//! The answer of an agent that is talked to, as the result of a tool.
//!
//! Promises: words, files and data come in the kinds of content that clients show; the ids by which the
//! conversation goes on are with them. A failure is a result that says so, in the agent's words. A skill with
//! a schema answers with what fits it, or fails.

use agentsite_host::SchemaEntry;
use agentsite_protocol::mcp::{Content, Contents, InputRequest, Resource, ToolResult, misfit};
use agentsite_protocol::{JsonMap, Message, Part, Task, TaskId, TaskState};
use serde_json::{Value, json};

use super::parts::ToolkitParts;
use super::resources::artifact_uri;

/// Where clients find the task in the metadata of a result.
const META_TASK: &str = "agentsite/task";

/// Where clients find the conversation in the metadata of a result.
const META_CONTEXT: &str = "agentsite/context";

/// The field of the form in which a question of an agent is answered.
pub(super) const ANSWER: &str = "answer";

/// How an answer is to be given.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form {
    /// In words, with ids beside them.
    Words,
    /// As a skill declares it.
    Skill(Option<JsonMap>),
}

impl Form {
    /// How the answer of a task is to be given, by how it was begun.
    pub(super) fn of(site: &ToolkitParts, task: &Task) -> Self {
        let entry = site.local.get(&task.head.agent);
        let declared = entry.as_ref().and_then(|entry| {
            let id = Self::named(task)?;
            entry.manifest.skills.iter().find(|skill| skill.id == id && skill.input_schema.is_some())
        });
        declared.map_or(Self::Words, |skill| {
            Self::Skill(skill.output_schema.as_ref().and_then(SchemaEntry::table).cloned())
        })
    }

    /// The skill that the first message of a task asks for.
    fn named(task: &Task) -> Option<&str> {
        let parts = &task.history.first()?.parts;
        parts.iter().find_map(|part| part.data.as_ref()?["skill"].as_str())
    }
}

/// The JSON Schema of an answer in words.
pub(super) fn words_schema() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    json!({
        "type": "object",
        "properties": {
            "state": text("completed, failed, rejected, canceled, input-required, auth-required, submitted or working"),
            "answer": text("What the agent answered"),
            "question": text("What the agent asks; answer it with `task` and `message`"),
            "task": text("The task; names it in later calls"),
            "context": text("The conversation; a further message with it goes on"),
        },
        "required": ["state"],
    })
}

/// What came of a task that has settled.
pub(super) fn result(task: &Task, form: &Form) -> ToolResult {
    let mut result = match (task.head.state, form) {
        (TaskState::Completed, Form::Words) => in_words(task),
        (TaskState::Completed, Form::Skill(schema)) => structured(task, schema.as_ref()),
        (TaskState::InputRequired | TaskState::AuthRequired, _) => how_to_answer(task),
        (state, _) => failure(task, state),
    };
    let ids = json!({ META_TASK: task.head.id, META_CONTEXT: task.head.context });
    result.extra.insert("_meta".into(), ids);
    result
}

/// What an agent answered that keeps no record.
pub(super) fn of_message(message: &Message) -> ToolResult {
    let content: Vec<Content> = message.parts.iter().map(|part| content(part, None)).collect();
    let told = json!({ "state": "completed", "answer": message.plain_text(), "context": message.context_id });
    ToolResult { content, structured_content: Some(told), ..ToolResult::default() }
}

/// Where a task stands, for programs.
pub(super) fn standing(task: &Task) -> Value {
    let words = task.status.message.as_ref().map(Message::plain_text).unwrap_or_default();
    let mut told = json!({
        "state": task.head.state.word(),
        "answer": task.answer(),
        "task": task.head.id,
        "context": task.head.context,
    });
    if task.head.state.is_interrupted() {
        told["question"] = words.into();
    }
    told
}

/// What an agent asks, as a form with one field.
pub(super) fn question(task: &Task) -> InputRequest {
    let asked = task.status.message.as_ref().map(Message::plain_text).unwrap_or_default();
    let warning = if task.head.state == TaskState::AuthRequired {
        "\n(The agent asks for a permission. Send no passwords or keys here.)"
    } else {
        ""
    };
    let field = json!({ ANSWER: { "type": "string", "description": "Your answer to the agent" } });
    let schema = json!({ "type": "object", "properties": field, "required": [ANSWER] });
    let message = format!("{} asks: {asked}{warning}", task.head.agent);
    let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    let Value::Object(params) = params else { unreachable!("an object was written above") };
    InputRequest { method: "elicitation/create".into(), params }
}

fn in_words(task: &Task) -> ToolResult {
    let mut content = made(task);
    if content.is_empty() {
        content.push(Content::text("The agent completed the task and said nothing."));
    }
    ToolResult { content, structured_content: Some(standing(task)), ..ToolResult::default() }
}

/// The data with which a skill answers, or words that are such data.
fn structured(task: &Task, schema: Option<&JsonMap>) -> ToolResult {
    let last = task.status.message.iter().flat_map(|message| &message.parts);
    let parts = task.artifacts.iter().flat_map(|artifact| &artifact.parts).chain(last);
    let data = parts.filter_map(|part| part.data.as_ref()).rfind(|data| data.is_object());
    let read = || serde_json::from_str::<Value>(&task.answer()).ok().filter(Value::is_object);
    let data = data.cloned().or_else(read);
    let content = made(task);
    let wrong = match (schema, &data) {
        (None, _) => None,
        (Some(_), None) => Some("it holds no data".to_owned()),
        (Some(schema), Some(data)) => misfit(&Value::Object(schema.clone()), data),
    };
    match wrong {
        Some(why) => {
            let mut failed = ToolResult::error(format!("The agent's answer does not fit its schema: {why}."));
            failed.content.extend(content);
            failed
        }
        None if content.is_empty() => data.map_or_else(ToolResult::default, ToolResult::structured),
        None => ToolResult { content, structured_content: data, ..ToolResult::default() },
    }
}

fn how_to_answer(task: &Task) -> ToolResult {
    let asked = task.status.message.as_ref().map(Message::plain_text).unwrap_or_default();
    let words = format!(
        "{} asks: {asked}\n\nTo answer, use this tool again with `task` set to \"{}\" and your answer as `message`.",
        task.head.agent, task.head.id
    );
    ToolResult { structured_content: Some(standing(task)), ..ToolResult::text(words) }
}

fn failure(task: &Task, state: TaskState) -> ToolResult {
    let words = task.status.message.as_ref().map(Message::plain_text).filter(|words| !words.is_empty());
    let told = words.unwrap_or_else(|| format!("The task is {}.", state.word()));
    let mut failed = ToolResult::error(told);
    failed.content.extend(task.artifacts.iter().flat_map(|artifact| {
        artifact.parts.iter().map(|part| content(part, Some((task.head.id, &artifact.artifact_id))))
    }));
    ToolResult { structured_content: Some(standing(task)), ..failed }
}

/// All that the agent made and, when it ended with words, those.
fn made(task: &Task) -> Vec<Content> {
    let mut all = Vec::new();
    for artifact in &task.artifacts {
        let of = (task.head.id, artifact.artifact_id.as_str());
        all.extend(artifact.parts.iter().map(|part| content(part, Some(of))));
    }
    let last = task.status.message.iter().flat_map(|message| &message.parts);
    all.extend(last.map(|part| content(part, None)));
    all
}

/// One part in the kind of content that clients show.
fn content(part: &Part, of: Option<(TaskId, &str)>) -> Content {
    let media_type = part.media_type.clone();
    if let Some(text) = &part.text {
        return Content::text(text.clone());
    }
    if let Some(data) = &part.data {
        return Content::text(data.to_string());
    }
    let name = part.filename.clone().unwrap_or_else(|| "file".into());
    if let Some(url) = &part.url {
        let uri = url.clone();
        return Content::link(Resource { uri, name, mime_type: media_type, ..Resource::default() });
    }
    let raw = part.raw.clone().unwrap_or_default();
    match media_type.as_deref().unwrap_or_default() {
        kind if kind.starts_with("image/") => Content::image(raw, kind),
        kind if kind.starts_with("audio/") => Content::audio(raw, kind),
        _ => {
            let uri =
                of.map_or_else(|| format!("agentsite://files/{name}"), |(task, id)| artifact_uri(task, id));
            Content::resource(Contents { uri, mime_type: media_type, blob: Some(raw), ..Contents::default() })
        }
    }
}
