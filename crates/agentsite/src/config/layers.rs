//! Flags over environment over file over defaults, and which value came from where.
//!
//! Promises: a wrong value is refused at the place where it was written: file with line and column, the
//! variable, or the flag. A variable that is empty counts as one that is not set. Relative paths in the file
//! are relative to the file; all others to the current folder. It reads nothing by itself: text and variables
//! are handed in.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::keys::{Catalogue, Key, Kind, NAME, PREFIX, RENAMED, variable_of};
use super::place::Place;
use super::{Config, ConfigError};

/// Variables with our prefix that are not keys of the file: the file itself, and the token of the command
/// line.
const OTHER_VARIABLES: [&str; 3] = ["AGENTSITE_CONFIG", "AGENTSITE_DATA_KEY", "AGENTSITE_TOKEN"];

/// Variables that tests of agentsite use among themselves.
const TEST_PREFIX: &str = "AGENTSITE_TEST_";

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A flag of the command line.
    Flag(String),
    /// An environment variable.
    Variable(String),
    /// The file, at this line.
    File(usize),
    /// Neither flag, variable nor file sets it.
    Default,
}

impl Origin {
    /// The word for the kind of it.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Flag(_) => "flag",
            Self::Variable(_) => "environment",
            Self::File(_) => "file",
            Self::Default => "default",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(out, "flag {flag}"),
            Self::Variable(name) => write!(out, "environment {name}"),
            Self::File(line) => write!(out, "file, line {line}"),
            Self::Default => out.write_str("default"),
        }
    }
}

/// All sources of configuration.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// The file and its text.
    pub(crate) file: Option<(PathBuf, String)>,
    /// The environment.
    pub(crate) variables: BTreeMap<String, String>,
    /// Keys set by flags, as dotted path and text.
    pub(crate) flags: Vec<(&'static str, String)>,
}

/// The resulting configuration, and the sources of its values.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    /// The values.
    pub(crate) config: Config,
    /// The origin of every key that is not at its default.
    pub(crate) origins: BTreeMap<String, Origin>,
    /// The file that was read.
    pub(crate) file: Option<PathBuf>,
    /// What deserves attention but is not an error.
    pub(crate) warnings: Vec<String>,
}

impl Sources {
    /// Joins the layers.
    ///
    /// # Errors
    /// [`ConfigError`] names the place of the first wrong value.
    pub(crate) fn join(self) -> Result<Loaded, ConfigError> {
        let catalogue = Catalogue::read();
        let mut layers = Layers::default();
        if let Some((path, text)) = &self.file {
            layers.file(path, text)?;
        }
        layers.environment(&catalogue, &self.variables)?;
        layers.flags(&catalogue, &self.flags)?;
        let config: Config = layers.table.try_into().map_err(|error: toml::de::Error| {
            ConfigError::Value { origin: "the configuration".into(), what: error.message().to_owned() }
        })?;
        let file = self.file.map(|(path, _)| path);
        Ok(Loaded { config, origins: layers.origins, file, warnings: layers.warnings })
    }
}

impl Loaded {
    /// Whether a flag, a variable or the file sets this key.
    pub(crate) fn is_set(&self, key: &str) -> bool {
        self.origins.contains_key(key)
    }
}

#[derive(Default)]
struct Layers {
    table: Table,
    origins: BTreeMap<String, Origin>,
    warnings: Vec<String>,
}

impl Layers {
    fn file(&mut self, path: &Path, text: &str) -> Result<(), ConfigError> {
        let wrong = |error: &toml::de::Error| {
            let place = Place::at(text, error.span().map_or(0, |span| span.start));
            ConfigError::Place {
                file: path.to_owned(),
                place,
                what: error.message().lines().collect::<Vec<_>>().join("; "),
            }
        };
        toml::from_str::<Config>(text).map_err(|error| wrong(&error))?;
        let mut table: Table = toml::from_str(text).map_err(|error| wrong(&error))?;
        let mut found = Vec::new();
        leaves("", &table, &mut found);
        for key in found {
            let line = Place::of_key(text, &key).line;
            if is_path(&key) {
                relative_to(path, &mut table, &key);
            }
            self.origins.insert(key, Origin::File(line));
        }
        self.rename(&mut table);
        self.table = table;
        Ok(())
    }

    /// Gives keys at the top of a file that have their former names the present ones.
    fn rename(&mut self, table: &mut Table) {
        for (former, present) in RENAMED {
            let Some(value) = table.remove(former) else { continue };
            table.insert(present.to_owned(), value);
            if let Some(origin) = self.origins.remove(former) {
                self.origins.insert(present.to_owned(), origin);
            }
            self.warnings.push(former_name(former, present));
        }
    }

    fn environment(
        &mut self,
        catalogue: &Catalogue,
        variables: &BTreeMap<String, String>,
    ) -> Result<(), ConfigError> {
        for (name, text) in variables.range(PREFIX.to_owned()..).filter(|(_, text)| !text.is_empty()) {
            if !name.starts_with(PREFIX) {
                break;
            }
            if name.starts_with(TEST_PREFIX) || OTHER_VARIABLES.contains(&name.as_str()) {
                continue;
            }
            let present = present_variable(name);
            if let Some(present) = &present {
                self.warnings.push(former_name(name, present));
            }
            match key_of(catalogue, present.as_ref().unwrap_or(name)) {
                Some((path, key)) => self.set(&path, key, text, Origin::Variable(name.clone()))?,
                None => self.warnings.push(format!(
                    "the variable {name} is not known and has no effect; see `agentsite config docs`"
                )),
            }
        }
        Ok(())
    }

    fn flags(&mut self, catalogue: &Catalogue, flags: &[(&'static str, String)]) -> Result<(), ConfigError> {
        for (path, text) in flags {
            let key = catalogue.keys.iter().find(|key| key.path == *path).expect("every flag sets a key");
            let flag = key.flag().expect("every key set by a flag names it");
            self.set(path, key, text, Origin::Flag(flag.to_owned()))?;
        }
        Ok(())
    }

    fn set(&mut self, path: &str, key: &Key, text: &str, origin: Origin) -> Result<(), ConfigError> {
        let name = match &origin {
            Origin::Flag(name) | Origin::Variable(name) => name.clone(),
            Origin::File(_) | Origin::Default => path.to_owned(),
        };
        let value =
            value(&key.kind, text).map_err(|what| ConfigError::Value { origin: name.clone(), what })?;
        let mut alone = Table::new();
        put(&mut alone, path, value.clone());
        alone.try_into::<Config>().map_err(|error: toml::de::Error| {
            let what = error.message().lines().collect::<Vec<_>>().join("; ");
            ConfigError::Value { origin: name, what }
        })?;
        put(&mut self.table, path, value);
        self.origins.insert(path.to_owned(), origin);
        Ok(())
    }
}

/// The present name of a variable whose key was renamed.
fn present_variable(name: &str) -> Option<String> {
    let renamed = RENAMED.iter().find(|(former, _)| variable_of(former) == name);
    renamed.map(|(_, present)| variable_of(present))
}

fn former_name(former: &str, present: &str) -> String {
    format!("`{former}` is now called `{present}`; the former name stops working with the next release")
}

/// The key that a variable sets, with the user's own name inserted where the key has one.
fn key_of<'a>(catalogue: &'a Catalogue, variable: &str) -> Option<(String, &'a Key)> {
    if let Some(key) = catalogue.keys.iter().find(|key| !key.is_named() && key.variable() == variable) {
        return Some((key.path.clone(), key));
    }
    catalogue.keys.iter().filter(|key| key.is_named()).find_map(|key| {
        let pattern = key.variable();
        let (before, after) = pattern.split_once(NAME)?;
        let chosen = variable.strip_prefix(before)?.strip_suffix(after)?;
        let chosen = chosen.to_lowercase().replace('_', "-");
        (!chosen.is_empty()).then(|| (key.path.replace(NAME, &chosen), key))
    })
}

fn value(kind: &Kind, text: &str) -> Result<Value, String> {
    match kind {
        Kind::Text | Kind::Choice(_) => Ok(Value::String(text.to_owned())),
        Kind::Number => {
            text.trim().parse().map(Value::Integer).map_err(|_| format!("`{text}` is not a whole number"))
        }
        Kind::Flag => match text.trim() {
            "true" | "1" | "yes" | "on" => Ok(Value::Boolean(true)),
            "false" | "0" | "no" | "off" => Ok(Value::Boolean(false)),
            _ => Err(format!("`{text}` is neither true nor false")),
        },
        Kind::List => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Ok(Value::Array(items.map(|item| Value::String(item.to_owned())).collect()))
        }
    }
}

fn put(table: &mut Table, path: &str, value: Value) {
    let mut table = table;
    let (sections, name) = path.rsplit_once('.').unwrap_or(("", path));
    for section in sections.split('.').filter(|section| !section.is_empty()) {
        let inner = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
        let Value::Table(inner) = inner else { return };
        table = inner;
    }
    table.insert(name.to_owned(), value);
}

fn leaves(path: &str, table: &Table, found: &mut Vec<String>) {
    for (name, value) in table {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match value {
            Value::Table(inner) => leaves(&path, inner, found),
            _ => found.push(path),
        }
    }
}

/// Whether a key holds the path of a file or folder.
fn is_path(key: &str) -> bool {
    matches!(key, "data" | "store_file" | "agents" | "key_file" | "tls_cert" | "tls_key")
        || key.starts_with("models.") && key.ends_with(".key_file")
}

fn relative_to(file: &Path, table: &mut Table, key: &str) {
    let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return };
    let mut value = table.get_mut(key.split('.').next().unwrap_or(key));
    for step in key.split('.').skip(1) {
        value = value.and_then(|value| value.get_mut(step));
    }
    if let Some(Value::String(path)) = value {
        *path = folder.join(&*path).to_string_lossy().into_owned();
    }
}
