//! `agentsite init`: a commented configuration and a first agent.
//!
//! Promises: nothing that is there already is touched; what was written is named. It does not start the site.

use std::path::Path;

use clap::Args;

use super::shell::Shell;
use crate::config::FILE;
use crate::exit::{CliError, Exit};
use crate::templates::{self, Language};

/// Arguments of `init`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// What the first agent is written in.
    #[arg(long, value_enum, default_value = "sh")]
    lang: Language,
}

/// Writes both.
pub(super) fn run(shell: &Shell, arguments: &Arguments) -> Result<Exit, CliError> {
    let agents = shell.everywhere.agents.clone().unwrap_or_else(|| "agents".into());
    let (file, agent) = (Path::new(FILE), agents.join("hello"));
    // Both are checked before either is written, so that a refusal leaves nothing behind.
    if let Some(there) = [file, &agent].into_iter().find(|path| path.exists()) {
        return Err(CliError::error(format!("{} exists already and was not changed", there.display())));
    }
    let name = "hello".parse().expect("hello is a name");
    std::fs::create_dir_all(&agents).map_err(|error| CliError::file("make", &agents, &error))?;
    templates::write_agent(arguments.lang, &name, &agent, &templates::TemplateValues::default())?;
    templates::write_new(file, templates::CONFIG)?;
    let written = [file.display().to_string(), agent.display().to_string()];
    if shell.output.is_json() {
        shell.output.json(&serde_json::json!({ "written": written }))?;
    } else {
        shell.output.line(&format!("wrote {} and {}/", written[0], written[1]))?;
        let example = arguments.lang.example();
        shell
            .output
            .line(&format!("start the site with `agentsite`, then: agentsite call hello \"{example}\""))?;
    }
    Ok(Exit::Ok)
}
