//! `agentsite agent`: make, list, show and remove agents, read their logs, approve tools of servers and log
//! in to them, connect agents that run here to a site elsewhere.
//!
//! Promises: `new` writes an agent and returns when the running site has loaded it, so that it answers at
//! once; `rm` moves the folder to the trash in the data folder and asks before it does; the others ask the
//! running site.

mod attach;
mod landing;
mod loaded;
mod login;

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use agentsite_protocol::AgentName;
use agentsite_site::World;
use clap::{Args, Subcommand};
use serde_json::Value;

use super::shell::{Shell, escaped, field, list};
use crate::exit::{CliError, Exit};
use crate::folder::scan;
use crate::templates::{self, Language, TemplateValues};
use crate::workshop;

pub(super) use loaded::{Taken, until_taken};

/// Arguments of `agent`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Write a new agent that answers at once.
    New {
        /// Its name: a-z, 0-9 and -.
        name: AgentName,
        /// What it is made of.
        #[arg(long, visible_alias = "template", value_enum, default_value = "sh")]
        lang: Language,
        /// Folder in which the agent's folder is made [default: the agents folder].
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// List the agents of the running site.
    Ls,
    /// Show one agent.
    Show {
        /// Its name.
        name: AgentName,
    },
    /// Print what an agent wrote to stderr, and what the site did with it.
    Logs {
        /// Its name.
        name: AgentName,
        /// Maximum number of lines.
        #[arg(short = 'n', long, default_value_t = 100)]
        lines: usize,
    },
    /// List the tools of an agent that is a tool server, and whether they are what was approved.
    Tools {
        /// Its name.
        name: AgentName,
    },
    /// Approve tools of a tool server as they are now.
    Approve {
        /// Its name.
        name: AgentName,
        /// Which tools [default: all].
        #[arg(value_name = "TOOL")]
        tools: Vec<String>,
    },
    /// Log an agent in to its tool server, with a browser.
    Login(login::Login),
    /// Forget the login of an agent to its tool server.
    Logout {
        /// Its name.
        name: AgentName,
    },
    /// Run an agent here and connect it to a site elsewhere.
    Attach(attach::Attach),
    /// Remove an agent that was connected to the site.
    Detach {
        /// Its name.
        name: AgentName,
    },
    /// List the names that are reserved for the previous owners of agents and entries.
    Names,
    /// End the reservation of a name, so that any owner may take it.
    Release {
        /// The name of an agent, or the id of a registry entry.
        name: String,
    },
    /// Move an agent's folder to the trash.
    Rm {
        /// Its name.
        name: AgentName,
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
}

/// Does what the verb says.
pub(super) async fn run(shell: &Shell, arguments: Arguments) -> Result<Exit, CliError> {
    match arguments.verb {
        Verb::New { name, lang, dir } => new(shell, &name, lang, dir).await,
        Verb::Ls => ls(shell).await,
        Verb::Show { name } => show(shell, &name).await,
        Verb::Logs { name, lines } => logs(shell, &name, lines).await,
        Verb::Tools { name } => tools(shell, &name).await,
        Verb::Approve { name, tools } => approve(shell, &name, &tools).await,
        Verb::Login(arguments) => login::login(shell, arguments).await,
        Verb::Logout { name } => login::logout(shell, &name).await,
        Verb::Attach(arguments) => Box::pin(attach::attach(shell, arguments)).await,
        Verb::Detach { name } => detach(shell, &name).await,
        Verb::Names => names(shell).await,
        Verb::Release { name } => release(shell, &name).await,
        Verb::Rm { name, yes } => rm(shell, &name, yes).await,
    }
}

async fn names(shell: &Shell) -> Result<Exit, CliError> {
    let answer: Value = shell.site()?.get("api/names").await?;
    if shell.output.is_json() {
        shell.output.json(&answer)?;
        return Ok(Exit::Ok);
    }
    let row =
        |one: &Value| ["name", "owner", "releasedAt", "reservedUntil"].map(|name| field(one, name)).to_vec();
    let rows: Vec<Vec<String>> = list(&answer, "names").iter().map(row).collect();
    shell.output.table(&["NAME", "PREVIOUS OWNER", "RELEASED", "RESERVED UNTIL"], &rows)?;
    Ok(Exit::Ok)
}

async fn release(shell: &Shell, name: &str) -> Result<Exit, CliError> {
    shell.site()?.delete(&format!("api/names/{}", escaped(name))).await?;
    shell.output.note(&format!("{name} is free; any owner who may connect or register can take it"));
    Ok(Exit::Ok)
}

async fn new(
    shell: &Shell,
    name: &AgentName,
    lang: Language,
    dir: Option<PathBuf>,
) -> Result<Exit, CliError> {
    let watched = shell.config()?.config.agents;
    let agents = dir.unwrap_or_else(|| watched.clone());
    std::fs::create_dir_all(&agents).map_err(|error| CliError::file("make", &agents, &error))?;
    let folder = agents.join(name.as_str());
    templates::write_agent(lang, name, &folder, &TemplateValues::default())?;
    let taken = if agents == watched { loaded::until_taken(shell, name).await? } else { Taken::NoSite };
    if shell.output.is_json() {
        let (loaded, health) = (taken.is_loaded(), taken.health());
        shell.output.json(
            &serde_json::json!({ "name": name, "folder": folder, "loaded": loaded, "health": health }),
        )?;
        return Ok(Exit::Ok);
    }
    let visibility = format!("{:?}", lang.manifest().visibility).to_lowercase();
    shell.output.line(&format!("wrote {}/", folder.display()))?;
    shell.output.line(&format!("visibility: {visibility} (change it in {}/agent.toml)", folder.display()))?;
    shell.output.line(&taken.sentence())?;
    shell.output.line(&format!("try: agentsite call {name} \"{}\"", lang.example()))?;
    Ok(Exit::Ok)
}

async fn ls(shell: &Shell) -> Result<Exit, CliError> {
    let answer: Value = shell.site()?.get("api/agents").await?;
    if shell.output.is_json() {
        shell.output.json(&answer)?;
        return Ok(Exit::Ok);
    }
    let row = |agent: &Value| {
        let kind = if agent["demo"] == true { "demo".into() } else { field(agent, "kind") };
        vec![
            field(agent, "name"),
            kind,
            field(agent, "visibility"),
            field(agent, "health"),
            field(agent, "description"),
        ]
    };
    let rows: Vec<Vec<String>> = list(&answer, "agents").iter().map(row).collect();
    shell.output.table(&["NAME", "KIND", "VISIBILITY", "HEALTH", "DESCRIPTION"], &rows)?;
    for agent in list(&answer, "agents").iter().filter(|agent| !agent["reason"].is_null()) {
        shell.output.note(&format!("{}: {}", field(agent, "name"), field(agent, "reason")));
    }
    for agent in list(&answer, "agents").iter().filter(|agent| !agent["notice"].is_null()) {
        shell.output.note(&format!("{}: {}", field(agent, "name"), field(agent, "notice")));
    }
    for broken in answer["broken"].as_array().into_iter().flatten() {
        shell.output.note(&format!("broken: {}:{}", field(broken, "file"), field(broken, "error")));
    }
    Ok(Exit::Ok)
}

async fn show(shell: &Shell, name: &AgentName) -> Result<Exit, CliError> {
    let agent: Value = shell.site()?.get(&format!("api/agents/{name}")).await?;
    if shell.output.is_json() {
        shell.output.json(&agent)?;
        return Ok(Exit::Ok);
    }
    for (label, key) in [
        ("name", "name"),
        ("description", "description"),
        ("version", "version"),
        ("kind", "kind"),
        ("visibility", "visibility"),
        ("health", "health"),
        ("reason", "reason"),
        ("notice", "notice"),
        ("running", "running"),
        ("queued", "queued"),
        ("concurrency", "concurrency"),
        ("folder", "folder"),
    ] {
        let value = field(&agent, key);
        if !value.is_empty() {
            shell.output.line(&format!("{label:<12} {value}"))?;
        }
    }
    for skill in list(&agent, "skills") {
        shell.output.line(&format!(
            "{:<12} {}: {}",
            "skill",
            field(&skill, "name"),
            field(&skill, "description")
        ))?;
        for example in list(&skill, "examples") {
            let words = example.as_str().unwrap_or_default();
            shell.output.line(&format!("{:<12} agentsite call {name} \"{words}\"", "  example"))?;
        }
    }
    Ok(Exit::Ok)
}

async fn logs(shell: &Shell, name: &AgentName, lines: usize) -> Result<Exit, CliError> {
    let answer: Value = shell.site()?.get(&format!("api/agents/{name}/logs?lines={lines}")).await?;
    if shell.output.is_json() {
        shell.output.json(&answer)?;
        return Ok(Exit::Ok);
    }
    for line in list(&answer, "lines") {
        shell.output.line(&format!(
            "{}  {:<6}  {}",
            field(&line, "at"),
            field(&line, "source"),
            field(&line, "text")
        ))?;
    }
    Ok(Exit::Ok)
}

async fn tools(shell: &Shell, name: &AgentName) -> Result<Exit, CliError> {
    let answer: Value = shell.site()?.get(&format!("api/agents/{name}/tools")).await?;
    if shell.output.is_json() {
        shell.output.json(&answer)?;
        return Ok(Exit::Ok);
    }
    let row = |tool: &Value| {
        let usable = if tool["usable"] == true { "yes" } else { "no" };
        let first = field(tool, "description").lines().next().unwrap_or_default().to_owned();
        vec![field(tool, "name"), field(tool, "state"), usable.to_owned(), first]
    };
    let tools = list(&answer, "tools");
    let rows: Vec<Vec<String>> = tools.iter().map(row).collect();
    shell.output.table(&["TOOL", "STATE", "USABLE", "DESCRIPTION"], &rows)?;
    if tools.iter().any(|tool| tool["state"] != "same") {
        shell.output.note(&format!("approve with: agentsite agent approve {name} [TOOL]…"));
    }
    Ok(Exit::Ok)
}

async fn approve(shell: &Shell, name: &AgentName, tools: &[String]) -> Result<Exit, CliError> {
    let given = serde_json::json!({ "tools": tools });
    let answer: Value = shell.site()?.post(&format!("api/agents/{name}/tools/approve"), &given).await?;
    if shell.output.is_json() {
        shell.output.json(&answer)?;
        return Ok(Exit::Ok);
    }
    let approved = list(&answer, "approved");
    let names: Vec<&str> = approved.iter().filter_map(Value::as_str).collect();
    shell.output.line(&match names.as_slice() {
        [] => "nothing was waiting for approval".to_owned(),
        names => format!("approved: {}", names.join(", ")),
    })?;
    Ok(Exit::Ok)
}

async fn detach(shell: &Shell, name: &AgentName) -> Result<Exit, CliError> {
    shell.site()?.delete(&format!("api/agents/{name}")).await?;
    if shell.output.is_json() {
        shell.output.json(&serde_json::json!({ "name": name, "detached": true }))?;
    } else {
        shell.output.line(&format!("{name} is no longer an agent of the site"))?;
    }
    Ok(Exit::Ok)
}

async fn rm(shell: &Shell, name: &AgentName, yes: bool) -> Result<Exit, CliError> {
    let config = shell.config()?.config;
    let folder = folder_of(&config.agents, name)?;
    if !yes && !agreed(&format!("move {} to the trash?", folder.display()))? {
        return Err(CliError::error("nothing was removed; add --yes to remove without confirmation"));
    }
    let data = crate::instance::DataFolder::at(&config.data);
    data.create()?;
    let trashed = workshop::discard(&folder, &data.trash(), name, World::system().clock.now())?;
    loaded::until_gone(shell, name, &folder).await?;
    if shell.output.is_json() {
        shell.output.json(&serde_json::json!({ "name": name, "movedTo": trashed }))?;
    } else {
        shell.output.line(&format!("moved {} to {}", folder.display(), trashed.display()))?;
    }
    Ok(Exit::Ok)
}

/// The folder whose `agent.toml` bears the name, or which bears the name itself when its file cannot be read.
fn folder_of(agents: &Path, name: &AgentName) -> Result<PathBuf, CliError> {
    let found = scan::folder_of(agents, name).map_err(|error| CliError::file("read", agents, &error))?;
    found.ok_or_else(|| {
        CliError::new(Exit::NotFound, format!("there is no agent `{name}` in {}", agents.display()))
    })
}

/// Asks on the terminal; without a terminal it returns false.
fn agreed(question: &str) -> Result<bool, CliError> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let mut err = std::io::stderr().lock();
    write!(err, "{question} [y/N] ")?;
    err.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_found_by_the_name_in_its_file_and_a_broken_one_by_its_folder() {
        let root = tempfile::tempdir().unwrap();
        let name: AgentName = "greeter".parse().unwrap();
        templates::write_agent(
            Language::Sh,
            &name,
            &root.path().join("other-folder"),
            &TemplateValues::default(),
        )
        .unwrap();
        std::fs::create_dir(root.path().join("torn")).unwrap();
        std::fs::write(root.path().join("torn/agent.toml"), "name =").unwrap();
        assert_eq!(folder_of(root.path(), &name).unwrap(), root.path().join("other-folder"));
        assert_eq!(folder_of(root.path(), &"torn".parse().unwrap()).unwrap(), root.path().join("torn"));
        let missing = folder_of(root.path(), &"nobody".parse().unwrap()).unwrap_err();
        assert_eq!(missing.exit(), Exit::NotFound);
    }
}
