//! OpenApiRunner: an agent whose tools are the operations of an API.
//!
//! Promises: the variables that its manifest names are there when it is made, or it is not made. It is talked
//! to as every set of tools is; see `toolbox_runner`.

use std::path::Path;
use std::sync::Arc;

use agentsite_protocol::{AgentCard, Outcome};
use futures::future::BoxFuture;

use super::{Credentials, OpenApiSource, OpenApiTools, open};
use crate::{
    AgentLog, Health, Job, LaunchError, OpenApiRuntime, Reporter, Runner, Toolbox, ToolboxRunner, Workshop,
};

/// Runs the operations of an API.
#[derive(Debug)]
pub(crate) struct OpenApiRunner {
    tools: Arc<OpenApiTools>,
    runner: ToolboxRunner,
}

impl OpenApiRunner {
    /// Makes the runner; must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`LaunchError`] when a variable is not set or the document cannot be used.
    pub(crate) fn launch(
        runtime: &OpenApiRuntime,
        folder: &Path,
        workshop: &Workshop,
        log: &AgentLog,
    ) -> Result<Self, LaunchError> {
        let secret = |name: &String| match workshop.environment.get(name) {
            Some(secret) if !secret.trim().is_empty() => Ok(secret.to_owned()),
            _ => Err(LaunchError::Setup(format!(
                "the variable {name}, which agent.toml names for the API, is not set; set it before the site starts"
            ))),
        };
        let keys = runtime.keys.iter().map(|(scheme, name)| Ok((scheme.clone(), secret(name)?)));
        let credentials = Credentials {
            token: runtime.token_env.as_ref().map(secret).transpose()?,
            keys: keys.collect::<Result<_, LaunchError>>()?,
        };
        let source = OpenApiSource {
            document: runtime.document.clone(),
            base_url: runtime.base_url.clone(),
            credentials,
        };
        let tools = open(source, folder, &workshop.egress, log)
            .map_err(|error| LaunchError::Setup(format!("the API cannot be used: {error}")))?;
        Ok(Self { runner: ToolboxRunner::new(tools.clone()), tools })
    }
}

impl Runner for OpenApiRunner {
    fn run(&self, job: Job, report: Reporter) -> BoxFuture<'static, Outcome> {
        self.runner.run(job, report)
    }

    fn health(&self) -> Health {
        self.tools.health()
    }

    fn card(&self) -> Option<Arc<AgentCard>> {
        self.runner.card()
    }

    fn toolbox(&self) -> Option<Arc<dyn Toolbox>> {
        self.runner.toolbox()
    }
}
