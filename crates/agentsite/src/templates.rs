//! The agents that `agentsite agent new` writes, and the configuration that `agentsite init` writes.
//!
//! Promises: every template is an agent that answers immediately, with the requested description; nothing is
//! ever overwritten. The files are those under `templates/`, built into the program. It does not start
//! anything.

use std::io::{ErrorKind, Write};
use std::path::Path;

use agentsite_host::Manifest;
use agentsite_protocol::{AgentName, Visibility};

use crate::exit::{CliError, Exit};
use crate::folder::scan::MANIFEST;

/// The placeholder for the agent's name in the files of a template.
const NAME: &str = "NAME";

/// Most letters of a description that is wished for; a sentence or two.
const MAX_DESCRIPTION: usize = 1_000;

/// Most letters of the name of a model.
const MAX_MODEL: usize = 200;

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
    /// A program that implements the Agent Client Protocol.
    Acp,
    /// A prompt; no code.
    Llm,
    /// An MCP server.
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

impl Language {
    /// What the command line and the pages call it.
    pub(crate) fn word(self) -> String {
        clap::ValueEnum::to_possible_value(&self)
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// What it is, in a sentence.
    pub(crate) fn about(self) -> String {
        let value = clap::ValueEnum::to_possible_value(&self);
        value.and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default()
    }

    /// What the template declares.
    pub(crate) fn manifest(self) -> Manifest {
        let text = self.files().iter().find(|(path, _)| *path == MANIFEST).map_or("", |(_, text)| text);
        Manifest::read(&text.replace(NAME, "template"))
            .expect("every template is a valid agent; a test checks it")
    }
}

/// What differs from the template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TemplateValues {
    /// What the agent does.
    pub(crate) description: Option<String>,
    /// Who may find and call it.
    pub(crate) visibility: Option<Visibility>,
    /// Which model it works with.
    pub(crate) model: Option<String>,
}

/// The files of a new agent.
///
/// # Errors
/// What is wrong with the request, in a sentence.
pub(crate) fn files(
    language: Language,
    name: &AgentName,
    wish: &TemplateValues,
) -> Result<Vec<(&'static str, String)>, String> {
    let short = |key: &str, text: &Option<String>, most: usize| match text {
        Some(text) if text.chars().count() > most => Err(format!("{key}: use at most {most} characters")),
        Some(text) if text.contains(['\n', '\r']) => Err(format!("{key}: write it on one line")),
        _ => Ok(()),
    };
    name.check_choice().map_err(|reserved| reserved.to_string())?;
    short("description", &wish.description, MAX_DESCRIPTION)?;
    short("model", &wish.model, MAX_MODEL)?;
    let written = |(path, text): &File| {
        let text = text.replace(NAME, name.as_str());
        (*path, if *path == MANIFEST { wished(&text, wish) } else { text })
    };
    let files: Vec<_> = language.files().iter().map(written).collect();
    let manifest = files.iter().find(|(path, _)| *path == MANIFEST).map_or("", |(_, text)| text);
    Manifest::read(manifest).map_err(|error| format!("agent.toml would be invalid: {error}"))?;
    Ok(files)
}

/// A manifest with what was wished for in the first line that has each key.
fn wished(manifest: &str, wish: &TemplateValues) -> String {
    let visibility = wish.visibility.map(|one| format!("{one:?}").to_lowercase());
    let mut values = vec![
        ("description", wish.description.as_deref()),
        ("visibility", visibility.as_deref()),
        ("model", wish.model.as_deref()),
    ];
    values.retain(|(_, value)| value.is_some());
    let mut text = String::new();
    for line in manifest.lines() {
        let key = line.trim_start_matches("# ").split_once(" = ").map_or("", |(key, _)| key);
        let at = values.iter().position(|(wanted, _)| *wanted == key);
        let value = at.and_then(|at| values.remove(at).1);
        text.push_str(&value.map_or_else(|| line.to_owned(), |value| rewritten(line, key, value)));
        text.push('\n');
    }
    text
}

/// A line with another value; the comment behind it stays, unless the line was only a hint.
fn rewritten(line: &str, key: &str, value: &str) -> String {
    let comment = line.split_once(" # ").filter(|_| !line.starts_with('#'));
    let comment = comment.map_or_else(String::new, |(_, words)| format!(" # {}", words.trim()));
    format!("{key} = {}{comment}", toml::Value::from(value.trim()))
}

/// Writes a new agent into `folder`, which must not exist yet. It appears whole: a site that watches never
/// sees half of it.
///
/// # Errors
/// [`CliError`] when the folder exists or cannot be written, or the request is invalid.
pub(crate) fn write_agent(
    language: Language,
    name: &AgentName,
    folder: &Path,
    wish: &TemplateValues,
) -> Result<(), CliError> {
    let files = files(language, name, wish).map_err(CliError::error)?;
    if folder.exists() {
        let what = format!("{} exists already; choose another name or remove it first", folder.display());
        return Err(CliError::error(what));
    }
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Not an agent while its name begins with a dot: the scan passes over such folders.
    let draft = parent.join(format!(".{name}.new"));
    let written = write_files(&draft, &files).and_then(|()| std::fs::rename(&draft, folder));
    written.map_err(|error| {
        let _ = std::fs::remove_dir_all(&draft);
        CliError::file("write", folder, &error)
    })
}

fn write_files(folder: &Path, files: &[(&str, String)]) -> std::io::Result<()> {
    for (path, text) in files {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
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
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(CliError::new(Exit::Error, format!("{} exists already and was not changed", path.display())))
        }
        Err(error) => Err(CliError::file("write", path, &error)),
    }
}

#[cfg(test)]
mod tests {
    use agentsite_host::RuntimeKind;
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
            write_agent(*language, &name(), &agent, &TemplateValues::default()).unwrap();
            let text = std::fs::read_to_string(agent.join("agent.toml")).unwrap();
            let manifest = Manifest::read(&text).unwrap_or_else(|error| panic!("{language:?}: {error}"));
            assert_eq!(manifest.name, name());
            assert!(!manifest.skills[0].examples.is_empty());
            assert_eq!(
                manifest.visibility,
                Visibility::Private,
                "{language:?}: what is new is for its owner"
            );
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
            write_agent(Language::Sh, &name(), &agent, &TemplateValues::default())
                .unwrap_err()
                .to_string()
                .contains("exists already")
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
