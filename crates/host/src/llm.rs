//! Agents made of a system prompt and a model, without code.
//!
//! Promises: answers are streamed as the model writes them; budgets are hard; a key is never shown. Without a
//! model the agent explains what to configure. One [`Model`] seam covers all model servers, with
//! [`ScriptedModel`] as its fake.
//!
//! It does not run models itself and does not choose between agents. See docs/decisions/0003-model-seam.md.

mod answer;
mod anthropic;
mod budget;
#[cfg(test)]
mod contract;
mod daily_usage;
mod draft;
mod fault;
mod memory;
mod model;
mod ollama;
mod openai;
mod pause;
mod prompt;
mod remote;
mod sampler;
mod scripted;
mod selection;
mod server;
#[cfg(test)]
mod tests;
mod tools;
mod turns;
mod wire;

use std::path::Path;
use std::sync::Arc;

use agentsite_egress::Egress;
use agentsite_protocol::Outcome;
use futures::future::BoxFuture;

use crate::openapi::{self, OpenApiSource};
use crate::{AgentLog, Health, Job, LaunchError, LlmRuntime, Manifest, Reporter, Runner, Toolbox, Workshop};

pub use crate::models::{ModelSection, ModelSettings, ProviderSettings, Secret, key_variable};
pub use budget::{BudgetExceeded, Limit, Spend, allowance, check};
pub use model::{
    ChatMessage, ChatRequest, EndReason, Model, ModelError, ModelEvent, ModelStream, ToolCall, ToolSpec,
    estimated_tokens,
};
pub(crate) use sampler::Sampler;
pub use scripted::{ScriptedModel, ScriptedTurn};
pub use selection::{NEEDS_A_MODEL, missing_model};

use daily_usage::DailyUsage;
use selection::ModelSource;
use tools::ToolSource;
use turns::{Run, Setup};

/// Runs an agent that is a prompt and a model.
#[derive(Debug)]
pub struct LlmRunner {
    source: Arc<ModelSource>,
    setup: Arc<Setup>,
    memory: usize,
}

impl LlmRunner {
    /// Makes the runner of an agent; begins to look for a running Ollama if that is where its model comes
    /// from.
    ///
    /// # Errors
    /// [`LaunchError`] when the prompt cannot be read or a tool is none.
    #[expect(clippy::needless_pass_by_value, reason = "all runtimes are launched alike")]
    pub fn launch(
        runtime: LlmRuntime,
        manifest: &Manifest,
        folder: &Path,
        workshop: &Workshop,
        log: AgentLog,
    ) -> Result<Arc<dyn Runner>, LaunchError> {
        let prompt = prompt::of(&runtime, manifest, folder)?;
        let source = ModelSource::choose(&runtime, workshop);
        let tools = tool_sources(&runtime, Some(folder), &workshop.egress, &log)?;
        let runner = Self::made(&runtime, manifest, prompt, source, tools, log);
        runner.health();
        Ok(Arc::new(runner))
    }

    /// Makes a runner that uses this very model, for tests. A `prompt_file` is not read.
    ///
    /// # Errors
    /// [`LaunchError`] when a tool is none.
    pub fn with_model(
        runtime: &LlmRuntime,
        manifest: &Manifest,
        model: Arc<dyn Model>,
        egress: &Egress,
        log: AgentLog,
    ) -> Result<Arc<dyn Runner>, LaunchError> {
        let prompt = prompt::written(runtime, manifest);
        let tools = tool_sources(runtime, None, egress, &log)?;
        Ok(Arc::new(Self::made(runtime, manifest, prompt, ModelSource::Chosen(model), tools, log)))
    }

    /// Makes a runner whose model uses these tools and no others, under their own names.
    pub(crate) fn over(
        toolbox: Arc<dyn Toolbox>,
        runtime: &LlmRuntime,
        manifest: &Manifest,
        workshop: &Workshop,
        log: AgentLog,
    ) -> Self {
        let prompt = prompt::written(runtime, manifest);
        let source = ModelSource::choose(runtime, workshop);
        Self::made(runtime, manifest, prompt, source, vec![ToolSource::toolbox("", toolbox)], log)
    }

    /// Whether a memo is that of a run which waits for answers.
    pub(crate) fn remembers(memo: &serde_json::Value) -> bool {
        pause::Pause::is_in(memo)
    }

    /// Whether there is a model to talk to.
    pub(crate) async fn has_model(&self) -> bool {
        self.source.model().await.is_ok()
    }

    fn made(
        runtime: &LlmRuntime,
        manifest: &Manifest,
        prompt: String,
        source: ModelSource,
        tools: Vec<ToolSource>,
        log: AgentLog,
    ) -> Self {
        let setup = Setup {
            prompt,
            temperature: runtime.temperature,
            max_tokens: runtime.max_tokens,
            tools,
            daily_usage: DailyUsage::new(manifest.budget.clone()),
            log,
        };
        Self { source: Arc::new(source), setup: Arc::new(setup), memory: runtime.memory }
    }
}

/// The tools that an agent's file names; API documents are in its folder.
fn tool_sources(
    runtime: &LlmRuntime,
    folder: Option<&Path>,
    egress: &Egress,
    log: &AgentLog,
) -> Result<Vec<ToolSource>, LaunchError> {
    let no_tool = |entry: &str| {
        let known = "agent:NAME, agent:https://…, mcp:NAME or openapi:FILE";
        LaunchError::Setup(format!("`{entry}` is not a tool: write {known}"))
    };
    let tool = |entry: &String| {
        let Some(document) = entry.strip_prefix("openapi:") else {
            return ToolSource::read(entry, egress).ok_or_else(|| no_tool(entry));
        };
        let folder = folder.ok_or_else(|| no_tool(entry))?;
        let source = OpenApiSource { document: document.to_owned(), ..OpenApiSource::default() };
        let opened = openapi::open(source, folder, egress, log);
        let toolbox = opened.map_err(|error| LaunchError::Setup(error.to_string()))?;
        Ok(ToolSource::toolbox(&openapi_label(document), toolbox))
    };
    runtime.tools.iter().map(tool).collect()
}

/// What the tools of a document are called together: its host, or the name of its file.
fn openapi_label(document: &str) -> String {
    let url = url::Url::parse(document).ok();
    let host = url.as_ref().and_then(url::Url::host_str);
    let stem = || Path::new(document).file_stem().map_or_else(|| "api".into(), |stem| stem.to_string_lossy());
    host.map_or_else(|| stem().into_owned(), str::to_owned)
}

impl Runner for LlmRunner {
    fn run(&self, job: Job, report: Reporter) -> BoxFuture<'static, Outcome> {
        let (source, setup) = (self.source.clone(), self.setup.clone());
        Box::pin(async move {
            let cancel = job.cancel.clone();
            let model = tokio::select! {
                biased;
                () = cancel.cancelled() => return Outcome::Canceled(None),
                model = source.model() => model,
            };
            match model {
                Ok(model) => Run::new(setup, model, job, report).run().await,
                Err(needs) => job.failed(needs),
            }
        })
    }

    fn memory(&self) -> usize {
        self.memory
    }

    fn health(&self) -> Health {
        self.source.health()
    }
}
