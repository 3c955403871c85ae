//! The Workshop: what runners are made from.
//!
//! Promises: a value that is cheap to copy; secrets in it are never printed. It makes nothing itself: see
//! `launch`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use agentsite_client::Token;
use agentsite_client::mcp::CredentialStore;
use agentsite_egress::{Circuits, Egress};
use agentsite_protocol::Ids;

use crate::models::ModelSettings;
use crate::orphans::SITE_MARK;
use crate::sandbox::{Confinement, SandboxError};

/// What runners are made from; shared by all of them.
#[derive(Debug, Clone)]
pub struct Workshop {
    /// Makes ids and tells the time.
    pub ids: Ids,
    /// The one way out of the site.
    pub egress: Egress,
    /// Which endpoints of remote agents are paused because they fail.
    pub circuits: Circuits,
    /// Which models there are.
    pub models: ModelSettings,
    /// The environment of the site, from which agents get the variables that their files name (see
    /// `pass_env`).
    pub environment: Environment,
    /// Where the logins of agents to their servers stay.
    pub credentials: Arc<dyn CredentialStore>,
    /// How programs of agents are confined.
    pub confinement: Confinement,
}

impl Workshop {
    /// The token in the variable that `token_env` of a manifest names; none when it names none.
    ///
    /// # Errors
    /// [`LaunchError`] when the variable is not set.
    pub(crate) fn token(&self, variable: Option<&str>) -> Result<Option<Token>, LaunchError> {
        self.secret("token_env", "the agent's token", variable)
    }

    /// The secret in the variable that a key of a manifest names; none when it names none.
    ///
    /// # Errors
    /// [`LaunchError`] when the variable is not set.
    pub(crate) fn secret(
        &self,
        key: &str,
        what: &str,
        variable: Option<&str>,
    ) -> Result<Option<Token>, LaunchError> {
        let Some(name) = variable else { return Ok(None) };
        match self.environment.get(name) {
            Some(secret) if !secret.trim().is_empty() => Ok(Some(Token::new(secret))),
            _ => Err(LaunchError::Setup(format!(
                "the variable {name}, which {key} names, is not set; set it to {what} before the site starts"
            ))),
        }
    }
}

/// Where programs are looked for when the site itself was started without a PATH.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Text is UTF-8 on both sides, and messages are not translated.
const LOCALE: &str = "C.UTF-8";

/// A copy of the environment taken by the binary at start; nothing below it reads the live one.
#[derive(Clone, Default)]
pub struct Environment(Arc<BTreeMap<String, String>>);

impl Environment {
    /// Takes the variables over.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(Arc::new(variables.into_iter().collect()))
    }

    /// What a program of an agent sees: a few variables that every program needs, then what the site passes
    /// on, then what the file sets; later ones win. A program with a private home does not get the
    /// operator's, which it could not read.
    pub(crate) fn of_program(
        &self,
        folder: &Path,
        home: Option<&Path>,
        pass: &[String],
        set: &BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        let passed = |name: &str| self.get(name).map(|value| (name.to_owned(), value.to_owned()));
        let mut all = BTreeMap::from([
            ("PATH".to_owned(), self.get("PATH").unwrap_or(USUAL_PATH).to_owned()),
            ("HOME".to_owned(), home.unwrap_or(folder).to_string_lossy().into_owned()),
            ("LANG".to_owned(), LOCALE.to_owned()),
            ("LC_ALL".to_owned(), LOCALE.to_owned()),
        ]);
        all.extend(passed("TZ"));
        all.extend(passed(SITE_MARK));
        all.extend(home.and_then(|_| self.toolchains()));
        all.extend(
            pass.iter().filter(|name| home.is_none() || *name != "HOME").filter_map(|name| passed(name)),
        );
        all.extend(set.clone());
        all
    }

    /// Where rustup finds the operator's toolchains: its small programs in `PATH` look below `HOME`
    /// otherwise.
    fn toolchains(&self) -> Option<(String, String)> {
        let installed = Path::new(self.get("HOME")?).join(".rustup");
        installed.is_dir().then(|| ("RUSTUP_HOME".to_owned(), installed.to_string_lossy().into_owned()))
    }

    /// One variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// Names only: values may be secrets.
impl std::fmt::Debug for Environment {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_set().entries(self.0.keys()).finish()
    }
}

/// Why a runner could not be made from a manifest.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A file that the manifest names cannot be read.
    #[error("{file}: {source}; check the path in agent.toml, it is relative to the agent's folder")]
    File {
        /// The file.
        file: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The manifest asks for something that cannot be.
    #[error("{0}")]
    Setup(String),
}

impl From<SandboxError> for LaunchError {
    fn from(error: SandboxError) -> Self {
        Self::Setup(error.to_string())
    }
}
