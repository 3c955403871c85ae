//! `agentsite`: one binary makes a folder of agents a site on the agent web.
//!
//! The folder listing is the story: `cli` reads the command line, `config` the file and the environment,
//! `serve` runs a site, `folder` keeps it in step with its agents. It is a library only so that it builds in
//! parallel with the gateway: a program must wait until every library is complete. It promises no interface
//! to other crates; `main` calls [`run`].

mod backup;
mod cli;
mod config;
mod doctor;
mod exit;
mod folder;
mod instance;
mod moving;
mod output;
mod sandbox;
mod serve;
mod sitekey;
mod store;
mod telemetry;
mod templates;
mod workshop;

use std::process::ExitCode;

/// Runs the program with the arguments, the environment and the signals of this process.
#[must_use]
pub fn run() -> ExitCode {
    if let Some(policy) = sandbox::policy_of_launcher() {
        return sandbox::launch(policy);
    }
    cli::main().into()
}
