//! Agents that are built into the site: echo, calc and clock. They need no key, no model and no program.
//!
//! Promises: a run changes nothing in the world, depends only on the message and the clock of the job, and
//! ends at once. The answer is one artifact, `answer`. Every demo is declared by an `agent.toml` like any
//! other agent.

mod calc;
mod clock;
mod echo;

#[cfg(test)]
mod tests;

use agentsite_protocol::{Artifact, Outcome, Step};
use futures::future::BoxFuture;

use crate::{Builtin, Job, Manifest, Reporter, Runner};

/// The artifact that every answer is.
const ANSWER: &str = "answer";

/// What the demos declare, as the text of their files.
const DEMOS: [&str; 3] = [
    include_str!("builtin/echo.toml"),
    include_str!("builtin/calc.toml"),
    include_str!("builtin/clock.toml"),
];

/// Runs a built-in agent.
#[derive(Debug)]
pub struct BuiltinRunner {
    builtin: Builtin,
}

impl BuiltinRunner {
    /// Makes the runner of a built-in agent.
    #[must_use]
    pub const fn new(builtin: Builtin) -> Self {
        Self { builtin }
    }
}

impl Runner for BuiltinRunner {
    fn run(&self, job: Job, report: Reporter) -> BoxFuture<'static, Outcome> {
        let builtin = self.builtin;
        Box::pin(async move {
            let artifact = match answer(builtin, &job) {
                Ok(artifact) => artifact,
                Err(outcome) => return outcome,
            };
            match report.step(Step::Artifact { artifact, append: false, last_chunk: true }).await {
                Ok(()) => Outcome::Completed(None),
                Err(_) => Outcome::Canceled(None),
            }
        })
    }

    fn is_pure(&self) -> bool {
        true
    }
}

/// The manifests of the demos that a site without agents serves.
#[must_use]
pub fn demo_manifests() -> Vec<Manifest> {
    DEMOS.map(|text| Manifest::read(text).expect("the demos are read in a test")).into()
}

/// The answer, or how the run ends without one.
fn answer(builtin: Builtin, job: &Job) -> Result<Artifact, Outcome> {
    let text = match builtin {
        Builtin::Echo => return Ok(echo::answer(ANSWER, &job.message)),
        Builtin::Calc => match calc::answer(&job.message.plain_text()) {
            Some(result) => result.map_err(|error| job.failed(error.to_string()))?,
            None => return Err(Outcome::InputRequired(job.words("Which expression?"))),
        },
        Builtin::Clock => clock::answer(&job.message.plain_text(), job.ids.clock().now())
            .map_err(|error| job.failed(error.to_string()))?,
    };
    Ok(Artifact::text(ANSWER, text))
}
