//! `agentsite completions`: what a shell needs to complete the command line.
//!
//! Promises: made from the same definitions that read the command line, so it cannot disagree with them.

use std::io::Write;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::{CliError, Exit};

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The shell.
    shell: Shell,
}

/// Prints the completions.
pub(super) fn run(arguments: &Arguments, command: &mut Command) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, command, "agentsite", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(Exit::Ok)
}
