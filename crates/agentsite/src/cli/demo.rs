//! `agentsite demo`: shows what sites do together, with nothing to set up and nothing left behind.
//!
//! Promises: everything that a demo starts ends with it, and everything that it writes is in one temporary
//! folder that goes with it. It uses the same commands and addresses as everybody.

mod planet;
mod report;
mod roster;
mod site;

use clap::{Args, Subcommand};

use super::shell::Shell;
use crate::exit::{CliError, Exit};

pub(super) use site::serve_until_closed;

/// Fewest sites of a planet: one that asks, one that answers.
const LEAST_SITES: usize = 2;

/// Most sites of a planet: each is a process of some 100 MB.
const MOST_SITES: usize = 20;

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Start several sites on this machine, join them into one mesh, and show a query, a call and the death
    /// of a site crossing it; until ctrl-C, which removes everything.
    Planet {
        /// How many sites, from 2 to 20.
        #[arg(long, value_name = "N", default_value_t = 5)]
        sites: usize,
    },
}

/// Shows the demo.
pub(super) async fn run(shell: &Shell, arguments: Arguments) -> Result<Exit, CliError> {
    let Verb::Planet { sites } = arguments.verb;
    if !(LEAST_SITES..=MOST_SITES).contains(&sites) {
        let range = format!("give a number from {LEAST_SITES} to {MOST_SITES}");
        return Err(CliError::usage(format!("--sites: {range}, not {sites}")));
    }
    planet::run(shell, sites).await
}
