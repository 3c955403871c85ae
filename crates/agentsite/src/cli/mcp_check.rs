//! `agentsite mcp-check`: the program that the conformance suite of MCP runs as a client.
//!
//! Promises: it passes the suite's variables to `agentsite_dev::mcp_suite`, which does the work. Hidden from
//! the help.

use std::sync::Arc;

use agentsite_dev::mcp_suite::use_server;
use agentsite_site::SystemRng;
use clap::Args;
use url::Url;

use super::shell::Shell;
use crate::exit::{CliError, Exit};

/// Arguments of `mcp-check`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Address of the suite's server.
    url: Url,
}

/// Uses everything that the server has.
pub(super) async fn run(shell: &Shell, arguments: Arguments) -> Result<Exit, CliError> {
    let context = shell.variables.get("MCP_CONFORMANCE_CONTEXT").map(String::as_str);
    let scenario = shell.variables.get("MCP_CONFORMANCE_SCENARIO").map_or("", String::as_str);
    let used = use_server(arguments.url, context, scenario, Arc::new(SystemRng)).await;
    used.map(|()| Exit::Ok).map_err(|error| CliError::error(error.to_string()))
}
