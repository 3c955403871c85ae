//! The one place that turns a Manifest into a Runner.
//!
//! Promises: making a runner does no slow work; supervised servers start in the background. A runner that
//! cannot be made says why. It does not read files other than those that the manifest names inside the
//! agent's own folder.

use std::path::Path;
use std::sync::Arc;

use crate::a2a::A2aRunner;
use crate::acp::AcpRunner;
use crate::builtin::BuiltinRunner;
use crate::exec::ExecRunner;
use crate::llm::LlmRunner;
use crate::mcp::McpRunner;
use crate::openapi::OpenApiRunner;
use crate::sandbox::Bounds;
use crate::{AgentLog, LaunchError, Manifest, Runner, Runtime, Workshop};

impl Workshop {
    /// Makes the runner of an agent. `folder` is where its `agent.toml` lies; built-in agents have none.
    ///
    /// # Errors
    /// [`LaunchError`] says what is missing.
    pub fn launch(
        &self,
        manifest: &Manifest,
        folder: Option<&Path>,
        log: &AgentLog,
    ) -> Result<Arc<dyn Runner>, LaunchError> {
        let (home, folder) = (folder, folder.unwrap_or_else(|| Path::new(".")));
        Ok(match &manifest.runtime {
            Runtime::Builtin(builtin) => Arc::new(BuiltinRunner::new(*builtin)),
            Runtime::Library(_) => {
                let why = "a library needs a site with a search index; it cannot be started alone";
                return Err(LaunchError::Setup(why.into()));
            }
            Runtime::Connected => {
                let why = "an agent that connects to the site is started by its program, not by a file";
                return Err(LaunchError::Setup(why.into()));
            }
            Runtime::Exec(exec) => {
                let bounds = Bounds::of(exec.memory, exec.cpu, exec.file_size, exec.open_files);
                let confined = self.confinement.of(manifest, folder, bounds)?;
                let (limits, variables) = (&manifest.limits, &self.environment);
                Arc::new(ExecRunner::new(exec.clone(), limits, folder, variables, confined, log.clone()))
            }
            Runtime::A2a(a2a) => A2aRunner::launch(a2a.clone(), manifest, folder, self, log.clone())?,
            Runtime::Acp(acp) => Arc::new(AcpRunner::launch(acp, manifest, folder, self, log.clone())?),
            Runtime::Openapi(openapi) => Arc::new(OpenApiRunner::launch(openapi, folder, self, log)?),
            Runtime::Mcp(mcp) => McpRunner::launch(mcp, manifest, home, self, log)?,
            Runtime::Llm(llm) => LlmRunner::launch(llm.clone(), manifest, folder, self, log.clone())?,
        })
    }
}
