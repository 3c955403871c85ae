//! Workshop: the handle by which admins create and change the site's own agents from a browser.
//!
//! Promises: names are names of agents, so that no path can be written into them; what is wrong is said with
//! its line and what to do; an edit is refused when the file has changed since it was read. The gateway
//! touches no file: the binary owns the agents folder and gives a handle on it. A gateway without one says
//! that its agents cannot be changed here.

use std::fmt;

use agentsite_protocol::{AgentName, Visibility};
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::written::{NameOfAgent, VisibilityWord};

/// What a verb of a workshop gives.
pub type Worked<'a, T> = BoxFuture<'a, Result<T, WorkshopError>>;

/// The agents folder of a site, as far as it is changed over HTTP. Whether a caller may use it is asked
/// before.
pub trait Workshop: Send + Sync + fmt::Debug + 'static {
    /// What a new agent can be made from.
    fn templates(&self) -> Vec<Template>;

    /// The files of a new agent, without writing them.
    ///
    /// # Errors
    /// [`WorkshopError::Bad`] with what is wrong with the wish.
    fn draft(&self, wanted: &NewAgent) -> Result<Vec<DraftFile>, WorkshopError>;

    /// Writes a new agent and waits until the site has looked at it.
    fn create(&self, wanted: NewAgent) -> Worked<'_, ()>;

    /// The agents that were taken out for a while, by name.
    fn suspended(&self) -> Worked<'_, Vec<SuspendedAgent>>;

    /// The `agent.toml` of an agent.
    fn manifest(&self, name: AgentName) -> Worked<'_, ManifestFile>;

    /// What is wrong with a text that would be the `agent.toml` of an agent; nothing when it is sound.
    fn check(&self, name: &AgentName, text: &str) -> Vec<Problem>;

    /// Puts another `agent.toml` in the place of the one of this revision and waits until the site has looked
    /// at it.
    fn write(&self, name: AgentName, text: String, revision: String) -> Worked<'_, ManifestFile>;

    /// Takes an agent out for a while; its folder stays where it is, and its tasks wait.
    fn suspend(&self, name: AgentName) -> Worked<'_, ManifestFile>;

    /// Brings it back.
    fn resume(&self, name: AgentName) -> Worked<'_, ManifestFile>;

    /// Moves the folder of an agent to the trash; gives where it lies now.
    fn remove(&self, name: AgentName) -> Worked<'_, String>;
}

/// Something that a new agent can be made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Template {
    /// What it is called in a wish.
    pub id: String,
    /// What it is made of, in a sentence.
    pub about: String,
    /// What its agent does unless a request says otherwise.
    pub description: String,
    /// A question that its agent answers at once.
    pub example: String,
    /// Who sees its agent unless a request says otherwise.
    #[schemars(with = "VisibilityWord")]
    pub visibility: Visibility,
    /// Whether it works with a model, which may be named.
    pub model: bool,
}

/// A wish for a new agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewAgent {
    /// Its name, which is also that of its folder.
    #[schemars(with = "NameOfAgent")]
    pub name: AgentName,
    /// What it is made from.
    pub template: String,
    /// What it does; what the template says when left out.
    #[serde(default)]
    pub description: Option<String>,
    /// Who sees it; what the template says when left out.
    #[serde(default)]
    #[schemars(with = "Option<VisibilityWord>")]
    pub visibility: Option<Visibility>,
    /// Which model: `PROVIDER:MODEL`; the first that is found when left out.
    #[serde(default)]
    #[schemars(extend("about" = "PROVIDER:MODEL"))]
    pub model: Option<String>,
}

/// One file of a new agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct DraftFile {
    /// Within the agent's folder.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// An agent that was taken out for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct SuspendedAgent {
    /// Its name.
    #[schemars(with = "String")]
    pub name: AgentName,
    /// What it does.
    pub description: String,
}

/// The `agent.toml` of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ManifestFile {
    /// Where it lies.
    pub file: String,
    /// What is in it.
    pub text: String,
    /// Changes with every change of the text.
    pub revision: String,
    /// Whether its agent was taken out for a while.
    pub suspended: bool,
}

/// Something that is wrong with an `agent.toml`, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Problem {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is wrong and what to do.
    pub what: String,
}

/// Why a workshop did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkshopError {
    /// No folder has this agent.
    #[error(
        "the agents folder has no agent `{0}`; agents that are built in or connect from elsewhere are not changed here"
    )]
    NoSuchAgent(AgentName),
    /// Something is there already.
    #[error("there is an agent or a folder `{0}` already; choose another name or remove it first")]
    Taken(AgentName),
    /// What was sent is not right.
    #[error("{0}")]
    Bad(String),
    /// The file is not the one that was read.
    #[error("agent.toml has changed since it was read; read it again, then make the change again")]
    Moved,
    /// The system refused.
    #[error("{0}")]
    Failed(String),
}
