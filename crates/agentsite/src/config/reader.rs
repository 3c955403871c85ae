//! Reader: where the configuration of this process comes from, to be read more than once.
//!
//! Promises: the file, the environment and the flags are those of the start, so that reading again gives what
//! a restart would; a text can be judged as if it were the file. It writes nothing.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{ConfigError, FILE, Loaded, Place, Sources};

/// The variable that names another file.
const FILE_VARIABLE: &str = "AGENTSITE_CONFIG";

/// Longest file that is read; a larger one is something else by mistake.
const MAX_FILE: u64 = 1 << 20;

/// Where the configuration comes from.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    /// The file that a flag or a variable names.
    named: Option<PathBuf>,
    variables: BTreeMap<String, String>,
    flags: Vec<(&'static str, String)>,
}

impl Reader {
    /// Reads nothing yet.
    pub(crate) fn new(
        file: Option<&Path>,
        variables: BTreeMap<String, String>,
        flags: Vec<(&'static str, String)>,
    ) -> Self {
        let named = file.map(Path::to_owned).or_else(|| variables.get(FILE_VARIABLE).map(PathBuf::from));
        Self { named, variables, flags }
    }

    /// Where the file is, or would be.
    pub(crate) fn file(&self) -> &Path {
        self.named.as_deref().unwrap_or(Path::new(FILE))
    }

    /// The environment.
    pub(crate) const fn variables(&self) -> &BTreeMap<String, String> {
        &self.variables
    }

    /// What the file holds; `None` when there is none and none was named.
    ///
    /// # Errors
    /// [`ConfigError`] when it cannot be read.
    pub(crate) fn text(&self) -> Result<Option<String>, ConfigError> {
        let path = self.file();
        let failed = |source| ConfigError::Read { file: path.to_owned(), source };
        match std::fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound && self.named.is_none() => return Ok(None),
            Err(error) => return Err(failed(error)),
            Ok(found) if found.len() > MAX_FILE => return Err(self.too_large()),
            Ok(_) => {}
        }
        std::fs::read_to_string(path).map(Some).map_err(failed)
    }

    /// Reads file, environment and flags, and checks that the values go together.
    ///
    /// # Errors
    /// [`ConfigError`] with the first thing that is wrong.
    pub(crate) fn load(&self) -> Result<Loaded, ConfigError> {
        self.join(self.text()?.as_deref())
    }

    /// What would be loaded if the file held this text.
    ///
    /// # Errors
    /// [`ConfigError`] with the first thing that is wrong.
    pub(crate) fn judge(&self, text: &str) -> Result<Loaded, ConfigError> {
        if text.len() as u64 > MAX_FILE {
            return Err(self.too_large());
        }
        self.join(Some(text))
    }

    fn join(&self, text: Option<&str>) -> Result<Loaded, ConfigError> {
        let file = text.map(|text| (self.file().to_owned(), text.to_owned()));
        let loaded = Sources { file, variables: self.variables.clone(), flags: self.flags.clone() }.join()?;
        loaded.check(text.unwrap_or_default())?;
        Ok(loaded)
    }

    fn too_large(&self) -> ConfigError {
        let what = "the file is larger than 1MiB; is it really a configuration file?".into();
        ConfigError::Place { file: self.file().to_owned(), place: Place { line: 1, column: 1 }, what }
    }
}
