//! `agentsite mcp`: the agents of a site for a program that uses MCP over stdin and stdout.
//!
//! Promises: serves the site that runs in this folder, or the one at `--site`, or starts one that ends with
//! the program; stdout holds messages of the protocol and nothing else, everything else goes to stderr. Both
//! eras of the protocol pass through: it carries messages and does not know what they mean, beyond the
//! headers that HTTP needs.

pub(super) mod assistant;
mod bridge;
mod connection;
mod mirror;
mod relay;
mod wire;

use std::path::PathBuf;

use agentsite_protocol::AgentName;
use clap::Args;
use url::Url;

use super::shell::Shell;
use crate::exit::{CliError, Exit};
use bridge::Bridge;
use connection::SiteConnection;

/// Arguments of `mcp`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only the tools of this agent, instead of the whole site.
    #[arg(long, value_name = "NAME")]
    agent: Option<AgentName>,
    /// Serve the site at this address; a key for it is read from the variable AGENTSITE_TOKEN.
    #[arg(long, value_name = "URL")]
    site: Option<Url>,
    /// Folder of the site [default: the current one].
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Call with the key of this assistant, made when there is none, instead of as an admin.
    #[arg(long = "as", value_name = "NAME", value_parser = assistant::name_parser(), conflicts_with = "site")]
    assistant: Option<String>,
}

/// Carries messages until stdin ends.
pub(super) async fn run(shell: &Shell, arguments: Arguments) -> Result<Exit, CliError> {
    if let Some(folder) = &arguments.folder {
        std::env::set_current_dir(folder).map_err(|error| CliError::file("enter", folder, &error))?;
    }
    let connection = SiteConnection::new(shell, arguments.site, arguments.agent, arguments.assistant)?;
    Bridge::new(shell.output, connection).run().await
}
