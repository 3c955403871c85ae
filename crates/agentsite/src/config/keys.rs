//! The keys of the configuration as a list, read from its schema.
//!
//! Promises: every key that the types declare is here once, with its type, its environment variable, its flag
//! and its meaning; only the flags are listed manually. It contains no values.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::Config;

/// What every environment variable of ours begins with.
pub(crate) const PREFIX: &str = "AGENTSITE_";

/// The placeholder for the name that the user chooses in `models.NAME.key_env`.
pub(super) const NAME: &str = "NAME";

/// The keys that have a flag, and the flag.
const FLAGS: [(&str, &str); 12] = [
    ("listen", "--listen"),
    ("data", "--data"),
    ("agents", "--agents"),
    ("demos", "--no-demos"),
    ("conformance", "--conformance"),
    ("tls_cert", "--tls-cert"),
    ("tls_key", "--tls-key"),
    ("public_url", "--public-url"),
    ("tls_terminated_by_proxy", "--tls-terminated-by-proxy"),
    ("anonymous", "--anonymous"),
    ("telemetry.otlp_endpoint", "--otlp-endpoint"),
    ("mesh.enabled", "--mesh"),
];

/// Keys that were renamed, each with its present name. Files, variables and flags may use the former name for
/// one release; those of files and variables cause a warning.
pub(super) const RENAMED: [(&str, &str); 1] = [("tls_elsewhere", "tls_terminated_by_proxy")];

/// The environment variable of a key.
pub(super) fn variable_of(path: &str) -> String {
    format!("{PREFIX}{}", path.replace('.', "_").to_uppercase())
}

/// How a value is written in an environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text, as it is.
    Text,
    /// One of these words.
    Choice(Vec<String>),
    /// A whole number.
    Number,
    /// `true` or `false`.
    Flag,
    /// Texts, separated by commas.
    List,
}

impl Kind {
    /// The type as text.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Text => "text".into(),
            Self::Choice(words) => words.join(" \\| "),
            Self::Number => "number".into(),
            Self::Flag => "true \\| false".into(),
            Self::List => "list of texts".into(),
        }
    }
}

/// One key.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    /// Its dotted path, such as `limits.body`.
    pub(crate) path: String,
    /// What it takes.
    pub(crate) kind: Kind,
    /// What it means.
    pub(crate) meaning: String,
}

impl Key {
    /// Its section; empty for the keys at the top.
    pub(crate) fn section(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(section, _)| section)
    }

    /// Its name within the section.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit_once('.').map_or(self.path.as_str(), |(_, name)| name)
    }

    /// Its environment variable.
    pub(crate) fn variable(&self) -> String {
        variable_of(&self.path)
    }

    /// Its flag, if it has one.
    pub(crate) fn flag(&self) -> Option<&'static str> {
        FLAGS.iter().find(|(path, _)| *path == self.path).map(|(_, flag)| *flag)
    }

    /// Whether the user chooses a part of its path.
    pub(crate) fn is_named(&self) -> bool {
        self.path.split('.').any(|step| step == NAME)
    }
}

/// A section and what it is for.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    /// Its dotted path; empty for the top.
    pub(crate) path: String,
    /// What it is for.
    pub(crate) meaning: String,
}

/// All sections and keys in the order in which they are declared.
#[derive(Debug)]
pub(crate) struct Catalogue {
    /// The sections.
    pub(crate) sections: Vec<Section>,
    /// The keys.
    pub(crate) keys: Vec<Key>,
}

impl Catalogue {
    /// Reads the catalogue from the types.
    pub(crate) fn read() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let schema = settings.into_generator().into_root_schema_for::<Config>().to_value();
        let mut catalogue = Self { sections: Vec::new(), keys: Vec::new() };
        catalogue.section("", &schema);
        catalogue
    }

    fn section(&mut self, path: &str, schema: &Value) {
        self.sections.push(Section { path: path.to_owned(), meaning: meaning(schema) });
        let mut inner = Vec::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            match (property.get("properties"), property.get("additionalProperties")) {
                (Some(_), _) => inner.push((path, property)),
                (None, Some(named)) if named.get("properties").is_some() => {
                    inner.push((format!("{path}.{NAME}"), property));
                }
                _ => self.keys.push(Key { path, kind: kind(property), meaning: meaning(property) }),
            }
        }
        for (path, property) in inner {
            let entries = if path.ends_with(NAME) { &property["additionalProperties"] } else { property };
            let at = self.sections.len();
            self.section(&path, entries);
            self.sections[at].meaning = meaning(property);
        }
    }
}

fn meaning(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn kind(schema: &Value) -> Kind {
    let alternatives = schema.get("anyOf").and_then(Value::as_array);
    if let Some(some) = alternatives.and_then(|all| all.iter().find(|one| one["type"] != "null")) {
        return kind(some);
    }
    let words = |values: &mut dyn Iterator<Item = &Value>| {
        values.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return Kind::Choice(words(&mut values.iter()));
    }
    if let Some(values) = schema.get("oneOf").and_then(Value::as_array) {
        return Kind::Choice(words(&mut values.iter().filter_map(|one| one.get("const"))));
    }
    let types = &schema["type"];
    let is =
        |name: &str| types == name || types.as_array().is_some_and(|all| all.iter().any(|one| one == name));
    match () {
        () if is("boolean") => Kind::Flag,
        () if is("integer") || is("number") => Kind::Number,
        () if is("array") => Kind::List,
        () => Kind::Text,
    }
}
