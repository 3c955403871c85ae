//! `agentsite config`: check, show and document the configuration.
//!
//! Promises: `check` names file, line and column of everything that is wrong, in the configuration and in
//! every `agent.toml`, and what an agent lacks before it can work (a model provider that is not configured, a
//! key, a program); `show` prints the source of each value. Nothing here needs or touches a running site.

use agentsite_host::{Environment, Preflight};
use clap::{Args, Subcommand};

use super::shell::Shell;
use crate::config::models::models;
use crate::config::{self, Config, docs};
use crate::exit::{CliError, Exit};
use crate::folder::plan::{self, Action, ScanState};
use crate::folder::scan;

/// Arguments of `config`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Check the configuration and every agent.toml.
    Check,
    /// Print every value in force and where it came from.
    Show,
    /// Print the JSON Schema of agentsite.toml.
    Schema,
    /// Print the JSON Schema of agent.toml.
    AgentSchema,
    /// Print the reference of all keys as Markdown.
    Docs,
}

/// Does what the verb says.
pub(super) fn run(shell: &Shell, arguments: &Arguments) -> Result<Exit, CliError> {
    match arguments.verb {
        Verb::Check => check(shell),
        Verb::Show => show(shell),
        Verb::Schema => print(shell, &config::schema()),
        Verb::AgentSchema => print(shell, &agentsite_host::agent_schema()),
        Verb::Docs => {
            shell.output.piece(&docs::page())?;
            Ok(Exit::Ok)
        }
    }
}

fn print(shell: &Shell, schema: &serde_json::Value) -> Result<Exit, CliError> {
    let text = serde_json::to_string_pretty(schema).map_err(|error| CliError::error(error.to_string()))?;
    shell.output.line(&text)?;
    Ok(Exit::Ok)
}

fn check(shell: &Shell) -> Result<Exit, CliError> {
    let mut wrong = Vec::new();
    let mut agents = 0;
    match shell.config_with(Vec::new()) {
        Err(error) => wrong.push(error.to_string()),
        Ok(loaded) => {
            loaded.warnings.iter().for_each(|warning| shell.output.note(warning));
            let folder = &loaded.config.agents;
            let found = scan::scan(folder).map_err(|error| CliError::file("read", folder, &error))?;
            agents = found.len();
            let plan = plan::plan(&ScanState::default(), found);
            wrong.extend(plan.known.errors.into_iter().map(|(file, error)| format!("{file}:{error}")));
            wrong.extend(needing_setup(shell, &loaded.config, &plan.actions));
        }
    }
    if shell.output.is_json() {
        shell
            .output
            .json(&serde_json::json!({ "ok": wrong.is_empty(), "agents": agents, "errors": wrong }))?;
    } else if wrong.is_empty() {
        shell.output.line(&format!("OK: the configuration and the agents ({agents}) are valid"))?;
    } else {
        wrong.iter().try_for_each(|line| shell.output.line(line))?;
    }
    Ok(if wrong.is_empty() { Exit::Ok } else { Exit::Error })
}

/// A line for each model provider that cannot be used as configured, and for each agent that lacks something.
fn needing_setup(shell: &Shell, config: &Config, actions: &[Action]) -> Vec<String> {
    let (models, complaints) = models(config, &shell.variables);
    let environment = Environment::new(shell.variables.clone());
    let lacking = actions.iter().filter_map(|action| {
        let Action::Install { manifest, folder } = action else { return None };
        let missing = Preflight::of(manifest, folder, &environment, &models).missing?;
        Some(format!("{}: needs setup: {missing}", folder.join(scan::MANIFEST).display()))
    });
    complaints.into_iter().chain(lacking).collect()
}

fn show(shell: &Shell) -> Result<Exit, CliError> {
    let loaded = shell.config()?;
    let values = docs::shown(&loaded);
    if shell.output.is_json() {
        shell.output.json(&serde_json::json!({ "file": loaded.file, "values": values }))?;
        return Ok(Exit::Ok);
    }
    let row = |one: &docs::Shown| {
        let value = if one.value.is_null() { String::new() } else { docs::written(&one.value) };
        vec![one.key.clone(), value, one.origin.clone()]
    };
    let rows: Vec<Vec<String>> = values.iter().map(row).collect();
    shell.output.table(&["KEY", "VALUE", "ORIGIN"], &rows)?;
    Ok(Exit::Ok)
}
