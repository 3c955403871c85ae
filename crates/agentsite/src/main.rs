//! `agentsite`: one binary makes a folder of agents a site on the agent web.
//!
//! The folder listing is the story: `cli` reads the command line, `config` the file and the environment, `serve` runs a site, `folder`
//! keeps it in step with its agents. This file only starts and ends the process.

mod backup;
mod cli;
mod config;
mod doctor;
mod exit;
mod folder;
mod instance;
mod output;
mod sandbox;
mod serve;
mod sitekey;
mod telemetry;
mod templates;
mod workshop;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(policy) = sandbox::policy_of_launcher() {
        return sandbox::launch(policy);
    }
    cli::main().into()
}
