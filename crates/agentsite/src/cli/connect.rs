//! `agentsite connect`: the configuration with which the user's assistant reaches the agents of this
//! site.
//!
//! Promises: prints it without --write; writing keeps everything else in the program's file, leaves a
//! copy of the file as it was next to it, and does nothing when the entry is there already. A file that
//! cannot be understood is not touched. The only key that is written is one that was given, or the program's
//! own at the site of this folder. It does not start a site.

mod jsonc;
mod program;
mod section;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use agentsite_protocol::AgentName;
use clap::Args;
use url::Url;

use super::mcp::assistant;
use super::shell::Shell;
use crate::exit::{CliError, Exit};
use crate::instance::DataFolder;
use program::{Home, Program, Transport};

/// Arguments of `connect`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The program that is to reach the agents.
    #[arg(value_enum)]
    program: Program,
    /// Write into the program's own file instead of printing; a copy of the file as it was stays next to it.
    #[arg(long)]
    write: bool,
    /// Print only (what happens when --write is not given).
    #[arg(long, conflicts_with = "write")]
    print: bool,
    /// Only this agent, instead of the whole site.
    #[arg(long, value_name = "NAME")]
    agent: Option<AgentName>,
    /// Reach a running site over HTTP, instead of having the program start `agentsite mcp`.
    #[arg(long)]
    http: bool,
    /// Address of the site, for --http [default: the one that runs here].
    #[arg(long, value_name = "URL", requires = "http")]
    site: Option<Url>,
    /// API key to write, for --http; without it --write makes one for the program at the site that runs here,
    /// and the program reads the variable AGENTSITE_KEY for any other site.
    #[arg(long, value_name = "KEY", requires = "http")]
    key: Option<String>,
    /// Name of the entry [default: agentsite, or agentsite-NAME for one agent].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// Longest name of an entry; programs put it before the name of each tool, which must not exceed 64
/// characters.
const MAX_ENTRY: usize = 40;

/// Prints or writes.
pub(super) async fn run(shell: &Shell, arguments: &Arguments) -> Result<Exit, CliError> {
    let program = arguments.program;
    let name = entry_name(arguments)?;
    let way = if arguments.http { over_http(shell, arguments).await? } else { by_command(shell, arguments)? };
    let home = Home::of(std::env::consts::OS, &shell.variables);
    let file = program.file(&home);
    let snippet = program.snippet(&name, &way)?;
    let written = if arguments.write { Some(write(program, &home, &name, &way)?) } else { None };
    let changed = written == Some(true);
    let shown =
        file.as_ref().map_or_else(|| program.whereabouts().to_owned(), |file| file.display().to_string());
    if shell.output.is_json() {
        shell.output.json(&serde_json::json!({
            "program": program.word(), "file": file, "entry": name, "configuration": snippet, "written": changed,
        }))?;
        return Ok(Exit::Ok);
    }
    match written {
        None => {
            shell.output.piece(&snippet)?;
            shell.output.note(&format!(
                "Add this to {shown}; `agentsite connect {} --write` does it for you.",
                program.word()
            ));
        }
        Some(true) => shell.output.line(&format!("{shown} now has the entry {name}; {}", program.then()))?,
        Some(false) => {
            shell.output.line(&format!("{shown} has the entry {name} already; nothing was changed"))?;
        }
    }
    Ok(Exit::Ok)
}

fn entry_name(arguments: &Arguments) -> Result<String, CliError> {
    let name = arguments.name.clone().unwrap_or_else(|| match &arguments.agent {
        Some(agent) => format!("agentsite-{agent}").chars().take(MAX_ENTRY).collect(),
        None => "agentsite".into(),
    });
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if name.is_empty() || name.len() > MAX_ENTRY || !name.chars().all(fits) {
        let sentence = format!("--name: use 1 to {MAX_ENTRY} of a-z, A-Z, 0-9, - and _");
        return Err(CliError::usage(sentence));
    }
    Ok(name)
}

/// The program starts `agentsite mcp` in this folder.
fn by_command(shell: &Shell, arguments: &Arguments) -> Result<Transport, CliError> {
    let command = std::env::current_exe()
        .map_err(|error| CliError::error(format!("cannot find this program: {error}")))?;
    let folder = std::env::current_dir()
        .map_err(|error| CliError::error(format!("cannot find this folder: {error}")))?;
    let mut words = vec!["mcp".to_owned(), "--folder".to_owned(), folder.display().to_string()];
    // The assistant has its own key, which is created on first use.
    words.extend(["--as".to_owned(), assistant_name(arguments)]);
    let everywhere = &shell.everywhere;
    let paths =
        [("--data", &everywhere.data), ("--agents", &everywhere.agents), ("--config", &everywhere.config)];
    for (flag, path) in paths {
        if let Some(path) = path {
            words.extend([flag.to_owned(), folder.join(path).display().to_string()]);
        }
    }
    if let Some(listen) = &everywhere.listen {
        words.extend(["--listen".to_owned(), listen.clone()]);
    }
    if let Some(agent) = &arguments.agent {
        words.extend(["--agent".to_owned(), agent.to_string()]);
    }
    Ok(Transport::Command { command: command.display().to_string(), arguments: words })
}

/// Under which name the assistant has its key: one for each program, and for each agent that it is shown
/// alone.
fn assistant_name(arguments: &Arguments) -> String {
    let program = arguments.program.word();
    arguments.agent.as_ref().map_or_else(|| program.to_owned(), |agent| format!("{program}-{agent}"))
}

/// The program asks the running site.
async fn over_http(shell: &Shell, arguments: &Arguments) -> Result<Transport, CliError> {
    let base = match &arguments.site {
        Some(url) => url.clone(),
        None => {
            let config = shell.config()?.config;
            let running = DataFolder::at(&config.data).announced().map(|site| site.url);
            let url =
                config.public_url.clone().or(running).unwrap_or_else(|| format!("http://{}", config.listen));
            url.parse().map_err(|_| {
                CliError::error(format!("`{url}` is not a URL; give that of the site with --site"))
            })?
        }
    };
    if base.host().is_none() {
        return Err(CliError::usage("--site: give an http(s) URL"));
    }
    let mut url = base.as_str().trim_end_matches('/').to_owned();
    url.push_str("/mcp");
    if let Some(agent) = &arguments.agent {
        url.push_str(&format!("/{agent}"));
    }
    let key = match &arguments.key {
        // Only the site of this folder makes a key for it, and only for a file, not for the screen.
        None if arguments.write && arguments.site.is_none() => {
            Some(assistant::secret(shell, &assistant_name(arguments), arguments.agent.as_ref()).await?)
        }
        key => key.clone(),
    };
    Ok(Transport::Http { url, key })
}

/// Puts the entry into the program's file; false when it was there already.
fn write(program: Program, home: &Home, name: &str, way: &Transport) -> Result<bool, CliError> {
    let path = program.file(home).ok_or_else(|| {
        CliError::error(format!(
            "cannot find the file of {} ({}); print the entry and add it manually",
            program.word(),
            program.whereabouts()
        ))
    })?;
    let before = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(CliError::file("read", &path, &error)),
    };
    let after = program.merged(&before, name, way).map_err(|why| {
        CliError::error(format!(
            "{}: {why}; nothing was written, print the entry and add it manually",
            path.display()
        ))
    })?;
    if after == before {
        return Ok(false);
    }
    replace(&path, &before, &after).map_err(|error| CliError::file("write", &path, &error))?;
    Ok(true)
}

/// Writes the file so that it is there whole or as it was, with a copy of what it was next to it.
fn replace(path: &Path, before: &str, after: &str) -> std::io::Result<()> {
    // A link is followed, so that it stays one.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let next_to = |ending: &str| {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(ending);
        path.with_file_name(name)
    };
    let (draft, copy): (PathBuf, PathBuf) = (next_to(".agentsite-new"), next_to(".before-agentsite"));
    std::fs::write(&draft, after)?;
    if let Ok(metadata) = std::fs::metadata(&path) {
        std::fs::set_permissions(&draft, metadata.permissions())?;
        std::fs::write(&copy, before)?;
        std::fs::set_permissions(&copy, metadata.permissions())?;
    } else {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o600))?;
    }
    std::fs::rename(&draft, &path)
}

#[cfg(test)]
mod tests;
