//! Waiting until the running site has taken a change of the agents folder.
//!
//! Promises: returns when the site has loaded or dropped the agent, when no site runs, or after a bounded
//! time; each has its own outcome. It changes nothing itself: the site watches its folder.

use std::path::Path;
use std::time::Duration;

use agentsite_protocol::AgentName;
use serde_json::Value;

use super::super::shell::{RunningClient, Shell, field, list};
use crate::exit::{CliError, Exit};

/// Longest wait. A site notices within a second; a busy machine or a slow disk takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Between two questions.
const PAUSE: Duration = Duration::from_millis(50);

/// The outcome of a new agent.
#[derive(Debug)]
pub(in crate::cli) enum Taken {
    /// The site has it; its condition.
    Loaded(Value),
    /// The site refuses its file and says why.
    Refused(String),
    /// The site does not have it yet.
    NotYet,
    /// No site runs that would load it.
    NoSite,
}

impl Taken {
    /// Whether the site has it.
    pub(super) const fn is_loaded(&self) -> bool {
        matches!(self, Self::Loaded(_))
    }

    /// Its condition, when the site has it.
    pub(super) fn health(&self) -> Option<String> {
        match self {
            Self::Loaded(agent) => Some(field(agent, "health")),
            _ => None,
        }
    }

    /// The outcome, for people.
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::Loaded(agent) if agent["health"] == "needs-setup" => {
                format!("the running site has loaded it; it needs setup: {}", field(agent, "reason"))
            }
            Self::Loaded(_) => "the running site has loaded it".into(),
            Self::Refused(why) => format!("the running site refuses it: {why}"),
            Self::NotYet => format!(
                "the running site has not loaded it within {} s; it may watch another folder, see `agentsite status`",
                PATIENCE.as_secs()
            ),
            Self::NoSite => "no site is running here; start it with `agentsite`".into(),
        }
    }
}

/// Waits until the running site has loaded an agent or refuses it.
pub(in crate::cli) async fn until_taken(shell: &Shell, name: &AgentName) -> Result<Taken, CliError> {
    let Some(site) = running(shell)? else { return Ok(Taken::NoSite) };
    let waited = tokio::time::timeout(PATIENCE, async {
        loop {
            if let Some(taken) = taken(&site, name).await? {
                return Ok::<_, CliError>(taken);
            }
            tokio::time::sleep(PAUSE).await;
        }
    });
    match waited.await {
        Ok(Err(error)) if error.exit() == Exit::NotRunning => Ok(Taken::NoSite),
        Ok(taken) => taken,
        Err(_) => Ok(Taken::NotYet),
    }
}

async fn taken(site: &RunningClient, name: &AgentName) -> Result<Option<Taken>, CliError> {
    let all: Value = site.get("api/agents").await?;
    let with_folder = |agent: &&Value| agent["name"] == name.as_str() && !agent["folder"].is_null();
    if let Some(agent) = list(&all, "agents").iter().find(with_folder) {
        return Ok(Some(Taken::Loaded(agent.clone())));
    }
    let file = format!("/{name}/agent.toml");
    let broken = list(&all, "broken").into_iter().find(|broken| field(broken, "file").ends_with(&file));
    Ok(broken.map(|broken| Taken::Refused(field(&broken, "error"))))
}

/// Waits until the running site no longer has the agent of this folder.
pub(super) async fn until_gone(shell: &Shell, name: &AgentName, folder: &Path) -> Result<(), CliError> {
    let Some(site) = running(shell)? else { return Ok(()) };
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()).display().to_string();
    let gone = async {
        loop {
            match site.get::<Value>(&format!("api/agents/{name}")).await {
                // A built-in agent of the same name may have come back.
                Ok(agent) if field(&agent, "folder") == folder => tokio::time::sleep(PAUSE).await,
                Ok(_) => return Ok(()),
                Err(error) if matches!(error.exit(), Exit::NotFound | Exit::NotRunning) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    };
    match tokio::time::timeout(PATIENCE, gone).await {
        Ok(done) => done,
        Err(_) => {
            shell.output.note(&format!("the running site still has {name}; see `agentsite status`"));
            Ok(())
        }
    }
}

/// The site of this data folder, when one runs.
fn running(shell: &Shell) -> Result<Option<RunningClient>, CliError> {
    match shell.site() {
        Ok(site) => Ok(Some(site)),
        Err(error) if error.exit() == Exit::NotRunning => Ok(None),
        Err(error) => Err(error),
    }
}
