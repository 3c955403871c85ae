//! Conformance: the built-in agent that the public A2A compatibility kits and the MCP conformance suite
//! drive.
//!
//! Promises: the id of the message alone decides what it does in a conversation, as the kits' scenarios
//! require (`scene`); its tools are those that the suite names (`toolbox`). It only uses the public Runner
//! and Toolbox seams, so what they see is what any agent of a site gives. It is off unless the operator turns
//! it on, because it answers every caller and does no work.
//!
//! Timed scenes wait on the runtime's clock and heed a cancel while they wait.

mod kit;
mod scene;
mod toolbox;

use std::sync::Arc;

use agentsite_host::{Gone, Job, Manifest, Reporter, Runner, Toolbox, ToolboxRunner};
use agentsite_protocol::{Message, Outcome, Role};
use futures::future::BoxFuture;

use scene::{Act, Ending, Scene};

pub use kit::Kit;

/// The agent's name among the agents of a site.
pub const NAME: &str = "conformance";

/// Webhooks of the kits listen on the machine that the site runs on.
pub const WEBHOOKS: [&str; 3] = ["127.0.0.0/8", "::1", "localhost"];

const MANIFEST: &str = r#"
name = "conformance"
description = "Plays the scenes of the A2A compatibility kits and of the MCP conformance suite"
visibility = "public"
answers = "either"
repeats = "new"
[[skills]]
id = "scenes"
name = "Scenes of the compatibility kits"
description = "Completes, asks back, streams, rejects or waits, as the id of the message says"
tags = ["conformance", "test"]
examples = ["any words in a message whose id begins with tck-complete-task"]
[runtime]
kind = "builtin"
builtin = "echo"
[limits]
timeout = "1m"
concurrency = 64
"#;

/// What the agent says of itself.
#[must_use]
pub fn manifest() -> Manifest {
    Manifest::read(MANIFEST).expect("the built-in manifest is sound")
}

/// Plays the scene that a message asks for, or uses the tool that it names.
#[derive(Debug, Clone)]
pub struct Conformance {
    tools: ToolboxRunner,
}

impl Conformance {
    /// The agent with its tools.
    #[must_use]
    pub fn new() -> Self {
        Self { tools: ToolboxRunner::new(Arc::new(toolbox::SuiteToolbox::new())) }
    }
}

impl Default for Conformance {
    fn default() -> Self {
        Self::new()
    }
}

impl Runner for Conformance {
    fn run(&self, job: Job, report: Reporter) -> BoxFuture<'static, Outcome> {
        if job.memo.is_some() || ToolboxRunner::takes(&job.message) {
            return self.tools.run(job, report);
        }
        Box::pin(async move {
            tokio::select! {
                biased;
                () = job.cancel.cancelled() => Outcome::Canceled(None),
                ended = play(&job, &report) => ended.unwrap_or(Outcome::Canceled(None)),
            }
        })
    }

    fn reply(&self, job: &Job) -> BoxFuture<'static, Option<Message>> {
        let answer = scene::reply(job.message.message_id.as_str());
        let answer = answer.map(|text| Message::text(job.ids.message(), Role::Agent, text));
        Box::pin(std::future::ready(answer))
    }

    fn toolbox(&self) -> Option<Arc<dyn Toolbox>> {
        self.tools.toolbox()
    }
}

async fn play(job: &Job, report: &Reporter) -> Result<Outcome, Gone> {
    let Scene { acts, ending } = Scene::of(job.message.message_id.as_str());
    for act in acts {
        match act {
            Act::Pause(time) => tokio::time::sleep(time).await,
            Act::Step(step) => report.step(step).await?,
        }
    }
    Ok(match ending {
        Ending::Complete(words) => Outcome::Completed(words.map(|words| job.words(words))),
        Ending::Ask(words) => Outcome::InputRequired(job.words(words)),
        Ending::AskPermission(words) => Outcome::AuthRequired(job.words(words)),
        Ending::Reject(words) => Outcome::Rejected(job.words(words)),
    })
}

#[cfg(test)]
mod tests;
