//! The agents that `agentsite agent new` writes, and the configuration that `agentsite init` writes.
//!
//! Promises: every template is an agent that answers at once; nothing is ever overwritten. The files are those under
//! `templates/`, built into the program. It does not start anything.

use std::io::{ErrorKind, Write};
use std::path::Path;

use agentsite_protocol::AgentName;

use crate::exit::{CliError, Exit};

/// Stands for the agent's name in the files of a template.
const NAME: &str = "NAME";

/// The configuration that `init` writes.
pub(crate) const CONFIG: &str = include_str!("../templates/init/agentsite.toml");

/// What a new agent is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Language {
    /// A shell script.
    Sh,
    /// A Python program.
    Python,
    /// A Node.js program.
    Node,
    /// A Rust program.
    Rust,
    /// A program that speaks the Agent Client Protocol.
    Acp,
    /// A prompt; no code.
    Llm,
    /// A tool server that speaks MCP.
    Mcp,
    /// A folder of documents; no code.
    Library,
}

/// A file of a template: its path within the agent's folder, and its text.
type File = (&'static str, &'static str);

macro_rules! files {
    ($($to:literal: $from:literal),+ $(,)?) => {
        &[$(($to, include_str!(concat!("../templates/", $from)))),+]
    };
}

impl Language {
    /// The files of the template.
    const fn files(self) -> &'static [File] {
        match self {
            Self::Sh => {
                files!("agent.toml": "sh/agent.toml", "agent.sh": "sh/agent.sh", "README.md": "sh/README.md")
            }
            Self::Python => files!(
                "agent.toml": "python/agent.toml",
                "agent.py": "python/agent.py",
                "README.md": "python/README.md",
            ),
            Self::Node => files!(
                "agent.toml": "node/agent.toml",
                "agent.mjs": "node/agent.mjs",
                "README.md": "node/README.md",
            ),
            Self::Rust => files!(
                "agent.toml": "rust/agent.toml",
                "Cargo.toml": "rust/Cargo.toml.template",
                "src/main.rs": "rust/src/main.rs",
                "README.md": "rust/README.md",
            ),
            Self::Acp => files!(
                "agent.toml": "acp/agent.toml",
                "agent.py": "acp/agent.py",
                "README.md": "acp/README.md",
            ),
            Self::Llm => files!(
                "agent.toml": "llm/agent.toml",
                "prompt.md": "llm/prompt.md",
                "README.md": "llm/README.md",
            ),
            Self::Mcp => files!(
                "agent.toml": "mcp/agent.toml",
                "server.py": "mcp/server.py",
                "README.md": "mcp/README.md",
            ),
            Self::Library => files!(
                "agent.toml": "library/agent.toml",
                "docs/welcome.md": "library/docs/welcome.md",
                "README.md": "library/README.md",
            ),
        }
    }

    /// A question that the template answers.
    pub(crate) const fn example(self) -> &'static str {
        match self {
            Self::Sh => "how many words are there in this sentence",
            Self::Python => "which is the longest word in this sentence",
            Self::Node => "turn this around",
            Self::Rust => "make this loud",
            Self::Acp => "say this backwards",
            Self::Llm => "what is a mutex",
            Self::Mcp => "how long is this sentence",
            Self::Library => "what can I put into the docs folder",
        }
    }
}

/// Writes a new agent into `folder`, which must not exist yet. It appears whole: a site that watches never sees half of it.
///
/// # Errors
/// [`CliError`] when the folder exists or cannot be written.
pub(crate) fn write_agent(language: Language, name: &AgentName, folder: &Path) -> Result<(), CliError> {
    if folder.exists() {
        let what = format!("{} is there already; choose another name or remove it first", folder.display());
        return Err(CliError::error(what));
    }
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Not an agent while its name begins with a dot: the scan passes over such folders.
    let draft = parent.join(format!(".{name}.new"));
    let written = write_files(&draft, language, name).and_then(|()| std::fs::rename(&draft, folder));
    written.map_err(|error| {
        let _ = std::fs::remove_dir_all(&draft);
        CliError::file("write", folder, &error)
    })
}

fn write_files(folder: &Path, language: Language, name: &AgentName) -> std::io::Result<()> {
    for (path, text) in language.files() {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text.replace(NAME, name.as_str()))?;
    }
    Ok(())
}

/// Writes a file that must not exist yet.
///
/// # Errors
/// [`CliError`] when it exists or cannot be written.
pub(crate) fn write_new(path: &Path, text: &str) -> Result<(), CliError> {
    let file = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
    match file.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(CliError::new(
            Exit::Error,
            format!("{} is there already and is left as it is", path.display()),
        )),
        Err(error) => Err(CliError::file("write", path, &error)),
    }
}

#[cfg(test)]
mod tests {
    use agentsite_host::{Manifest, RuntimeKind};
    use clap::ValueEnum;

    use super::*;

    fn name() -> AgentName {
        "greeter".parse().unwrap()
    }

    #[test]
    fn every_template_is_a_sound_agent() {
        let folder = tempfile::tempdir().unwrap();
        for language in Language::value_variants() {
            let agent = folder.path().join(format!("{language:?}").to_lowercase());
            write_agent(*language, &name(), &agent).unwrap();
            let text = std::fs::read_to_string(agent.join("agent.toml")).unwrap();
            let manifest = Manifest::read(&text).unwrap_or_else(|error| panic!("{language:?}: {error}"));
            assert_eq!(manifest.name, name());
            assert!(!manifest.skills[0].examples.is_empty());
            let kind = match language {
                Language::Llm => RuntimeKind::Llm,
                Language::Acp => RuntimeKind::Acp,
                Language::Mcp => RuntimeKind::Mcp,
                Language::Library => RuntimeKind::Builtin,
                _ => RuntimeKind::Exec,
            };
            assert_eq!(manifest.runtime.kind(), kind);
            let readme = std::fs::read_to_string(agent.join("README.md")).unwrap();
            assert!(
                readme.contains(&format!("agentsite call greeter \"{}\"", language.example())),
                "{language:?}"
            );
        }
    }

    #[test]
    fn nothing_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let agent = folder.path().join("greeter");
        std::fs::create_dir(&agent).unwrap();
        assert!(
            write_agent(Language::Sh, &name(), &agent).unwrap_err().to_string().contains("is there already")
        );
        let file = folder.path().join("agentsite.toml");
        write_new(&file, CONFIG).unwrap();
        assert!(write_new(&file, "other").is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), CONFIG);
    }

    #[test]
    fn the_first_configuration_is_sound_and_so_is_every_line_that_it_comments_out() {
        toml::from_str::<crate::config::Config>(CONFIG).unwrap();
        let uncommented: String = CONFIG
            .lines()
            .skip(2)
            .map(|line| format!("{}\n", line.strip_prefix("# ").unwrap_or(line)))
            .collect();
        toml::from_str::<crate::config::Config>(&uncommented).unwrap();
    }
}
