//! Manifest: what an `agent.toml` declares.
//!
//! Promises: a manifest that was read is complete and valid; everything wrong is reported with line and
//! column and what to do. Unknown keys are errors, because a misspelt limit would not apply. It reads text,
//! never files.

mod intake;
mod runtime;
mod sandbox;
mod table;

#[cfg(test)]
mod tests;

use agentsite_protocol::{AgentName, ByteSize, JsonMap, Period, Skill, Visibility};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use table::ManifestTable;

pub use intake::Intake;
pub use runtime::{
    A2aBinding, A2aRuntime, AcpRuntime, Approve, Builtin, ExecRuntime, FileAccess, LibraryRuntime,
    LlmRuntime, McpRuntime, ModelApi, OpenApiRuntime, Permissions, Runtime, RuntimeKind, ServerAuth,
    ServerGrant, Stdin,
};
pub use sandbox::Sandbox;

/// Longest `agent.toml` that is read; a prompt of this size no longer belongs in it.
const MAX_FILE: usize = 256 * 1024;

/// Most skills of one agent; a card with more does not help to choose.
const MAX_SKILLS: usize = 100;

/// The version of an agent that names none.
const FIRST_VERSION: &str = "1.0.0";

/// What is wrong with an `agent.toml`, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {what}")]
pub struct ManifestError {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is wrong and what to do, in one line.
    pub what: String,
}

/// An agent as its file declares it.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// Unique in the site.
    pub name: AgentName,
    /// What it does, in a sentence.
    pub description: String,
    /// Its own version.
    pub version: String,
    /// Who may find and call it.
    pub visibility: Visibility,
    /// DIDs of other sites that may call it besides those that an admin added.
    pub callers: Vec<String>,
    /// Whether it answers with tasks or with messages.
    pub answers: Answers,
    /// What a message leads to that was sent before.
    pub repeats: Repeats,
    /// What it can do.
    pub skills: Vec<SkillEntry>,
    /// How it runs.
    pub runtime: Runtime,
    /// How long, how many, how often.
    pub limits: Limits,
    /// How much it may spend.
    pub budget: Budget,
    /// What its programs may see, reach and use.
    pub sandbox: Sandbox,
}

/// What a caller gets back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Answers {
    /// A task: recorded, durable, streamed, cancellable.
    #[default]
    Task,
    /// A message and nothing else: not recorded, for small questions asked very often.
    Message,
    /// The agent chooses for each message. Agents that run as commands, servers or prompts always choose a
    /// task.
    Either,
}

/// What a message leads to whose id was sent before by the same caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Repeats {
    /// The task of the first one, so that a caller that got no answer can send again without work being done
    /// twice.
    #[default]
    Same,
    /// A separate task, for callers that do not make their ids unique.
    New,
}

/// One skill as the file declares it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillEntry {
    /// Unique within the agent.
    pub id: String,
    /// A name for people; the id when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it does, in a sentence.
    pub description: String,
    /// Key words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Requests that it answers, as people would write them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// Media types it takes, when they differ from plain text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_modes: Vec<String>,
    /// Media types it gives, when they differ from plain text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_modes: Vec<String>,
    /// `peers` or `private` keeps it off the public card; callers who are known find it on the extended one.
    #[serde(default = "everybody", skip_serializing_if = "is_public")]
    pub visibility: Visibility,
    /// JSON Schema of its arguments, for callers that use it as a tool: a table, or a file in the agent's
    /// folder. They are sent as a data part `{"skill": ID, "arguments": {…}}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<SchemaEntry>,
    /// JSON Schema of the data part with which it answers: a table, or a file in the agent's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<SchemaEntry>,
}

/// A JSON Schema as the file gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SchemaEntry {
    /// Name of a JSON file in the agent's folder.
    File(String),
    /// The schema itself.
    Table(JsonMap),
}

impl SchemaEntry {
    /// The schema, once it is read.
    #[must_use]
    pub fn table(&self) -> Option<&JsonMap> {
        match self {
            Self::Table(schema) => Some(schema),
            Self::File(_) => None,
        }
    }
}

fn everybody() -> Visibility {
    Visibility::Public
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_public(visibility: &Visibility) -> bool {
    *visibility == Visibility::Public
}

impl From<&SkillEntry> for Skill {
    fn from(entry: &SkillEntry) -> Self {
        Self {
            id: entry.id.clone(),
            name: entry.name.clone().unwrap_or_else(|| entry.id.clone()),
            description: entry.description.clone(),
            tags: entry.tags.clone(),
            examples: entry.examples.clone(),
            input_modes: entry.input_modes.clone(),
            output_modes: entry.output_modes.clone(),
            ..Self::default()
        }
    }
}

/// How long, how many, how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Longest time for one task, from its start to its end; a question to the caller stops the count.
    pub timeout: Period,
    /// Tasks at work at once.
    pub concurrency: usize,
    /// Tasks that may wait; further ones are refused with the time to try again.
    pub queue: usize,
    /// How often a task is started again when the site was stopped under it.
    pub retry: u32,
    /// Most bytes that one task may produce.
    pub output: ByteSize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Period::seconds(60),
            concurrency: 8,
            queue: 1_000,
            retry: 0,
            output: ByteSize(8 << 20),
        }
    }
}

/// How much an agent may spend. Zero means no limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// Tokens read and written in one task.
    pub tokens_per_task: u64,
    /// Tokens read and written in one day (UTC).
    pub tokens_per_day: u64,
    /// Requests to the model in one task.
    pub turns_per_task: u64,
    /// Calls of tools and other agents in one task.
    pub calls_per_task: u64,
    /// Calls of tools and other agents in one day (UTC).
    pub calls_per_day: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            tokens_per_task: 100_000,
            tokens_per_day: 2_000_000,
            turns_per_task: 16,
            calls_per_task: 32,
            calls_per_day: 5_000,
        }
    }
}

impl Manifest {
    /// An agent that no file declares, with the defaults of one whose file says nothing else. The caller has
    /// checked what comes from elsewhere.
    #[must_use]
    pub fn new(name: AgentName, description: String, runtime: Runtime) -> Self {
        Self {
            name,
            description,
            version: FIRST_VERSION.into(),
            visibility: Visibility::default(),
            callers: Vec::new(),
            answers: Answers::default(),
            repeats: Repeats::default(),
            skills: Vec::new(),
            runtime,
            limits: Limits::default(),
            budget: Budget::default(),
            sandbox: Sandbox::default(),
        }
    }

    /// Reads an `agent.toml`.
    ///
    /// # Errors
    /// [`ManifestError`] with the first thing that is wrong.
    pub fn read(text: &str) -> Result<Self, ManifestError> {
        if text.len() > MAX_FILE {
            let what = format!(
                "the file is larger than {}; move long prompts to a prompt_file",
                ByteSize(MAX_FILE as u64)
            );
            return Err(ManifestError { line: 1, column: 1, what });
        }
        let table: ManifestTable = toml::from_str(text).map_err(|error| table::syntax_error(text, &error))?;
        table.check(text)
    }

    /// The skills as a card shows them; an agent that declares none has the one that its description tells.
    #[must_use]
    pub fn card_skills(&self) -> Vec<Skill> {
        if self.skills.is_empty() {
            let (id, name) = (self.name.to_string(), self.name.to_string());
            return vec![Skill { id, name, description: self.description.clone(), ..Skill::default() }];
        }
        self.skills.iter().map(Skill::from).collect()
    }
}

/// The JSON Schema of `agent.toml`, made from the types that read it.
#[must_use]
pub fn agent_schema() -> serde_json::Value {
    schemars::schema_for!(ManifestTable).to_value()
}
