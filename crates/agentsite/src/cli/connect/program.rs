//! The programs that can be connected: where each keeps its servers, and how it writes one.
//!
//! Promises: pure; what it says follows each program's own documentation. It reads and writes no file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::{jsonc, section};
use crate::exit::CliError;

/// The variable from which programs read the key.
const KEY: &str = "AGENTSITE_KEY";

/// A program that supports MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Program {
    /// Claude Desktop.
    Claude,
    /// Claude Code.
    ClaudeCode,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    Vscode,
    /// Codex.
    Codex,
    /// Zed.
    Zed,
    /// Windsurf.
    Windsurf,
    /// Gemini CLI.
    Gemini,
}

/// How a program reaches the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Transport {
    /// It starts a command and communicates through its pipes.
    Command {
        /// The program, with its whole path.
        command: String,
        /// What it is given.
        arguments: Vec<String>,
    },
    /// It asks an address.
    Http {
        /// The address.
        url: String,
        /// A key to be written; without it the program reads one from its environment.
        key: Option<String>,
    },
}

/// Where programs keep their files, as the environment says.
#[derive(Debug, Clone, Default)]
pub(super) struct Home {
    home: Option<PathBuf>,
    /// Where programs of this system keep their settings.
    settings: Option<PathBuf>,
    /// The same for those that follow XDG also on a Mac.
    xdg: Option<PathBuf>,
    codex: Option<PathBuf>,
}

impl Home {
    /// Reads the variables of an environment.
    pub(super) fn of(system: &str, variables: &BTreeMap<String, String>) -> Self {
        let path = |name: &str| variables.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let absolute = |name: &str| path(name).filter(|path| path.is_absolute());
        let home = path("HOME").or_else(|| path("USERPROFILE"));
        let below = |folder: &str| home.as_ref().map(|home| home.join(folder));
        let xdg = absolute("XDG_CONFIG_HOME").or_else(|| below(".config"));
        let settings = match system {
            "macos" => below("Library/Application Support"),
            "windows" => path("APPDATA"),
            _ => xdg.clone(),
        };
        let xdg = if system == "windows" { path("APPDATA") } else { xdg };
        Self { codex: path("CODEX_HOME").or_else(|| below(".codex")), home, settings, xdg }
    }

    fn home(&self, file: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(file))
    }
}

impl Program {
    /// What it is called on the command line.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
            Self::Codex => "codex",
            Self::Zed => "zed",
            Self::Windsurf => "windsurf",
            Self::Gemini => "gemini",
        }
    }

    /// Its file for one user; `None` when the environment does not say where the user's files are.
    pub(super) fn file(self, home: &Home) -> Option<PathBuf> {
        let below =
            |folder: &Option<PathBuf>, file: &str| folder.as_deref().map(|folder: &Path| folder.join(file));
        match self {
            Self::Claude => below(&home.settings, "Claude/claude_desktop_config.json"),
            Self::ClaudeCode => home.home(".claude.json"),
            Self::Cursor => home.home(".cursor/mcp.json"),
            Self::Vscode => below(&home.settings, "Code/User/mcp.json"),
            Self::Codex => below(&home.codex, "config.toml"),
            Self::Zed => below(&home.xdg, "zed/settings.json"),
            Self::Windsurf => home.home(".codeium/windsurf/mcp_config.json"),
            Self::Gemini => home.home(".gemini/settings.json"),
        }
    }

    /// The file as text, where the environment does not say more.
    pub(super) const fn whereabouts(self) -> &'static str {
        match self {
            Self::Claude => "claude_desktop_config.json of Claude Desktop",
            Self::ClaudeCode => "~/.claude.json",
            Self::Cursor => "~/.cursor/mcp.json",
            Self::Vscode => "mcp.json of your profile (command MCP: Open User Configuration)",
            Self::Codex => "~/.codex/config.toml",
            Self::Zed => "settings.json of Zed (command zed: open settings)",
            Self::Windsurf => "~/.codeium/windsurf/mcp_config.json",
            Self::Gemini => "~/.gemini/settings.json",
        }
    }

    /// What to do once the file is written.
    pub(super) const fn then(self) -> &'static str {
        match self {
            Self::Vscode => "start the server from the file, or reload the window",
            Self::ClaudeCode | Self::Codex | Self::Gemini => "begin a new session",
            Self::Claude | Self::Cursor | Self::Zed | Self::Windsurf => "restart the program",
        }
    }

    /// The key of the file that contains the servers.
    const fn table(self) -> &'static str {
        match self {
            Self::Vscode => "servers",
            Self::Zed => "context_servers",
            Self::Codex => "mcp_servers",
            Self::Claude | Self::ClaudeCode | Self::Cursor | Self::Windsurf | Self::Gemini => "mcpServers",
        }
    }

    /// The whole text that a file with nothing else in it would have.
    ///
    /// # Errors
    /// [`CliError`] when the program cannot be connected in this way.
    pub(super) fn snippet(self, name: &str, way: &Transport) -> Result<String, CliError> {
        self.merged("", name, way).map_err(CliError::error)
    }

    /// The text of its file with the entry in it.
    ///
    /// # Errors
    /// A sentence says why not.
    pub(super) fn merged(self, text: &str, name: &str, way: &Transport) -> Result<String, String> {
        let entry = self.entry(way)?;
        match self {
            Self::Codex => section::merge(text, self.table(), name, &entry),
            _ => jsonc::merge(text, self.table(), name, &entry),
        }
    }

    /// The entry of one server.
    fn entry(self, way: &Transport) -> Result<Value, String> {
        match way {
            Transport::Command { command, arguments } => Ok(match self {
                Self::Vscode | Self::ClaudeCode => {
                    json!({ "type": "stdio", "command": command, "args": arguments })
                }
                _ => json!({ "command": command, "args": arguments }),
            }),
            Transport::Http { url, key } => {
                let field = match self {
                    Self::Claude => {
                        let instead = "Claude Desktop accepts addresses only as connectors in its settings; \
                                       leave --http out";
                        return Err(instead.into());
                    }
                    Self::Windsurf => "serverUrl",
                    Self::Gemini => "httpUrl",
                    _ => "url",
                };
                let mut entry = json!({ field: url });
                if matches!(self, Self::Vscode | Self::ClaudeCode) {
                    entry["type"] = "http".into();
                }
                if self == Self::Codex {
                    match key {
                        Some(key) => {
                            entry["http_headers"] = json!({ "Authorization": format!("Bearer {key}") });
                        }
                        None => entry["bearer_token_env_var"] = KEY.into(),
                    }
                } else {
                    let key = key.clone().unwrap_or_else(|| self.variable());
                    entry["headers"] = json!({ "Authorization": format!("Bearer {key}") });
                }
                Ok(entry)
            }
        }
    }

    /// How its file names a variable of the environment. Zed has no way to, so its user has to put the key
    /// there.
    fn variable(self) -> String {
        match self {
            Self::ClaudeCode | Self::Gemini => format!("${{{KEY}}}"),
            Self::Zed => "YOUR-KEY".into(),
            _ => format!("${{env:{KEY}}}"),
        }
    }
}
